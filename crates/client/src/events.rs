//! Events as a client reads them: from any point on, page by page, and waited for.

use crate::call::{Ask, EventsPage};
use crate::{Client, Result};
use onward_core::Span;
use onward_engine::{EventFilter, Told};
use std::collections::VecDeque;

/// Events asked for at once.
const PAGE: usize = 256;
/// How long one call waits for an event before it is made again.
const WAIT: Span = Span::seconds(30);

/// Reads events from a point on and waits for more. Made by [`Client::events`].
#[derive(Debug)]
pub struct Events {
    client: Client,
    filter: EventFilter,
    cursor: Option<String>,
    read: VecDeque<Told>,
}

impl Client {
    /// Reads the events of this namespace behind a cursor, or from the oldest one on, and waits for more. The filter's
    /// namespace is this client's.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), onward::Error> {
    /// # let client = onward::Client::open("memory:").await?;
    /// use onward::{EventFilter, Told};
    /// client.submit("greet", "Ada").await?;
    /// let mut events = client.events(EventFilter::default(), None);
    /// if let Some(Told::Event { event, cursor }) = events.next().await? {
    ///     println!("{} {:?}; go on after {cursor}", event.what.name(), event.execution());
    /// }
    /// # client.shutdown().await }
    /// ```
    #[must_use]
    pub fn events(&self, filter: EventFilter, cursor: Option<String>) -> Events {
        Events { client: self.clone(), filter, cursor, read: VecDeque::new() }
    }
}

impl Events {
    /// The next event, as soon as there is one; nothing when the client is shut down.
    ///
    /// # Errors
    /// A failure of the store, or a cursor that the store did not make. The next call goes on where this one failed.
    pub async fn next(&mut self) -> Result<Option<Told>> {
        loop {
            match self.ask(WAIT).await {
                Ok(Some(told)) => return Ok(Some(told)),
                Ok(None) => {}
                Err(error) if error.is_shut_down() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next event if there is one already.
    ///
    /// # Errors
    /// As [`Events::next`].
    pub async fn next_now(&mut self) -> Result<Option<Told>> {
        self.ask(Span(0)).await
    }

    async fn ask(&mut self, wait: Span) -> Result<Option<Told>> {
        if self.read.is_empty() {
            let (filter, cursor) = (self.filter.clone(), self.cursor.clone());
            let page: EventsPage = self.client.ask(Ask::Events { filter, cursor, wait, limit: PAGE }).await?;
            self.read.extend(page.told);
            self.cursor = page.cursor.or(self.cursor.take());
        }
        Ok(self.read.pop_front())
    }
}
