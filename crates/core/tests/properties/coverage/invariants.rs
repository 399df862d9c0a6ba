//! The specification's numbered invariants.

use super::Guard::{self, Check, NotYet, Repeats, Test, Type, World};

pub(super) fn guards(number: u8) -> &'static [Guard] {
    match number {
        1..=19 => of_states(number),
        20..=37 => of_leases_and_attempts(number),
        _ => of_time_and_ends(number),
    }
}

fn of_states(number: u8) -> &'static [Guard] {
    match number {
        1 => &[Check("what_never_changes"), Check("payloads")],
        2 => &[
            Test("idempotency", "the_second_submit_with_a_key_returns_the_first_execution"),
            Test("submit", "a_repeat_gets_the_first_answer_whatever_happened_since"),
            Test("unique", "until_it_ends_a_second_submit_returns_it"),
            Check("unique_keys"),
        ],
        3 => &[Check("what_never_changes"), Test("defaults", "the_policy_is_frozen_when_the_work_is_submitted")],
        4 => &[Check("vectors"), Test("vectors", "no_state_that_can_be_written_down_is_forbidden")],
        5 => &[Check("vectors"), Test("vectors", "public_states_are_derived_as_the_specification_says")],
        6 | 7 => &[Check("phases")],
        8 => &[World("a refused command leaves no write and no event")],
        9..=11 => &[Check("times")],
        12 => &[Type("Readiness::Delayed carries its time, nothing else does"), Check("places")],
        13 => &[Type("the reason is part of Readiness"), Check("vectors")],
        14 | 15 => &[Check("places"), Check("indexes")],
        16 => &[
            Check("places"),
            Check("run_time"),
            Type("the timeout is derived from the running attempt; a paused or ended one has none"),
            Test("timeout", "paused_time_does_not_count"),
        ],
        17 => &[Check("places"), Test("deadline", "it_survives_everything_but_the_end")],
        18 => &[Type("there is no index of a worker's leases: a lease names its worker")],
        19 => &[
            Check("ranks"),
            Test("rank", "higher_priority_runs_first_and_equals_by_their_time"),
            Test("steer", "priority_moves_waiting_work_at_once_and_running_work_when_it_waits_again"),
        ],
        _ => &[],
    }
}

fn of_leases_and_attempts(number: u8) -> &'static [Guard] {
    match number {
        20 => &[Type("Active holds one Lease, and no other state holds any")],
        21 => &[Check("leases")],
        22 => &[
            Check("leases"),
            Test("claim", "a_lease_is_given_out_once"),
            Test("delay", "a_lease_that_was_paused_is_not_given_out_again"),
            NotYet("a lease's id is compared with that of the lease before it, not with all; its epoch is unique"),
        ],
        23 => &[
            Check("fences"),
            Test("fence", "every_verb_is_refused_after_the_lease_was_lost"),
            Test("timeout", "the_worker_that_was_too_slow_is_fenced"),
        ],
        24 => &[
            Check("fences"),
            Check("windows"),
            Test("fence", "every_verb_is_accepted_from_the_holder_until_the_end_of_its_lease_is_committed"),
        ],
        25 => &[Check("renewals"), Check("progress"), Test("fence", "renewing_moves_the_end_and_nothing_else")],
        26 => &[
            Type("Finished and Waiting hold no Lease"),
            Check("waits"),
            Check("conditions"),
            Test("suspend", "the_lease_is_over_and_the_same_attempt_goes_on"),
        ],
        27 => &[
            Type("a lapsed or revoked lease leaves Active in one step, there is no marked state between"),
            Check("phases"),
        ],
        28 | 29 => &[Type("there are no grants: a claim is one step")],
        30 | 31 => &[Check("attempts")],
        32 => &[Check("ended_attempts")],
        33 => &[Check("attempts"), Test("cancel", "an_operator_may_end_it_wherever_it_stands")],
        34 => &[Check("run_time"), Check("attempts"), Test("delay", "the_same_attempt_goes_on_under_another_lease")],
        35 => &[Check("attempt_kinds")],
        36 => &[
            Check("counters"),
            Test("lost", "after_a_hundred_reclaims_the_next_loss_is_the_end"),
            Test("replay", "the_policy_says_how_often"),
        ],
        37 => &[NotYet("skipping")],
        _ => &[],
    }
}

fn of_time_and_ends(number: u8) -> &'static [Guard] {
    match number {
        38 => &[
            Check("retries"),
            Check("phases"),
            Test("retry", "a_failure_is_tried_again_after_its_pause_until_none_is_left"),
        ],
        39 => &[Check("places"), Test("deadline", "it_ends_an_execution_wherever_it_stands")],
        40 => &[Check("run_time"), Test("timeout", "renewing_does_not_help_and_the_policy_decides_what_follows")],
        41 => &[
            Check("windows"),
            Test("lost", "a_renewed_lease_is_not_expired_by_an_old_due_time"),
            Test("timeout", "what_changed_meanwhile_is_left_alone"),
        ],
        42 => &[Check("ends"), Check("histories")],
        43 => &[
            Repeats,
            Test("fence", "a_repeat_gets_its_answer_also_after_the_next_attempt_began"),
            Test("operate", "a_repeat_is_answered_alike_for_the_newest_calls_whatever_happened_since"),
            Check("memories"),
        ],
        44 => &[Repeats, Check("due_times"), Test("due", "delayed_work_becomes_ready_when_its_time_comes")],
        45 => &[
            Check("purges"),
            Test("purge", "nothing_is_left_whatever_belonged_to_it"),
            Test("purge", "it_is_kept_for_as_long_as_its_policy_says"),
            Test("purge", "an_idempotency_key_keeps_its_own_time"),
        ],
        46 => &[
            Check("payloads"),
            Test("payload", "payloads_come_back_exactly_whether_in_place_or_beside"),
            Test("replay", "the_first_result_is_never_taken_for_the_second"),
        ],
        _ => &[],
    }
}
