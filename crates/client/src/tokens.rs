//! Tokens: text that lets a person answer one wait of an execution, by a link and without an API key.

use crate::call::Ask;
use crate::options::span;
use crate::wire::{MintedToken, TokenInfo, TokenKeyInfo, TokenSignalRequest};
use crate::{Client, Context, Error, Result};
use futures_util::future::BoxFuture;
use onward_core::record::WaitAddress;
use onward_core::{Actor, CommandId, ExecutionId, NewToken, Payload, Signalled, TokenText, WaitName};
use serde::Serialize;
use std::time::Duration;

/// A token that is made when it is awaited.
#[derive(Debug)]
#[must_use = "a token is made when it is awaited"]
pub struct TokenWish {
    client: Client,
    id: ExecutionId,
    new: Result<NewToken>,
}

impl TokenWish {
    fn new(client: &Client, id: ExecutionId, wait: Result<WaitAddress>, actor: &str) -> Self {
        let new = wait.and_then(|wait| Ok(NewToken::new(wait, actor.parse::<Actor>()?)));
        Self { client: client.clone(), id, new }
    }

    /// Allows signals of these names only: the choices of its holder.
    pub fn names<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        if let Ok(new) = &mut self.new {
            match names.into_iter().map(str::parse).collect::<std::result::Result<_, _>>() {
                Ok(names) => new.names = names,
                Err(error) => self.new = Err(Error::from(error)),
            }
        }
        self
    }

    /// Lets it expire after this time instead of seven days.
    pub fn expires_after(mut self, time: Duration) -> Self {
        if let Ok(new) = &mut self.new {
            new.expires_after = Some(span(time));
        }
        self
    }
}

impl IntoFuture for TokenWish {
    type Output = Result<MintedToken>;
    type IntoFuture = BoxFuture<'static, Result<MintedToken>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { client, id, new } = self;
        Box::pin(async move {
            let new = Box::new(new?);
            client.ask::<Box<MintedToken>>(Ask::MintToken { id, new }).await.map(|minted| *minted)
        })
    }
}

/// The signal of a token's holder, which is sent when it is awaited.
#[derive(Debug)]
#[must_use = "a signal is sent when it is awaited"]
pub struct TokenSignal {
    client: Client,
    signal: Result<TokenSignalRequest>,
}

impl TokenSignal {
    /// Names the signal, such as `approved`.
    pub fn name(self, name: &str) -> Self {
        self.with(|signal| {
            signal.name = Some(name.parse()?);
            Ok(())
        })
    }

    /// Lets it carry a value, as JSON.
    pub fn payload<T: Serialize + ?Sized>(self, value: &T) -> Self {
        self.with(|signal| {
            (signal.payload, signal.payload_bytes) = Payload::of(value)?.into_fields();
            Ok(())
        })
    }

    fn with(mut self, change: impl FnOnce(&mut TokenSignalRequest) -> Result<()>) -> Self {
        if let Ok(signal) = &mut self.signal
            && let Err(error) = change(signal)
        {
            self.signal = Err(error);
        }
        self
    }
}

impl IntoFuture for TokenSignal {
    type Output = Result<Signalled>;
    type IntoFuture = BoxFuture<'static, Result<Signalled>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { client, signal } = self;
        Box::pin(async move { client.ask(Ask::SignalByToken(Box::new(signal?))).await })
    }
}

impl Client {
    /// Makes a token with which a person answers a wait of an execution, before or after the execution waits for it. A name
    /// alone means the next wait for it that is not over, `name#2` the second one. [`MintedToken::link`] is what people get.
    ///
    /// ```
    /// # async fn doc(client: onward::Client, id: onward::ExecutionId) -> Result<(), onward::Error> {
    /// let minted = client.mint_token(id, "approval", "ada@example.com").names(["approved", "rejected"]).await?;
    /// println!("{}", minted.link("https://onward.example.com"));
    /// client.signal_by_token(minted.token.clone()).name("approved").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn mint_token(&self, id: ExecutionId, wait: &str, actor: &str) -> TokenWish {
        TokenWish::new(self, id, wait.parse().map_err(Error::from), actor)
    }

    /// Sends the signal of a token's holder; the token says for which wait of which execution, whatever the namespace of this
    /// client. The first signal of a person stands: a second one is answered as the first.
    pub fn signal_by_token(&self, token: impl Into<TokenText>) -> TokenSignal {
        TokenSignal { client: self.clone(), signal: Ok(TokenSignalRequest::new(token.into())) }
    }

    /// Checks a token and describes what it is about; nothing is changed.
    ///
    /// # Errors
    /// `token_invalid`, `token_expired`, a refusal when the execution is gone, or a failure of the store.
    pub async fn describe_token(&self, token: impl Into<TokenText>) -> Result<TokenInfo> {
        self.ask::<Box<TokenInfo>>(Ask::DescribeToken(token.into())).await.map(|info| *info)
    }

    /// The keys that sign tokens, oldest first.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn token_keys(&self) -> Result<Vec<TokenKeyInfo>> {
        self.ask(Ask::TokenKeys).await
    }

    /// Makes a new key that signs tokens. Tokens of the keys before it are good for `grace` longer at the most, by default
    /// seven days; with zero all tokens end at once. Returns all keys, oldest first.
    ///
    /// # Errors
    /// A refusal when too many keys are good, or a failure of the store.
    pub async fn rotate_token_keys(&self, grace: impl Into<Option<Duration>>) -> Result<Vec<TokenKeyInfo>> {
        let command = CommandId(self.chance().id());
        self.ask(Ask::RotateTokenKeys { command, grace: grace.into().map(span) }).await
    }
}

impl Context {
    /// The next wait that this handler comes to for a name, such as `approval#2`: what a token must name that is made before the
    /// handler waits. A token belongs into the execution that sends it, which gets the wait and the person:
    ///
    /// ```
    /// # use onward::{Context, Failed};
    /// async fn release(ctx: Context, version: String) -> Result<(), Failed> {
    ///     let ask = (ctx.id(), ctx.next_wait("approval")?, "ada@example.com");
    ///     let key = format!("{}-ask", ctx.id());
    ///     ctx.client().submit("send-link", &ask).idempotency_key(&key).await?;
    ///     ctx.wait_for::<()>("approval").named(["approved"]).await?;
    ///     Ok(())
    /// }
    ///
    /// async fn send_link(ctx: Context, (id, wait, person): (onward::ExecutionId, String, String)) -> Result<(), Failed> {
    ///     let minted = ctx.client().mint_token(id, &wait, &person).names(["approved", "rejected"]).await?;
    ///     println!("mail to {person}: {}", minted.link("https://onward.example.com"));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// When the name is none.
    pub fn next_wait(&self, name: &str) -> Result<String> {
        Ok(self.hub().coming(&name.parse::<WaitName>()?).to_string())
    }
}
