//! Waits for the end of an execution, by watching its record.

use crate::api::query;
use crate::{Engine, Error};
use onward_core::record::Execution;
use onward_core::{ExecutionId, Key, Namespace, Span};

impl Engine {
    /// Waits until an execution ends or `time` is up, and returns it as it is then; `None` if there is none.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn wait(&self, id: ExecutionId, time: Span) -> Result<Option<Execution>, Error> {
        self.wait_for(id, time, true, |_| true).await
    }

    /// Waits like [`Engine::wait`] for an execution of a namespace. One of another namespace is `None` at once, and a failure
    /// of the first read is returned at once.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn wait_in(
        &self,
        namespace: &Namespace,
        id: ExecutionId,
        time: Span,
    ) -> Result<Option<Execution>, Error> {
        self.wait_for(id, time, false, |execution| execution.namespace == *namespace).await
    }

    async fn wait_for(
        &self,
        id: ExecutionId,
        time: Span,
        mut patient: bool,
        is_visible: impl Fn(&Execution) -> bool,
    ) -> Result<Option<Execution>, Error> {
        let shared = &self.shared;
        let watch = shared.watches.watch(id.partition(), Key::Execution(id));
        let mut time_is_up = std::pin::pin!(shared.clock.sleep(time));
        // A caller that does not wait gets the first read, whatever it shows.
        let mut last = time == Span(0);
        let mut turn = watch.look();
        loop {
            tokio::select! {
                biased;
                seen = watch.seen(turn) => {
                    let found = match seen.found {
                        Ok(record) => query::execution(id, record.as_deref().cloned()),
                        Err(error) => Err(error),
                    };
                    let found = found.map(|found| found.filter(&is_visible));
                    let over = match &found {
                        Ok(Some(execution)) => execution.is_finished(),
                        Ok(None) => true,
                        // The end may come, and be read, when the store is available again.
                        Err(error) => !patient || !error.is_temporary(),
                    };
                    if over || last {
                        return found;
                    }
                    patient = true;
                    turn = seen.turn + 1;
                }
                () = shared.stopped() => return Ok(self.get(id).await?.filter(&is_visible)),
                () = &mut time_is_up, if !last => {
                    last = true;
                    turn = watch.look();
                }
            }
        }
    }
}
