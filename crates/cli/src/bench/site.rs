//! Where the measured stores live: fresh ones, beside the place that the user named, deleted afterwards.

use super::{Error, Scenario};
use onward_core::limits::PARTITIONS_DEFAULT;
use onward_store::memory::Memory;
use onward_store::{Store, sqlite, system_clock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const PROCESSES: &str = "it runs several processes, so it needs a store that they can share";

/// A place for fresh stores. No store that exists is ever opened.
#[derive(Debug)]
pub(crate) struct Site {
    url: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory,
    Files { dir: tempfile::TempDir, next: AtomicU32 },
}

/// A store made for one measurement.
#[derive(Debug)]
pub(crate) struct Fresh {
    pub(crate) store: Arc<dyn Store>,
    dir: Option<PathBuf>,
}

impl Site {
    /// `memory:`, or `sqlite:PATH`, whose directory gets a folder for the files of this run.
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let place = match url.split_once(':') {
            Some(("memory", _)) => Place::Memory,
            Some(("sqlite", path)) => Place::Files { dir: folder_beside(Path::new(path))?, next: AtomicU32::new(0) },
            _ => return Err(Error::Url(format!("{url:?} names no store that can be measured"))),
        };
        Ok(Self { url: url.to_owned(), place })
    }

    /// The URL that was asked for.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A store with nothing in it.
    pub(crate) async fn fresh(&self) -> Result<Fresh, Error> {
        match self.file()? {
            None => Ok(Fresh { store: Arc::new(Memory::new(PARTITIONS_DEFAULT, system_clock(), 0)), dir: None }),
            Some(file) => Ok(Fresh { store: open(&file).await?, dir: file.parent().map(Path::to_owned) }),
        }
    }

    /// Why a scenario cannot be run here; nothing when it can.
    pub(crate) fn lacks(&self, scenario: Scenario) -> Option<&'static str> {
        let is_private = matches!(self.place, Place::Memory);
        (is_private && matches!(scenario, Scenario::Recovery | Scenario::Growth)).then_some(PROCESSES)
    }

    /// The path for a store that several processes open, in a folder of its own.
    pub(crate) fn shared_file(&self) -> Result<PathBuf, Error> {
        self.file()?.ok_or_else(|| Error::Url(format!("this scenario cannot be run: {PROCESSES}")))
    }

    /// The path of a file that does not exist yet; nothing when stores live in memory.
    fn file(&self) -> Result<Option<PathBuf>, Error> {
        let Place::Files { dir, next } = &self.place else { return Ok(None) };
        let folder = dir.path().join(next.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&folder)?;
        Ok(Some(folder.join("bench.db")))
    }
}

impl Fresh {
    /// Closes the store and frees its space at once, so that a long run does not fill the disk.
    pub(crate) async fn discard(self) -> Result<(), Error> {
        self.store.close().await?;
        match self.dir {
            Some(dir) => Ok(std::fs::remove_dir_all(dir)?),
            None => Ok(()),
        }
    }
}

/// Opens a store file as an embedded program does.
pub(crate) async fn open(file: &Path) -> Result<Arc<dyn Store>, Error> {
    let options = sqlite::Options { partitions: Some(PARTITIONS_DEFAULT), ..sqlite::Options::default() };
    Ok(Arc::new(sqlite::open(file, options).await?))
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
        assert_ne!(first.dir, second.dir);
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
        assert!(matches!(site.shared_file(), Err(Error::Url(_))));
        assert!(matches!(Site::new("nonsense"), Err(Error::Url(_))));
    }
}
