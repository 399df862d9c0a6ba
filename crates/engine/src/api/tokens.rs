//! Tokens: made for one wait, checked by the keys alone, and used to send the signal of their holder.

use crate::api::{query, waits};
use crate::{Engine, Error};
use onward_core::record::{
    Execution, KeySecret, Readiness, SignalRecord, State, TokenKeys, WaitAddress, WaitId, WaitRef, Waiting,
};
use onward_core::{
    Actor, Blob, CommandId, ExecutionId, Json, Key, Millis, Namespace, NewSignal, NewToken, Proof, Rejection,
    RotateTokenKeys, Signal, SignalName, Signalled, Span, TokenBody, TokenKeyId, TokenText, limits,
};

/// Waits for one name that are looked for in one read.
const WAITS_READ: u32 = 64;

/// How often a signal is tried that is not committed while its proof is certain.
const PROOFS_MAX: u32 = 8;

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

/// What a signal says; the token by which it is sent has its wait and its sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalContent {
    /// Name of the signal.
    pub name: Option<SignalName>,
    /// What it carries, if that is JSON.
    pub payload: Option<Json>,
    /// What it carries, if that is not JSON.
    pub payload_bytes: Option<Blob>,
}

impl VerifiedToken {
    fn proof(&self) -> Proof {
        let TokenBody { wait, actor, names, by, .. } = self.body.clone();
        Proof { wait, actor, names, not_after: self.not_after, minted_by: by }
    }
}

impl Engine {
    /// Makes a token for a wait of an execution, in the name of a caller. The first one of a store makes the first key, too.
    ///
    /// # Errors
    /// A refusal when there is no such execution or it has ended, or a failure of the store.
    pub async fn mint_token(
        &self,
        namespace: &Namespace,
        id: ExecutionId,
        new: &NewToken,
        by: Option<Actor>,
    ) -> Result<Minted, Error> {
        let now = self.now();
        let wanted = new.expires_at(now)?;
        let execution = query::get(&self.shared, id).await?.filter(|execution| execution.namespace == *namespace);
        let execution = execution.ok_or(Rejection::ExecutionNotFound(id))?;
        if let State::Finished(finished) = &execution.state {
            return Err(Rejection::Finished { execution: id, state: finished.outcome.public() }.into());
        }
        let wait = WaitId { life: execution.life, wait: self.next_wait(&execution, &new.wait).await? };
        // Those who make tokens are known, so that the keys may be read for each.
        let mut ring = self.shared.read_tokens().await?;
        if ring.keys.signs(now).is_none() {
            let before = self.shared.before_tokens();
            let keys = self.run(self.rotation(self.command_id(), None, None)).await?;
            ring = self.shared.learn_tokens(*keys, before);
        }
        // The newest key signs what the one before it would outlive, although some processes will read it only in a second.
        let signs = ring.keys.signs(now).filter(|key| key.expires_at.is_none_or(|end| wanted <= end));
        let key = signs.or(ring.keys.keys.last()).ok_or(Rejection::TokenSecretMissing)?;
        let signing = ring.signing(key.id).ok_or(Rejection::TokenSecretMissing)?;
        let expires_at = key.expires_at.map_or(wanted, |end| end.min(wanted));
        let (namespace, names, actor) = (namespace.clone(), new.names.clone(), new.actor.clone());
        let body = TokenBody { key: key.id, namespace, execution: id, wait, names, actor, by, expires_at };
        Ok(Minted { token: body.sign(signing), body })
    }

    /// The wait that an address means: the one that it names, or the next for its name that is not over.
    async fn next_wait(&self, execution: &Execution, address: &WaitAddress) -> Result<WaitRef, Error> {
        // A handler that runs again makes its tokens again, also for waits that are over by now.
        if let Some(n) = address.n {
            return Ok(WaitRef::new(address.name.clone(), n));
        }
        if let State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), .. }) = &execution.state {
            let open = |wait: &&&WaitRef| wait.name == address.name && !suspension.over.contains_key(**wait);
            if let Some(open) = suspension.condition.waits().iter().find(open) {
                return Ok((*open).clone());
            }
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
        let (verified, _) = self.authenticate(token).await?;
        if verified.not_after <= self.now() {
            return Err(Rejection::TokenExpired { at: verified.not_after }.into());
        }
        Ok(verified)
    }

    /// What a key has signed, expired or not; and how long that is certain, by the store's time, since its key may end meanwhile.
    async fn authenticate(&self, token: &TokenText) -> Result<(VerifiedToken, Millis), Error> {
        let ring = self.shared.tokens().await?;
        let body = TokenBody::verify(token, |id| ring.signing(id)).ok_or(Rejection::TokenInvalid)?;
        let key_ends = ring.key(body.key).and_then(|key| key.expires_at);
        let not_after = key_ends.map_or(body.expires_at, |end| end.min(body.expires_at));
        Ok((VerifiedToken { body, not_after }, ring.read_at + limits::TOKEN_PROOF_AGE))
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
    /// `token_invalid`, `token_expired`, another refusal, or a failure of the store.
    pub async fn signal_by_token(&self, token: &TokenText, signal: &SignalContent) -> Result<Signalled, Error> {
        let mut tries = 0..PROOFS_MAX;
        loop {
            let (token, certain_until) = self.authenticate(token).await?;
            let ends = token.not_after;
            // A process that stands still meanwhile must not act on keys that were ended: then they are read again.
            let proof = Proof { not_after: ends.min(certain_until), ..token.proof() };
            let TokenBody { namespace, execution, wait, .. } = token.body;
            let SignalContent { name, payload, payload_bytes } = signal.clone();
            let signal = NewSignal { name, payload, payload_bytes, ..NewSignal::new(wait.wait) };
            let (command, proof, signal) = (self.command_id(), Some(proof), Box::new(signal));
            match self.run(Signal { command, namespace, execution, by: None, proof, signal }).await {
                Err(Error::Refused(Rejection::TokenExpired { at })) if at < ends => {
                    tries.next().ok_or(Error::Contended)?;
                    self.shared.token_ring.forget();
                }
                answer => return answer,
            }
        }
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
        let before = self.shared.before_tokens();
        let keys = self.run(self.rotation(command, Some(grace), by)).await?;
        Ok(self.shared.learn_tokens(*keys, before).keys.clone())
    }

    fn rotation(&self, command: CommandId, grace: Option<Span>, by: Option<Actor>) -> RotateTokenKeys {
        let chance = &self.shared.chance;
        let (id, secret) = (TokenKeyId(chance.id()), KeySecret(chance.secret()));
        let root = self.shared.options.token_secret.as_ref().map(onward_core::RootSecret::fingerprint);
        RotateTokenKeys { command, id, secret, root, grace, by }
    }
}
