//! Where the measured stores live: fresh ones, beside the place that the user named, gone afterwards.

use super::weight::Weight;
use super::{Error, Scenario, server};
use onward::{Address, ClientOptions};
use onward_store::{Batch, Store, Version};
use server::Server;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const PROCESSES: &str = "it runs several processes, so it needs a store that they can share";
const WEIGHED: &str = "it asks for sizes that only a file, or a server started for the run, tells";
/// Records removed in one step when a store on somebody's server is emptied.
const EMPTIED: usize = 500;

/// A place for fresh stores. No store that exists is ever opened.
#[derive(Debug)]
pub(crate) struct Site {
    url: String,
    place: Place,
    next: AtomicU32,
}

#[derive(Debug)]
enum Place {
    Memory,
    Files(tempfile::TempDir),
    /// A server, and whether it was started for this run and ends with it.
    Server {
        url: String,
        name: &'static str,
        own: Option<Arc<Server>>,
    },
}

/// A store made for one measurement.
#[derive(Debug)]
pub(crate) struct Fresh {
    pub(crate) store: Arc<dyn Store>,
    left: Left,
}

/// What a store leaves behind when it is closed.
#[derive(Debug)]
enum Left {
    Nothing,
    /// A folder with its files.
    Folder(PathBuf),
    /// Keys or tables under a name on a server that ends with the run.
    Named(Arc<Server>, String),
    /// Records on a server that goes on.
    Records,
}

impl Site {
    /// `memory:`; `sqlite:PATH`, whose directory gets a folder for the files of this run; the address of a server, which
    /// gets stores of their own names; or `postgres:`, `valkey:`, `redis:` or `cluster:`, which starts one for this run.
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let place = match Server::named(url) {
            Some(server) => {
                let server = server?;
                Place::Server { url: server.url(), name: server.parameter(), own: Some(Arc::new(server)) }
            }
            None => match url.parse::<Address>() {
                Ok(Address::Memory) => Place::Memory,
                Ok(Address::Sqlite(path)) => Place::Files(folder_beside(&path)?),
                Ok(Address::Postgres(url)) => {
                    Place::Server { url: url.as_str().to_owned(), name: server::SCHEMA, own: None }
                }
                Ok(Address::Valkey(url)) => {
                    Place::Server { url: url.as_str().to_owned(), name: server::PREFIX, own: None }
                }
                Ok(Address::Http(_)) => {
                    let why = "a server is measured on a store of its own: name that, and choose the scenario remote";
                    return Err(Error::Url(why.to_owned()));
                }
                Err(error) => return Err(Error::Url(error.to_string())),
            },
        };
        let shown = url.split_once("://").map_or(url, |(scheme, _)| scheme).to_owned();
        Ok(Self { url: shown, place, next: AtomicU32::new(0) })
    }

    /// What was asked for, without what may be secret.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Lets a server that was started for this run clean up every second: by itself it would do so once a minute, which
    /// is later than a run lasts and often enough for a store that lives for years.
    pub(crate) fn hasten_upkeep(&self) -> Result<(), Error> {
        match &self.place {
            Place::Server { own: Some(server), .. } => server.hasten_upkeep(),
            _ => Ok(()),
        }
    }

    /// How much of the rate of lean writes an engine reaches here when work is handed over.
    pub(crate) fn handed_over_min(&self) -> f64 {
        match self.place {
            Place::Server { name: server::SCHEMA, .. } => 0.9,
            Place::Server { .. } => 0.8,
            Place::Memory | Place::Files(_) => 0.4,
        }
    }

    /// How much of the rate of an embedded engine callers over HTTP reach here.
    pub(crate) fn remote_min(&self) -> f64 {
        match self.place {
            Place::Server { name: server::PREFIX, .. } => 0.3,
            Place::Memory | Place::Files(_) | Place::Server { .. } => 0.6,
        }
    }

    /// A store with nothing in it.
    pub(crate) async fn fresh(&self) -> Result<Fresh, Error> {
        let address = self.address()?;
        Ok(Fresh { store: open(&address).await?, left: self.left(&address) })
    }

    /// What a store of this place leaves behind.
    fn left(&self, address: &str) -> Left {
        match &self.place {
            Place::Memory => Left::Nothing,
            Place::Files(_) => {
                file(address).and_then(Path::parent).map_or(Left::Nothing, |dir| Left::Folder(dir.into()))
            }
            Place::Server { own: Some(server), .. } => Left::Named(server.clone(), name(address).to_owned()),
            Place::Server { own: None, .. } => Left::Records,
        }
    }

    /// Removes a store that several processes had open, when all of them have ended.
    pub(crate) async fn clear(&self, address: &str) -> Result<(), Error> {
        match self.left(address) {
            Left::Records => {
                let store = open(address).await?;
                empty(&*store).await?;
                Ok(store.close().await?)
            }
            left => left.remove(),
        }
    }

    /// How much room a store takes that nobody has open.
    pub(crate) fn weigh(&self, address: &str) -> Result<Weight, Error> {
        match (&self.place, file(address)) {
            (Place::Files(_), Some(path)) => Ok(Weight::of_file(path)),
            (Place::Server { own: Some(server), .. }, _) => Weight::on_server(server, name(address)),
            _ => Err(Error::Url(format!("this scenario cannot be run: {WEIGHED}"))),
        }
    }

    /// Why a scenario cannot be run here; nothing when it can.
    pub(crate) fn lacks(&self, scenario: Scenario) -> Option<&'static str> {
        let is_private = matches!(self.place, Place::Memory);
        match scenario {
            Scenario::Recovery | Scenario::Growth | Scenario::Processes | Scenario::Remote | Scenario::Crowd
                if is_private =>
            {
                Some(PROCESSES)
            }
            Scenario::Bytes if is_private || matches!(self.place, Place::Server { own: None, .. }) => Some(WEIGHED),
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

    fn own(&self) -> Option<&Server> {
        match &self.place {
            Place::Server { own, .. } => own.as_deref(),
            Place::Memory | Place::Files(_) => None,
        }
    }

    /// Whether its stores are files, of which one process at a time writes each.
    pub(crate) fn is_files(&self) -> bool {
        matches!(self.place, Place::Files(_))
    }

    /// The address of a store that several processes open.
    pub(crate) fn shared_address(&self) -> Result<String, Error> {
        match self.place {
            Place::Memory => Err(Error::Url(format!("this scenario cannot be run: {PROCESSES}"))),
            Place::Files(_) | Place::Server { .. } => self.address(),
        }
    }

    /// The address of a store that does not exist yet.
    fn address(&self) -> Result<String, Error> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        match &self.place {
            Place::Memory => Ok("memory:".to_owned()),
            Place::Files(dir) => {
                let folder = dir.path().join(next.to_string());
                std::fs::create_dir(&folder)?;
                Ok(format!("sqlite:{}", folder.join("bench.db").display()))
            }
            Place::Server { url, name, .. } => {
                let separator = if url.contains('?') { '&' } else { '?' };
                Ok(format!("{url}{separator}{name}=bench_{}_{next}", std::process::id()))
            }
        }
    }
}

impl Fresh {
    /// Closes the store and frees its space at once, so that a long run does not fill the disk.
    pub(crate) async fn discard(self) -> Result<(), Error> {
        if matches!(self.left, Left::Records) {
            empty(&*self.store).await?;
        }
        self.store.close().await?;
        self.left.remove()
    }
}

impl Left {
    /// Removes what can be removed from outside.
    fn remove(self) -> Result<(), Error> {
        match self {
            Self::Folder(dir) => Ok(std::fs::remove_dir_all(dir)?),
            Self::Named(server, name) => server.remove(&name),
            Self::Nothing | Self::Records => Ok(()),
        }
    }
}

/// Removes every record; the server keeps what names the store and its last events.
async fn empty(store: &dyn Store) -> Result<(), Error> {
    let chance = onward_engine::clock::Chance::from_os();
    let mut from = None;
    loop {
        let page = store.audit(from.as_deref(), EMPTIED).await?;
        let delete = |(partition, record): &(onward_store::Partition, onward_store::Record)| {
            let mut batch = Batch::new(*partition, Version(chance.id()));
            batch.expect.push((record.key.clone(), Some(record.version)));
            batch.delete.push(record.key.clone());
            batch
        };
        // A record may be seen twice, and is gone by then: that is a conflict and no error.
        if !page.records.is_empty() {
            store.commit(page.records.iter().map(delete).collect()).await?;
        }
        from = page.next;
        if from.is_none() {
            return Ok(());
        }
    }
}

/// Opens a store as an embedded program does.
pub(crate) async fn open(address: &str) -> Result<Arc<dyn Store>, Error> {
    onward::open_store(address, &ClientOptions::default()).await.map_err(|error| Error::Url(error.to_string()))
}

/// The name under which a store lives on a server: the last part of its address.
fn name(address: &str) -> &str {
    address.rsplit_once('=').map_or("", |(_, name)| name)
}

/// The file of a store, if it is in one.
pub(crate) fn file(address: &str) -> Option<&Path> {
    address.strip_prefix("sqlite:").map(Path::new)
}

/// A new folder on the disk that the path names, since a folder for temporary files may be in memory.
fn folder_beside(path: &Path) -> Result<tempfile::TempDir, Error> {
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    };
    tempfile::Builder::new()
        .prefix("onward-bench-")
        .tempdir_in(dir)
        .map_err(|error| Error::Url(format!("no folder can be made in {}: {error}", dir.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_fresh_and_vanish_and_what_exists_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let existing = dir.path().join("mine.db");
        std::fs::write(&existing, "precious").unwrap();
        let site = Site::new(&format!("sqlite:{}", existing.display())).unwrap();
        let (first, second) = (site.fresh().await.unwrap(), site.fresh().await.unwrap());
        let folder = |fresh: &Fresh| match &fresh.left {
            Left::Folder(dir) => dir.clone(),
            other => panic!("files leave {other:?}"),
        };
        assert_ne!(folder(&first), folder(&second));
        first.discard().await.unwrap();
        second.discard().await.unwrap();
        drop(site);
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["mine.db"]);
        assert_eq!(std::fs::read_to_string(existing).unwrap(), "precious");
    }

    #[tokio::test]
    async fn memory_serves_one_process_only() {
        let site = Site::new("memory:").unwrap();
        site.fresh().await.unwrap().discard().await.unwrap();
        assert!(matches!(site.shared_address(), Err(Error::Url(_))));
        assert!(matches!(Site::new("nonsense"), Err(Error::Url(_))));
    }
}
