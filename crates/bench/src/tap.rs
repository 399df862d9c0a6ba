//! A store that shows every committed batch to somebody and otherwise behaves like the one inside.

use async_trait::async_trait;
use onward_store::{Batch, LayeredStore, Outcome, Result, Store, StoreLayer};
use std::fmt;
use std::sync::Arc;

/// Who is shown each batch as soon as its commit has returned.
pub(crate) struct Tap {
    show: Box<dyn Fn(Batch) + Send + Sync>,
}

impl Tap {
    /// Puts a tap on a store.
    pub(crate) fn on(inner: Arc<dyn Store>, show: impl Fn(Batch) + Send + Sync + 'static) -> Arc<dyn Store> {
        Arc::new(LayeredStore::new(inner, Self { show: Box::new(show) }))
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap")
    }
}

#[async_trait]
impl StoreLayer for Tap {
    async fn commit(&self, inner: &dyn Store, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        let copies = group.clone();
        let outcomes = inner.commit(group).await?;
        for (batch, outcome) in copies.into_iter().zip(&outcomes) {
            if matches!(outcome, Outcome::Committed { .. }) && !batch.is_check_only() {
                (self.show)(batch);
            }
        }
        Ok(outcomes)
    }
}
