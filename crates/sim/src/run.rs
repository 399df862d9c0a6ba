//! One run: build the world of a seed, let it work and break, calm it down, and see whether everything came right.

use crate::actors::{
    Caller, CalmRacer, Crowd, Keeper, Operator, Reader, Signaller, Steward, Submitter, WAITERS, Waiter, Worker,
    open_all,
};
use crate::checker::{Checker, Tally, Violation};
use crate::clock::{Timeline, sleep};
use crate::dice::Dice;
use crate::failover::Failover;
use crate::fault_scheduler::{FaultScheduler, LOOK_AGAIN};
use crate::faults::{FaultCounts, Weather};
use crate::hub::Hub;
use crate::mutants::{self, Mutant};
use crate::redelivery::Redelivery;
use crate::seeds::{Generation, generation};
use crate::settings::{COMMANDS_MIN, SCHEDULED_FAULTS_MIN, Settings};
use crate::trace::Keep;
use crate::world::{LATEST, World};
use futures_util::future::join_all;
use onward_core::{Namespace, Span};
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Once};
use tokio::task::JoinSet;

/// How long work may take to finish once all is calm: longest lease, pauses and sweeps together, several times over.
const CALM_MAX: Span = Span::minutes(10);
/// How late a due time or ready work may be noticed once everything that faults had cost is mended.
const LATE_MAX: Span = Span::seconds(1);
/// Crowds of late comers, and how many are in each: enough to see timers and waiters at work when nothing may be late.
const CROWDS: u64 = 2;
const CROWD: u64 = 4;
/// Lanes that are opened while callers submit to them, when nothing may be late.
const LANES_OPENED: u32 = 3;
/// Sets the stream of the later faults apart from all others.
const LATER: u64 = 0x6c61_7465_722d_3031;
/// Sets the stream of those who wait for ends apart from all others.
const WAITING: u64 = 0x7761_6974_2d30_3031;
/// How late a caller may hear of an end, by way of several reads, once everything that faults had cost is mended.
const TOLD_LATE_MAX: Span = Span::seconds(3);
/// The same for messages that are delivered again.
const REDELIVERIES: u64 = 0x6167_6169_6e2d_3031;
/// The same for suspensions, signals and holds.
const SUSPENDING: u64 = 0x7375_7370_656e_6431;
/// Longer than an idempotency key is remembered and ended work is kept, whatever clock wrote it.
const NIGHT: Span = Span::minutes(12);
/// How long an engine may take to stop.
const STOP_MAX: Span = Span::minutes(2);

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Report {
    /// The seed that made it.
    pub seed: u64,
    /// Equal for equal seeds.
    pub hash: u64,
    /// Calls that submitters, workers and operators made.
    pub commands: u64,
    /// Commands that the rules ran: calls, repeats, timers and messages.
    pub operations: u64,
    /// Faults by kind.
    pub faults: FaultCounts,
    /// How often what waiting consists of happened.
    pub waits: Tally,
    /// How much simulated time passed.
    pub lasted: Span,
    /// What did not hold, if anything.
    pub violation: Option<Violation>,
    /// The last steps, when they were asked for.
    pub last_steps: Vec<String>,
}

impl Report {
    /// How many faults of all kinds happened.
    #[must_use]
    pub fn fault_count(&self) -> u64 {
        self.faults.values().sum()
    }
}

thread_local! {
    /// What a panic on this thread said, while a run is going on.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    static RUNNING: RefCell<bool> = const { RefCell::new(false) };
}

/// Keeps panics inside runs for the report, and leaves all others as they were.
fn catch_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if RUNNING.with(|running| *running.borrow()) {
                PANIC.with(|panic| panic.borrow_mut().get_or_insert(info.to_string()).truncate(2_000));
            } else {
                usual(info);
            }
        }));
    });
}

/// Runs a seed, with a planted fault or without.
///
/// # Panics
/// When no runtime can be built, which only happens when the machine has no resources left.
#[must_use]
pub fn run(seed: u64, mutant: Option<Mutant>, keep: Keep) -> Report {
    catch_panics();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and sockets needs nothing but memory");
    RUNNING.with(|running| *running.borrow_mut() = true);
    let mut report = runtime.block_on(live(seed, mutant, keep));
    // What is left of the tasks ends here and may panic as well.
    drop(runtime);
    RUNNING.with(|running| *running.borrow_mut() = false);
    if let Some(what) = PANIC.with(|panic| panic.borrow_mut().take()) {
        report.violation.get_or_insert(Violation { checker: "panic", what });
    }
    report
}

async fn live(seed: u64, mutant: Option<Mutant>, keep: Keep) -> Report {
    let mut dice = Dice::new(seed);
    let mut settings = Settings::draw(&mut dice);
    let mut later = Dice::new(seed ^ LATER);
    if generation(seed) >= Generation::Second {
        settings.add_later_faults(&mut later);
    }
    settings.waiters = generation(seed) >= Generation::Third;
    let mut again = Dice::new(seed ^ REDELIVERIES);
    if generation(seed) >= Generation::Third {
        settings.later_faults.draw_redeliveries(&mut again);
    }
    if generation(seed) >= Generation::Fourth {
        settings.add_waiting(&mut Dice::new(seed ^ SUSPENDING));
    }
    let timeline = Timeline::begin();
    let weather = Weather::new(dice.fork(), settings.odds, (settings.later_faults, later.fork()), settings.processes);
    let loses = settings.is_forgetful() || settings.later_faults.replica;
    let hub = Hub::new(timeline, settings.partitions, weather, mutant, keep, loses);
    mutants::begin(&hub);
    let world = World::new(hub.clone(), timeline, settings, seed, mutant);
    tokio::select! {
        biased;
        () = hub.alarm() => {}
        () = story(&world, dice, later, again) => {}
    }
    let operations = mutants::end();
    let waits = hub.check(|checker| checker.tally().clone());
    let (hash, commands, faults, violation, last_steps) = hub.finish();
    Report { seed, hash, commands, operations, faults, waits, lasted: timeline.elapsed(), violation, last_steps }
}

/// Work and faults, then calm, then rest.
async fn story(world: &Arc<World>, mut dice: Dice, mut later: Dice, again: Dice) {
    for process in 0..world.settings.processes {
        world.boot(process).await;
    }
    let mut workers = JoinSet::new();
    for wants in world.settings.workers.clone() {
        let caller = Caller::new(world.clone(), dice.fork(), wants.worker.to_string());
        workers.spawn(Worker::new(caller, wants).run());
    }
    if world.settings.waiters {
        let mut dice = Dice::new(world.seed() ^ WAITING);
        for n in 0..WAITERS {
            workers.spawn(Waiter(Caller::new(world.clone(), dice.fork(), format!("waiter {n}"))).run());
        }
    }
    let mut others = JoinSet::new();
    for n in 0..world.settings.operators {
        others.spawn(Operator(Caller::new(world.clone(), dice.fork(), format!("o{n}"))).run());
    }
    others.spawn(Steward(Caller::new(world.clone(), dice.fork(), "steward".to_owned())).run());
    others.spawn(Reader(Caller::new(world.clone(), dice.fork(), "reader".to_owned())).run());
    let scheduler = FaultScheduler::new(world.clone(), dice.fork());
    let injected = scheduler.injected();
    others.spawn(scheduler.run());
    spawn_waiting(world, &mut workers, &mut others);
    if let Some(pause) = world.settings.later_faults.crowds {
        others.spawn(Crowd(Caller::new(world.clone(), later.fork(), "crowd".to_owned())).run(pause));
    }
    if world.settings.later_faults.replica {
        others.spawn(Failover { world: world.clone(), dice: later.fork() }.run());
    }
    if let Some(pause) = world.settings.later_faults.redeliveries {
        others.spawn(Redelivery { world: world.clone(), dice: again, pause }.run());
    }
    let mut submitters = JoinSet::new();
    for n in 0..world.settings.submitters {
        submitters.spawn(Submitter(Caller::new(world.clone(), dice.fork(), format!("s{n}"))).run());
    }
    while submitters.join_next().await.is_some() {}
    while injected.load(Ordering::Relaxed) < SCHEDULED_FAULTS_MIN {
        sleep(LOOK_AGAIN).await;
    }
    world.calm_down().await;
    while others.join_next().await.is_some() {}
    sleep(LATEST).await;
    if world.hub.is_any_in_flight() {
        while world.hub.is_any_in_flight() {
            sleep(LOOK_AGAIN).await;
        }
        world.wait_for_sweep();
    }
    open_all(world, Caller::new(world.clone(), dice.fork(), "chief".to_owned())).await;
    settle(world).await;
    late_comers(world, &mut dice).await;
    if world.settings.later_faults.calm_races {
        calm_races(world, &mut later).await;
    }
    if world.settings.boomerang {
        boomerang(world, &mut dice).await;
    }
    if world.settings.long_night {
        night(world).await;
        Submitter(Caller::new(world.clone(), dice.fork(), "early bird".to_owned())).use_all_keys().await;
        settle(world).await;
    }
    Reader(Caller::new(world.clone(), dice.fork(), "archivist".to_owned())).list_all().await;
    rest(world, &mut workers).await;
}

/// Those who signal, hold and resume; somebody looks after what waits until the run is over.
fn spawn_waiting(world: &Arc<World>, workers: &mut JoinSet<()>, others: &mut JoinSet<()>) {
    let Some(odds) = world.settings.waiting else { return };
    let mut dice = Dice::new(world.seed() ^ SUSPENDING ^ 1);
    for n in 0..2 {
        let caller = Caller::new(world.clone(), dice.fork(), format!("sender {n}"));
        others.spawn(Signaller::new(caller).run(odds.signals));
    }
    others.spawn(Keeper(Caller::new(world.clone(), dice.fork(), "keeper".to_owned())).run(odds.keeps));
    workers.spawn(Keeper(Caller::new(world.clone(), dice.fork(), "helper".to_owned())).look_after());
}

/// Submits more when nothing may be late any more, and until there were enough commands.
async fn late_comers(world: &Arc<World>, dice: &mut Dice) {
    sleep(world.quiet_from() - world.hub.now()).await;
    world.hub.check(Checker::quiet);
    let mut crowds = 0;
    while crowds < CROWDS || world.hub.commands() < COMMANDS_MIN {
        let crowd = (0..CROWD).map(|n| Caller::new(world.clone(), dice.fork(), format!("late comer {n}")));
        join_all(crowd.map(|caller| Submitter(caller).once())).await;
        Steward(Caller::new(world.clone(), dice.fork(), "late steward".to_owned())).deed().await;
        settle(world).await;
        crowds += 1;
    }
}

/// Revokes work while it is claimed, and opens lanes, while nothing may be late.
async fn calm_races(world: &Arc<World>, later: &mut Dice) {
    let mut racer = || CalmRacer(Caller::new(world.clone(), later.fork(), "tug".to_owned()));
    let ((), ()) = tokio::join!(racer().revoke_while_claimed(), settle(world));
    for _ in 0..LANES_OPENED {
        racer().open_behind(world).await;
        settle(world).await;
    }
}

/// Removes something that takes several steps to remove, while others want to run it again.
async fn boomerang(world: &Arc<World>, dice: &mut Dice) {
    let submitter = Submitter(Caller::new(world.clone(), dice.fork(), "thrower".to_owned()));
    let Some(thrown) = submitter.boomerang().await else { return };
    settle(world).await;
    let stewards = (0..5).map(|n| (n == 0, Steward(Caller::new(world.clone(), dice.fork(), format!("racer {n}")))));
    let namespace = Namespace::default();
    join_all(stewards.map(|(purges, steward)| steward.race(thrown.id, &namespace, purges))).await;
    settle(world).await;
}

/// Lets all idempotency keys be forgotten and all ended work be removed that is not kept for longer.
async fn night(world: &Arc<World>) {
    let morning = world.hub.now() + NIGHT;
    while world.hub.now() < morning && !is_late(world) {
        sleep(LOOK_AGAIN).await;
    }
}

/// Whether anything is late although everything that faults had cost is mended.
fn is_late(world: &World) -> bool {
    let (hub, now) = (&world.hub, world.hub.now());
    if now < world.quiet_from() {
        return false;
    }
    let (idle, awaited) = (world.idle(), world.awaited());
    let late = hub.check(|checker| {
        let late = checker.overdue(now, LATE_MAX).or_else(|| checker.neglected(now, &idle, LATE_MAX));
        late.or_else(|| checker.untold(now, &awaited, TOLD_LATE_MAX))
    });
    late.map(|late| hub.violate("liveness", late)).is_some()
}

/// Waits until all work that can finish has finished.
async fn settle(world: &Arc<World>) {
    let hub = &world.hub;
    let capabilities = world.settings.capabilities();
    let begin = hub.now();
    while let Some(open) = hub.check(|checker| checker.unfinished(&capabilities)) {
        let now = hub.now();
        if now - begin > CALM_MAX {
            return hub.violate("liveness", format!("after {CALM_MAX} of calm {open}"));
        }
        if is_late(world) {
            return;
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Stops everything and looks at what is left.
async fn rest(world: &Arc<World>, workers: &mut JoinSet<()>) {
    let hub = &world.hub;
    world.close();
    for process in world.processes() {
        let metrics = process.engine.metrics();
        if metrics.rule_panics + metrics.job_restarts + metrics.messages_dead > 0 {
            hub.violate("engine", format!("something broke inside the engine: {metrics:?}"));
        }
        tokio::select! {
            biased;
            () = process.engine.shutdown() => {}
            () = sleep(STOP_MAX) => hub.violate("liveness", format!("an engine did not stop within {STOP_MAX}")),
        }
    }
    tokio::select! {
        biased;
        () = async { while workers.join_next().await.is_some() {} } => {}
        () = sleep(STOP_MAX) => hub.violate("liveness", "a worker's call did not end with its engine".to_owned()),
    }
    let snapshot = hub.memory().snapshot();
    hub.check(|checker| checker.rests(&snapshot));
    hub.trace(format_args!("rest with {} records and {} events", snapshot.records.len(), snapshot.feed.len()));
}
