//! Removing what has ended: all of it, in bounded pieces, its own record last.

use crate::index;
use crate::record::{ErrandKind, Outcome, PublicState, Record};
use crate::rules::world::World;
use crate::rules::world::make::{self, due, id, submit, tag, with};
use crate::{
    Act, ActOutcome, Candidate, Command, Due, ExecutionId, Key, Looked, Payload, PayloadSlot, Policy, Rejection, Reply,
    Reported, Span, What, When, Window, act, end, limits,
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

fn errand(id: ExecutionId) -> Command {
    Command::Due(Due { key: Key::Errand(id, ErrandKind::Purge) })
}

fn has_errand(world: &World) -> bool {
    world.record(&Key::Errand(id(1), ErrandKind::Purge)).is_some()
}

/// Runs the errand once; answers whether it is still there.
fn go_on(world: &mut World) -> bool {
    let before = beside(world);
    let done = world.home(&errand(id(1)));
    assert!(matches!(done.result, Ok(Reply::Due(Looked { acted: true, .. }))), "{:?}", done.result);
    assert!(done.events.is_empty(), "told once, when it begins");
    assert!(before - beside(world) <= limits::PURGE_PIECE + 1, "a piece is bounded");
    has_errand(world)
}

/// Purges execution 1 and removes all that belongs to it.
fn purge(world: &mut World, command: u128) {
    assert_eq!(world.operate(command, id(1), Act::Purge(act::Purge {})), ActOutcome::Purged);
    if has_errand(world) {
        while go_on(world) {}
    }
}

#[test]
fn nothing_is_left_whatever_belonged_to_it() {
    for (attempts, payloads) in [(1, false), (1, true), (2, false), (40, true), (64, false), (64, true), (200, true)] {
        let mut world = ended(attempts, payloads);
        let parts = beside(&world);
        let pages = world.execution(id(1)).pages as usize;
        assert_eq!(parts, attempts as usize - 1 + pages + if payloads { 2 } else { 0 });
        let done = world.home(&make::operate(60, id(1), Act::Purge(act::Purge {})));
        assert_eq!(done.result, Ok(Reply::Operate(ActOutcome::Purged)));
        assert_eq!(done.events.into_iter().map(|event| event.what).collect::<Vec<_>>(), [What::Purged]);
        let execution = world.execution(id(1)).clone();
        assert!(execution.is_purging());
        let record = Record::Execution(execution.into());
        assert!(index::entries(&Key::Execution(id(1)), &record).is_empty(), "no query returns it");
        let (left, mut pieces) = (parts.saturating_sub(limits::PURGE_AT_ONCE), 0);
        assert_eq!((beside(&world), has_errand(&world)), (left + usize::from(left > 0), left > 0));
        if left > 0 {
            pieces = 1;
            while go_on(&mut world) {
                assert_eq!(beside(&world), left - pieces * limits::PURGE_PIECE + 1, "and the errand");
                pieces += 1;
            }
        }
        assert_eq!((beside(&world), pieces), (0, left.div_ceil(limits::PURGE_PIECE)), "{attempts} attempts");
        let gone = world.when_due(id(1));
        assert_eq!((gone.result, gone.events.len()), (Ok(Reply::Due(Looked { acted: true, next: None })), 0));
        let stays = |key: &Key| matches!(key, Key::Queues(..) | Key::Unique(..));
        assert!(world.records.keys().all(stays), "a freed key outlives its holder: {:?}", world.records.keys());
    }
}

#[test]
fn a_page_that_misses_parts_ends_nothing() {
    let mut world = ended(8, true);
    let last = Key::Attempt(id(1), 7).to_string();
    world.operate(60, id(1), Act::Purge(act::Purge {}));
    world.hidden.insert(last);
    assert!(go_on(&mut world), "one is left");
    let mut pauses = Vec::new();
    for _ in 0..3 {
        assert!(go_on(&mut world), "nothing was found, and one is left");
        let due = world.record(&Key::Errand(id(1), ErrandKind::Purge)).and_then(index::due).unwrap();
        pauses.push(due - world.now);
        assert_eq!(world.accept(&errand(id(1))), Reply::Due(Looked { acted: false, next: Some(due) }), "it rests");
        world.now = due;
    }
    assert_eq!(pauses, [Span(20), Span(40), Span(80)]);
    world.hidden.clear();
    assert!(!go_on(&mut world) && beside(&world) == 0);
}

#[test]
fn a_page_of_what_is_gone_is_passed_by() {
    let mut world = ended(9, false);
    world.stale = (1..=limits::PURGE_PIECE as u32 + 3)
        .map(|n| Candidate { rank: u64::from(n), key: Key::Attempt(id(1), 1_000 + n).name() })
        .collect();
    world.operate(60, id(1), Act::Purge(act::Purge {}));
    assert!(!go_on(&mut world) && beside(&world) == 0, "what stands behind them is found in the same step");
}

#[test]
fn what_damage_has_removed_is_given_up_after_a_while_and_what_is_newer_is_not() {
    for (newer, damaged) in [(false, true), (true, true), (true, false)] {
        let mut world = ended(8, false);
        if damaged {
            world.records.remove(&Key::Attempt(id(1), 6));
        }
        if newer {
            world.stale.push(Candidate { rank: u64::MAX, key: format!("{}/z/1", id(1)).into() });
        }
        world.operate(60, id(1), Act::Purge(act::Purge {}));
        let mut steps = 0;
        while go_on(&mut world) && steps < 2 * limits::ERRAND_PAUSES_MAX {
            world.now = world.record(&Key::Errand(id(1), ErrandKind::Purge)).and_then(index::due).unwrap();
            steps += 1;
        }
        assert_eq!(has_errand(&world), newer, "damaged: {damaged}");
        if newer {
            world.when_due(id(1));
        }
        assert_eq!(world.find(id(1)).is_some(), newer, "its record waits for its errand");
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
    while go_on(&mut world) {}
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
    world.operate(60, id(1), Act::Purge(act::Purge {}));
    let done = world.run_from_nothing(make::HOME, &errand(id(1)));
    assert!(done.result.is_ok() && done.rounds <= 4, "{} rounds", done.rounds);
}

#[test]
fn what_cannot_be_read_is_removed_too() {
    let mut world = ended(3, true);
    let broken = Record::Unreadable(bytes::Bytes::from_static(b"{\"v\":2}"));
    for key in [Key::Attempt(id(1), 1), Key::Payload(id(1), PayloadSlot::Result)] {
        world.put(key, broken.clone());
    }
    purge(&mut world, 60);
    assert_eq!(beside(&world), 0);
}

#[test]
fn one_payload_beside_is_enough_to_look_for_both() {
    for (input, result) in [(large(), Payload::null()), (Payload::null(), large())] {
        let mut world = World::new(1);
        let fence = world.running(with!(submit(1), input), 10);
        world.accept(&make::report(50, fence, end::Complete { result }));
        assert_eq!(beside(&world), 1);
        purge(&mut world, 60);
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
    let mut world = ended(1, true);
    let fence = crate::Fence { execution: id(1), lease: crate::LeaseId(10), epoch: 1, attempt: 1 };
    // However old it is: the call that purges it may be repeated too.
    world.pass(Span::days(1));
    let purged = world.now;
    world.operate(60, id(1), Act::Purge(act::Purge {}));
    assert_eq!(world.operate(60, id(1), Act::Purge(act::Purge {})), ActOutcome::Purged);
    let stub = world.execution(id(1)).clone();
    assert_eq!(stub.due(), Some(purged + limits::STUB_LIFE), "counted from the purge");
    let body = String::from_utf8(crate::codec::encode(&Record::Execution(stub.into())).to_vec()).unwrap();
    assert!(!body.contains("history") && !body.contains("beside") && !body.contains("trace"), "{body}");

    let again = with!(submit(1), unique_key: Some("only".parse().unwrap()));
    assert_eq!(world.submit(again), id(1), "the submit is not done again");
    let complete = make::complete(50, fence);
    assert_eq!(world.accept(&complete), Reply::Report(Reported::ENDED));
    assert_eq!(world.refuse(&make::operate(61, id(1), make::replay())), Rejection::Purged(id(1)));
    assert!(!has_errand(&world));
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
    purge(&mut world, 60);
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
fn what_changed_long_ago_goes_in_one_commit_unless_it_is_large() {
    for (attempts, payloads, large) in [(1, false, false), (1, true, false), (40, true, true)] {
        let mut world = ended(attempts, payloads);
        world.pass(limits::STUB_LIFE);
        world.now = world.execution(id(1)).due().unwrap().max(world.now);
        let looked = world.accept(&due(id(1)));
        let again = large.then(|| world.now + limits::PURGE_RECHECK);
        assert_eq!(looked, Reply::Due(Looked { acted: true, next: again }), "its errand comes first");
        assert_eq!((world.find(id(1)).is_some(), beside(&world) > 0), (large, large));
        if large {
            assert!(!go_on(&mut world), "one piece");
            assert_eq!(world.when_due(id(1)).result, Ok(Reply::Due(Looked { acted: true, next: None })));
        }
        assert!(world.find(id(1)).is_none() && beside(&world) == 0);
    }
}

#[test]
fn a_record_waits_for_its_errand() {
    let mut world = ended(100, false);
    world.operate(60, id(1), Act::Purge(act::Purge {}));
    world.when_due(id(1));
    let again = world.execution(id(1)).due();
    assert_eq!(again, Some(world.now + limits::PURGE_RECHECK));
    while go_on(&mut world) {}
    world.when_due(id(1));
    assert!(world.find(id(1)).is_none());
}
