//! What a handler waits for: signals from people and other systems, answers, and time.
//!
//! A wait holds no worker. When a handler has nothing to do but wait, its future is dropped and its lease released; when
//! what it waits for has come, the handler runs again from its start, as the same attempt, and every wait that is over
//! answers at once. So code before a wait runs again: what must not happen twice does not belong there. Other futures
//! that run beside a wait are dropped with the handler.
//!
//! Waits are told apart by their names and by their order: the second wait for a name is another one than the first. A
//! handler must therefore come to its waits in the same order each time.

use crate::call::Ask;
use crate::options::span;
use crate::worker::{Hub, Wanted};
use crate::{Client, Context, Failed};
use futures_util::future::BoxFuture;
use onward_core::record::{HowOver, OnTimeout, WaitRef};
use onward_core::{
    Actor, Condition, Distinct, ExecutionId, Payload, Reason, SignalId, SignalName, Span, TakenSignal, WaitName,
    WaitResult,
};
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

/// A signal that a handler got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Id of the signal.
    pub id: SignalId,
    /// The wait that took it.
    pub wait: WaitName,
    /// Its name, if it has one.
    pub name: Option<SignalName>,
    /// Who sent it, when the sender was authenticated by name.
    pub actor: Option<Actor>,
    /// What it carries.
    pub payload: Payload,
}

impl Received {
    /// Reads what it carries as a value.
    ///
    /// # Errors
    /// When it does not fit; the attempt fails for good, since the signal stays what it is.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failed> {
        let wrong = |error| Failed::permanent(format_args!("the signal for {} does not fit: {error}", self.wait));
        self.payload.read().map_err(wrong)
    }
}

/// An answer to a question of [`Context::ask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The choice.
    pub choice: String,
    /// The signal by which it came.
    pub signal: Received,
}

/// What all kinds of waits share: names, time, and what happens when it is over.
#[derive(Debug, Clone)]
struct Plan {
    ctx: Context,
    names: Vec<String>,
    accepted: Vec<String>,
    timeout: Option<Span>,
    on_timeout: OnTimeout,
    reason: Reason,
}

/// How the waits of a plan belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Each needs a signal.
    All,
    /// One of them needs a signal.
    Any,
    /// So many signals of distinct people, on the only wait.
    People(u32),
}

impl Plan {
    fn new(ctx: &Context, names: Vec<String>) -> Self {
        let (accepted, reason) = (Vec::new(), Reason::default());
        Self { ctx: ctx.clone(), names, accepted, timeout: None, on_timeout: OnTimeout::Resume, reason }
    }

    /// Begins to wait. The waits get their numbers now, in the order in which the handler comes to them.
    fn begin(self, shape: Shape) -> Result<Pending, Failed> {
        let refused = |error: onward_core::NameError| Failed::permanent(format_args!("a wait cannot be: {error}"));
        let names: Result<Vec<WaitName>, _> = self.names.iter().map(|name| name.parse()).collect();
        let accepted: Result<Vec<SignalName>, _> = self.accepted.iter().map(|name| name.parse()).collect();
        let (names, accepted) = (names.map_err(refused)?, accepted.map_err(refused)?);
        let hub = self.ctx.hub().clone();
        let waits: Vec<WaitRef> = names.iter().map(|name| hub.next(name)).collect();
        Ok(Pending { plan: self, hub, shape, waits, accepted, open: None })
    }
}

/// Waits until all that belong to it are over, or the worker suspends the attempt.
#[derive(Debug)]
struct Pending {
    plan: Plan,
    hub: Arc<Hub>,
    shape: Shape,
    waits: Vec<WaitRef>,
    accepted: Vec<SignalName>,
    open: Option<u64>,
}

impl Pending {
    fn wanted(&self) -> Wanted {
        let now = self.plan.ctx.client().store_time();
        let since = self.hub.open_since(&self.waits, now);
        let at = self.plan.timeout.map(|timeout| since + timeout);
        let resumes = self.plan.on_timeout == OnTimeout::Resume;
        let until = at.filter(|_| resumes);
        let one =
            |wait: &WaitRef| Condition::Wait { wait: wait.clone(), names: self.accepted.clone(), timeout: None, until };
        let count = |n, distinct| Condition::Count {
            n,
            distinct,
            waits: self.waits.clone(),
            names: self.accepted.clone(),
            timeout: None,
            until,
        };
        let condition = match (self.shape, &self.waits[..]) {
            (Shape::People(n), _) => count(n, Distinct::Actors),
            (_, [only]) => one(only),
            (Shape::All, many) => Condition::All { of: many.iter().map(one).collect() },
            (Shape::Any, _) => count(1, Distinct::Waits),
        };
        let otherwise = at.filter(|_| !resumes).map(|at| (at, self.plan.on_timeout));
        Wanted { condition, otherwise, reason: self.plan.reason.clone() }
    }

    /// How the waits ended, once enough of them are over.
    fn ended(&self) -> Option<Vec<WaitResult>> {
        let over: Vec<WaitResult> = self.waits.iter().filter_map(|wait| self.hub.over(wait)).collect();
        let enough = match self.shape {
            Shape::All => over.len() == self.waits.len(),
            Shape::Any | Shape::People(_) => !over.is_empty() || self.waits.is_empty(),
        };
        enough.then_some(over)
    }
}

impl Future for Pending {
    type Output = Vec<WaitResult>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        if let Some(ended) = self.ended() {
            if let Some(open) = self.open.take() {
                self.hub.close(open);
            }
            return Poll::Ready(ended);
        }
        // Asked before the hub is locked, since the answer looks into it.
        let wanted = self.wanted();
        self.open = Some(self.hub.open(self.open, || wanted, task.waker()));
        Poll::Pending
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(open) = self.open {
            self.hub.close(open);
        }
    }
}

/// A signal with what it carries, which is read if it did not come along.
async fn received(client: &Client, id: ExecutionId, wait: &WaitRef, taken: TakenSignal) -> Result<Received, Failed> {
    let payload = match taken.carried() {
        Some(payload) => payload,
        None => {
            let read: Option<Payload> = client.ask(Ask::SignalPayload { id, signal: taken.id }).await?;
            read.ok_or_else(|| Failed::transient("the payload of a signal is gone"))?
        }
    };
    let TakenSignal { id, name, actor, .. } = taken;
    Ok(Received { id, wait: wait.name.clone(), name, actor, payload })
}

/// The signals of waits, each wait with its own, in order.
async fn signals(ctx: &Context, ended: Vec<WaitResult>) -> Result<Vec<Vec<Received>>, Failed> {
    let mut all = Vec::with_capacity(ended.len());
    for WaitResult { wait, signals, .. } in ended {
        let mut of_one = Vec::with_capacity(signals.len());
        for taken in signals {
            of_one.push(received(ctx.client(), ctx.id(), &wait, taken).await?);
        }
        all.push(of_one);
    }
    Ok(all)
}

/// Declares what the kinds of waits have in common.
macro_rules! waits {
    ($($(#[$about:meta])* $name:ident $(<$of:ident>)?,)+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone)]
        #[must_use = "a wait begins when it is awaited"]
        pub struct $name $(<$of>)? {
            plan: Plan,
            shape: Shape,
            $(value: PhantomData<fn() -> $of>,)?
        }

        impl $(<$of>)? $name $(<$of>)? {
            /// Ends the wait after a time, counted from when it began; the result is then `None`.
            pub fn timeout(mut self, timeout: Duration) -> Self {
                self.plan.timeout = Some(span(timeout));
                self
            }

            /// What happens to the execution when the time is over, instead of going on with `None`.
            pub fn on_timeout(mut self, then: OnTimeout) -> Self {
                self.plan.on_timeout = then;
                self
            }

            /// What it waits for, for people: shown by `onward why` and in lists.
            pub fn because(mut self, reason: &str) -> Self {
                self.plan.reason = Reason::new(reason);
                self
            }

            /// Takes only signals of these names; others stay for later waits.
            pub fn named<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
                self.plan.accepted = names.into_iter().map(str::to_owned).collect();
                self
            }
        }
    )+};
}

waits! {
    /// A wait for one signal, read as a value; see [`Context::wait_for`].
    WaitFor<T>,
    /// A wait for a signal on each of several names; see [`Context::wait_all`].
    WaitAll,
    /// A wait for the first signal on one of several names; see [`Context::wait_any`].
    WaitAny,
    /// A wait for signals of several people; see [`Context::wait_for_people`].
    WaitForPeople,
    /// A question to a person; see [`Context::ask`].
    AskPerson,
}

impl<T: DeserializeOwned + 'static> IntoFuture for WaitFor<T> {
    type Output = Result<Option<T>, Failed>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let (ctx, pending) = (self.plan.ctx.clone(), self.plan.begin(self.shape));
        Box::pin(async move {
            let first = signals(&ctx, pending?.await).await?.into_iter().flatten().next();
            first.map(|signal| signal.read()).transpose()
        })
    }
}

impl IntoFuture for WaitAll {
    type Output = Result<Option<Vec<Received>>, Failed>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let (ctx, pending) = (self.plan.ctx.clone(), self.plan.begin(self.shape));
        Box::pin(async move {
            let each = signals(&ctx, pending?.await).await?;
            Ok(each.into_iter().map(|of_one| of_one.into_iter().next()).collect())
        })
    }
}

impl IntoFuture for WaitAny {
    type Output = Result<Option<Received>, Failed>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let (ctx, pending) = (self.plan.ctx.clone(), self.plan.begin(self.shape));
        Box::pin(async move { Ok(signals(&ctx, pending?.await).await?.into_iter().flatten().next()) })
    }
}

impl IntoFuture for WaitForPeople {
    type Output = Result<Option<Vec<Received>>, Failed>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let (ctx, pending) = (self.plan.ctx.clone(), self.plan.begin(self.shape));
        Box::pin(async move {
            let ended = pending?.await;
            let enough = ended.iter().any(|wait| wait.how == HowOver::Signals);
            let all: Vec<Received> = signals(&ctx, ended).await?.into_iter().flatten().collect();
            Ok(enough.then_some(all))
        })
    }
}

impl IntoFuture for AskPerson {
    type Output = Result<Option<Chosen>, Failed>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let (ctx, pending) = (self.plan.ctx.clone(), self.plan.begin(self.shape));
        Box::pin(async move {
            let answer = signals(&ctx, pending?.await).await?.into_iter().flatten().next();
            let chosen = |signal: Received| Chosen {
                choice: signal.name.as_ref().map(ToString::to_string).unwrap_or_default(),
                signal,
            };
            Ok(answer.map(chosen))
        })
    }
}

impl Context {
    /// Waits for a signal that is sent to this name, without holding a worker; `None` when its time was over or an operator
    /// resumed the execution. A signal that came before is taken at once, each one once and in order.
    ///
    /// ```
    /// # use onward::{Context, Failed};
    /// # use std::time::Duration;
    /// async fn order(ctx: Context, order: u64) -> Result<String, Failed> {
    ///     let week = Duration::from_secs(7 * 24 * 60 * 60);
    ///     match ctx.wait_for::<u64>("paid").timeout(week).await? {
    ///         Some(cents) => Ok(format!("order {order} was paid with {cents}")),
    ///         None => Err(Failed::cancelled("it was never paid")),
    ///     }
    /// }
    /// ```
    pub fn wait_for<T>(&self, name: &str) -> WaitFor<T> {
        WaitFor { plan: Plan::new(self, vec![name.to_owned()]), shape: Shape::All, value: PhantomData }
    }

    /// Waits for a signal on each of several names; the signals come in the order of the names, or `None` when one did not
    /// come in time.
    pub fn wait_all<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> WaitAll {
        let names = names.into_iter().map(str::to_owned).collect();
        WaitAll { plan: Plan::new(self, names), shape: Shape::All }
    }

    /// Waits for the first signal on one of several names; `None` when none came in time.
    pub fn wait_any<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> WaitAny {
        let names = names.into_iter().map(str::to_owned).collect();
        WaitAny { plan: Plan::new(self, names), shape: Shape::Any }
    }

    /// Waits for signals of so many distinct people, as authenticated by their credentials; a second signal of one person
    /// does not count. `None` when they were not enough in time.
    pub fn wait_for_people(&self, name: &str, people: u32) -> WaitForPeople {
        WaitForPeople { plan: Plan::new(self, vec![name.to_owned()]), shape: Shape::People(people) }
    }

    /// Asks a person to choose: waits on the name `ask` for a signal that is named as one of the choices.
    pub fn ask<'a>(&self, title: &str, choices: impl IntoIterator<Item = &'a str>) -> AskPerson {
        let asked = AskPerson { plan: Plan::new(self, vec!["ask".to_owned()]), shape: Shape::All };
        asked.because(title).named(choices)
    }

    /// Sleeps without holding a worker, for as long as it takes: a minute or a month. A signal to the name `sleep` ends it
    /// early. Time that passed before a crash counts.
    ///
    /// # Errors
    /// None of its own; it ends like other waits.
    pub async fn sleep(&self, time: Duration) -> Result<(), Failed> {
        let mut plan = Plan::new(self, vec!["sleep".to_owned()]);
        plan.timeout = Some(span(time));
        plan.begin(Shape::All)?.await;
        Ok(())
    }
}
