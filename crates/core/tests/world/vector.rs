//! The six dimensions in which the specification describes a state, and how our one enum maps to them.

use onward_core::Millis;
use onward_core::record::{
    Active, Execution, Finished, Next, Outcome, PublicState, Readiness, State, Waiting, WhyDelayed,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Submitted,
    Runnable,
    Active,
    Suspended,
    Terminal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    Unowned,
    Leased,
    LeaseExpiredReclaimable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eligibility {
    EligibleNow,
    NotEligibleUntilTime,
    BlockedByOperator,
    NotApplicable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    None,
    WaitingForWorker,
    WaitingForRetryBackoff,
    WaitingForResumeDelay,
    WaitingForDelay,
    WaitingForSignal,
    PausedByOperator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    None,
    Success,
    Failed,
    Cancelled,
    Expired,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptState {
    None,
    PendingFirstAttempt,
    RunningAttempt,
    AttemptInterrupted,
    PendingRetryAttempt,
    PendingReplayAttempt,
    AttemptTerminal,
}

/// A state in six dimensions, and what a lease consists of when there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vector {
    pub phase: Phase,
    pub ownership: Ownership,
    pub eligibility: Eligibility,
    pub blocking: Blocking,
    pub terminal: Terminal,
    pub attempt: AttemptState,
    /// The lease's end and epoch.
    pub lease: Option<(Millis, u64)>,
}

/// Where an execution stands at a time. A hold takes work that could be claimed, or could be later, out of reach.
pub fn vector_of(execution: &Execution, now: Millis) -> Vector {
    let vector = vector(&execution.state, execution.attempts > 0, now);
    match vector.phase {
        Phase::Runnable if execution.held.is_some() => {
            let (eligibility, blocking) = (Eligibility::BlockedByOperator, Blocking::PausedByOperator);
            Vector { eligibility, blocking, ..vector }
        }
        _ => vector,
    }
}

/// Maps a state at a time. Time alone turns a lease into a lost one, before anybody looks; whether there ever was an
/// attempt decides what an end says about attempts.
pub fn vector(state: &State, attempted: bool, now: Millis) -> Vector {
    match state {
        State::Waiting(waiting) => of_waiting(waiting),
        State::Active(active) => of_active(active, now),
        State::Finished(finished) => of_finished(finished, attempted),
    }
}

fn of_waiting(waiting: &Waiting) -> Vector {
    let (eligibility, blocking) = match &waiting.readiness {
        Readiness::Suspended(suspension) if suspension.escalated => {
            (Eligibility::NotApplicable, Blocking::PausedByOperator)
        }
        Readiness::Suspended(_) => (Eligibility::NotApplicable, Blocking::WaitingForSignal),
        Readiness::Ready { .. } => (Eligibility::EligibleNow, Blocking::WaitingForWorker),
        Readiness::Delayed { why, .. } => (
            Eligibility::NotEligibleUntilTime,
            match why {
                WhyDelayed::Submitted | WhyDelayed::Worker | WhyDelayed::Operator => Blocking::WaitingForDelay,
                WhyDelayed::Retry => Blocking::WaitingForRetryBackoff,
                WhyDelayed::Reclaim | WhyDelayed::Resumed => Blocking::WaitingForResumeDelay,
            },
        ),
    };
    let attempt = match waiting.next {
        Next::Initial => AttemptState::PendingFirstAttempt,
        Next::Retry => AttemptState::PendingRetryAttempt,
        Next::Replay => AttemptState::PendingReplayAttempt,
        Next::Reclaim | Next::Resume(_) => AttemptState::AttemptInterrupted,
    };
    let suspended = matches!(waiting.readiness, Readiness::Suspended(_));
    Vector {
        phase: if suspended { Phase::Suspended } else { Phase::Runnable },
        ownership: Ownership::Unowned,
        eligibility,
        blocking,
        terminal: Terminal::None,
        attempt,
        lease: None,
    }
}

fn of_active(active: &Active, now: Millis) -> Vector {
    let alive = now < active.lease.expires_at;
    let (ownership, blocking, attempt) = if alive {
        (Ownership::Leased, Blocking::None, AttemptState::RunningAttempt)
    } else {
        (Ownership::LeaseExpiredReclaimable, Blocking::WaitingForWorker, AttemptState::AttemptInterrupted)
    };
    Vector {
        phase: Phase::Active,
        ownership,
        eligibility: Eligibility::NotApplicable,
        blocking,
        terminal: Terminal::None,
        attempt,
        lease: Some((active.lease.expires_at, active.lease.epoch)),
    }
}

fn of_finished(finished: &Finished, attempted: bool) -> Vector {
    let terminal = match finished.outcome {
        Outcome::Success => Terminal::Success,
        Outcome::Failed => Terminal::Failed,
        Outcome::Cancelled => Terminal::Cancelled,
        Outcome::Expired => Terminal::Expired,
    };
    Vector {
        phase: Phase::Terminal,
        ownership: Ownership::Unowned,
        eligibility: Eligibility::NotApplicable,
        blocking: Blocking::None,
        terminal,
        attempt: if attempted { AttemptState::AttemptTerminal } else { AttemptState::None },
        lease: None,
    }
}

/// The forbidden combinations that a vector shows, by their numbers.
pub fn violations(v: &Vector) -> Vec<&'static str> {
    use {AttemptState as A, Eligibility as E, Ownership as O, Phase as P};
    let leased = v.ownership == O::Leased;
    let paused_or_over = matches!(v.phase, P::Active | P::Suspended | P::Terminal);
    let rules = [
        ("V1", v.phase == P::Terminal && leased),
        ("V2", v.phase == P::Suspended && leased),
        ("V3", v.terminal != Terminal::None && v.phase != P::Terminal),
        ("V4", v.phase == P::Terminal && v.terminal == Terminal::None),
        ("V5", v.phase == P::Active && v.attempt == A::PendingFirstAttempt),
        ("V6", v.eligibility == E::EligibleNow && v.phase == P::Terminal),
        ("V7", v.eligibility == E::EligibleNow && v.phase == P::Active),
        ("V8", v.phase == P::Submitted && leased),
        ("V9", v.phase == P::Runnable && v.attempt == A::RunningAttempt),
        ("V10", v.phase == P::Active && v.ownership == O::Unowned),
        ("V11", v.eligibility != E::NotApplicable && paused_or_over),
        ("V12", leased && v.lease.is_none_or(|(expires_at, epoch)| expires_at == Millis(0) || epoch == 0)),
    ];
    rules.into_iter().filter(|(_, broken)| *broken).map(|(number, _)| number).collect()
}

/// The name of a legal vector, if it is one. A reclaim waits as what the specification calls a resume: an interrupted
/// attempt is continued by a new one. DELAYED-OPERATOR is what its reschedule makes of work whose next attempt is a
/// retry or a replay; a first or a paused attempt looks like one that its submitter or its worker delayed.
pub fn legal(v: &Vector) -> Option<&'static str> {
    use {AttemptState as A, Blocking as B, Eligibility as E, Ownership as O, Phase as P, Terminal as T};
    match (v.phase, v.ownership, v.eligibility, v.blocking, v.terminal, v.attempt) {
        (P::Runnable, O::Unowned, E::EligibleNow, B::WaitingForWorker, T::None, attempt) => match attempt {
            A::PendingFirstAttempt => Some("READY-FIRST"),
            A::PendingRetryAttempt => Some("READY-RETRY"),
            A::PendingReplayAttempt => Some("READY-REPLAY"),
            A::AttemptInterrupted => Some("READY-RESUME"),
            A::None | A::RunningAttempt | A::AttemptTerminal => None,
        },
        (P::Runnable, O::Unowned, E::NotEligibleUntilTime, blocking, T::None, attempt) => match (blocking, attempt) {
            (B::WaitingForDelay, A::PendingFirstAttempt) => Some("DELAYED-CREATE"),
            (B::WaitingForDelay, A::AttemptInterrupted) => Some("DELAYED-WORKER"),
            (B::WaitingForDelay, A::PendingRetryAttempt | A::PendingReplayAttempt) => Some("DELAYED-OPERATOR"),
            (B::WaitingForRetryBackoff, A::PendingRetryAttempt) => Some("DELAYED-RETRY"),
            (B::WaitingForResumeDelay, A::AttemptInterrupted) => Some("DELAYED-RESUME"),
            _ => None,
        },
        (P::Runnable, O::Unowned, E::BlockedByOperator, B::PausedByOperator, T::None, attempt) => match attempt {
            A::None | A::RunningAttempt | A::AttemptTerminal => None,
            _ => Some("HELD"),
        },
        (P::Suspended, O::Unowned, E::NotApplicable, blocking, T::None, A::AttemptInterrupted) => match blocking {
            B::WaitingForSignal => Some("SUSPENDED"),
            B::PausedByOperator => Some("ESCALATED"),
            _ => None,
        },
        (P::Active, O::Leased, E::NotApplicable, B::None, T::None, A::RunningAttempt) => Some("RUNNING"),
        (
            P::Active,
            O::LeaseExpiredReclaimable,
            E::NotApplicable,
            B::WaitingForWorker,
            T::None,
            A::AttemptInterrupted,
        ) => Some("LOST"),
        (P::Terminal, O::Unowned, E::NotApplicable, B::None, terminal, attempt) => match (terminal, attempt) {
            (T::Success, A::AttemptTerminal) => Some("TERM(success)"),
            (T::Failed, A::AttemptTerminal) => Some("TERM(failed)"),
            (T::Cancelled, A::AttemptTerminal) => Some("TERM(cancelled)"),
            (T::Expired, A::AttemptTerminal) => Some("TERM(expired)"),
            (T::Cancelled, A::None) => Some("TERM-NOATT(cancelled)"),
            (T::Expired, A::None) => Some("TERM-NOATT(expired)"),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the parts of a state belong together: who delayed work decides which attempts can come next. A vector cannot
/// tell a reclaim from a resume, nor a submitter's delay from a worker's.
pub fn matching(state: &State) -> bool {
    match state {
        State::Waiting(Waiting { readiness: Readiness::Delayed { why, .. }, next }) => matches!(
            (why, next),
            (WhyDelayed::Operator, _)
                | (WhyDelayed::Submitted, Next::Initial)
                | (WhyDelayed::Retry, Next::Retry)
                | (WhyDelayed::Reclaim, Next::Reclaim)
                | (WhyDelayed::Worker | WhyDelayed::Resumed, Next::Resume(_))
        ),
        State::Waiting(Waiting { readiness: Readiness::Suspended(_), next }) => matches!(next, Next::Resume(_)),
        _ => true,
    }
}

/// What users see, derived from the vector by the specification's rows, apart from our own derivation.
pub fn derived(v: &Vector) -> PublicState {
    match (v.phase, v.terminal, v.eligibility) {
        (Phase::Terminal, Terminal::Success, _) => PublicState::Completed,
        (Phase::Terminal, Terminal::Failed | Terminal::None, _) => PublicState::Failed,
        (Phase::Terminal, Terminal::Cancelled, _) => PublicState::Cancelled,
        (Phase::Terminal, Terminal::Expired, _) => PublicState::Expired,
        (Phase::Active, ..) => PublicState::Active,
        (Phase::Runnable, _, Eligibility::NotEligibleUntilTime) => PublicState::Delayed,
        (Phase::Runnable, _, Eligibility::BlockedByOperator) => PublicState::Suspended,
        (Phase::Runnable, _, Eligibility::EligibleNow | Eligibility::NotApplicable) => PublicState::Waiting,
        (Phase::Submitted, ..) => PublicState::Waiting,
        (Phase::Suspended, ..) => PublicState::Suspended,
    }
}
