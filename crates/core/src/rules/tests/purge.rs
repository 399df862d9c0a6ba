//! Removing what has ended: all of it, in bounded pieces, its own record last.

use crate::index;
use crate::record::{Outcome, PublicState, Record};
use crate::rules::world::World;
use crate::rules::world::make::{self, due, id, submit, tag, with};
use crate::{
    Act, ActOutcome, Command, Key, Looked, Millis, Payload, PayloadSlot, Policy, Rejection, Reply, Reported, Span,
    What, When, Window, act, end, limits,
};

fn large() -> Payload {
    Payload::bytes("image/png", vec![7; 2_000]).unwrap()
}

/// Execution 1 has ended after so many attempts, with payloads beside it if so.
fn ended(attempts: u32, beside: bool) -> World {
    let mut world = World::new(1);
    let (input, result) = if beside { (large(), large()) } else { (Payload::null(), Payload::null()) };
    let tags = make::tags(&[("a", "b")]);
    let unique_key = Some("only".parse().unwrap());
    let policy = make::retry(limits::RETRIES_MAX, Span(0));
    world.submit(with!(submit(1), input, tags, unique_key, policy, trace: Some(make::trace())));
    for n in 1..u128::from(attempts) {
        let fence = world.claim(id(1), 1_000 + n).fence;
        world.accept(&make::fail(2_000 + n, fence));
    }
    let fence = world.claim(id(1), 10).fence;
    world.accept(&make::report(50, fence, end::Complete { result }));
    world
}

/// How many records of the execution stand beside its own.
fn beside(world: &World) -> usize {
    world.records.keys().filter(|key| key.to_string().starts_with(&format!("{}/", id(1)))).count()
}

#[test]
fn nothing_is_left_whatever_belonged_to_it() {
    for (attempts, payloads) in [(1, false), (1, true), (2, false), (40, true), (64, false), (64, true), (200, true)] {
        let mut world = ended(attempts, payloads);
        let left = beside(&world);
        let pages = world.execution(id(1)).pages as usize;
        assert_eq!(left, attempts as usize - 1 + pages + if payloads { 2 } else { 0 });
        let mut told = Vec::new();
        let mut pieces = 0;
        let mut done = world.home(&make::operate(60, id(1), Act::Purge(act::Purge {})));
        assert_eq!(done.result, Ok(Reply::Operate(ActOutcome::Purged)));
        loop {
            told.extend(done.events.into_iter().map(|event| event.what));
            pieces += 1;
            assert!(done.step.writes.len() <= limits::PURGE_PIECE as usize + 1, "a piece is bounded");
            let execution = world.execution(id(1));
            assert!(execution.is_purging());
            assert!(index::entries(&Record::Execution(execution.clone().into())).is_empty(), "nobody finds it");
            if beside(&world) == 0 {
                break;
            }
            assert_eq!(execution.due(), Some(Millis(0)), "it is due at once");
            assert_eq!(beside(&world), left - pieces * limits::PURGE_PIECE as usize);
            done = world.home(&due(id(1)));
            let next = world.execution(id(1)).due();
            assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next })));
        }
        assert_eq!(pieces, left.div_ceil(limits::PURGE_PIECE as usize).max(1), "{attempts} attempts");
        assert_eq!(told, [What::Purged], "told once, when it begins");
        let gone = world.when_due(id(1));
        assert_eq!((gone.result, gone.events.len()), (Ok(Reply::Due(Looked { acted: true, next: None })), 0));
        let stays = |key: &Key| matches!(key, Key::Queues(..) | Key::Unique(..));
        assert!(world.records.keys().all(stays), "a freed key outlives its holder: {:?}", world.records.keys());
    }
}

#[test]
fn what_is_leaving_is_gone_for_everybody() {
    let mut world = ended(100, false);
    let fence = world.execution(id(1)).last.as_ref().map(|last| crate::Fence {
        execution: id(1),
        lease: last.lease,
        epoch: 100,
        attempt: last.number,
    });
    world.operate(60, id(1), tag(&[("c", "d")], &[]));
    world.operate(61, id(1), Act::Purge(act::Purge {}));
    for act in [
        make::end(),
        make::replay(),
        make::revoke(),
        tag(&[("a", "c")], &[]),
        Act::Prioritise(act::Prioritise { priority: 1 }),
        Act::Reschedule(act::Reschedule::from(When::Now)),
    ] {
        let name = act.name();
        assert_eq!(world.refuse(&make::operate(70, id(1), act)), Rejection::Purged(id(1)), "{name}");
    }
    let state = PublicState::Completed;
    let refused = world.refuse(&make::renew(fence.unwrap(), make::TTL));
    assert_eq!(refused, Rejection::Purged(id(1)));
    let refused = world.refuse(&Command::Claim(make::claim(id(1), 77)));
    assert_eq!(refused, Rejection::NotReady { execution: id(1), state });
    for (command, did) in [(60, ActOutcome::Tagged), (61, ActOutcome::Purged)] {
        let act = if command == 60 { tag(&[("c", "d")], &[]) } else { Act::Purge(act::Purge {}) };
        let done = world.home(&make::operate(command, id(1), act));
        assert_eq!(done.result, Ok(Reply::Operate(did)), "a repeat gets its answer");
        assert!(done.step.writes.is_empty());
    }
    world.accept(&due(id(1)));
    world.when_due(id(1));
    assert_eq!(
        world.refuse(&make::operate(61, id(1), Act::Purge(act::Purge {}))),
        Rejection::ExecutionNotFound(id(1)),
        "when all is gone, nothing is left that could remember"
    );
    assert_eq!(world.refuse(&make::operate(60, id(1), make::end())), Rejection::ExecutionNotFound(id(1)));
}

#[test]
fn only_what_has_ended_is_removed() {
    let mut world = World::new(1);
    world.submit(submit(1));
    world.running(submit(2), 10);
    for (n, state) in [(1, PublicState::Waiting), (2, PublicState::Active)] {
        let refused = world.refuse(&make::operate(60, id(n), Act::Purge(act::Purge {})));
        assert_eq!(refused, Rejection::NotFinished { execution: id(n), state });
    }
}

#[test]
fn it_is_kept_for_as_long_as_its_policy_says() {
    for (retention, kept) in [(None, limits::RETENTION_DEFAULT), (Some(Span::minutes(10)), Span::minutes(10))] {
        for outcome in [Outcome::Success, Outcome::Failed, Outcome::Cancelled] {
            let mut world = World::new(1);
            let fence = world.running(with!(submit(1), policy: Policy { retention, ..make::retry(0, Span(0)) }), 9);
            match outcome {
                Outcome::Success => drop(world.accept(&make::complete(50, fence))),
                Outcome::Failed => drop(world.accept(&make::fail(50, fence))),
                _ => drop(world.accept(&make::cancel(50, fence))),
            }
            let until = world.now + kept;
            world.pass(Span::minutes(1));
            // Labels are no sign of life: it goes in time, and only its stub stays for whoever repeats that call.
            let labelled = world.now + limits::STUB_LIFE;
            world.operate(60, id(1), tag(&[("a", "b")], &[]));
            world.now = until - Span(1);
            assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(until) }));
            world.now = until;
            let done = world.home(&due(id(1)));
            let stays = (labelled > until).then_some(labelled);
            assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: stays })), "{outcome:?}");
            assert_eq!(done.window, Window { not_before: Some(until), not_after: None }, "{outcome:?}");
            assert_eq!((done.events.len(), &done.events[0].what), (1, &What::Purged));
            if stays.is_some() {
                world.when_due(id(1));
            }
            assert!(world.find(id(1)).is_none());
            assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: None }));
        }
    }
}

#[test]
fn a_piece_needs_few_rounds() {
    let mut world = ended(65, false);
    let done = world.run_from_nothing(make::HOME, &make::operate(60, id(1), Act::Purge(act::Purge {})));
    assert_eq!(done.result, Ok(Reply::Operate(ActOutcome::Purged)));
    assert!(done.rounds <= 2, "{} rounds", done.rounds);
}

#[test]
fn what_cannot_be_read_is_removed_too() {
    let mut world = ended(3, true);
    let broken = Record::Unreadable(bytes::Bytes::from_static(b"{\"v\":2}"));
    for key in [Key::Attempt(id(1), 1), Key::Payload(id(1), PayloadSlot::Result)] {
        world.put(key, broken.clone());
    }
    world.operate(60, id(1), Act::Purge(act::Purge {}));
    assert_eq!(beside(&world), 0);
}

#[test]
fn one_payload_beside_is_enough_to_look_for_both() {
    for (input, result) in [(large(), Payload::null()), (Payload::null(), large())] {
        let mut world = World::new(1);
        let fence = world.running(with!(submit(1), input), 10);
        world.accept(&make::report(50, fence, end::Complete { result }));
        assert_eq!(beside(&world), 1);
        world.operate(60, id(1), Act::Purge(act::Purge {}));
        assert_eq!(beside(&world), 0);
    }
}

#[test]
fn an_idempotency_key_keeps_its_own_time() {
    // The key promises that nothing runs twice within its window, also when what it stands for is gone.
    let mut world = World::new(1);
    let keyed = |n| with!(submit(n), idempotency_key: Some("order".parse().unwrap()));
    let fence = world.running(keyed(1), 10);
    world.accept(&make::complete(50, fence));
    world.operate(60, id(1), Act::Purge(act::Purge {}));
    assert_eq!(world.submit(keyed(2)), id(1));
    world.pass(limits::DEDUP_WINDOW_DEFAULT);
    assert_eq!(world.submit(keyed(3)), id(3));
}

#[test]
fn repeated_calls_find_themselves_for_a_while_and_nothing_of_the_contents() {
    let mut world = ended(2, true);
    let fence = crate::Fence { execution: id(1), lease: crate::LeaseId(10), epoch: 2, attempt: 2 };
    // However old it is: the call that purges it may be repeated too.
    world.pass(Span::days(1));
    let purged = world.now;
    world.operate(60, id(1), Act::Purge(act::Purge {}));
    assert_eq!(world.operate(60, id(1), Act::Purge(act::Purge {})), ActOutcome::Purged);
    let stub = world.execution(id(1)).clone();
    assert_eq!(stub.due(), Some(purged + limits::STUB_LIFE), "counted from the purge");
    let body = String::from_utf8(crate::codec::encode(&Record::Execution(stub.into())).to_vec()).unwrap();
    assert!(!body.contains("\"a\"") && !body.contains("history") && !body.contains("beside"), "{body}");

    let again = with!(submit(1), unique_key: Some("only".parse().unwrap()));
    assert_eq!(world.submit(again), id(1), "the submit is not done again");
    let complete = make::complete(50, fence);
    assert_eq!(world.accept(&complete), Reply::Report(Reported::ENDED));
    assert_eq!(world.refuse(&make::operate(61, id(1), make::replay())), Rejection::Purged(id(1)));
    world.now = purged + limits::STUB_LIFE - Span(1);
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(purged + limits::STUB_LIFE) }));
    let gone = world.when_due(id(1));
    assert_eq!(gone.window.not_before, Some(purged + limits::STUB_LIFE));
    assert!(world.find(id(1)).is_none());
}

/// A purge removes older attempts first, and with them what they remember of the calls that ended them.
#[test]
fn a_report_on_an_attempt_that_is_gone_is_neither_confirmed_nor_denied() {
    let mut world = World::new(1);
    let first = world.running(with!(submit(1), policy: make::retry(3, Span(0))), 10);
    let failed = world.accept(&make::fail(50, first));
    let second = world.claim(id(1), 11).fence;
    world.accept(&make::complete(51, second));
    assert_eq!(world.accept(&make::fail(50, first)), failed, "the repeat finds itself");
    world.operate(60, id(1), Act::Purge(act::Purge {}));
    for call in [
        make::fail(50, first),
        make::complete(52, first),
        make::unclaim(53, first),
        make::delay(54, first, When::Now),
        make::cancel(55, first),
        make::renew(first, make::TTL),
        make::progress(first, Some(5), None),
    ] {
        assert_eq!(world.refuse(&call), Rejection::Purged(id(1)), "{call:?}");
    }
    assert_eq!(
        world.accept(&make::complete(51, second)),
        Reply::Report(Reported::ENDED),
        "the last attempt is still known"
    );
}

#[test]
fn what_changed_long_ago_goes_at_once() {
    let mut world = ended(2, true);
    world.pass(limits::STUB_LIFE);
    world.now = world.execution(id(1)).due().unwrap().max(world.now);
    world.accept(&due(id(1)));
    assert!(world.find(id(1)).is_none() && beside(&world) == 0);
}
