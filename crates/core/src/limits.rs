//! Every bound of the system, each with its reason.

use crate::{Rejection, Span};

/// Longest namespace. With lane, class and kind it must fit a name of 200 bytes.
pub const NAMESPACE_BYTES_MAX: usize = 40;
/// Longest lane name; same reason.
pub const LANE_BYTES_MAX: usize = 64;
/// Longest class name that is spelled out; a longer set of capabilities is named by its hash. The name of a queue, which
/// is made of namespace, lane, class and kind, must fit 200 bytes.
pub const CLASS_NAME_BYTES_MAX: usize = 32;
/// Longest kind that is spelled out in the name of its queue; same reason.
pub const KIND_NAME_BYTES_MAX: usize = 48;
/// Most lanes of a namespace, so that one tenant cannot fill the registry of all.
pub const LANES_MAX: usize = 10_000;
/// Most queues of a lane, each of one kind and one set of required capabilities; they are one record in each partition.
pub const QUEUES_MAX: usize = 1_000;
/// Most bytes of the record of a lane's queues in one partition that a submission may add to: a quarter of a batch, since
/// every batch in which a queue is used for the first time in hours writes it.
pub const QUEUES_RECORD_BYTES_MAX: usize = 256 * 1024;
/// Further room for the queues of work that was accepted before, was forgotten while it ran or was delayed, and is ready
/// again. Work for which there is no room becomes ready later.
pub const QUEUES_RECORD_BYTES_RESERVE: usize = 256 * 1024;
/// When work tries again for which the record of its lane's queues had no room; queues that are empty make room.
pub const QUEUES_FULL_PAUSE: Span = Span::minutes(5);
/// How long a queue is remembered that nothing used.
pub const QUEUE_KEPT: Span = Span::days(1);
/// How long ago a queue was noted to be in use before that is noted again.
pub const QUEUE_USE_NOTED: Span = Span::hours(12);
/// Longest kind.
pub const KIND_BYTES_MAX: usize = 128;
/// Longest worker name; it is stored with every lease and event.
pub const WORKER_BYTES_MAX: usize = 128;
/// The name of a worker's build.
pub const BUILD_BYTES_MAX: usize = 64;
/// Longest name of somebody who calls; it is stored with what operators did.
pub const ACTOR_BYTES_MAX: usize = 64;
/// Most namespaces of one key; a key for more is one for all.
pub const KEY_NAMESPACES_MAX: usize = 64;
/// Longest idempotency key; with its namespace it must fit a 200-byte key.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;
/// Longest unique key; same reason.
pub const UNIQUE_KEY_BYTES_MAX: usize = 128;
/// Calls that named themselves which a unique key remembers.
pub const NAMED_CALLS_MAX: usize = 8;
/// Longest capability token, and how many an execution may require.
pub const CAPABILITY_BYTES_MAX: usize = 64;
/// Most capabilities in one set.
pub const CAPABILITIES_MAX: usize = 64;
/// Most tags of an execution: each is one index row.
pub const TAGS_MAX: usize = 16;
/// Longest tag key and tag value; both are part of an index name.
pub const TAG_BYTES_MAX: usize = 64;
/// Highest priority. The rank of a ready entry holds it in 14 bits.
pub const PRIORITY_MAX: u16 = 9_000;

/// Largest input or result. One payload must fit a batch with room for its neighbours.
pub const PAYLOAD_BYTES_MAX: usize = 512 * 1024;
/// JSON payloads up to this size are part of the execution record; larger ones are written once, beside it.
pub const PAYLOAD_INLINE_BYTES_MAX: usize = 1024;
/// Deepest nesting of a JSON payload, below the depth at which common parsers give up.
pub const JSON_DEPTH_MAX: usize = 64;
/// Longest content type.
pub const CONTENT_TYPE_BYTES_MAX: usize = 100;
/// Longest failure message kept; a longer one is cut.
pub const FAILURE_MESSAGE_BYTES_MAX: usize = 1024;
/// Bytes of the details of a failure; they are kept in the record of the attempt.
pub const FAILURE_DETAILS_BYTES_MAX: usize = 16 * 1024;
/// Longest reason or progress message kept; a longer one is cut.
pub const REASON_BYTES_MAX: usize = 512;
/// Longest failure category.
pub const CATEGORY_BYTES_MAX: usize = 40;

/// Longest name of a wait; with the id of its execution, its life and its number it must fit a 200-byte key.
pub const WAIT_NAME_BYTES_MAX: usize = 64;
/// Longest name of a signal; it is kept with every signal and every condition that accepts it.
pub const SIGNAL_NAME_BYTES_MAX: usize = 64;
/// Most names of signals that one wait accepts.
pub const SIGNAL_NAMES_MAX: usize = 16;
/// Most waits that one condition names: each that is over is a record of its own.
pub const WAITS_MAX: usize = 64;
/// Most signals that a condition counts in all of its parts; they are kept in the record of the execution.
pub const CONDITION_SIGNALS_MAX: u32 = 256;
/// Deepest nesting of a condition: people have to understand it.
pub const CONDITION_DEPTH_MAX: usize = 4;
/// Most bytes of a condition. It is part of the execution's record.
pub const CONDITION_BYTES_MAX: usize = 8 * 1024;
/// Most bytes that a worker keeps with a suspension. They are part of the execution's record.
pub const CONTINUATION_BYTES_MAX: usize = 8 * 1024;
/// Signals that an execution keeps for waits that take them later; their ids are part of its record.
pub const MAILBOX_MAX: usize = 64;
/// Most signals that one execution accepts in its life; each is a record.
pub const SIGNALS_MAX: u32 = 10_000;
/// Signals whose payloads a worker gets with the lease when an attempt goes on; it reads further ones.
pub const WOKE_PAYLOADS_MAX: usize = 16;
/// Bytes of such payloads: what a batch may hold.
pub const WOKE_BYTES_MAX: usize = BATCH_BYTES_MAX;

/// Keys whose tokens are good at the same time; each rotation adds one until it expires.
pub const TOKEN_KEYS_MAX: usize = 16;
/// Oldest copy of these keys by which a process checks tokens.
pub const TOKEN_KEYS_AGE: Span = Span::seconds(1);
/// How long after that copy was read a signal by a token may be committed; later the keys are read again. It is longer than a
/// commit takes, so that hardly a signal is tried twice.
pub const TOKEN_PROOF_AGE: Span = Span::seconds(10);
/// How long a new key waits before it signs, until every process has it.
pub const TOKEN_KEY_SETTLE: Span = Span::seconds(2);
/// How long the keys before a new one are good unless chosen otherwise: as long as a token of theirs may be under way.
pub const TOKEN_GRACE_DEFAULT: Span = TOKEN_TTL_DEFAULT;
/// How long a token is good unless chosen otherwise.
pub const TOKEN_TTL_DEFAULT: Span = Span::days(7);
/// Longest token that is read: all names, 16 of them, at their longest, fit.
pub const TOKEN_BYTES_MAX: usize = 4 * 1024;
/// Shortest root secret: as long as the keys that are derived from it.
pub const ROOT_SECRET_BYTES_MIN: usize = 32;
/// Waits for one name that are looked through for the next one that is not over, when a token names none of them.
pub const TOKEN_WAITS_MAX: u32 = 1_024;

/// Commands gathered into one batch.
pub const BATCH_COMMANDS_MAX: usize = 256;
/// Rows one batch may write; keeps a store's transaction short.
pub const BATCH_ROWS_MAX: usize = 2_000;
/// Bytes one batch may write.
pub const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// Times a rule may ask for further records before the engine gives up on it.
pub const NEED_ROUNDS_MAX: usize = 8;
/// Most partitions a store may have. A lane change writes one message for each, in one commit.
pub const PARTITIONS_MAX: u16 = 256;
/// Partitions of a store unless chosen otherwise: enough for several processes, few enough to sweep.
pub const PARTITIONS_DEFAULT: u16 = 64;

/// Shortest lease a worker may ask for: below a second a busy machine loses leases it should keep.
pub const LEASE_MIN: Span = Span::seconds(1);
/// Longest lease: beyond an hour a lost worker is noticed too late to matter.
pub const LEASE_MAX: Span = Span::hours(1);
/// The lease unless the worker asks otherwise; renewed at half.
pub const LEASE_DEFAULT: Span = Span::seconds(30);

/// Retries of an execution unless its policy says otherwise.
pub const RETRIES_DEFAULT: u32 = 20;
/// Most retries a policy may allow.
pub const RETRIES_MAX: u32 = 1_000;
/// Longest pause between two attempts.
pub const BACKOFF_MAX: Span = Span::days(7);
/// Most categories a retry policy may list.
pub const CATEGORIES_MAX: usize = 16;
/// From this many lost leases in a row the next attempt waits, so that a poisonous execution cannot kill workers in a loop.
pub const RECLAIMS_BEFORE_BACKOFF: u32 = 3;
/// The first such pause; it doubles with every further loss.
pub const RECLAIM_BACKOFF_FIRST: Span = Span::seconds(1);
/// The longest such pause.
pub const RECLAIM_BACKOFF_MAX: Span = Span::minutes(5);
/// Lost leases that are followed by another attempt unless the policy says otherwise; after the next one the execution
/// fails for good.
pub const RECLAIMS_DEFAULT: u32 = 100;
/// Most lost leases a policy may allow.
pub const RECLAIMS_MAX: u32 = 10_000;
/// How often an execution may be run again unless its policy says otherwise.
pub const REPLAYS_DEFAULT: u32 = 10;
/// Most replays a policy may allow.
pub const REPLAYS_MAX: u32 = 1_000;

/// Shortest time an attempt may be given: below a second a busy machine ends attempts that did nothing wrong.
pub const ATTEMPT_TIMEOUT_MIN: Span = Span::seconds(1);
/// Longest time an attempt may be given.
pub const ATTEMPT_TIMEOUT_MAX: Span = Span::days(365);
/// How long a repeat of a call gets the first answer, and how long a record outlives its use so that it does: more than
/// twice as long as a batch may be in flight, so that every batch that expected the record to be absent has lapsed before
/// it is absent again.
pub const REPEAT_WINDOW: Span = Span::minutes(10);
/// How long after its rules ran a batch may still be written: longer than any commit takes.
pub const BATCH_LIFE: Span = Span::minutes(4);
/// How long after its last change the record of a purged execution stays: a repeat within [`REPEAT_WINDOW`] may be held up for
/// [`BATCH_LIFE`] and must not find it absent.
pub const STUB_LIFE: Span = Span(REPEAT_WINDOW.0 + BATCH_LIFE.0);
/// Shortest time an ended execution is kept.
pub const RETENTION_MIN: Span = REPEAT_WINDOW;
/// How long an ended execution is kept unless its policy says otherwise.
pub const RETENTION_DEFAULT: Span = Span::days(7);
/// Longest time an ended execution is kept.
pub const RETENTION_MAX: Span = Span::days(3_650);
/// Longest time a running execution is given to stop by itself.
pub const STOP_GRACE_MAX: Span = Span::days(1);

/// How far two clocks may differ without anything being wrong: what lies further ahead than it can, by more than this,
/// was computed before the time was set back.
pub const CLOCK_SLACK: Span = Span::seconds(1);

/// How far in the past a requested time may be: covers a slow network, not a mistake.
pub const PAST_GRACE: Span = Span::minutes(1);
/// How far in the future a requested time may be.
pub const FUTURE_MAX: Span = Span::days(3_650);
/// How long an idempotency key is remembered unless the policy says otherwise.
pub const DEDUP_WINDOW_DEFAULT: Span = Span::hours(24);
/// Shortest such window.
pub const DEDUP_WINDOW_MIN: Span = REPEAT_WINDOW;
/// Longest such window.
pub const DEDUP_WINDOW_MAX: Span = Span::days(30);

/// Operators' commands that the record they change remembers, so that a repeat finds itself: enough for everything that
/// people do to one thing within the time in which a caller repeats a call.
pub const OPERATOR_COMMANDS_KEPT: usize = 8;

/// Messages delivered in one command, messages of a pair that are delivered and not yet removed, and ids of applied
/// messages remembered for each sender. They are equal, so that whatever a home that takes over delivers again is known.
pub const MESSAGES_MAX: usize = 64;
/// Failed deliveries after which a message is set aside.
pub const DELIVERY_FAILURES_MAX: u32 = 3;

/// Most executions submitted or claimed in one call.
pub const CALL_ITEMS_MAX: usize = 1_000;
/// Longest page of a listing.
pub const PAGE_MAX: usize = 1_000;

/// Commands that may wait for one partition before new work is turned away.
pub const QUEUE_MAX: usize = 4_096;
/// Further room for what frees held work: renewals, completions, due times.
pub const QUEUE_RESERVE: usize = 4_096;
/// Bytes of commands that one partition holds before new work is turned away: as many as 32 batches write, which is more
/// than a partition commits in a second. [`QUEUE_MAX`] payloads of the largest size would be two gigabytes.
pub const QUEUE_BYTES_MAX: usize = 32 * BATCH_BYTES_MAX;
/// Further room for what frees held work.
pub const QUEUE_BYTES_RESERVE: usize = 16 * BATCH_BYTES_MAX;
/// Bytes of commands that all partitions of a process hold together before new work is turned away.
pub const QUEUES_BYTES_MAX: usize = 8 * QUEUE_BYTES_MAX;
/// Further room for what frees held work.
pub const QUEUES_BYTES_RESERVE: usize = 4 * QUEUE_BYTES_MAX;
/// Ready entries kept in memory for each queue; the rest is read when they are used up.
pub const READY_MAX: usize = 1_024;
/// Due times kept in memory; later ones are read when they come near.
pub const TIMERS_MAX: usize = 65_536;
/// Due times read from the store at once.
pub const DUE_PAGE_MAX: usize = 4_096;
/// Due times fired and not yet answered.
pub const DUE_FIRED_MAX: usize = 1_024;
/// Undelivered messages whose failures are counted at the same time.
pub const DELIVERY_FAILURES_TRACKED_MAX: usize = 10_000;

/// Transitions in an execution's record; the next one moves them all to a page beside it.
pub const HISTORY_PAGE: usize = 32;
/// Records that the commit removes in which a purge begins: as many as most executions have beside their own, a large input and a large result.
pub const PURGE_AT_ONCE: usize = 2;
/// Records that one step of an errand of a purge removes.
pub const PURGE_PIECE: usize = 64;
/// Candidates that a rule gets in one page.
pub const CANDIDATES_MAX: usize = 128;
/// Pages that a rule looks through for a candidate that is still one: each takes two of [`NEED_ROUNDS_MAX`].
pub const PAGES_PER_STEP: usize = 3;
/// The first pause of an errand that found no candidate although some are left: as long as a commit is in flight.
pub const ERRAND_PAUSE_FIRST: Span = Span(20);
/// The longest such pause; it doubles each time.
pub const ERRAND_PAUSE_MAX: Span = Span::minutes(10);
/// Pauses in a row after which what is left counts as lost by damage: about an hour in all.
pub const ERRAND_PAUSES_MAX: u32 = 20;
/// How long the record of a purged execution waits for an errand that is not done, before it looks again.
pub const PURGE_RECHECK: Span = Span::minutes(1);
/// How long events can be read unless chosen otherwise.
pub const EVENT_RETENTION_DEFAULT: Span = Span::days(7);
/// How often old events are looked for at most and at least, however long they are kept.
pub const TRIM_EVERY_MIN: Span = Span::seconds(1);
/// See above.
pub const TRIM_EVERY_MAX: Span = Span::minutes(10);

/// Longest note on an execution. It is part of the execution's record, which every change rewrites.
pub const NOTE_BYTES_MAX: usize = 1_024;

/// Checks the length of a lease.
///
/// # Errors
/// When it is too short or too long.
pub fn check_lease(ttl: Span) -> Result<(), Rejection> {
    if (LEASE_MIN..=LEASE_MAX).contains(&ttl) {
        return Ok(());
    }
    Err(Rejection::invalid("lease", format!("must be between {LEASE_MIN} and {LEASE_MAX}, is {ttl}")))
}

/// Checks a priority.
pub(crate) fn check_priority(priority: u16) -> Result<(), Rejection> {
    if priority <= PRIORITY_MAX {
        return Ok(());
    }
    Err(Rejection::invalid("priority", format!("must be between 0 and {PRIORITY_MAX}, is {priority}")))
}
