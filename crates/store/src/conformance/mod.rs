//! Whether a store keeps the contract: one suite that every store passes, check by check.
//!
//! A store's test file implements [`Subject`] and calls [`conformance_tests!`](crate::conformance_tests) with a function
//! that makes a fresh one; each check becomes a test of its own. [`run`] runs all of them in a row.

pub mod audit;
pub mod commit;
pub mod due;
pub mod feed;
mod kit;
pub mod life;
pub mod limits;
pub mod log;
pub mod random;
pub mod scan;
pub mod watch;
pub mod window;

use crate::{Millis, Store};
use async_trait::async_trait;
use std::sync::Arc;

pub use kit::Hand;

/// One empty store under test, with at least four partitions.
#[async_trait]
pub trait Subject: Send + Sync {
    /// Opens the store; each call acts as another process that opens the same one.
    async fn open(&self) -> Arc<dyn Store>;

    /// Sets the store's clock; false when the store has a clock that nobody can set.
    fn set_clock(&self, now: Millis) -> bool {
        let _ = now;
        false
    }
}

/// Hands every check of the suite to another macro, so that there is one list of them.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_checks {
    ($with:path, $make:path) => {
        $with! { $make;
            commit::a_batch_writes_all_it_says,
            commit::a_conflict_writes_nothing_and_returns_what_is_there,
            commit::absent_keys_can_be_expected,
            commit::a_record_made_again_is_not_mistaken_for_the_old_one,
            commit::batches_of_a_group_stand_on_their_own,
            commit::deleting_an_absent_key_changes_nothing,
            commit::batches_that_only_check_need_no_sync,
            commit::bodies_come_back_byte_for_byte,
            commit::loads_answer_in_the_order_asked,
            commit::rows_are_counted,
            commit::no_update_is_lost_between_racing_writers,
            window::outside_is_judged_by_the_stores_clock,
            window::the_edges_are_exact,
            scan::order_is_rank_then_key_bytewise,
            scan::pages_join_up_in_both_directions,
            scan::ranges_bound_a_scan,
            scan::partitions_filter_a_scan,
            scan::several_indexes_are_scanned_at_once,
            scan::entries_follow_their_record,
            scan::counts_stop_at_the_cap,
            due::bounds_and_order_hold,
            due::due_times_follow_their_record,
            log::entries_are_read_in_order,
            log::an_entry_written_again_is_replaced,
            log::trimming_forgets_up_to_a_sequence,
            log::a_log_ends_with_its_record,
            feed::events_come_in_order_and_resume,
            feed::a_reader_may_start_at_the_end,
            feed::nothing_appears_behind_a_reader,
            feed::a_busy_partition_keeps_no_other_waiting,
            feed::trimming_leaves_a_visible_gap,
            feed::positions_never_start_again,
            feed::positions_can_be_raised,
            audit::an_audit_sees_everything,
            audit::faults_are_found_and_mended,
            audit::mending_is_conditional,
            audit::no_fault_is_imagined_while_others_write,
            watch::a_commit_wakes_another_process,
            limits::broken_batches_are_refused_whole,
            limits::a_key_belongs_to_one_partition,
            limits::oversized_batches_are_refused,
            limits::largest_names_are_accepted,
            life::a_store_dropped_without_closing_keeps_everything,
            life::closing_ends_one_handle_only,
            life::health_and_meta_are_stable,
            random::random_batches_agree_with_memory,
        }
    };
}

/// Makes one test of each check, for the subjects that an async function makes.
#[macro_export]
macro_rules! conformance_tests {
    ($make:path) => {
        $crate::conformance_checks! { $crate::conformance_tests_each, $make }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests_each {
    ($make:path; $($group:ident :: $check:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                let subject = $make().await;
                $crate::conformance::$group::$check(&subject).await;
            }
        )*
    };
}

macro_rules! run_each {
    ($make:path; $($group:ident :: $check:ident,)*) => {{
        let mut checks = 0_u32;
        $(
            let subject = $make().await;
            $group::$check(&subject).await;
            checks += 1;
        )*
        println!("conformance checks passed: {checks}");
    }};
}

/// Runs every check, each on a store of its own; panics at the first that fails.
pub async fn run<S: Subject, F: Future<Output = S>>(make: impl Fn() -> F) {
    crate::conformance_checks!(run_each, make);
}
