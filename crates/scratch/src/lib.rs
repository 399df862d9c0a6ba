//! Stores made for one run at an address that a user named, and removed afterwards. No store that exists is opened.

mod error;
#[cfg(test)]
mod tests;

pub use error::Error;

use onward::engine::clock::Chance;
use onward::store::{Batch, Partition, Record, Store, Version};
use onward::{Address, ClientOptions, ServerUrl};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

const SERVED: &str = "a server of Onward has a store and does not hand it out; name a store";
const PRIVATE: &str = "several processes take part, so it needs a store that they can share";
/// Records removed in one step from a store on a server.
const EMPTIED: usize = 500;

/// Makes stores at one medium.
#[derive(Debug)]
pub struct Scratch {
    medium: Medium,
    next: AtomicU32,
}

/// What the stores of a [`Scratch`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Each in the memory of the process that opens it.
    Memory,
    /// A SQLite file each, of which one process at a time writes.
    File,
    /// Each in a schema of one Postgres database.
    Postgres,
    /// Each under a prefix of one Valkey or Redis server or cluster.
    Valkey,
}

#[derive(Debug)]
enum Medium {
    Memory,
    Files(TempDir),
    Postgres(ServerUrl),
    Valkey(ServerUrl),
}

impl Scratch {
    /// Prepares stores at an address: in memory, in a new folder beside a SQLite file, or on a server under names of their
    /// own. What exists there is left alone.
    ///
    /// # Errors
    /// When the address names no store, or when the folder cannot be made.
    pub fn new(address: &str) -> Result<Self, Error> {
        let medium = match address.parse::<Address>() {
            Ok(Address::Memory) => Medium::Memory,
            Ok(Address::Sqlite(path)) => Medium::Files(folder_beside(&path)?),
            Ok(Address::Postgres(url)) => Medium::Postgres(url),
            Ok(Address::Valkey(url)) => Medium::Valkey(url),
            Ok(Address::Http(_)) => return Err(Error::Address(SERVED.to_owned())),
            Err(error) => return Err(Error::Address(error.to_string())),
        };
        Ok(Self { medium, next: AtomicU32::new(0) })
    }

    /// What its stores are.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.medium {
            Medium::Memory => Kind::Memory,
            Medium::Files(_) => Kind::File,
            Medium::Postgres(_) => Kind::Postgres,
            Medium::Valkey(_) => Kind::Valkey,
        }
    }

    /// The address of a store that does not exist yet. The first process that opens it creates it.
    ///
    /// # Errors
    /// When the folder of its file cannot be made.
    pub fn address(&self) -> Result<String, Error> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        match &self.medium {
            Medium::Memory => Ok("memory:".to_owned()),
            Medium::Files(dir) => {
                let folder = dir.path().join(next.to_string());
                std::fs::create_dir(&folder)?;
                Ok(format!("sqlite:{}", folder.join("bench.db").display()))
            }
            Medium::Postgres(url) => Ok(named(url, "schema", next)),
            Medium::Valkey(url) => Ok(named(url, "prefix", next)),
        }
    }

    /// The same for a store that several processes open.
    ///
    /// # Errors
    /// When its stores are in memory, which no two processes share.
    pub fn shared_address(&self) -> Result<String, Error> {
        match self.medium {
            Medium::Memory => Err(Error::Address(PRIVATE.to_owned())),
            Medium::Files(_) | Medium::Postgres(_) | Medium::Valkey(_) => self.address(),
        }
    }

    /// Removes a store of this medium that no process has open. A server keeps its empty tables and its last events.
    ///
    /// # Errors
    /// When the folder cannot be removed, or when the store fails.
    pub async fn clear(&self, address: &str) -> Result<(), Error> {
        match &self.medium {
            Medium::Memory => Ok(()),
            Medium::Files(dir) => {
                let folder = file(address).and_then(Path::parent).filter(|folder| folder.starts_with(dir.path()));
                Ok(folder.map_or(Ok(()), std::fs::remove_dir_all)?)
            }
            Medium::Postgres(_) | Medium::Valkey(_) => {
                let store = open(address).await?;
                empty(&*store).await?;
                Ok(store.close().await?)
            }
        }
    }
}

/// Opens a store as an embedded program does.
///
/// # Errors
/// When there is no such store, and none can be made.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, Error> {
    onward::open_store(address, &ClientOptions::default()).await.map_err(|error| Error::Address(error.to_string()))
}

/// The file of a store, if it is in one.
#[must_use]
pub fn file(address: &str) -> Option<&Path> {
    address.strip_prefix("sqlite:").map(Path::new)
}

/// An address without what may be secret: a server's is cut to its scheme.
#[must_use]
pub fn shown(address: &str) -> &str {
    address.split_once("://").map_or(address, |(scheme, _)| scheme)
}

/// The address of a store that a parameter keeps apart from others on the same server.
fn named(url: &ServerUrl, parameter: &str, number: u32) -> String {
    let url = url.as_str();
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{parameter}=bench_{}_{number}", std::process::id())
}

/// Removes every record.
async fn empty(store: &dyn Store) -> Result<(), Error> {
    let chance = Chance::from_os();
    let mut from = None;
    loop {
        let page = store.audit(from.as_deref(), EMPTIED).await?;
        let delete = |(partition, record): &(Partition, Record)| {
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

/// A new folder on the disk that the path names, since a folder for temporary files may be in memory.
fn folder_beside(path: &Path) -> Result<TempDir, Error> {
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    };
    tempfile::Builder::new()
        .prefix("onward-bench-")
        .tempdir_in(dir)
        .map_err(|error| Error::Address(format!("no folder can be made in {}: {error}", dir.display())))
}
