//! Where the measured stores live: fresh ones at the address that the user named, or on a server started for the run.

use super::server::Server;
use super::weight::Weight;
use super::{Error, Scenario};
use onward_scratch::{Kind, Scratch, shown};
pub(crate) use onward_scratch::{file, open};
use onward_store::Store;
use std::sync::Arc;

const PROCESSES: &str = "it runs several processes, so it needs a store that they can share";
const WEIGHED: &str = "it asks for sizes that only a file, or a server started for the run, tells";

/// A place for fresh stores. No store that exists is ever opened.
#[derive(Debug)]
pub(crate) struct Site {
    url: String,
    ground: Arc<Ground>,
}

/// What fresh stores are made on.
#[derive(Debug)]
struct Ground {
    scratch: Scratch,
    /// The server that was started for this run and ends with it.
    own: Option<Server>,
}

/// A store made for one measurement.
#[derive(Debug)]
pub(crate) struct Fresh {
    pub(crate) store: Arc<dyn Store>,
    address: String,
    ground: Arc<Ground>,
}

impl Site {
    /// An address as [`Scratch`] takes it; or `postgres:`, `valkey:`, `redis:` or `cluster:`, which starts a server for this
    /// run.
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let own = Server::named(url).transpose()?;
        let scratch = match &own {
            Some(server) => Scratch::new(&server.url())?,
            None => Scratch::new(url)?,
        };
        Ok(Self { url: shown(url).to_owned(), ground: Arc::new(Ground { scratch, own }) })
    }

    /// What was asked for, without what may be secret.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Lets a server that was started for this run clean up every second: by itself it would do so once a minute, which
    /// is later than a run lasts and often enough for a store that lives for years.
    pub(crate) fn hasten_upkeep(&self) -> Result<(), Error> {
        self.own().map_or(Ok(()), Server::hasten_upkeep)
    }

    /// How much of the rate of lean writes an engine reaches here when work is handed over.
    pub(crate) fn handed_over_min(&self) -> f64 {
        match self.kind() {
            Kind::Postgres => 0.9,
            Kind::Valkey => 0.8,
            Kind::Memory | Kind::File => 0.4,
        }
    }

    /// How much of the rate of an embedded engine callers over HTTP reach here.
    pub(crate) fn remote_min(&self) -> f64 {
        match self.kind() {
            Kind::Valkey => 0.3,
            Kind::Memory | Kind::File | Kind::Postgres => 0.6,
        }
    }

    /// A store with nothing in it.
    pub(crate) async fn fresh(&self) -> Result<Fresh, Error> {
        let address = self.ground.scratch.address()?;
        let store = open(&address).await?;
        Ok(Fresh { store, address, ground: self.ground.clone() })
    }

    /// The address of a store that several processes open.
    pub(crate) fn shared_address(&self) -> Result<String, Error> {
        Ok(self.ground.scratch.shared_address()?)
    }

    /// Removes a store that several processes had open, when all of them have ended.
    pub(crate) async fn clear(&self, address: &str) -> Result<(), Error> {
        self.ground.clear(address).await
    }

    /// Bytes that a closed store takes.
    pub(crate) fn weigh(&self, address: &str) -> Result<Weight, Error> {
        match (self.own(), file(address)) {
            (Some(server), _) => Weight::on_server(server, name(address)),
            (None, Some(path)) => Ok(Weight::of_file(path)),
            (None, None) => {
                let why = format!("this scenario cannot be run: {WEIGHED}");
                Err(onward_scratch::Error::Address(why).into())
            }
        }
    }

    /// Why a scenario cannot be run here; nothing when it can.
    pub(crate) fn lacks(&self, scenario: Scenario) -> Option<&'static str> {
        let is_private = self.kind() == Kind::Memory;
        match scenario {
            Scenario::Recovery | Scenario::Growth | Scenario::Processes | Scenario::Remote | Scenario::Crowd
                if is_private =>
            {
                Some(PROCESSES)
            }
            Scenario::Bytes if !self.is_files() && self.own().is_none() => Some(WEIGHED),
            _ => None,
        }
    }

    /// What the server that was started for this run says it was asked, and how often in a second an idle engine may ask.
    pub(crate) fn operations(&self) -> Result<Option<(u64, f64)>, Error> {
        self.own().map(Server::operations).transpose()
    }

    /// Lets the server that was started for this run count requests, or lets it rest.
    pub(crate) fn count_requests(&self, on: bool) -> Result<(), Error> {
        self.own().map_or(Ok(()), |server| server.count_requests(on))
    }

    /// A moment to count requests from.
    pub(crate) fn moment(&self) -> Result<u64, Error> {
        self.own().map_or(Ok(0), Server::moment)
    }

    /// Requests since a moment, if a server was started for this run.
    pub(crate) fn requests_since(&self, moment: u64) -> Result<Option<u64>, Error> {
        self.own().map(|server| server.requests_since(moment)).transpose()
    }

    /// Whether its stores are files, of which one process at a time writes each.
    pub(crate) fn is_files(&self) -> bool {
        self.kind() == Kind::File
    }

    fn kind(&self) -> Kind {
        self.ground.scratch.kind()
    }

    fn own(&self) -> Option<&Server> {
        self.ground.own.as_ref()
    }
}

impl Ground {
    /// Removes a store that no process has open.
    async fn clear(&self, address: &str) -> Result<(), Error> {
        match &self.own {
            // Faster than deleting record by record, and it leaves nothing behind.
            Some(server) => server.remove(name(address)),
            None => Ok(self.scratch.clear(address).await?),
        }
    }
}

impl Fresh {
    /// Closes the store and frees its space at once, so that a long run does not fill the disk.
    pub(crate) async fn discard(self) -> Result<(), Error> {
        self.store.close().await?;
        self.ground.clear(&self.address).await
    }
}

/// The name under which a store lives on a server: the last part of its address.
fn name(address: &str) -> &str {
    address.rsplit_once('=').map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn fresh_stores_are_apart_and_vanish() {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new(&format!("sqlite:{}", dir.path().join("mine.db").display())).unwrap();
        let (first, second) = (site.fresh().await.unwrap(), site.fresh().await.unwrap());
        assert_ne!(first.address, second.address);
        first.discard().await.unwrap();
        second.discard().await.unwrap();
        drop(site);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn memory_serves_one_process_only() {
        let site = Site::new("memory:").unwrap();
        site.fresh().await.unwrap().discard().await.unwrap();
        assert!(matches!(site.shared_address(), Err(Error::Scratch(_))));
        assert!(matches!(Site::new("nonsense"), Err(Error::Scratch(_))));
    }
}
