//! The weak points that the specification warns of.

use super::Guard::{self, Check, Elsewhere, NotYet, Test, Type, World};

const NO_GRANTS: Guard = Type("there are no grants: a claim is one step");

pub(super) fn guards(number: u8) -> &'static [Guard] {
    match number {
        1..=18 => first(number),
        _ => second(number),
    }
}

fn first(number: u8) -> &'static [Guard] {
    match number {
        1 => &[Test("lost", "a_lapsed_lease_makes_the_work_ready_again_in_one_step")],
        2 => &[
            Test("timeout", "what_changed_meanwhile_is_left_alone"),
            Test("lost", "a_renewed_lease_is_not_expired_by_an_old_due_time"),
            Check("windows"),
        ],
        3 => &[Test("timeout", "every_kind_of_attempt_has_its_own_time")],
        4 => &[Test("claim", "a_repeat_returns_the_same_lease_while_it_lives")],
        5 => &[Check("due_times")],
        6 => &[
            Test("cancel", "an_operator_may_end_it_wherever_it_stands"),
            Test("deadline", "it_ends_an_execution_wherever_it_stands"),
            Check("attempts"),
        ],
        7 => &[Test("submit", "the_requested_time_decides_between_ready_and_delayed"), Check("places")],
        8 => &[
            Type("a lease is one value that goes as a whole"),
            Test("revoke", "a_replayed_execution_remembers_no_lost_lease"),
        ],
        9 => &[NotYet("waiting for children")],
        10 => &[Test("delay", "a_late_failure_is_not_taken_for_the_pause")],
        11 => &[
            Type("times and pauses are whole milliseconds"),
            Test("retry", "a_failure_is_tried_again_after_its_pause_until_none_is_left"),
        ],
        12 => &[Test("ids", "placement_spreads_evenly_and_never_moves")],
        13 => &[Type("a worker's cancel holds a Fence, an operator's is another command; none is the default")],
        14 => &[
            Test("replay", "a_new_life_is_safe_from_the_old_ones_retention"),
            Test("purge", "what_is_leaving_is_gone_for_everybody"),
            Check("purges"),
        ],
        15 => &[
            World("a refused command leaves no write and no event"),
            Test("delay", "the_time_is_chosen_like_that_of_a_submit"),
        ],
        16 => &[Test("replay", "the_first_result_is_never_taken_for_the_second"), Check("payloads")],
        17 => &[Test("replay", "every_end_can_be_the_beginning_of_another_life"), Check("counters")],
        18 => &[
            Test("cancel", "an_operator_may_end_it_wherever_it_stands"),
            Test("revoke", "a_lapsed_lease_can_be_taken_before_anybody_looked"),
        ],
        _ => &[],
    }
}

fn second(number: u8) -> &'static [Guard] {
    match number {
        19 => &[
            Type("a revoked execution is ready in the same commit; nothing has to be discovered"),
            Test("revoke", "the_work_is_ready_again_at_once_and_its_worker_is_refused"),
        ],
        20 => &[Type("a due time belongs to its record, whatever its lane"), Check("places")],
        21 => &[
            Type("one enum holds the state; indexes are derived from the record"),
            Check("indexes"),
            Check("agreement"),
        ],
        22 => &[Type("reasons are data: Readiness, Cancellation, Failure"), Check("stops")],
        23 => &[Elsewhere("there are no locks to order: a batch expects every version that it read")],
        24 => &[
            Type("the current attempt is part of the execution's record"),
            Test("timeout", "every_kind_of_attempt_has_its_own_time"),
        ],
        25 => &[Test("refusals", "refusals_tell_programs_what_to_do")],
        26 => &[Elsewhere("the client's calls can be repeated; the rules answer repeats alike")],
        27 => &[Elsewhere("the engine sleeps until the first due time")],
        28 => &[Test("claim", "only_ready_work_is_claimed"), Check("phases")],
        29 | 32 => &[NO_GRANTS],
        30 => &[
            World("no command relies on a window that its own clock contradicts"),
            Check("windows"),
            Test("clock", "a_clock_that_ran_ahead_once_ends_no_live_lease"),
        ],
        31 => &[
            Type("a lane's state is read by each claim; no work is marked by it"),
            Test("lane", "pausing_and_opening_again_costs_waiting_work_nothing"),
        ],
        33 => &[NotYet("gates")],
        34 => &[Test("revoke", "the_policy_says_how_many_losses_are_borne"), Check("ends")],
        35 => &[Type("there is one Claim for the first attempt, a retry, a reclaim, a replay and a resume")],
        _ => &[],
    }
}
