//! What a process remembers of a pair, step by step.

use super::*;
use onward_core::record::{Format, MessageBody};
use onward_core::{Lane, Namespace};

const PAIR: PairId = (PartitionId(1), PartitionId(2));
const NOW: Millis = Millis(1_000);

fn messages(seqs: std::ops::Range<u64>) -> Vec<(u64, Arc<Record>)> {
    let message = |seq: u64| {
        let (namespace, lane) = (Namespace::default(), Lane::default());
        let body = MessageBody::LaneCopied { namespace, lane, revision: seq, by: PAIR.0 };
        Message { format: Format, id: MessageId(u128::from(seq)), sent_at: NOW, body }
    };
    seqs.map(|seq| (seq, Arc::new(Record::Message(message(seq))))).collect()
}

fn ids(seqs: std::ops::Range<u64>) -> Ids {
    seqs.map(|seq| (seq, MessageId(u128::from(seq)))).collect()
}

/// Takes a step that must be a removal, and ends it; returns what it removes.
fn forget(serving: &mut Serving, now: Millis) -> Ids {
    let Step::Forget(gone) = serving.step(now) else { panic!("nothing to remove") };
    serving.removed(gone.len());
    gone
}

/// Takes a step that must be a delivery; returns what it delivers.
fn deliver(serving: &mut Serving) -> Vec<u64> {
    let Step::Deliver(messages) = serving.step(NOW) else { panic!("nothing to deliver") };
    let ids: Ids = messages.iter().map(|(seq, message)| (*seq, message.id)).collect();
    let seqs = ids.iter().map(|(seq, _)| *seq).collect();
    serving.delivered(ids, NOW);
    seqs
}

#[test]
fn what_a_commit_wrote_is_delivered_and_later_removed_without_a_read() {
    let pairs = Arc::new(Pairs::default());
    let mut serving = pairs.sent(PAIR, Some(3), messages(3..5)).expect("a task");
    assert_eq!(deliver(&mut serving), [3, 4]);
    assert!(pairs.sent(PAIR, Some(3), messages(5..6)).is_none(), "one task serves the pair");
    assert_eq!(deliver(&mut serving), [5], "it follows what was delivered");
    let Step::Wait(until, _) = serving.step(NOW) else { panic!("it waits for company") };
    assert!(pairs.fired(PAIR, 4).is_none());
    assert_eq!(forget(&mut serving, NOW), ids(3..6), "its due time came");
    assert!(matches!(serving.step(until), Step::End));

    let mut serving = pairs.sent(PAIR, Some(6), messages(6..7)).expect("a task");
    assert_eq!(deliver(&mut serving), [6]);
    assert!(matches!(serving.step(until - Span(1)), Step::Wait(..)));
    assert!(matches!(serving.step(until), Step::Forget(gone) if gone == ids(6..7)));
    assert!(matches!(serving.step(until), Step::Wait(..)), "until they are removed");
    pairs.sent(PAIR, Some(6), messages(7..8));
    assert_eq!(deliver(&mut serving), [7], "a removal holds up no delivery");
    serving.removed(1);
    assert_eq!(forget(&mut serving, until), ids(7..8));
    assert!(matches!(serving.step(until), Step::End));
    assert_eq!(pairs.0.lock().held, 0);
}

#[test]
fn a_gap_is_read_from_the_store() {
    let pairs = Arc::new(Pairs::default());
    let mut serving = pairs.sent(PAIR, Some(1), messages(3..5)).expect("a task");
    assert!(matches!(serving.step(NOW), Step::Read(known) if known.is_empty()), "older ones are stored");
    assert!(pairs.sent(PAIR, Some(1), messages(5..6)).is_none());
    assert!(matches!(serving.step(NOW), Step::Read(_)), "what it follows is not known yet");
    serving.read_up_to(6);
    pairs.sent(PAIR, Some(6), messages(6..7));
    assert_eq!(deliver(&mut serving), [6]);
    pairs.sent(PAIR, Some(6), messages(8..9));
    assert!(matches!(serving.step(NOW), Step::Read(known) if known == ids(6..7)), "what is delivered is told");
    serving.read_up_to(9);
    pairs.sent(PAIR, Some(4), messages(4..5));
    assert!(matches!(serving.step(NOW), Step::Deliver(_)), "the store lost its last second, and nothing is before it");
    serving.unread();
    assert!(matches!(serving.step(NOW), Step::Read(_)), "a failed delivery");
    assert!(matches!(serving.step(NOW), Step::End));
}

#[test]
fn what_is_read_and_sent_at_once_is_delivered_once() {
    let pairs = Arc::new(Pairs::default());
    let mut serving = pairs.fired(PAIR, 0).expect("a task");
    assert!(matches!(serving.step(NOW), Step::Read(_)));
    pairs.sent(PAIR, Some(0), messages(0..2));
    serving.read_up_to(1);
    assert_eq!(deliver(&mut serving), [1]);
    assert_eq!(pairs.0.lock().held, 0);
}

#[test]
fn no_more_is_delivered_than_the_receiver_remembers() {
    let pairs = Arc::new(Pairs::default());
    let max = limits::MESSAGES_MAX as u64;
    let mut serving = pairs.sent(PAIR, Some(0), messages(0..max / 2 - 1)).expect("a task");
    assert_eq!(deliver(&mut serving).len() as u64, max / 2 - 1);
    pairs.sent(PAIR, Some(0), messages(max / 2 - 1..3 * max));
    let (mut unforgotten, mut delivered, mut removing) = (max / 2 - 1, max / 2 - 1, VecDeque::new());
    while delivered < 3 * max {
        match serving.step(NOW) {
            Step::Deliver(group) => {
                let ids: Ids = group.iter().map(|(seq, message)| (*seq, message.id)).collect();
                (unforgotten, delivered) = (unforgotten + ids.len() as u64, delivered + ids.len() as u64);
                serving.delivered(ids, NOW);
            }
            Step::Forget(gone) => removing.push_back(gone.len()),
            Step::Wait(..) => {
                let gone = removing.pop_front().expect("it waits for a removal");
                serving.removed(gone);
                unforgotten -= gone as u64;
            }
            other => panic!("{other:?}"),
        }
        assert!(unforgotten <= max);
    }
    removing.into_iter().for_each(|gone| serving.removed(gone));
    assert!(!forget(&mut serving, NOW).is_empty(), "many are removed without a pause");
    assert!(matches!(serving.step(NOW), Step::End));
}

#[test]
fn memory_is_bounded() {
    let pairs = Arc::new(Pairs::default());
    let mut servings = Vec::new();
    for to in 0..1_000 {
        servings.extend(pairs.sent((PAIR.0, PartitionId(to)), Some(0), messages(0..64)));
        assert!(pairs.0.lock().held <= HELD_MAX);
    }
    let unread =
        servings.iter_mut().map(|serving| serving.step(NOW)).filter(|step| matches!(step, Step::Read(_))).count();
    assert_eq!(unread, 1_000 - HELD_MAX / 64, "the others are read");
    drop(servings);
    let inner = pairs.0.lock();
    assert_eq!((inner.held, inner.pairs.len()), (0, 0));
}

#[test]
fn a_pair_is_freed_once() {
    let pairs = Arc::new(Pairs::default());
    let mut first = pairs.fired(PAIR, 0).expect("a task");
    assert!(matches!(first.step(NOW), Step::Read(_)));
    assert!(matches!(first.step(NOW), Step::End));
    let second = pairs.fired(PAIR, 0).expect("the pair is free");
    drop(first);
    assert!(pairs.fired(PAIR, 0).is_none(), "the second task still serves it");
    drop(second);
    assert!(pairs.fired(PAIR, 0).is_some(), "a task that breaks off frees it too");
}

#[test]
fn delivered_messages_are_removed_on_the_way_of_another_command() {
    let pairs = Arc::new(Pairs::default());
    let mut serving = pairs.sent(PAIR, Some(0), messages(0..1)).expect("a task");
    pairs.flush_from(PAIR.0);
    assert_eq!(deliver(&mut serving), [0], "what is not delivered is not removed");
    assert!(matches!(serving.step(NOW), Step::Wait(..)));
    pairs.flush((PAIR.1, PAIR.0));
    pairs.flush_from(PAIR.1);
    assert!(matches!(serving.step(NOW), Step::Wait(..)), "other pairs");
    pairs.flush_from(PAIR.0);
    assert_eq!(forget(&mut serving, NOW), ids(0..1));
}
