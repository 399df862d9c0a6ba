//! Submits all sorts of work, repeats itself when unsure, and uses keys that others use too.

use super::{Caller, boomerang};
use crate::clock::sleep;
use crate::settings::{KINDS, class};
use futures_util::future::join_all;
use onward_core::{
    Category, IdempotencyKey, Kind, Lane, Millis, Name, Namespace, NewExecution, OnExhausted, Payload, Policy,
    RetryPolicy, Span, Submit, Submitted, TagKey, TagValue, TraceContext, UniqueKey, When, limits,
};
use std::collections::BTreeMap;

/// Keys that all submitters of a run share.
const KEYS: u64 = 12;
/// Unique keys that they share.
const UNIQUE_KEYS: u64 = 4;

/// Somebody who submits.
#[derive(Debug)]
pub(crate) struct Submitter(pub(crate) Caller);

impl Submitter {
    /// Submits until the run has had enough commands.
    pub(crate) async fn run(mut self) {
        while self.0.world.hub.commands() < self.0.world.settings.faulty_commands() {
            sleep(self.0.dice.span(0, 700)).await;
            if self.0.dice.percent(6) {
                self.burst().await;
            } else if let Some(new) = self.draw() {
                self.submit(&new).await;
            }
        }
    }

    /// Submits many at once, which share batches, by one call or by many.
    async fn burst(&mut self) {
        let count = self.0.dice.between(2, 12);
        if self.0.dice.percent(50) {
            // The id of a signal follows from that of its call, which is not known here.
            let plain = |new| NewExecution { signal: None, ..new };
            let many: Vec<NewExecution> = (0..count).filter_map(|_| self.draw()).map(plain).collect();
            if let Some(process) = self.0.world.any(&mut self.0.dice) {
                // Its ids are not known here, so a caller that is unsure cannot repeat it.
                self.0.submit_many(&process, &many).await;
            }
            return;
        }
        let many = (0..count).map(|_| Self(self.0.split())).collect::<Vec<_>>();
        join_all(many.into_iter().map(Self::once)).await;
    }

    /// Submits once.
    pub(crate) async fn once(mut self) {
        if let Some(new) = self.draw() {
            self.submit(&new).await;
        }
    }

    /// Submits something to a lane that any worker can do at once.
    pub(crate) async fn once_to(mut self, namespace: &Namespace, lane: &Lane) {
        if let Some(new) = self.draw() {
            let (namespace, lane, requires) = (namespace.clone(), lane.clone(), class(&[]));
            let new = NewExecution {
                namespace,
                lane,
                requires,
                unique_key: None,
                signal: None,
                idempotency_key: None,
                ..new
            };
            self.submit(&new).await;
        }
    }

    /// Something with a unique key that others use too.
    pub(crate) fn draw_unique(&mut self) -> Option<NewExecution> {
        let key = UniqueKey::parse(&format!("only/{}", self.0.dice.below(UNIQUE_KEYS))).ok()?;
        let mut new = NewExecution { unique_key: Some(key), idempotency_key: None, ..self.draw()? };
        // A signal changes the one that has the key; most rivals only look.
        if !self.0.fresh.percent(25) {
            new.signal = None;
        }
        Some(new)
    }

    /// Submits this once, without repeating it.
    pub(crate) async fn submit_one(&mut self, new: &NewExecution) {
        let Some(process) = self.0.world.any(&mut self.0.dice) else { return };
        let submit = process.engine.address(new.clone());
        drop(self.0.run(&process, &submit).await);
    }

    /// Submits something under every key that was ever used.
    pub(crate) async fn use_all_keys(mut self) {
        for key in 0..KEYS {
            if let Some(new) = self.draw().and_then(|new| self.keyed(new, key)) {
                self.submit(&new).await;
            }
        }
    }

    /// Submits what nobody keeps.
    pub(crate) async fn boomerang(mut self) -> Option<Submitted> {
        let new =
            NewExecution { kind: boomerang()?, ..NewExecution::new(boomerang()?, super::large(&mut self.0.dice)?) };
        self.submit(&new).await
    }

    /// Submits under one pair of ids until there is an answer, and sometimes once more.
    async fn submit(&mut self, new: &NewExecution) -> Option<Submitted> {
        let mut addressed: Option<Submit> = None;
        let mut acknowledged: Option<Submitted> = None;
        for _ in 0..6 {
            let Some(process) = self.0.world.any(&mut self.0.dice) else {
                sleep(Span(200)).await;
                continue;
            };
            let submit = addressed.get_or_insert_with(|| process.engine.address(new.clone()));
            match self.0.run(&process, submit).await {
                Some(Ok(submitted)) => {
                    // Who was told of another's execution may create its own when that one has ended.
                    let differs =
                        |first: Submitted| first.id != submitted.id && (first.created || new.unique_key.is_none());
                    let removed = |first: Submitted| self.0.world.hub.check(|checker| checker.is_removed(first.id));
                    if acknowledged.is_some_and(|first| differs(first) && !removed(first))
                        && !self.0.world.settings.is_forgetful()
                    {
                        let what = format!("one submit was acknowledged as {} and as {acknowledged:?}", submitted.id);
                        self.0.world.hub.violate("repeats", what);
                    }
                    acknowledged = Some(submitted);
                    if self.0.errs(30) {
                        self.0.look_up(&process, submitted.id).await;
                    }
                    // A caller whose answer got lost on the last stretch says it all again.
                    if !self.0.errs(25) {
                        return acknowledged;
                    }
                }
                Some(Err(error)) if !error.is_temporary() => return acknowledged,
                _ => sleep(self.0.dice.span(10, 1_500)).await,
            }
        }
        acknowledged
    }

    /// Something new; where attempts wait, some carry a signal to who has their unique key, and some are held once exhausted.
    fn draw(&mut self) -> Option<NewExecution> {
        let mut new = self.draw_plain()?;
        let Some(odds) = self.0.world.settings.waiting else { return Some(new) };
        if new.idempotency_key.is_none() && self.0.fresh.percent(odds.held_exhausted) {
            new.policy.on_exhausted = Some(OnExhausted::Pause);
        }
        if new.idempotency_key.is_none() && self.0.fresh.percent(8) {
            let key = UniqueKey::parse(&format!("only/{}", self.0.fresh.below(UNIQUE_KEYS))).ok()?;
            new.unique_key = Some(key);
        }
        if new.unique_key.is_some() && self.0.fresh.percent(50) {
            new.signal = Some(Box::new(super::new_signal(&mut self.0.fresh, None)));
        }
        Some(new)
    }

    fn draw_plain(&mut self) -> Option<NewExecution> {
        let settings = self.0.world.settings.clone();
        let now = self.0.world.hub.now();
        let dice = &mut self.0.dice;
        let mut new =
            NewExecution::new(Kind::parse(dice.pick(KINDS)?).ok()?, Payload::of(&dice.below(1_000_000)).ok()?);
        new.namespace = dice.pick(&settings.namespaces)?.clone();
        new.lane = dice.pick(&settings.lanes)?.clone();
        new.priority = if dice.percent(70) { 0 } else { dice.between(1, 9_000) as u16 };
        // Some come from a trace, which their key may share with work from another one.
        if new.priority % 2 == 1 {
            new.trace = TraceContext::new(u128::from(new.priority), now.0 + 1, 1).ok();
        }
        new.set_when(when(dice.below(20), dice.between(1, 12_000), now));
        new.requires = class(match dice.below(20) {
            0..=13 => &[],
            14..=16 => &["gpu"],
            17..=18 => &["eu", "gpu"],
            // Nobody can do this; it must wait and hold nobody up.
            _ => &["quantum"],
        });
        match dice.below(20) {
            0 => new.set_input(Payload::bytes("text/plain", vec![b'x'; dice.between(1, 100) as usize]).ok()?),
            1..=2 => new.set_input(super::large(dice)?),
            _ => {}
        }
        if dice.percent(20) {
            new.tags
                .insert(TagKey::parse("team").ok()?, TagValue::parse(["red", "blue"][dice.below(2) as usize]).ok()?);
        }
        new.policy = Policy {
            retry: Some(retry(dice.below(8))),
            attempt_timeout: dice.percent(12).then(|| dice.span(1_000, 6_000)),
            max_reclaims: dice.percent(12).then(|| dice.below(3) as u32),
            max_replays: dice.percent(20).then(|| dice.below(2) as u32),
            retention: (settings.long_night && dice.percent(80))
                .then(|| Span(limits::RETENTION_MIN.0 + dice.below(20_000))),
            dedup_window: None,
            on_exhausted: None,
        };
        new.expires_after = dice.percent(10).then(|| dice.span(500, 25_000));
        if dice.percent(12) {
            new.unique_key = Some(UniqueKey::parse(&format!("only/{}", dice.below(UNIQUE_KEYS))).ok()?);
            return Some(new);
        }
        if dice.percent(25) {
            let key = dice.below(KEYS);
            return self.keyed(new, key);
        }
        Some(new)
    }

    /// The same key mostly asks for the same, so that its first execution is found.
    fn keyed(&mut self, new: NewExecution, key: u64) -> Option<NewExecution> {
        let settings = &self.0.world.settings;
        let in_time = if self.0.dice.percent(10) { (new.delay, new.expires_after) } else { (None, None) };
        let input = if self.0.dice.percent(15) { Payload::of("something else") } else { Payload::of(&key) };
        let mut keyed = NewExecution {
            lane: settings.lanes.first()?.clone(),
            delay: in_time.0,
            run_at: None,
            expires_after: in_time.1,
            priority: 0,
            tags: BTreeMap::new(),
            unique_key: None,
            signal: None,
            requires: class(&[]),
            policy: Policy {
                dedup_window: settings.long_night.then_some(limits::DEDUP_WINDOW_MIN),
                retention: settings.long_night.then_some(limits::RETENTION_MIN),
                ..Policy::default()
            },
            idempotency_key: Some(IdempotencyKey::parse(&format!("order/{key}")).ok()?),
            ..new
        };
        keyed.set_input(input.ok()?);
        Some(keyed)
    }
}

fn when(kind: u64, ms: u64, now: Millis) -> When {
    match kind {
        0..=12 => When::Now,
        13..=15 => When::After(Span(ms)),
        16..=17 => When::At(now + Span(ms)),
        18 => When::At(now - Span(ms)),
        // Within the grace for slow networks, beyond it, or so near its end that the answer changes on the way.
        _ if ms.is_multiple_of(2) => When::At(now - Span(ms * 6)),
        _ => When::At(now + Span(ms % 400) - limits::PAST_GRACE),
    }
}

fn retry(kind: u64) -> RetryPolicy {
    let (first, longest, jitter) = match kind % 4 {
        0 => (0, 0, false),
        // A longest pause below the first counts as the first.
        1 => (800, 300, true),
        _ => (300, 4_000, kind.is_multiple_of(2)),
    };
    let (first_pause, longest_pause) = (Span(first), Span(longest));
    let categories = if kind == 5 { vec![Category::transient()] } else { Vec::new() };
    RetryPolicy { max_retries: (kind % 4) as u32, first_pause, longest_pause, jitter, categories }
}
