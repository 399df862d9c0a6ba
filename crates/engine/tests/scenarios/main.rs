//! End-to-end scenarios of the engine, each run on every store.

mod batches;
mod doctor;
mod events;
mod formats;
mod kit;
mod lanes;
mod leases;
mod members;
mod messages;
mod processes;
mod queues;
mod tokens;
mod waits;
mod watches;
mod work;

/// Declares each scenario once and runs it on every store.
macro_rules! on_every_store {
    ($($scenarios:tt)*) => {
        on_store! { memory, $($scenarios)* }
        on_store! { sqlite, $($scenarios)* }
        on_store! { postgres, $($scenarios)* }
        on_store! { valkey, $($scenarios)* }
        on_store! { valkey_cluster, $($scenarios)* }
    };
}

macro_rules! on_store {
    ($store:ident, $($module:ident::$scenario:ident,)*) => {
        mod $store {
            $(#[tokio::test]
            async fn $scenario() {
                crate::$module::$scenario(crate::kit::World::$store()).await;
            })*
        }
    };
}

on_every_store! {
    work::submitted_work_is_claimed_and_completed,
    work::a_parked_worker_gets_work_in_the_commit_that_submits_it,
    work::a_failed_attempt_is_retried_after_its_pause,
    work::a_permanent_failure_is_final,
    work::delayed_work_becomes_ready_at_its_time,
    work::the_write_budget_holds,
    work::a_crowd_that_is_due_at_one_instant_becomes_ready,
    work::large_and_binary_payloads_come_back_exactly,
    work::an_idempotency_key_returns_the_first_execution,
    work::repeated_calls_get_the_first_answer,
    work::bad_input_is_refused_and_changes_nothing,
    leases::a_lost_worker_is_noticed_and_its_work_done_again,
    leases::a_renewed_lease_lives_and_a_stale_one_is_fenced,
    leases::work_that_nobody_receives_is_given_back,
    leases::a_restarted_engine_finds_everything,
    waits::every_order_of_signal_and_suspension_ends_each_execution_once,
    waits::a_wait_ends_at_its_time,
    waits::workers_that_die_before_their_first_step_leave_the_same_signals,
    waits::a_signal_through_a_process_that_stopped_over_the_timeout_does_not_resume,
    waits::suspended_work_costs_an_idle_engine_nothing,
    tokens::whatever_is_wrong_with_a_token_only_the_keys_are_read_once_a_second,
    queues::priority_goes_first_then_age,
    queues::work_is_claimed_in_the_order_of_its_arrival,
    queues::capabilities_decide_who_gets_what,
    queues::a_backlog_beyond_memory_is_served_completely,
    queues::a_worker_gets_the_kinds_that_it_names,
    queues::a_worker_serves_several_lanes,
    queues::lanes_are_limited_for_each_namespace,
    queues::work_that_no_worker_asks_for_says_so,
    queues::shutdown_answers_what_was_accepted,
    lanes::a_paused_lane_keeps_its_work_and_an_opened_one_gives_it_out,
    lanes::a_draining_lane_takes_no_submissions,
    lanes::running_work_is_listed_behind_messages,
    lanes::a_poisoned_message_is_set_aside_and_its_pair_moves_on,
    messages::a_newer_message_rests_and_nothing_overtakes_it,
    messages::delivered_messages_are_soon_gone,
    messages::a_home_that_takes_over_finds_the_messages_of_the_one_before,
    events::a_reader_that_dies_again_and_again_sees_every_event_once,
    events::a_reader_gets_what_it_asked_for_and_waits_for_more,
    events::old_events_and_ended_work_go,
    events::old_events_go_whatever_is_new_beside_them,
    doctor::damage_in_each_index_is_found_and_repaired,
    doctor::a_record_listed_by_other_rules_is_listed_again,
    doctor::records_that_contradict_each_other_are_set_right,
    doctor::work_that_fell_out_of_its_queue_runs_after_a_repair,
    doctor::a_healthy_store_is_left_alone_while_work_goes_on,
    doctor::damage_is_repaired_while_work_goes_on,
    doctor::a_restored_store_tells_its_readers_and_its_lanes,
    formats::work_of_a_newer_build_is_left_alone,
    processes::two_engines_share_a_store,
    processes::contended_keys_are_resolved_by_versions,
    members::three_engines_share_the_partitions,
    members::the_timers_of_a_dead_engine_are_taken_over,
    members::an_engine_that_shuts_down_leaves_at_once,
    members::a_clock_that_jumps_kills_nobody,
    members::work_that_its_process_leaves_is_taken_by_others,
    members::whoever_does_not_wait_gets_what_others_leave_too,
    watches::a_parked_claim_is_woken_by_another_process,
    watches::an_end_is_told_by_another_process,
    watches::many_waiters_cost_no_more_reads_than_one,
    watches::due_times_of_others_are_named,
}
