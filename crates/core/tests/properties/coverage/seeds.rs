//! What the seeds pin down about timeouts and scanners: appendix B of the specification.

use super::Guard::{self, Better, Check, Elsewhere, Test};

pub(super) fn guards(table: u8, row: u8) -> &'static [Guard] {
    match table {
        1 => index_store(row),
        2 => sql(row),
        _ => frame(row),
    }
}

const ENGINE: Guard = Elsewhere("the engine's due times: fetching, failures, filters, metrics");

/// B.1: the attempt-timeout scanner over an index store.
fn index_store(row: u8) -> &'static [Guard] {
    match row {
        1 | 2 | 4 | 6 => &[ENGINE],
        3 => &[Better("one command per due record, the earliest first; no batch has a head to be stuck at"), ENGINE],
        5 => &[Test("due", "what_is_never_due_is_left_alone")],
        7 => &[
            Test("timeout", "renewing_does_not_help_and_the_policy_decides_what_follows"),
            Better("a due command is never refused for what it finds: it acts or answers the next due time"),
        ],
        8 => &[
            Better("lane, owner and attempt are in the one record that the rule reads; nothing is read beforehand"),
            Test("timeout", "what_changed_meanwhile_is_left_alone"),
        ],
        9 => &[
            Test("deadline", "it_ends_an_execution_wherever_it_stands"),
            Test("deadline", "of_several_times_that_passed_the_first_comes_first"),
        ],
        10 => &[
            Test("deadline", "it_ends_an_execution_wherever_it_stands"),
            Better("an elapsed attempt timeout asks the retry policy first; the deadline ends in every phase"),
        ],
        _ => &[],
    }
}

/// B.2: the attempt-timeout reconciler over SQL; row 11 are the gaps that it leaves to close.
fn sql(row: u8) -> &'static [Guard] {
    match row {
        1 => &[
            Better("a lapsed lease is a lost worker, an elapsed timeout a slow one; at the very moment both are over"),
            Test("timeout", "a_dead_worker_is_lost_and_not_too_slow"),
            Test("lost", "a_lapsed_lease_makes_the_work_ready_again_in_one_step"),
        ],
        2 => &[ENGINE],
        3 => &[Test("view", "a_refused_command_leaves_its_reads_and_its_neighbours_alone"), ENGINE],
        4 => &[
            Test("lost", "a_renewed_lease_is_not_expired_by_an_old_due_time"),
            Test("timeout", "what_changed_meanwhile_is_left_alone"),
            Test("due", "what_is_never_due_is_left_alone"),
        ],
        5 => &[
            Better("failures are counted by themselves: lost leases and replays use up no retry"),
            Test("retry", "lost_leases_and_returned_ones_use_up_no_retry"),
        ],
        6 => &[
            Test("lost", "a_lapsed_lease_makes_the_work_ready_again_in_one_step"),
            Test("timeout", "renewing_does_not_help_and_the_policy_decides_what_follows"),
        ],
        7 => &[
            Test("timeout", "renewing_does_not_help_and_the_policy_decides_what_follows"),
            Better("the next attempt waits as its policy says"),
            Test("timeout", "a_crowd_that_times_out_together_does_not_come_back_together"),
        ],
        8 => &[
            Test("timeout", "renewing_does_not_help_and_the_policy_decides_what_follows"),
            Test("timeout", "categories_decide_about_a_timeout_too"),
            Check("ends"),
        ],
        9 => &[
            Better("one event of the one commit tells the transition, the end and the lease"),
            Test("history", "every_event_says_what_it_means_for_the_end_and_for_the_lease"),
        ],
        10 => &[Test("timeout", "paused_time_does_not_count"), Test("cancel", "an_end_leaves_nothing_for_the_clock")],
        11 => &[
            Check("vectors"),
            Test("timeout", "every_kind_of_attempt_has_its_own_time"),
            Test("timeout", "the_worker_that_was_too_slow_is_fenced"),
            Test("timeout", "a_dead_worker_is_lost_and_not_too_slow"),
        ],
        _ => &[],
    }
}

/// B.3: the frame of both.
fn frame(row: u8) -> &'static [Guard] {
    match row {
        1..=5 => &[Elsewhere("the engine runs due commands, rests failing ones and counts them")],
        _ => &[],
    }
}
