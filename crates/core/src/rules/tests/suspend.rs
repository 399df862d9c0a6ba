//! Suspending an attempt and going on: leases, conditions, waits that are over, timeouts, operators.

use crate::record::{
    AttemptEnd, Canceller, ExpiredBy, HowOver, Next, OnTimeout, Outcome, PublicState, Readiness, Record, State, WaitId,
    Waiting,
};
use crate::rules::world::World;
use crate::rules::world::make::{self, count, id, one, submit, wait, with};
use crate::{
    Act, ActOutcome, Claimed, Command, Condition, Distinct, Fence, Json, Key, LeaseEvent, LeaseId, NewSuspension,
    OnExhausted, Payload, Policy, Rejection, Reply, Span, Suspended, What, When, Woken, act, limits,
};

fn suspends(world: &mut World, command: u128, fence: Fence, new: NewSuspension) -> Option<Woken> {
    match world.accept(&make::suspend(command, fence, new)) {
        Reply::Suspend(Suspended { met }) => met.map(|met| *met),
        other => panic!("{other:?}"),
    }
}

/// Execution 1, suspended by command 60 on this condition after having run for three seconds.
fn suspended(new: NewSuspension) -> (World, Fence) {
    let mut world = World::new(1);
    let fence = world.running(with!(submit(1), policy: make::retry(1, Span(0))), 10);
    world.pass(Span::seconds(3));
    assert_eq!(suspends(&mut world, 60, fence, new), None);
    (world, fence)
}

fn goes_on(world: &mut World, lease: u128) -> (Box<Claimed>, Woken) {
    let claimed = world.claim(id(1), lease);
    let woke = *claimed.woke.clone().expect("it was suspended");
    (claimed, woke)
}

fn state(world: &World) -> PublicState {
    world.execution(id(1)).public_state()
}

fn open(world: &World) -> &Readiness {
    &world.waiting(id(1)).readiness
}

fn send(world: &mut World, command: u128, wait: &str) {
    world.accept(&make::signal(command, id(1), wait).into());
}

#[test]
fn the_lease_is_over_and_the_same_attempt_goes_on() {
    let (mut world, fence) = suspended(NewSuspension {
        continuation: Some(serde_json::from_str::<Json>("{\"page\":7}").unwrap()),
        reason: "the landlord".into(),
        ..NewSuspension::new(one("approval"))
    });
    let event = &world.events.last().unwrap().what;
    assert_eq!(*event, What::Suspended { attempt: 1, until: None, reason: "the landlord".into() });
    assert_eq!(event.lease(), Some(LeaseEvent::Released));
    assert_eq!((state(&world), world.execution(id(1)).due()), (PublicState::Suspended, None));
    let renewed = world.refuse(&make::renew(fence, make::TTL));
    assert_eq!(renewed, Rejection::NotActive { execution: id(1), state: PublicState::Suspended });
    let refused = world.refuse(&make::claim(id(1), 11).into());
    assert_eq!(refused, Rejection::NotReady { execution: id(1), state: PublicState::Suspended });

    world.pass(Span::days(30));
    send(&mut world, 70, "approval");
    let told: Vec<_> = world.events.iter().rev().take(2).map(|event| event.what.name()).collect();
    assert_eq!(told, ["resumed", "signalled"]);
    let (claimed, woke) = goes_on(&mut world, 11);
    assert!(claimed.resumed && claimed.open_waits.is_empty());
    assert_eq!((claimed.fence.attempt, claimed.fence.epoch), (1, 2), "the same attempt under a newer lease");
    assert_eq!((woke.by, woke.waits.len()), (HowOver::Signals, 1));
    assert_eq!((&woke.waits[0].wait, woke.waits[0].how), (&wait("approval"), HowOver::Signals));
    assert_eq!(woke.waits[0].signals[0].carried(), Some(Payload::null()));
    assert_eq!(woke.continuation.unwrap().as_str(), "{\"page\":7}");
    assert_eq!(world.active(id(1)).attempt.ran, Span::seconds(3), "the month does not count");
}

#[test]
fn a_repeat_of_the_call_gets_the_first_answer_whatever_followed() {
    let (mut world, fence) = suspended(NewSuspension::new(one("approval")));
    let call = make::suspend(60, fence, NewSuspension::new(one("approval")));
    let first = Reply::Suspend(Suspended { met: None });
    assert_eq!(world.accept(&call), first);
    send(&mut world, 70, "approval");
    assert_eq!(world.accept(&call), first);
    let second = world.claim(id(1), 11).fence;
    assert_eq!(world.accept(&call), first);
    world.accept(&make::complete(61, second));
    assert_eq!(world.accept(&call), first);
    assert!(matches!(world.refuse(&make::complete(60, fence)), Rejection::InvalidArgument { field: "command", .. }));
}

#[test]
fn what_has_come_already_is_told_at_once_and_the_lease_is_kept() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    let stay = make::signal(70, id(1), "other").into();
    world.accept(&stay);
    send(&mut world, 71, "approval");
    send(&mut world, 72, "approval");
    let events = world.events.len();
    let met = suspends(&mut world, 60, fence, NewSuspension::new(one("approval"))).expect("it has come");
    assert_eq!((met.by, met.waits.len(), met.waits[0].signals.len()), (HowOver::Signals, 1, 1));
    assert_eq!((state(&world), world.events.len()), (PublicState::Active, events), "no transition");
    assert_eq!(suspends(&mut world, 60, fence, NewSuspension::new(one("approval"))).as_ref(), Some(&met), "a repeat");
    world.pass(Span::seconds(1));
    let again = world.home(&make::suspend(61, fence, NewSuspension::new(one("approval"))));
    assert!(again.step.writes.is_empty(), "the wait is over: its answer stands");
    assert_eq!(again.result, Ok(Reply::Suspend(Suspended { met: Some(Box::new(met.clone())) })));
    let second = suspends(&mut world, 62, fence, NewSuspension::new(one("approval#2"))).expect("what the first left");
    assert_ne!(second.waits[0].signals[0].id, met.waits[0].signals[0].id);
    assert_eq!(suspends(&mut world, 63, fence, NewSuspension::new(one("approval#3"))), None, "nothing is left");
    let mail = &world.execution(id(1)).waits.as_ref().unwrap().mail;
    assert_eq!(mail.len(), 1, "for another wait");
}

#[test]
fn an_attempt_that_comes_to_a_wait_again_gets_the_same_answer() {
    let (mut world, _) = suspended(NewSuspension::new(one("approval")));
    send(&mut world, 70, "approval");
    let (_, woke) = goes_on(&mut world, 11);
    // The worker dies before it did anything.
    world.when_due(id(1));
    let second = world.claim(id(1), 12);
    assert_eq!((second.fence.attempt, second.woke), (2, None));
    let met = suspends(&mut world, 80, second.fence, NewSuspension::new(one("approval"))).expect("it is over");
    assert_eq!((met.waits, met.by), (woke.waits.clone(), woke.by));
    world.accept(&make::fail(81, second.fence));
    let third = world.claim(id(1), 13);
    let met = suspends(&mut world, 82, third.fence, NewSuspension::new(one("approval"))).expect("it is over");
    assert_eq!(met.waits, woke.waits);

    // A replay of what failed goes on where it stood, one of what succeeded starts afresh.
    world.accept(&make::fail_as(83, third.fence, crate::Category::permanent()));
    world.operate(90, id(1), make::replay());
    let fourth = world.claim(id(1), 14).fence;
    assert!(suspends(&mut world, 84, fourth, NewSuspension::new(one("approval"))).is_some());
    world.accept(&make::complete(85, fourth));
    world.operate(91, id(1), make::replay());
    let fifth = world.claim(id(1), 15).fence;
    assert_eq!(world.execution(id(1)).life, 1);
    assert_eq!(suspends(&mut world, 86, fifth, NewSuspension::new(one("approval"))), None);
}

#[test]
fn alternatives_that_were_not_met_stay_open_with_their_time() {
    let minute = |wait_for: &str, minutes| Condition::Wait {
        wait: wait(wait_for),
        names: Vec::new(),
        timeout: Some(Span::minutes(minutes)),
        until: None,
    };
    let any = Condition::Any { of: vec![minute("a", 60), minute("b", 120), one("c")] };
    let (mut world, _) = suspended(NewSuspension::new(any));
    let since = world.now;
    assert_eq!(world.execution(id(1)).due(), Some(since + Span::minutes(60)));
    let done = world.when_due(id(1));
    assert_eq!(done.window.not_before, Some(since + Span::minutes(60)));
    let (claimed, woke) = goes_on(&mut world, 11);
    assert_eq!(woke.by, HowOver::Timeout);
    let over: Vec<_> = woke.waits.iter().map(|one| (one.wait.to_string(), one.how)).collect();
    assert_eq!(over, [("a#1".to_owned(), HowOver::Timeout)]);
    let open: Vec<_> = claimed.open_waits.iter().map(|(wait, at)| (wait.to_string(), *at)).collect();
    assert_eq!(open, [("b#1".to_owned(), since), ("c#1".to_owned(), since)], "their timeouts count from then");
    // The worker counts on from there: a time that is past is over at once.
    let until = Condition::Wait { wait: wait("b"), names: Vec::new(), timeout: None, until: Some(since) };
    let both = Condition::Any { of: vec![until, one("c")] };
    suspends(&mut world, 61, claimed.fence, NewSuspension::new(both));
    let (claimed, woke) = {
        world.when_due(id(1));
        goes_on(&mut world, 12)
    };
    assert_eq!(woke.waits[0].wait, wait("b"));
    assert_eq!(claimed.open_waits.get(&wait("c")), Some(&since));
}

#[test]
fn each_timeout_does_what_it_says_and_once() {
    for then in OnTimeout::ALL.iter().copied() {
        let new = NewSuspension { timeout: Some(Span::hours(1)), on_timeout: then, ..NewSuspension::new(one("a")) };
        let (mut world, _) = suspended(new);
        let at = world.now + Span::hours(1);
        world.now = at - Span(1);
        assert_eq!(world.accept(&make::due(id(1))), Reply::Due(crate::Looked { acted: false, next: Some(at) }));
        let done = world.when_due(id(1));
        assert_eq!((done.window.not_before, done.events.len()), (Some(at), 1));
        let what = &done.events[0].what;
        match then {
            OnTimeout::Resume => {
                assert_eq!(what.name(), "resumed");
                let (_, woke) = goes_on(&mut world, 11);
                assert_eq!((woke.by, woke.waits[0].how), (HowOver::Timeout, HowOver::Timeout));
            }
            OnTimeout::Escalate => {
                assert_eq!((what.outcome(), state(&world)), (None, PublicState::Suspended));
                assert_eq!(world.execution(id(1)).due(), None);
                send(&mut world, 70, "a");
                assert_eq!(state(&world), PublicState::Suspended, "signals no longer do");
                assert_eq!(
                    world.operate(90, id(1), act::Resume::default().into()),
                    ActOutcome::Resumed { until: None }
                );
                let (_, woke) = goes_on(&mut world, 11);
                assert_eq!((woke.by, woke.waits[0].how), (HowOver::Operator, HowOver::Operator));
            }
            ends => {
                let (outcome, end, expired_by) = match ends {
                    OnTimeout::Fail => (Outcome::Failed, "failed", None),
                    OnTimeout::Cancel => (Outcome::Cancelled, "cancelled", None),
                    _ => (Outcome::Expired, "expired", Some(ExpiredBy::SuspensionTimeout)),
                };
                assert_eq!(*what, What::SuspensionTimedOut { attempt: 1, then: ends });
                assert_eq!((what.outcome(), what.lease()), (Some(outcome), None));
                let finished = world.finished(id(1)).clone();
                assert_eq!((finished.outcome, finished.expired_by), (outcome, expired_by));
                assert_eq!(
                    finished.cancelled.map(|by| by.by),
                    (ends == OnTimeout::Cancel).then_some(Canceller::Timeout)
                );
                assert_eq!(world.last(id(1)).end.as_str(), end);
            }
        }
        let again = world.home(&make::due(id(1)));
        assert!(again.step.writes.is_empty() || world.execution(id(1)).is_finished(), "{then:?} happens once");
    }
}

#[test]
fn the_attempts_time_stops_and_the_deadline_goes_on() {
    let mut world = World::new(1);
    let policy = Policy { attempt_timeout: Some(Span::seconds(10)), ..Policy::default() };
    let deadline = Some(When::After(Span::hours(1)));
    let fence = world.running(with!(submit(1), policy, deadline), 10);
    world.pass(Span::seconds(4));
    suspends(&mut world, 60, fence, NewSuspension::new(one("a")));
    let deadline = world.execution(id(1)).deadline.unwrap();
    assert_eq!(world.execution(id(1)).due(), Some(deadline));
    world.pass(Span::minutes(30));
    send(&mut world, 70, "a");
    let claimed = world.claim(id(1), 11);
    assert_eq!(claimed.times_out_at, Some(world.now + Span::seconds(6)), "what is left of it");
    suspends(&mut world, 61, claimed.fence, NewSuspension::new(one("b")));
    world.when_due(id(1));
    assert_eq!(world.finished(id(1)).expired_by, Some(ExpiredBy::Deadline));
    assert_eq!(world.last(id(1)).end, AttemptEnd::Expired);
    let late = world.refuse(&make::signal(71, id(1), "b").into());
    assert_eq!(late, Rejection::Finished { execution: id(1), state: PublicState::Expired });
}

#[test]
fn a_pause_after_the_resumption_is_kept() {
    let new = NewSuspension { resume_delay: Some(Span::minutes(5)), ..NewSuspension::new(one("a")) };
    let (mut world, _) = suspended(new);
    send(&mut world, 70, "a");
    assert_eq!(state(&world), PublicState::Delayed);
    assert_eq!(world.execution(id(1)).due(), Some(world.now + Span::minutes(5)));
    world.when_due(id(1));
    assert_eq!(goes_on(&mut world, 11).1.by, HowOver::Signals);
}

#[test]
fn conditions_that_can_never_hold_are_refused_with_their_path() {
    let nested = |depth: usize| (1..depth).fold(one("a"), |inner, _| Condition::All { of: vec![inner] });
    let all = |of| Condition::All { of };
    let plain = NewSuspension::new;
    let unsatisfiable = |new: NewSuspension, path: &str| {
        let (mut world, fence) = running();
        match world.refuse(&make::suspend(60, fence, new)) {
            Rejection::ConditionUnsatisfiable { path: found, .. } => assert_eq!(&*found, path),
            other => panic!("{other:?}"),
        }
        assert_eq!(state(&world), PublicState::Active, "nothing changed");
    };
    unsatisfiable(plain(all(Vec::new())), "condition");
    unsatisfiable(plain(Condition::Any { of: vec![one("a"), all(Vec::new())] }), "condition.of[1]");
    unsatisfiable(plain(all(vec![all(vec![one("a"), Condition::Operator])])), "condition.of[0].of[1]");
    unsatisfiable(plain(all(vec![Condition::Timeout])), "condition.of[0]");
    unsatisfiable(plain(Condition::Timeout), "condition");
    unsatisfiable(plain(count(0, Distinct::Signals, &["a"])), "condition");
    unsatisfiable(plain(count(1, Distinct::Signals, &[])), "condition");
    unsatisfiable(plain(count(2, Distinct::Waits, &["a"])), "condition");
    unsatisfiable(plain(count(1, Distinct::Signals, &["a", "a#1"])), "condition");
    let refused = |condition: Condition| {
        let (mut world, fence) = running();
        world.refuse(&make::suspend(60, fence, plain(condition))).code()
    };
    let (mut world, fence) = running();
    assert_eq!(suspends(&mut world, 60, fence, plain(nested(5))), None, "four levels around a wait");
    assert_eq!(refused(nested(6)), "condition_too_deep");
    assert_eq!(refused(count(257, Distinct::Signals, &["a"])), "condition_too_large");
    let many: Vec<String> = (0..65).map(|n| format!("a{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(refused(count(1, Distinct::Signals, &many)), "condition_too_large");
    let (mut world, fence) = running();
    let only_then = NewSuspension { on_timeout: OnTimeout::Fail, ..plain(one("a")) };
    assert_eq!(world.refuse(&make::suspend(60, fence, only_then)).code(), "invalid_argument");
    let far = NewSuspension { timeout: Some(limits::FUTURE_MAX + Span(1)), ..plain(one("a")) };
    assert_eq!(world.refuse(&make::suspend(60, fence, far)).code(), "invalid_argument");
    let large = format!("\"{}\"", "a".repeat(limits::CONTINUATION_BYTES_MAX));
    let large = NewSuspension { continuation: serde_json::from_str(&large).unwrap(), ..plain(one("a")) };
    assert_eq!(world.refuse(&make::suspend(60, fence, large)).code(), "payload_too_large");
}

fn running() -> (World, Fence) {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    (world, fence)
}

#[test]
fn operators_resume_what_waits_for_them_and_what_waits_for_others() {
    for condition in [Condition::Operator, one("a"), Condition::All { of: vec![one("a"), one("b")] }] {
        let waits = condition.waits().len();
        let (mut world, _) = suspended(NewSuspension::new(condition));
        send(&mut world, 70, "c");
        assert_eq!(state(&world), PublicState::Suspended);
        let resume = act::Resume { delay: Some(Span::seconds(9)) };
        let until = Some(world.now + Span::seconds(9));
        assert_eq!(world.operate(90, id(1), resume.into()), ActOutcome::Resumed { until });
        world.when_due(id(1));
        let (_, woke) = goes_on(&mut world, 11);
        assert_eq!((woke.by, woke.waits.len()), (HowOver::Operator, waits));
        assert!(woke.waits.iter().all(|one| one.how == HowOver::Operator && one.signals.is_empty()));
    }
}

#[test]
fn a_wait_that_an_operator_closes_counts_as_met() {
    let close = |wait: &str| Act::CloseWait(act::CloseWait { wait: wait.parse().unwrap() });
    let (mut world, _) = suspended(NewSuspension::new(Condition::All { of: vec![one("a"), one("b")] }));
    assert_eq!(world.operate(90, id(1), close("a")), ActOutcome::WaitClosed { resumed: false });
    assert_eq!(world.events.last().unwrap().what, What::WaitClosed { wait: wait("a") });
    let refused = world.refuse(&make::operate(91, id(1), close("a")));
    assert_eq!(refused, Rejection::WaitpointClosed { wait: wait("a") });
    assert_eq!(world.refuse(&make::signal(70, id(1), "a#1").into()).code(), "waitpoint_closed");
    send(&mut world, 71, "a");
    assert_eq!(state(&world), PublicState::Suspended, "kept for the next wait");
    send(&mut world, 72, "b");
    let (_, woke) = goes_on(&mut world, 11);
    let ends: Vec<_> = woke.waits.iter().map(|one| (one.how, one.signals.len())).collect();
    assert_eq!(ends, [(HowOver::Operator, 0), (HowOver::Signals, 1)]);
}

#[test]
fn a_hold_takes_the_lease_and_destroys_nothing_underneath() {
    let pause = || Act::Pause(act::Pause { reason: "look".into() });
    let resume = || Act::Resume(act::Resume::default());
    let (mut world, fence) = running();
    world.pass(Span::seconds(2));
    assert_eq!(world.operate(90, id(1), pause()), ActOutcome::Paused);
    assert_eq!(world.events.last().unwrap().what.lease(), Some(LeaseEvent::Revoked));
    assert_eq!(world.refuse(&make::renew(fence, make::TTL)).code(), "execution_not_active");
    assert!(
        crate::index::entries(&Key::Execution(id(1)), &record(&world)).iter().all(|e| !e.name.starts_with("ready/"))
    );
    assert_eq!(world.operate(91, id(1), resume()), ActOutcome::Resumed { until: None });
    let claimed = world.claim(id(1), 11);
    assert!(claimed.resumed);
    assert_eq!((claimed.fence.attempt, world.active(id(1)).attempt.ran), (1, Span::seconds(2)));

    // A suspension goes on underneath: a signal ends it, and the execution is still held.
    suspends(&mut world, 60, claimed.fence, NewSuspension::new(one("a")));
    world.operate(92, id(1), pause());
    send(&mut world, 70, "a");
    assert_eq!(state(&world), PublicState::Suspended);
    assert!(matches!(open(&world), Readiness::Ready { .. }));
    assert_eq!(world.refuse(&make::claim(id(1), 12).into()).code(), "execution_not_ready");
    world.operate(93, id(1), resume());
    assert_eq!(goes_on(&mut world, 12).1.by, HowOver::Signals);
}

fn record(world: &World) -> Record {
    Record::Execution(world.execution(id(1)).clone().into())
}

#[test]
fn with_no_retry_left_an_operator_decides_if_the_policy_says_so() {
    let policy = Policy { on_exhausted: Some(OnExhausted::Pause), ..make::retry(0, Span(0)) };
    let mut world = World::new(1);
    let fence = world.running(with!(submit(1), policy, deadline: Some(When::After(Span::hours(1)))), 10);
    let failed = world.accept(&make::fail(60, fence));
    assert_eq!(failed, Reply::Report(crate::Reported::READY), "it has not ended");
    assert_eq!(world.accept(&make::fail(60, fence)), failed, "the repeat");
    let what = &world.events.last().unwrap().what;
    assert!(matches!(what, What::AttemptFailed { held: true, retry_at: None, .. }) && what.outcome().is_none());
    assert_eq!(state(&world), PublicState::Suspended);
    // Resumed, it gets one more attempt; then it is held again.
    world.operate(90, id(1), act::Resume::default().into());
    let second = world.claim(id(1), 11);
    assert_eq!(second.fence.attempt, 2);
    world.accept(&make::fail(61, second.fence));
    assert_eq!(state(&world), PublicState::Suspended);
    // Replayed, it has its retries again, in the same life.
    assert_eq!(world.operate(91, id(1), make::replay()), ActOutcome::Replayed { replays: 1 });
    assert_eq!((world.execution(id(1)).life, state(&world)), (0, PublicState::Waiting));
    let third = world.claim(id(1), 12).fence;
    world.accept(&make::fail(62, third));
    world.operate(92, id(1), make::end());
    assert_eq!(world.finished(id(1)).outcome, Outcome::Cancelled);

    // Its deadline goes on, and a lost worker counts as well.
    let policy = Policy { on_exhausted: Some(OnExhausted::Pause), max_reclaims: Some(0), ..Policy::default() };
    let mut world = World::new(1);
    world.submit(with!(submit(1), policy, deadline: Some(When::After(Span::hours(1)))));
    world.lose(id(1), 10);
    assert!(matches!(world.waiting(id(1)), Waiting { next: Next::Reclaim, .. }));
    assert_eq!(state(&world), PublicState::Suspended);
    world.when_due(id(1));
    assert_eq!(world.finished(id(1)).expired_by, Some(ExpiredBy::Deadline));
}

#[test]
fn what_was_asked_to_stop_does_not_wait() {
    let (mut world, fence) = running();
    world.operate(90, id(1), make::ask(Span::seconds(5)));
    let call = make::suspend_on(60, fence, "a");
    assert_eq!(world.accept(&call), Reply::Suspend(Suspended { met: None }));
    assert_eq!(world.finished(id(1)).outcome, Outcome::Cancelled);
    assert_eq!(world.accept(&call), Reply::Suspend(Suspended { met: None }), "the repeat");
    let (mut world, _) = running();
    world.operate(90, id(1), make::ask(Span::seconds(5)));
    assert_eq!(world.refuse(&make::operate(91, id(1), act::Pause::default().into())), Rejection::Stopping(id(1)));
}

#[test]
fn a_suspension_ends_with_its_execution_and_nothing_of_it_is_left() {
    let (mut world, fence) = suspended(NewSuspension::new(Condition::All { of: vec![one("a"), one("b")] }));
    send(&mut world, 70, "a");
    let large = Payload::bytes("image/png", vec![7; 2_000]).unwrap();
    let mut with_picture = make::signal(71, id(1), "c");
    with_picture.signal.set_payload(large);
    world.accept(&with_picture.into());
    world.operate(90, id(1), make::end());
    let State::Finished(finished) = &world.execution(id(1)).state else { panic!("it was cancelled") };
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert_eq!(world.last(id(1)).lease, fence.lease);
    assert_eq!(fence.lease, LeaseId(10));
    assert!(world.record(&Key::Wait(id(1), WaitId { life: 0, wait: wait("a") })).is_none(), "it was open to the end");
    world.operate(91, id(1), act::Purge {}.into());
    for _ in 0..3 {
        let errand = Key::Errand(id(1), crate::record::ErrandKind::Purge);
        if world.record(&errand).is_some() {
            world.accept(&Command::Due(crate::Due { key: errand }));
        }
    }
    let left = world.records.keys().filter(|key| key.to_string().starts_with(&format!("{}/", id(1)))).count();
    assert_eq!(left, 0);
}
