//! Ways to break a good history, each with the promises that it breaks.

use crate::run::{EVENTS, Run};

/// Breaks one thing of a good run, and names the promises that it breaks.
pub(crate) type Case = (&'static str, fn(&mut Run), &'static [&'static str]);

pub(crate) const KEPT: &str = "an acknowledged submit is kept";
pub(crate) const ONCE: &str = "every execution ends exactly once";
pub(crate) const RAN: &str = "every execution ran at least once";
pub(crate) const ENDS: &str = "an acknowledged end stays, once";
pub(crate) const APART: &str = "leases of an execution never overlap";
pub(crate) const UNDER: &str = "nothing ends under a lease that is over";
pub(crate) const LONG: &str = "no lease runs out before its time";
pub(crate) const LATE: &str = "a call under a lease that was ended is refused";
pub(crate) const KNOWN: &str = "every lease given is in the feed, once";
pub(crate) const TWICE: &str = "the reader sees no event twice";
pub(crate) const MISSED: &str = "the reader misses no event";
pub(crate) const ORDER: &str = "the reader sees an execution in order";
pub(crate) const TRUE: &str = "what the reader saw is stored";
pub(crate) const DATED: &str = "no event is dated in the future";
pub(crate) const ASIDE: &str = "a poisoned message is set aside";
pub(crate) const PAIR: &str = "messages behind it are delivered";
pub(crate) const AGREE: &str = "records and indexes agree at the end";
pub(crate) const LIVE: &str = "every partition is live again in time";
pub(crate) const READ: &str = "every line can be read";
pub(crate) const FAULTS: &str = "faults happened";

pub(crate) const CASES: &[Case] = &[
    (
        "a lost submit",
        |run| {
            run.engine.push_str("{\"is\":\"submitted\",\"execution\":\"x-lost-0\",\"asked\":1,\"at\":2}\n");
        },
        &[KEPT],
    ),
    (
        "an execution that never ended",
        |run| Run::swap(&mut run.look, "\"state\":\"completed\"", "\"state\":\"active\""),
        &[ONCE],
    ),
    (
        "two terminal transitions",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                let mut again = events[7].clone();
                Run::swap(&mut again, "902620", "902621");
                Run::swap(&mut again, "completed", "cancelled");
                events.push(again);
            }
        },
        &[ONCE, UNDER],
    ),
    (
        "an end that disagrees with the list",
        |run| Run::swap(&mut run.look, "\"state\":\"completed\"", "\"state\":\"failed\""),
        &[ONCE],
    ),
    (
        "an execution listed twice",
        |run| run.look.push_str("{\"is\":\"listed\",\"execution\":\"x-a-0\",\"state\":\"completed\"}\n"),
        &[ONCE],
    ),
    (
        "an execution that never ran",
        |run| {
            Run::swap(
                &mut run.engine,
                "{\"is\":\"begun\",\"execution\":\"x-a-0\"",
                "{\"is\":\"left\",\"execution\":\"x-a-0\"",
            );
        },
        &[RAN],
    ),
    (
        "an acknowledged end that is undone",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                Run::swap(
                    &mut events[7],
                    "\"type\":\"completed\",\"attempt\":2",
                    "\"type\":\"attempt_failed\",\"attempt\":2,\"category\":\"x\"",
                );
            }
            run.look = run.look.replace("\"x-b-0\",\"state\":\"completed\"", "\"x-b-0\",\"state\":\"failed\"");
        },
        &[ENDS],
    ),
    (
        "an end acknowledged twice",
        |run| {
            run.engine.push_str(
                "{\"is\":\"ended\",\"execution\":\"x-b-0\",\"attempt\":2,\"epoch\":2,\"asked\":2620,\"at\":2640}\n",
            );
        },
        &[ENDS],
    ),
    (
        "overlapping leases",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                events.swap(5, 6);
            }
        },
        &[APART, UNDER, LONG],
    ),
    (
        "a lease before the end of the last on the store's timeline",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                Run::swap(&mut events[6], "902600", "901900");
            }
        },
        &[APART],
    ),
    (
        "a completion under an ended lease",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                Run::swap(&mut events[7], "\"attempt\":2", "\"attempt\":1");
            }
            run.engine = run.engine.replace(
                "{\"is\":\"ended\",\"execution\":\"x-b-0\",\"attempt\":2,\"epoch\":2,\"asked\":2620,\"at\":2630}\n",
                "",
            );
        },
        &[UNDER],
    ),
    (
        "a completion without any lease",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                events.remove(2);
            }
        },
        &[UNDER],
    ),
    (
        "a lease that ended before its ttl",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                Run::swap(&mut events[5], "902001", "901999");
            }
        },
        &[LONG],
    ),
    (
        "a lease that ended before the time its holder was told",
        |run| Run::swap(&mut run.engine, "902000", "902002"),
        &[LONG],
    ),
    (
        "a lease that was seen to be over too soon",
        |run| Run::swap(&mut run.engine, "\"asked\":1010,\"at\":1020", "\"asked\":1210,\"at\":1220"),
        &[LONG],
    ),
    (
        "a late call that was accepted",
        |run| {
            let refused =
                "{\"is\":\"refused\",\"execution\":\"x-b-0\",\"attempt\":1,\"epoch\":1,\"code\":\"lease_expired\",";
            Run::swap(&mut run.engine, refused, "{\"is\":\"ended\",\"execution\":\"x-b-0\",\"attempt\":1,\"epoch\":1,");
        },
        &[ENDS, LATE],
    ),
    ("no late call at all", |run| Run::swap(&mut run.engine, "\"asked\":2500", "\"asked\":1900"), &[LATE]),
    (
        "an end under a lease that was given to nobody",
        |run| {
            run.engine = run.engine.replace(
                "{\"is\":\"leased\",\"execution\":\"x-b-0\",\"attempt\":2,",
                "{\"is\":\"leased\",\"execution\":\"x-b-0\",\"attempt\":3,",
            );
        },
        &[LATE, KNOWN],
    ),
    (
        "a lease given twice",
        |run| {
            run.engine.push_str("{\"is\":\"leased\",\"execution\":\"x-b-0\",\"attempt\":2,\"epoch\":2,\"asked\":2600,\"at\":2610,\"ttl\":1000,\"expires_at\":903600}\n");
        },
        &[KNOWN],
    ),
    ("an event seen twice", |run| run.saw.push(EVENTS[7].to_owned()), &[TWICE]),
    (
        "an event missed",
        |run| {
            run.saw.remove(3);
        },
        &[MISSED],
    ),
    ("a gap without a loss", |run| run.engine.push_str("{\"is\":\"gap\",\"at\":1}\n"), &[MISSED]),
    ("events of an execution out of order", |run| run.saw.swap(6, 7), &[ORDER]),
    (
        "an event that was taken back",
        |run| {
            let mut other = EVENTS[7].to_owned();
            Run::swap(&mut other, "902620", "902619");
            run.saw.push(other);
        },
        &[TRUE],
    ),
    (
        "an event dated an hour ahead",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                Run::swap(&mut events[7], "902620", "4502620");
            }
        },
        &[DATED],
    ),
    (
        "a poison that was never set aside",
        |run| Run::swap(&mut run.look, "{\"is\":\"dead\",\"key\":\"dead/0/1/7\"}\n", ""),
        &[ASIDE],
    ),
    (
        "a message set aside that nobody planted",
        |run| run.look.push_str("{\"is\":\"dead\",\"key\":\"dead/0/1/8\"}\n"),
        &[ASIDE],
    ),
    (
        "no poison",
        |run| {
            Run::swap(&mut run.driver, "{\"is\":\"poisoned\",\"dead\":\"dead/0/1/7\",\"at\":4000}\n", "");
            Run::swap(&mut run.look, "{\"is\":\"dead\",\"key\":\"dead/0/1/7\"}\n", "");
        },
        &[ASIDE],
    ),
    ("a poison that blocks its pair", |run| Run::swap(&mut run.engine, "\"asked\":4100", "\"asked\":3900"), &[PAIR]),
    (
        "a store that does not agree",
        |run| Run::swap(&mut run.look, "\"faults\":[]", "\"faults\":[\"a place without its record\"]"),
        &[AGREE],
    ),
    (
        "a store that was not examined",
        |run| Run::swap(&mut run.look, "{\"is\":\"examined\",\"records\":9,\"faults\":[]}\n", ""),
        &[AGREE],
    ),
    ("a line that is none", |run| run.engine.push_str("{\"is\":\"begun\",\"execution\":\n"), &[READ]),
    ("a line of an unknown kind", |run| run.engine.push_str("{\"is\":\"surprise\"}\n"), &[READ]),
    (
        "no faults",
        |run| {
            Run::swap(
                &mut run.driver,
                "{\"is\":\"fault\",\"what\":\"kill\",\"process\":\"engine-1\",\"at\":5000,\"until\":5001}\n",
                "",
            );
        },
        &[FAULTS],
    ),
];

pub(crate) const LOSSY_CASES: &[Case] = &[
    (
        "a loss before the allowed second",
        |run| {
            run.engine.push_str("{\"is\":\"submitted\",\"execution\":\"x-l-0\",\"asked\":1,\"at\":1999}\n");
        },
        &[KEPT],
    ),
    (
        "a loss after the new primary took over",
        |run| {
            run.engine.push_str("{\"is\":\"submitted\",\"execution\":\"x-l-0\",\"asked\":4003,\"at\":4004}\n");
        },
        &[KEPT],
    ),
    (
        "a partition that was live too late",
        |run| Run::swap(&mut run.engine, "\"asked\":3100,\"at\":7000", "\"asked\":3100,\"at\":13001"),
        &[LIVE],
    ),
    (
        "a partition that was never live again",
        |run| Run::swap(&mut run.engine, "\"asked\":3100,\"at\":7000", "\"asked\":2900,\"at\":2950"),
        &[LIVE],
    ),
    (
        "an event missed without a gap",
        |run| {
            run.saw.remove(3);
        },
        &[MISSED],
    ),
    (
        "an event undone that was seen long before",
        |run| {
            let mut other = EVENTS[2].to_owned();
            Run::swap(&mut other, "901000", "900999");
            run.saw.insert(2, other);
        },
        &[TRUE],
    ),
];
