//! Testing handlers without waiting: a store in memory, and a clock that moves only when it is told to.
//!
//! ```
//! use onward::testing::TestKit;
//! use onward::{Context, Failed, PublicState, Worker};
//! use std::time::Duration;
//!
//! async fn remind(ctx: Context, name: String) -> Result<String, Failed> {
//!     if ctx.attempt() == 1 {
//!         return Err(Failed::transient("the mail server is away"));
//!     }
//!     Ok(format!("reminded {name}"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), onward::Error> {
//! let kit = TestKit::new().await?;
//! let worker = Worker::new(kit.client()).on("remind", remind);
//!
//! let day = Duration::from_secs(24 * 60 * 60);
//! let id = kit.client().submit("remind", "Ada").delay(day).await?.id;
//! assert_eq!(kit.run_until_idle(&worker).await?, 0, "its time has not come");
//!
//! kit.advance(day).await?;
//! assert_eq!(kit.run_until_idle(&worker).await?, 1, "it fails, and waits for its retry");
//!
//! kit.advance(Duration::from_secs(60)).await?;
//! kit.run_until_idle(&worker).await?;
//! assert_eq!(kit.client().result::<String>(id).await?.as_deref(), Some("reminded Ada"));
//! # Ok(())
//! # }
//! ```

use crate::call::Ask;
use crate::options::span;
use crate::worker::{Taken, run_one};
use crate::{Client, ClientOptions, Result, Worker};
use onward_core::{Claimed, Millis, Rejection, Span, limits};
use onward_engine::Error;
use onward_engine::clock::{Chance, Clock};

use onward_store::memory::Memory;
use onward_store::{Partitions, Range, Store};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};

pub use onward_engine::clock::TestClock;

/// Where every test begins: the first moment of 2026, in UTC.
const START: Millis = Millis(1_767_225_600_000);
/// Looks at the store while due work settles, and attempts in one run: more means that something goes in circles.
const ROUNDS_MAX: usize = 100_000;

/// A client on a store in memory, with a clock of its own. Equal seeds give equal ids and pauses.
#[derive(Debug)]
pub struct TestKit {
    client: Client,
    clock: TestClock,
    store: Arc<dyn Store>,
}

impl TestKit {
    /// A fresh kit with seed 0.
    ///
    /// # Errors
    /// When the runtime has several threads: then nobody could tell whether everything due has happened. The default of
    /// `#[tokio::test]` has one.
    pub async fn new() -> Result<Self> {
        Self::with_seed(0).await
    }

    /// A fresh kit whose ids and pauses follow from a seed.
    ///
    /// # Errors
    /// As [`TestKit::new`].
    pub async fn with_seed(seed: u64) -> Result<Self> {
        if Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread {
            let why = "a test kit needs a runtime with one thread: use #[tokio::test] without a flavor".to_owned();
            return Err(Rejection::InvalidArgument { field: "runtime", why }.into());
        }
        let clock = TestClock::at(START);
        let options = ClientOptions {
            clock: Arc::new(clock.clone()),
            chance: Arc::new(Chance::seeded(seed)),
            ..ClientOptions::default()
        };
        let store = Memory::new(limits::PARTITIONS_DEFAULT, options.store_clock(), u128::from(seed));
        let store: Arc<dyn Store> = Arc::new(store);
        let client = Client::on_store(store.clone(), options).await?;
        Ok(Self { client, clock, store })
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The clock, for a handler that has to move it.
    #[must_use]
    pub fn clock(&self) -> &TestClock {
        &self.clock
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Moves the time forward and waits until everything that became due has happened: delays, retries, lost leases.
    ///
    /// # Errors
    /// When due work does not come to rest.
    pub async fn advance(&self, by: Duration) -> Result<()> {
        self.clock.advance(span(by));
        self.settle().await
    }

    /// Runs what is ready with the worker's handlers, one execution after the other, until nothing is ready; answers how
    /// many attempts were made. Work that waits for a later time waits on.
    ///
    /// # Errors
    /// A wrong argument of the worker, or work that never ends.
    pub async fn run_until_idle(&self, worker: &Worker) -> Result<usize> {
        let state = worker.clone().into_state()?.without_refill();
        for attempts in 0..ROUNDS_MAX {
            self.settle().await?;
            let mut claimed: Vec<Claimed> =
                self.client.ask(Ask::Claim { wants: state.wants(1), wait: Span(0) }).await?;
            let Some(claimed) = claimed.pop() else { return Ok(attempts) };
            run_one(&state, Taken::new(&state, claimed)).await;
        }
        Err(Error::Internal(format!("there was still work after {ROUNDS_MAX} attempts")).into())
    }

    /// Waits until nothing is due that has not happened. A store in memory answers at once, so letting the engine's
    /// tasks run is all the waiting there is.
    async fn settle(&self) -> Result<()> {
        for _ in 0..ROUNDS_MAX {
            let until = self.now().0.saturating_add(1);
            if self.store.due(&Partitions::All, Range::between(0, until), 1).await?.items.is_empty() {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
        Err(Error::Internal("due work does not come to rest".into()).into())
    }
}
