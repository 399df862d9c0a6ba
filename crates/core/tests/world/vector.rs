//! The six dimensions in which the specification describes a state, and how our one enum maps to them.

use onward_core::Millis;
use onward_core::record::{Active, AttemptKind, Finished, Outcome, PublicState, Readiness, State, Waiting, WhyDelayed};

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
    NotApplicable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    None,
    WaitingForWorker,
    WaitingForRetryBackoff,
    WaitingForResumeDelay,
    WaitingForDelay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    None,
    Success,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptState {
    PendingFirstAttempt,
    RunningAttempt,
    AttemptInterrupted,
    PendingRetryAttempt,
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

/// Maps a state at a time. Time alone turns a lease into a lost one, before anybody looks.
pub fn vector(state: &State, now: Millis) -> Vector {
    match state {
        State::Waiting(waiting) => of_waiting(waiting),
        State::Active(active) => of_active(active, now),
        State::Finished(finished) => of_finished(finished),
    }
}

fn of_waiting(waiting: &Waiting) -> Vector {
    let (eligibility, blocking) = match waiting.readiness {
        Readiness::Ready { .. } => (Eligibility::EligibleNow, Blocking::WaitingForWorker),
        Readiness::Delayed { why, .. } => (
            Eligibility::NotEligibleUntilTime,
            match why {
                WhyDelayed::Submitted => Blocking::WaitingForDelay,
                WhyDelayed::Retry => Blocking::WaitingForRetryBackoff,
                WhyDelayed::Reclaim => Blocking::WaitingForResumeDelay,
            },
        ),
    };
    let attempt = match waiting.next {
        AttemptKind::Initial => AttemptState::PendingFirstAttempt,
        AttemptKind::Retry => AttemptState::PendingRetryAttempt,
        AttemptKind::Reclaim => AttemptState::AttemptInterrupted,
    };
    Vector {
        phase: Phase::Runnable,
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

fn of_finished(finished: &Finished) -> Vector {
    let terminal = match finished.outcome {
        Outcome::Success => Terminal::Success,
        Outcome::Failed => Terminal::Failed,
    };
    Vector {
        phase: Phase::Terminal,
        ownership: Ownership::Unowned,
        eligibility: Eligibility::NotApplicable,
        blocking: Blocking::None,
        terminal,
        attempt: AttemptState::AttemptTerminal,
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
/// attempt is continued by a new one.
pub fn legal(v: &Vector) -> Option<&'static str> {
    use {AttemptState as A, Blocking as B, Eligibility as E, Ownership as O, Phase as P, Terminal as T};
    match (v.phase, v.ownership, v.eligibility, v.blocking, v.terminal, v.attempt) {
        (P::Runnable, O::Unowned, E::EligibleNow, B::WaitingForWorker, T::None, attempt) => match attempt {
            A::PendingFirstAttempt => Some("READY-FIRST"),
            A::PendingRetryAttempt => Some("READY-RETRY"),
            A::AttemptInterrupted => Some("READY-RESUME"),
            A::RunningAttempt | A::AttemptTerminal => None,
        },
        (P::Runnable, O::Unowned, E::NotEligibleUntilTime, blocking, T::None, attempt) => match (blocking, attempt) {
            (B::WaitingForDelay, A::PendingFirstAttempt) => Some("DELAYED-CREATE"),
            (B::WaitingForRetryBackoff, A::PendingRetryAttempt) => Some("DELAYED-RETRY"),
            (B::WaitingForResumeDelay, A::AttemptInterrupted) => Some("DELAYED-RESUME"),
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
        (P::Terminal, O::Unowned, E::NotApplicable, B::None, T::Success, A::AttemptTerminal) => Some("TERM(success)"),
        (P::Terminal, O::Unowned, E::NotApplicable, B::None, T::Failed, A::AttemptTerminal) => Some("TERM(failed)"),
        _ => None,
    }
}

/// What users see, derived from the vector by the specification's rows, apart from our own derivation.
pub fn derived(v: &Vector) -> PublicState {
    match (v.phase, v.terminal, v.eligibility) {
        (Phase::Terminal, Terminal::Success, _) => PublicState::Completed,
        (Phase::Terminal, Terminal::Failed | Terminal::None, _) => PublicState::Failed,
        (Phase::Active, ..) => PublicState::Active,
        (Phase::Runnable, _, Eligibility::NotEligibleUntilTime) => PublicState::Delayed,
        (Phase::Runnable, _, Eligibility::EligibleNow | Eligibility::NotApplicable) => PublicState::Waiting,
        (Phase::Submitted, ..) => PublicState::Waiting,
        (Phase::Suspended, ..) => unreachable!("nothing suspends yet"),
    }
}
