//! The plans: what runs, what is broken and how often, and what may come of it. One plan is one value.

use onward_checker::Losses;

/// How long every lease lasts, in milliseconds: short, so that a killed worker's work is soon taken over.
pub(crate) const LEASE: u64 = 1_500;
/// Partitions of every store: enough for several processes, few enough that each is always in use.
pub(crate) const PARTITIONS: u16 = 16;

/// Where work is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreKind {
    /// One SQLite file.
    Sqlite,
    /// One Postgres server.
    Postgres,
    /// One Valkey server.
    Valkey,
    /// A cluster of three Valkey primaries with a replica each.
    Cluster,
}

impl StoreKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Valkey => "valkey",
            Self::Cluster => "cluster",
        }
    }
}

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An engine process is killed and another one started.
    KillEngine,
    /// A sender of signals is killed and another one started.
    KillSender,
    /// The reader is killed and goes on from its last cursor.
    KillReader,
    /// Postgres is ended as by a crash and started again.
    RestartPostgres,
    /// All connections of Postgres are ended from its side, several times in a row.
    TerminateBackends,
    /// Valkey is ended in good order and started again with its append-only file.
    RestartValkey,
    /// The same by a kill.
    KillValkey,
    /// Valkey forgets all scripts.
    FlushScripts,
    /// A replica of a cluster takes over in good order.
    FailOver,
    /// A primary of a cluster is killed, its replica takes over, and it comes back as a replica.
    KillPrimary,
    /// An engine process is stopped until its leases are over and others took its place, then goes on.
    StopEngine,
    /// The same while it is the only process on the store.
    StopAlone,
    /// The wall clock of one engine process jumps an hour ahead, back, an hour behind, and back; then the same again with
    /// a process that starts at that time.
    JumpClock,
}

/// One kind of fault and its rhythm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beat {
    pub(crate) fault: Fault,
    /// Milliseconds from the end of one to the next, half of it by chance.
    pub(crate) every: u64,
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Run on each of these, one after the other.
    pub(crate) stores: &'static [StoreKind],
    /// Settings of its servers.
    pub(crate) settings: &'static [&'static str],
    /// What is added to the address of the store.
    pub(crate) options: &'static str,
    pub(crate) beats: &'static [Beat],
    /// How long things are broken at least.
    pub(crate) seconds: u64,
    /// How often the first of the beats happens at least.
    pub(crate) rounds: u64,
    pub(crate) losses: Losses,
    /// How soon every partition must accept work again after a primary was killed, in milliseconds.
    pub(crate) live_within: Option<u64>,
    /// Whether a message that nobody can read is planted.
    pub(crate) poison: bool,
    /// Whether engine processes of another build take turns with those of this one, and finish alone.
    pub(crate) mixed: bool,
    /// Whether there is work that waits, and senders of signals.
    pub(crate) waits: bool,
}

const fn beat(fault: Fault, every: u64) -> Beat {
    Beat { fault, every }
}

/// What most plans have in common.
const BASE: Plan = Plan {
    name: "",
    about: "",
    stores: &[StoreKind::Postgres],
    settings: &[],
    options: "",
    beats: &[],
    seconds: 30,
    rounds: 1,
    losses: Losses::None,
    live_within: None,
    poison: true,
    mixed: false,
    waits: false,
};

const KILLS: &[Beat] = &[beat(Fault::KillEngine, 4_000), beat(Fault::KillReader, 5_000)];

const WAITS_KILLS: [Beat; 3] =
    [beat(Fault::KillEngine, 3_000), beat(Fault::KillSender, 5_000), beat(Fault::KillReader, 11_000)];
const WAITS_POSTGRES: &[Beat] = &[WAITS_KILLS[0], WAITS_KILLS[1], WAITS_KILLS[2], beat(Fault::RestartPostgres, 13_000)];
const WAITS_CLUSTER: &[Beat] = &[WAITS_KILLS[0], WAITS_KILLS[1], WAITS_KILLS[2], beat(Fault::KillPrimary, 7_000)];
const WAITS_VALKEY: &[Beat] = &[WAITS_KILLS[0], WAITS_KILLS[1], WAITS_KILLS[2], beat(Fault::KillValkey, 13_000)];

/// All plans, in the order in which they are run.
pub(crate) const ALL: &[Plan] = &[
    Plan {
        name: "kills-postgres",
        about: "engine processes on Postgres are killed and replaced",
        beats: KILLS,
        seconds: 120,
        ..BASE
    },
    Plan {
        name: "kills-cluster",
        about: "engine processes on a Valkey cluster are killed and replaced",
        stores: &[StoreKind::Cluster],
        beats: KILLS,
        seconds: 120,
        ..BASE
    },
    Plan {
        name: "postgres-restarts",
        about: "Postgres crashes and comes back",
        beats: &[beat(Fault::RestartPostgres, 6_000)],
        rounds: 4,
        ..BASE
    },
    Plan {
        name: "postgres-terminations",
        about: "Postgres ends all connections, again and again",
        beats: &[beat(Fault::TerminateBackends, 3_000)],
        rounds: 6,
        ..BASE
    },
    Plan {
        name: "valkey-restarts",
        about: "Valkey is stopped and comes back with its append-only file",
        stores: &[StoreKind::Valkey],
        beats: &[beat(Fault::RestartValkey, 5_000)],
        rounds: 4,
        ..BASE
    },
    Plan {
        name: "valkey-kills",
        about: "Valkey that syncs every commit is killed and comes back with its append-only file",
        stores: &[StoreKind::Valkey],
        // With a sync a second it answers before it writes as long as a sync is under way, and a kill takes that.
        settings: &["--appendfsync", "always"],
        beats: &[beat(Fault::KillValkey, 5_000)],
        rounds: 4,
        ..BASE
    },
    Plan {
        name: "valkey-script-flush",
        about: "Valkey forgets its scripts, one server and a cluster",
        stores: &[StoreKind::Valkey, StoreKind::Cluster],
        beats: &[beat(Fault::FlushScripts, 500)],
        seconds: 20,
        rounds: 20,
        ..BASE
    },
    Plan {
        name: "cluster-failovers",
        about: "replicas of a Valkey cluster take over in good order",
        stores: &[StoreKind::Cluster],
        beats: &[beat(Fault::FailOver, 4_000)],
        rounds: 5,
        ..BASE
    },
    Plan {
        name: "primary-kills",
        about: "primaries of a Valkey cluster are killed: only the last second may be lost",
        stores: &[StoreKind::Cluster],
        beats: &[beat(Fault::KillPrimary, 6_000), beat(Fault::KillReader, 7_000)],
        rounds: 5,
        losses: Losses::LastSecond,
        live_within: Some(10_000),
        poison: false,
        ..BASE
    },
    Plan {
        name: "primary-kills-waiting",
        about: "the same with ?wait=1, where nothing may be lost",
        stores: &[StoreKind::Cluster],
        options: "&wait=1",
        beats: &[beat(Fault::KillPrimary, 4_000), beat(Fault::KillReader, 7_000)],
        rounds: 20,
        live_within: Some(10_000),
        poison: false,
        ..BASE
    },
    Plan {
        name: "stopped",
        about: "an engine process is stopped past its leases, beside others and alone",
        stores: &[StoreKind::Postgres, StoreKind::Valkey],
        beats: &[beat(Fault::StopEngine, 4_000), beat(Fault::StopAlone, 8_000)],
        rounds: 2,
        ..BASE
    },
    Plan {
        name: "clock-jumps",
        about: "the wall clock of an engine process jumps by an hour and back",
        stores: &[StoreKind::Postgres, StoreKind::Valkey],
        beats: &[beat(Fault::JumpClock, 3_000)],
        rounds: 8,
        ..BASE
    },
    Plan {
        name: "waits-postgres",
        about: "executions wait for signals while engines, senders and Postgres are killed",
        beats: WAITS_POSTGRES,
        seconds: 90,
        waits: true,
        ..BASE
    },
    Plan {
        name: "waits-valkey",
        about: "executions wait for signals while engines, senders and Valkey that syncs every commit are killed",
        stores: &[StoreKind::Valkey],
        settings: &["--appendfsync", "always"],
        beats: WAITS_VALKEY,
        seconds: 60,
        waits: true,
        ..BASE
    },
    Plan {
        name: "waits-cluster",
        about: "executions wait for signals while engines, senders and primaries of a Valkey cluster with ?wait=1 are killed",
        stores: &[StoreKind::Cluster],
        options: "&wait=1",
        beats: WAITS_CLUSTER,
        seconds: 60,
        live_within: Some(10_000),
        poison: false,
        waits: true,
        ..BASE
    },
    Plan {
        name: "waits-stopped",
        about: "executions wait for signals while an engine is stopped past its leases and the clock of one jumps",
        beats: &[beat(Fault::JumpClock, 3_000), beat(Fault::StopEngine, 5_000)],
        seconds: 60,
        rounds: 8,
        waits: true,
        ..BASE
    },
    Plan {
        name: "waits-sqlite",
        about: "executions wait for signals on a file while engines and senders are killed",
        stores: &[StoreKind::Sqlite],
        beats: &WAITS_KILLS,
        seconds: 60,
        waits: true,
        ..BASE
    },
];

/// Two builds on one store; not among all, since it needs the other build.
const UPGRADES: Plan = Plan {
    name: "upgrades",
    about: "engine processes of two builds replace each other, then the other one is alone, then this one finishes",
    stores: &[StoreKind::Sqlite, StoreKind::Postgres, StoreKind::Valkey],
    beats: KILLS,
    seconds: 40,
    mixed: true,
    waits: true,
    ..BASE
};

/// Every plan.
pub(crate) fn every() -> impl Iterator<Item = &'static Plan> {
    ALL.iter().chain([&UPGRADES])
}

/// The plan of a name.
pub(crate) fn named(name: &str) -> Option<&'static Plan> {
    every().find(|plan| plan.name == name)
}

impl Plan {
    /// Whether one process gets a wall clock of its own.
    pub(crate) fn jumps(&self) -> bool {
        self.beats.iter().any(|beat| beat.fault == Fault::JumpClock)
    }

    /// What a run on a store is called.
    pub(crate) fn title(&self, store: StoreKind) -> String {
        if self.stores.len() == 1 { self.name.to_owned() } else { format!("{}-{}", self.name, store.name()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_plan_breaks_something() {
        for (at, plan) in every().enumerate() {
            assert_eq!(named(plan.name).map(|found| found.about), Some(plan.about));
            assert!(!plan.beats.is_empty() && !plan.stores.is_empty() && !plan.about.is_empty(), "{}", plan.name);
            assert!(every().take(at).all(|other| other.name != plan.name), "{}", plan.name);
        }
    }
}
