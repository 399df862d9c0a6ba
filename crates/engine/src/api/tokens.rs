//! Tokens: made for one wait, checked by the keys alone, and used to send the signal of their holder.

use crate::api::{query, waits};
use crate::{Engine, Error};
use onward_core::record::{
    Execution, KeySecret, Readiness, SignalRecord, State, TokenKeys, WaitAddress, WaitId, WaitRef, Waiting,
};
use onward_core::{
    Actor, CommandId, ExecutionId, Key, Millis, Namespace, NewSignal, NewToken, Proof, Rejection, RotateTokenKeys,
    Signal, Signalled, Span, TokenBody, TokenKeyId, TokenText, limits,
};

/// Waits for one name that are looked for in one read.
const WAITS_READ: u32 = 64;

/// A token that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minted {
    /// The token. It is not stored.
    pub token: TokenText,
    /// What it says.
    pub body: TokenBody,
}

/// A token that one of the keys signed and that has not expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedToken {
    /// What it says.
    pub body: TokenBody,
    /// From this time on it is good for nothing: it has expired, or its key has.
    pub not_after: Millis,
}

/// What a token is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSubject {
    /// The execution.
    pub execution: Execution,
    /// Whether the wait is over, so that it takes no more signals.
    pub over: bool,
    /// The signal that the holder has sent already.
    pub sent: Option<SignalRecord>,
}

impl VerifiedToken {
    fn proof(&self) -> Proof {
        let TokenBody { wait, actor, names, .. } = self.body.clone();
        Proof { wait, actor, names, not_after: self.not_after }
    }
}

impl Engine {
    /// Makes a token for a wait of an execution. The first one of a store makes the first key, too.
    ///
    /// # Errors
    /// A refusal when there is no such execution or it has ended, or a failure of the store.
    pub async fn mint_token(&self, namespace: &Namespace, id: ExecutionId, new: &NewToken) -> Result<Minted, Error> {
        let now = self.now();
        let expires_at = new.expires_at(now)?;
        let execution = query::get(&self.shared, id).await?.filter(|execution| execution.namespace == *namespace);
        let execution = execution.ok_or(Rejection::ExecutionNotFound(id))?;
        if let State::Finished(finished) = &execution.state {
            return Err(Rejection::Finished { execution: id, state: finished.outcome.public() }.into());
        }
        let wait = WaitId { life: execution.life, wait: self.next_wait(&execution, &new.wait).await? };
        let mut ring = self.shared.tokens().await?;
        if ring.keys.signs(now).is_none() {
            let keys = self.run(self.rotation(self.command_id(), None, None)).await?;
            ring = self.shared.learn_tokens(*keys).await;
        }
        let key = ring.keys.signs(now).ok_or(Rejection::TokenSecretMissing)?.id;
        let signing = ring.signing(key).ok_or(Rejection::TokenSecretMissing)?;
        let (namespace, names, actor) = (namespace.clone(), new.names.clone(), new.actor.clone());
        let body = TokenBody { key, namespace, execution: id, wait, names, actor, expires_at };
        Ok(Minted { token: body.sign(signing), body })
    }

    /// The wait that an address means: the one that it names, or the next for its name that is not over.
    async fn next_wait(&self, execution: &Execution, address: &WaitAddress) -> Result<WaitRef, Error> {
        // A handler that runs again makes its tokens again, also for waits that are over by now.
        if let Some(n) = address.n {
            return Ok(WaitRef::new(address.name.clone(), n));
        }
        for first in (1..=limits::TOKEN_WAITS_MAX).step_by(WAITS_READ as usize) {
            let waits = (first..first + WAITS_READ).map(|n| WaitRef::new(address.name.clone(), n));
            let waits: Vec<WaitRef> = waits.collect();
            let over = self.is_over(execution, &waits).await?;
            if let Some((wait, _)) = waits.into_iter().zip(over).find(|(_, over)| !over) {
                return Ok(wait);
            }
        }
        let why =
            format!("{} was waited for more than {} times; name one of them", address.name, limits::TOKEN_WAITS_MAX);
        Err(Rejection::InvalidArgument { field: "wait", why }.into())
    }

    /// Whether waits of the life that an execution is in are over.
    async fn is_over(&self, execution: &Execution, waits: &[WaitRef]) -> Result<Vec<bool>, Error> {
        let ended = |wait: &WaitRef| match &execution.state {
            State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), .. }) => {
                suspension.over.contains_key(wait)
            }
            _ => false,
        };
        if execution.waits.as_ref().is_none_or(|waits| waits.over == 0) {
            return Ok(waits.iter().map(ended).collect());
        }
        let key = |wait: &WaitRef| Key::Wait(execution.id, WaitId { life: execution.life, wait: wait.clone() });
        let keys: Vec<Key> = waits.iter().map(key).collect();
        let records = query::records(&self.shared, execution.id.partition(), &keys).await?;
        Ok(waits.iter().zip(records).map(|(wait, record)| record.is_some() || ended(wait)).collect())
    }

    /// Checks a token by the keys alone: nothing else is read, whatever the text is.
    ///
    /// # Errors
    /// `token_invalid` for everything that no key has signed, `token_expired`, or a failure of the store.
    pub async fn verify_token(&self, token: &TokenText) -> Result<VerifiedToken, Error> {
        let ring = self.shared.tokens().await?;
        let body = TokenBody::verify(token, |id| ring.signing(id)).ok_or(Rejection::TokenInvalid)?;
        let key_ends = ring.key(body.key).and_then(|key| key.expires_at);
        let not_after = key_ends.map_or(body.expires_at, |end| end.min(body.expires_at));
        if not_after <= self.now() {
            return Err(Rejection::TokenExpired { at: not_after }.into());
        }
        Ok(VerifiedToken { body, not_after })
    }

    /// Reads what a token is about.
    ///
    /// # Errors
    /// A refusal when the execution is gone, or a failure of the store.
    pub async fn token_subject(&self, token: &VerifiedToken) -> Result<TokenSubject, Error> {
        let TokenBody { namespace, execution: id, wait, .. } = &token.body;
        let execution = query::get(&self.shared, *id).await?.filter(|execution| execution.namespace == *namespace);
        let execution = execution.ok_or(Rejection::ExecutionNotFound(*id))?;
        let is_past = execution.life != wait.life || execution.is_finished();
        let over = is_past || self.is_over(&execution, std::slice::from_ref(&wait.wait)).await?.contains(&true);
        let sent = waits::signal(&self.shared, &execution, token.proof().signal_id()).await?;
        Ok(TokenSubject { execution, over, sent })
    }

    /// Sends the signal of a token's holder, for the wait of the token; a second signal is answered as the first one.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn signal_by_token(&self, token: &VerifiedToken, signal: NewSignal) -> Result<Signalled, Error> {
        let TokenBody { namespace, execution, .. } = token.body.clone();
        let (command, proof) = (self.command_id(), Some(token.proof()));
        self.run(Signal { command, namespace, execution, by: None, proof, signal: Box::new(signal) }).await
    }

    /// The keys that sign tokens, oldest first.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn token_keys(&self) -> Result<TokenKeys, Error> {
        Ok(self.shared.read_tokens().await?.keys.clone())
    }

    /// Makes a new key, which signs from now on; tokens of those before it are good for `grace` at the most.
    ///
    /// # Errors
    /// A refusal when too many keys are good, or a failure of the store.
    pub async fn rotate_token_keys(
        &self,
        command: CommandId,
        grace: Span,
        by: Option<Actor>,
    ) -> Result<TokenKeys, Error> {
        let keys = self.run(self.rotation(command, Some(grace), by)).await?;
        Ok(self.shared.learn_tokens(*keys).await.keys.clone())
    }

    fn rotation(&self, command: CommandId, grace: Option<Span>, by: Option<Actor>) -> RotateTokenKeys {
        let mut secret = [0; 32];
        secret[..16].copy_from_slice(&self.shared.chance.id().to_le_bytes());
        secret[16..].copy_from_slice(&self.shared.chance.id().to_le_bytes());
        let (id, secret) = (TokenKeyId(self.shared.chance.id()), KeySecret(secret));
        let root = self.shared.options.token_secret.as_ref().map(onward_core::RootSecret::fingerprint);
        RotateTokenKeys { command, id, secret, root, grace, by }
    }
}
