//! The numbered invariants of waiting (suspension, waitpoints and tokens, signals, conditions), and its weak points.

use super::Guard::{self, Check, Cut, Elsewhere, Repeats, Test, Type, World};

/// What the design says of everything that would make a waitpoint an object of its own.
const A_NAME: Guard = Cut("a waitpoint is a name inside an execution, not an object with a pending phase");
const CLAIMED: Guard =
    Cut("no grants and no second kind of claim: one call does the right thing for first, retry and resume");
const SCENARIO: &str = "engine scenarios, waits::every_order_of_signal_and_suspension_ends_each_execution_once";
const TOKENS: &str = "engine scenarios, tokens::whatever_is_wrong_with_a_token_only_the_keys_are_read_once_a_second";

/// The number of invariants of waiting; those behind them are of streams and subscriptions.
pub(super) const INVARIANTS: u8 = 55;
/// The number of weak points of correctness and security.
pub(super) const WEAK_POINTS: u8 = 20;

pub(super) fn guards(number: u8) -> &'static [Guard] {
    match number {
        1..=21 => of_suspensions(number),
        22..=33 => of_tokens(number),
        34..=44 => of_signals(number),
        _ => of_conditions(number),
    }
}

fn of_suspensions(number: u8) -> &'static [Guard] {
    match number {
        1 => &[Type("only the verb Suspend makes a Readiness::Suspended"), Check("phases")],
        2 => &[Type("a suspended execution is Waiting, which holds no Lease"), Check("fences")],
        3 => &[Type("a state holds at most one Suspension")],
        4 => &[Type("the condition is part of the state, and a wait has no record before it is over")],
        5 => &[Check("fences"), World("a refused command leaves no write and no event")],
        6 => &[Test("suspend", "conditions_that_can_never_hold_are_refused_with_their_path")],
        7 => &[Cut("callers mint no ids: a suspension has none, a wait is a name and a number")],
        8 => &[Type("reason, condition, timeout, behaviour and since are fields of the suspension")],
        9 => &[Test("suspend", "the_lease_is_over_and_the_same_attempt_goes_on"), Check("attempts")],
        10 => &[Check("leases"), Check("attempts")],
        11 => &[Check("histories"), Test("suspend", "each_timeout_does_what_it_says_and_once")],
        12 => &[Test("suspend", "the_lease_is_over_and_the_same_attempt_goes_on"), Check("phases")],
        13 => &[CLAIMED],
        14 => &[Check("due_times"), Type("the due time follows from the state")],
        15 => &[Test("suspend", "what_has_come_already_is_told_at_once_and_the_lease_is_kept")],
        16 => &[Repeats, Test("suspend", "a_repeat_of_the_call_gets_the_first_answer_whatever_followed")],
        17 => &[Test("suspend", "a_suspension_ends_with_its_execution_and_nothing_of_it_is_left"), Check("waits")],
        18 => &[Type("progress is a field of the suspension and goes with it"), Check("conditions")],
        19 => &[Test("suspend", "each_timeout_does_what_it_says_and_once"), Check("windows")],
        20 => &[
            Type("a signal and a timeout change one record"),
            Test("signal", "a_signal_at_or_after_the_timeout_does_not_resume"),
            Elsewhere(
                "engine scenarios, waits::a_signal_through_a_process_that_stopped_over_the_timeout_does_not_resume",
            ),
        ],
        21 => &[Check("places"), Test("suspend", "operators_resume_what_waits_for_them_and_what_waits_for_others")],
        _ => &[],
    }
}

fn of_tokens(number: u8) -> &'static [Guard] {
    match number {
        22 => &[A_NAME, Check("waits")],
        23 | 24 | 33 => &[A_NAME],
        25 => &[Test("signal", "a_token_is_good_for_one_choice_of_one_wait")],
        26 => &[Test("token", "no_changed_bit_and_no_other_key_is_accepted"), Elsewhere(TOKENS)],
        27 => &[Test("token_keys", "the_first_key_signs_at_once_and_a_new_one_when_every_process_has_it")],
        28 => &[
            Test("token_keys", "keys_before_the_newest_are_good_until_their_own_end"),
            Test("token_keys", "a_rotation_without_grace_ends_every_older_key_at_once"),
        ],
        29 => &[Test("token_keys", "a_repeat_changes_nothing_and_a_first_key_is_made_once")],
        30 => &[Elsewhere(TOKENS), Elsewhere("server tests, tokens::every_changed_bit_of_a_token_is_answered_alike")],
        31 => &[
            Type("TokenText, SigningKey and KeySecret print nothing"),
            Test("token", "a_token_says_what_was_signed_and_its_form_is_stable"),
        ],
        32 => &[Type("a token is checked before any command exists"), Elsewhere(TOKENS)],
        _ => &[],
    }
}

fn of_signals(number: u8) -> &'static [Guard] {
    match number {
        34 => &[Check("waits"), Type("the effect is part of the signal's record")],
        35 | 36 => &[Check("conditions"), Check("histories"), Elsewhere(SCENARIO)],
        37 => &[Repeats, Test("signal", "a_key_makes_a_repeat_whatever_followed")],
        38 => &[Test("signal", "a_key_makes_a_repeat_whatever_followed")],
        39 => &[Check("waits"), Test("signal", "names_choose_the_wait_and_the_rest_is_kept")],
        40 => &[Test("signal", "a_loop_over_one_name_gets_each_signal_once_and_in_order")],
        41 => &[World("a refused command leaves no write and no event")],
        42 => &[Test("signal", "limits_refuse_and_change_nothing")],
        43 => &[Test("signal", "payloads_come_back_as_they_were_sent")],
        44 => &[Check("phases"), Type("what a signal does to an execution is resume it or nothing")],
        _ => &[],
    }
}

fn of_conditions(number: u8) -> &'static [Guard] {
    match number {
        45 => &[Check("conditions"), Elsewhere(SCENARIO)],
        46 | 47 => &[Check("conditions")],
        48 => &[Test("signal", "distinct_people_count_once_each"), Cut("self-asserted sources")],
        49 => &[Test("signal", "one_signal_may_serve_several_parts_and_counts_do_not_mix")],
        50 => &[Check("conditions"), Test("signal", "names_choose_the_wait_and_the_rest_is_kept")],
        51 => &[
            Type("operator and timeout are nodes, not names"),
            Test("suspend", "operators_resume_what_waits_for_them_and_what_waits_for_others"),
        ],
        52 => &[Test("suspend", "conditions_that_can_never_hold_are_refused_with_their_path")],
        53 => &[Type("a condition names its waits, and there is no second list of them")],
        54 => &[Type("progress is in the record of the execution"), Elsewhere(SCENARIO)],
        55 => &[Test("suspend", "what_has_come_already_is_told_at_once_and_the_lease_is_kept"), Check("conditions")],
        _ => &[],
    }
}

/// What the specification calls weak points of correctness and security.
pub(super) fn weak_points(number: u8) -> &'static [Guard] {
    match number {
        1 => &[Test("signal", "a_token_is_good_for_one_choice_of_one_wait"), Check("waits")],
        2 => &[Test("signal", "a_key_makes_a_repeat_whatever_followed")],
        3 => &[Check("places"), Test("suspend", "operators_resume_what_waits_for_them_and_what_waits_for_others")],
        4 => &[A_NAME],
        5 => &[Test("suspend", "a_wait_that_an_operator_closes_counts_as_met")],
        6 => &[Type("operator and timeout are nodes, not names")],
        7 => &[Check("phases"), Check("histories")],
        8 => &[Check("due_times")],
        9 => &[Test("suspend", "the_attempts_time_stops_and_the_deadline_goes_on")],
        10 => &[Test("suspend", "conditions_that_can_never_hold_are_refused_with_their_path")],
        11 => &[Elsewhere("the store's conformance suite: feed order under concurrency")],
        12 => &[Test("signal", "limits_refuse_and_change_nothing")],
        13 => &[Type("a signal carries no limits, no time to live and no delay")],
        14 => &[Test("signal", "distinct_people_count_once_each"), Cut("self-asserted sources")],
        15 => &[Type("an actor comes from an API key or a token, never from the sender's words")],
        16 => &[
            Test("signal", "a_token_is_good_for_one_choice_of_one_wait"),
            Test("token_keys", "a_rotation_without_grace_ends_every_older_key_at_once"),
        ],
        17 => &[Elsewhere("server tests, tokens::a_token_is_all_that_a_person_needs")],
        18 => &[Type("no record has a token; keys can be bound to a secret outside the store")],
        19 => &[Elsewhere(TOKENS)],
        20 => &[
            Test("token", "a_token_says_what_was_signed_and_its_form_is_stable"),
            Type("all keys are one record, so a rotation is whole or not at all, and a key's id is never used again"),
        ],
        _ => &[],
    }
}
