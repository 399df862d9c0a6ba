//! Sending signals to executions.

use crate::call::Ask;
use crate::wire::WaitsInfo;
use crate::{Client, Error, Result};
use futures_util::future::BoxFuture;
use onward_core::{CommandId, ExecutionId, NewSignal, Payload, SignalId, Signalled};
use serde::Serialize;

/// A signal that is sent when it is awaited.
#[derive(Debug)]
#[must_use = "a signal is sent when it is awaited"]
pub struct Signal {
    client: Client,
    id: ExecutionId,
    signal: Result<NewSignal>,
}

impl Client {
    /// Sends a signal to an execution, to the name that its handler waits for, or will wait for: one that comes early is
    /// kept. The name alone reaches whichever wait for it comes next; `name#2` reaches the second one only.
    ///
    /// ```
    /// # async fn doc(client: onward::Client, id: onward::ExecutionId) -> Result<(), onward::Error> {
    /// client.signal(id, "paid").payload(&1_200).key("event-17").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn signal(&self, id: ExecutionId, wait: &str) -> Signal {
        let signal = wait.parse::<onward_core::record::WaitAddress>().map(NewSignal::new).map_err(Error::from);
        Signal { client: self.clone(), id, signal }
    }

    /// Sends the same signal to many executions, each on its own; the answers come in the same order.
    ///
    /// # Errors
    /// A failure that kept all of them from being tried.
    pub async fn signal_many(&self, ids: Vec<ExecutionId>, signal: NewSignal) -> Result<Vec<Result<Signalled>>> {
        let (command, signal) = (CommandId(self.chance().id()), Box::new(signal));
        self.ask(Ask::SignalMany { command, ids, signal }).await
    }

    /// Lists what an execution waits for, what it waited for, and the signals that were sent to it.
    ///
    /// # Errors
    /// A refusal when there is no such execution, or a failure of the store.
    pub async fn waits(&self, id: ExecutionId) -> Result<WaitsInfo> {
        self.ask::<Box<WaitsInfo>>(Ask::Waits(id)).await.map(|waits| *waits)
    }

    /// Reads what a signal carries; nothing when there is no such signal.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn signal_payload(&self, id: ExecutionId, signal: SignalId) -> Result<Option<Payload>> {
        self.ask(Ask::SignalPayload { id, signal }).await
    }
}

impl Signal {
    /// Names the signal, such as `approved`; a wait may take some names only.
    pub fn name(self, name: &str) -> Self {
        self.with(|signal| {
            signal.name = Some(name.parse()?);
            Ok(())
        })
    }

    /// Lets it carry a value, as JSON.
    pub fn payload<T: Serialize + ?Sized>(self, value: &T) -> Self {
        self.with(|signal| {
            signal.set_payload(Payload::of(value)?);
            Ok(())
        })
    }

    /// Lets it carry any bytes.
    pub fn bytes(self, content_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.with(|signal| {
            signal.set_payload(Payload::bytes(content_type, bytes.into())?);
            Ok(())
        })
    }

    /// Makes a second signal with the same key to the same wait name the same signal, for as long as the execution exists:
    /// for webhooks that are sent again.
    pub fn key(self, key: &str) -> Self {
        self.with(|signal| {
            signal.idempotency_key = Some(key.parse()?);
            Ok(())
        })
    }

    fn with(mut self, change: impl FnOnce(&mut NewSignal) -> Result<()>) -> Self {
        if let Ok(signal) = &mut self.signal
            && let Err(error) = change(signal)
        {
            self.signal = Err(error);
        }
        self
    }
}

impl IntoFuture for Signal {
    type Output = Result<Signalled>;
    type IntoFuture = BoxFuture<'static, Result<Signalled>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { client, id, signal } = self;
        Box::pin(async move {
            let command = CommandId(client.chance().id());
            client.ask(Ask::Signal { command, id, signal: Box::new(signal?) }).await
        })
    }
}
