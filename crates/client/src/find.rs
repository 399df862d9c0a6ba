//! How a client finds executions and counts them.

use crate::call::Ask;
use crate::{Client, Description, Result};
use onward_engine::{Counts, FindFilter};

/// One page of executions that pass a filter.
#[derive(Debug, Clone)]
pub struct Found {
    /// What was found; its order is told at [`FindPage`](onward_engine::FindPage).
    pub executions: Vec<Description>,
    /// How many index entries were looked at.
    pub scanned: usize,
    /// Where the next page starts; absent at the end. A page may be short or empty and still have a next one.
    pub next: Option<String>,
}

impl Client {
    /// Executions of this namespace that pass a filter, from a cursor on; `limit` is at most 1,000.
    ///
    /// # Errors
    /// A failure of the store, or a cursor that is none.
    pub async fn find(&self, filter: &FindFilter, cursor: Option<&str>, limit: usize) -> Result<Found> {
        self.ask(Ask::Find { filter: filter.clone(), cursor: cursor.map(str::to_owned), limit }).await
    }

    /// How many executions this namespace has; counting stops at 100,000 of each.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn counts(&self) -> Result<Counts> {
        self.ask(Ask::Counts).await
    }
}
