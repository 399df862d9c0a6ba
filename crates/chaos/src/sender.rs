//! One sender: a process that submits work that waits, and sends the signals of all such work, its own and others'.
//!
//! A sender is killed like any other process. What it had not sent is sent by the next one, which finds suspended work in
//! the store and reads in its input what it waits for. The keys of signals follow from the script, so signals that were
//! sent before are repeats.

use crate::args::SenderArgs;
use crate::child::{Wish, wanted, wishes};
use crate::clock::{now, sleep};
use crate::engine::{ERROR_PAUSE, open};
use crate::output::{tell, tell_failed};
use crate::script::{Outgoing, Script};
use crate::waits::{KIND, Sent};
use crate::work;
use onward::call::Ending;
use onward::{Client, ExecutionId, FindFilter, PublicState, RetryPolicy, Span};
use onward_checker::{Answered, Line, NotTaken};
use onward_core::limits;
use onward_engine::clock::Chance;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The longest pause between two submits.
const SUBMIT_PAUSE_MAX: u64 = 250;
/// The longest pause before a signal: some come before the wait, some while the execution is suspended.
const SEND_PAUSE_MAX: u64 = 800;
/// How much later all signals of every other execution are sent, so that it is suspended by then.
const SUSPENDED_BY: u64 = 700;
/// The pause between two searches for suspended work.
const SWEEP_PAUSE: u64 = 700;
/// How long a suspended execution is left to the sender that submitted it, before another sender takes it over.
const SWEEP_AFTER: u64 = 2_000;
/// The longest time between two looks at whether an execution has ended.
const END_PAUSE: Duration = Duration::from_secs(5);
/// One signal in this many has a payload that is a record of its own.
const LARGE_ONE_OF: u64 = 8;
/// How much that one carries.
const LARGE: usize = 3_000;

/// What the tasks of a sender share.
#[derive(Debug)]
struct Shared {
    client: Client,
    chance: Chance,
    wishes: watch::Receiver<Wish>,
    /// Executions whose signals this process sends or has sent.
    followed: Mutex<BTreeSet<ExecutionId>>,
}

pub(crate) async fn run(args: SenderArgs) -> Result<(), onward::Error> {
    let wishes = wishes();
    let client = open(&args.store).await?;
    let (chance, followed) = (Chance::seeded(args.seed), Mutex::default());
    let shared = Arc::new(Shared { client: client.clone(), chance, wishes, followed });
    let mut tasks = JoinSet::new();
    tasks.spawn(submit(shared.clone()));
    tasks.spawn(sweep(shared));
    while tasks.join_next().await.is_some() {}
    client.shutdown().await
}

/// Submits until the driver has enough, and sees each execution through.
async fn submit(shared: Arc<Shared>) {
    let mut followers = JoinSet::new();
    while *shared.wishes.borrow() == Wish::Work {
        let script = Script::draw(&shared.chance);
        let lane = if shared.chance.word().is_multiple_of(4) { work::GATED_LANE } else { work::LANE };
        let retry = RetryPolicy { jitter: true, ..RetryPolicy::fixed(5, Span(100)) };
        let asked = now();
        match shared.client.submit(KIND, &script).lane(lane).retry(retry).await {
            Ok(submitted) => {
                tell(&Line::Submitted { execution: submitted.id.to_string(), asked, at: now() });
                if shared.begin(submitted.id) {
                    followers.spawn(follow(shared.clone(), submitted.id, script));
                }
            }
            Err(error) => {
                tell_failed("submit", error.code());
                sleep(ERROR_PAUSE).await;
            }
        }
        while followers.try_join_next().is_some() {}
        sleep(shared.chance.word() % SUBMIT_PAUSE_MAX).await;
    }
    while followers.join_next().await.is_some() {}
}

/// Finds suspended work whose sender is gone, until the end.
async fn sweep(shared: Arc<Shared>) {
    let (mut wishes, mut followers) = (shared.wishes.clone(), JoinSet::new());
    while *wishes.borrow() < Wish::End {
        match suspended(&shared).await {
            Ok(found) => {
                for (id, script) in found {
                    if shared.begin(id) {
                        followers.spawn(follow(shared.clone(), id, script));
                    }
                }
            }
            Err(error) => tell_failed("sweep", error.code()),
        }
        while followers.try_join_next().is_some() {}
        tokio::select! {
            () = sleep(SWEEP_PAUSE) => {}
            () = wanted(&mut wishes, Wish::End) => {}
        }
    }
    while followers.join_next().await.is_some() {}
}

/// Suspended executions that this process does not follow.
async fn suspended(shared: &Shared) -> Result<Vec<(ExecutionId, Script)>, onward::Error> {
    let filter =
        FindFilter { states: [PublicState::Suspended].into(), kind: Some(KIND.parse()?), ..FindFilter::default() };
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = shared.client.find(&filter, after.as_deref(), limits::PAGE_MAX).await?;
        let old = shared.client.store_time().0.saturating_sub(SWEEP_AFTER);
        for execution in page.executions.iter().filter(|execution| execution.created_at.0 < old) {
            if shared.is_new(execution.id)
                && let Some(input) = shared.client.input(execution.id).await?
            {
                found.push((execution.id, input.read()?));
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

/// Sends the signals of an execution, each at its own time, and some again after it has ended.
async fn follow(shared: Arc<Shared>, id: ExecutionId, script: Script) {
    tell(&Line::Script(onward_checker::Script { execution: id.to_string(), needs: script.needs() }));
    let signals = script.signals();
    let mut sending = JoinSet::new();
    let least = if shared.chance.word().is_multiple_of(2) { SUSPENDED_BY } else { 0 };
    for one in signals.clone() {
        let (shared, chance) = (shared.clone(), Chance::seeded(shared.chance.word()));
        sending.spawn(async move {
            sleep(least + chance.word() % SEND_PAUSE_MAX).await;
            shared.send(id, &one).await;
            if chance.word().is_multiple_of(4) {
                sleep(chance.word() % SEND_PAUSE_MAX).await;
                shared.send(id, &one).await;
            }
        });
    }
    while sending.join_next().await.is_some() {}
    loop {
        match shared.client.ending(id, END_PAUSE).await {
            Ok(Ending::None(_)) => {}
            Ok(_) => break,
            Err(error) => {
                tell_failed("ending", error.code());
                if !error.is_temporary() {
                    return;
                }
                sleep(ERROR_PAUSE).await;
            }
        }
        if *shared.wishes.borrow() == Wish::End {
            return;
        }
    }
    let again = &signals[usize::try_from(shared.chance.word() >> 1).unwrap_or(0) % signals.len()];
    shared.send(id, again).await;
    if shared.chance.word().is_multiple_of(4) {
        shared.send(id, &Outgoing { key: "late".into(), ..again.clone() }).await;
    }
}

impl Shared {
    fn is_new(&self, id: ExecutionId) -> bool {
        !self.followed.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    /// Takes an execution on; false when this process has done so before.
    fn begin(&self, id: ExecutionId) -> bool {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).insert(id)
    }

    /// Sends a signal until it is answered; each call with a payload of its own.
    async fn send(&self, id: ExecutionId, signal: &Outgoing) {
        let (execution, wait, key) = (id.to_string(), signal.name.clone(), signal.key.clone());
        let actor = signal.by.and_then(|by| by.parse().ok());
        let client = self.client.clone().acting_as(actor);
        loop {
            let sent = format!("{:032x}", self.chance.id());
            let padding = if self.chance.word().is_multiple_of(LARGE_ONE_OF) { LARGE } else { 0 };
            let payload = Sent { sent: sent.clone(), padding: "x".repeat(padding) };
            let asked = now();
            let line = match client.signal(id, &signal.address()).key(&key).payload(&payload).await {
                Ok(answer) => Line::Signalled(Answered {
                    execution,
                    wait,
                    key,
                    sent,
                    signal: answer.signal.to_string(),
                    effect: answer.effect.as_str().to_owned(),
                    asked,
                    at: now(),
                }),
                Err(error) if error.is_refused() && !error.is_temporary() => {
                    let code = error.code().to_owned();
                    Line::NotTaken(NotTaken { execution, wait, key, code, asked, at: now() })
                }
                Err(error) => {
                    tell_failed("signal", error.code());
                    sleep(ERROR_PAUSE).await;
                    continue;
                }
            };
            return tell(&line);
        }
    }
}
