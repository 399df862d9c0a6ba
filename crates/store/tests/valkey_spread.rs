//! Whether reads over partitions with different hash tags join up, on one server and on a cluster.

#![cfg(feature = "valkey")]

mod valkey_kit;

use onward_servers::valkey::{Cluster, Kind, Server};
use std::sync::OnceLock;
use valkey_kit::fresh_url;
use valkey_kit::spread::Spread;

macro_rules! checks {
    ($make:path) => {
        spread_tests! { $make;
            commit::a_batch_writes_all_it_says,
            commit::batches_of_a_group_stand_on_their_own,
            scan::order_is_rank_then_key_bytewise,
            scan::pages_join_up_in_both_directions,
            scan::partitions_filter_a_scan,
            scan::several_indexes_are_scanned_at_once,
            scan::counts_stop_at_the_cap,
            due::bounds_and_order_hold,
            feed::events_come_in_order_and_resume,
            feed::nothing_appears_behind_a_reader,
            feed::a_busy_partition_keeps_no_other_waiting,
            feed::trimming_leaves_a_visible_gap,
            feed::positions_never_start_again,
            feed::positions_can_be_raised,
            audit::an_audit_sees_everything,
            audit::faults_are_found_and_mended,
            audit::no_fault_is_imagined_while_others_write,
            watch::a_commit_wakes_another_process,
            limits::broken_batches_are_refused_whole,
            life::closing_ends_one_handle_only,
            random::random_batches_agree_with_memory,
        }
    };
}

mod on_one_server {
    use super::*;

    async fn fresh() -> Spread {
        static SERVER: OnceLock<Server> = OnceLock::new();
        let server = SERVER.get_or_init(|| Server::start(Kind::Valkey, &[]).expect("a server"));
        Spread { url: fresh_url(&server.url()) }
    }

    checks!(fresh);
}

mod on_a_cluster {
    use super::*;

    async fn fresh() -> Spread {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        let cluster = CLUSTER.get_or_init(|| Cluster::start(Kind::Valkey, &[]).expect("a cluster"));
        Spread { url: fresh_url(&cluster.url()) }
    }

    checks!(fresh);
}
