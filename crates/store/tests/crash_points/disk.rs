//! What a disk may hold after a power cut: everything that was synced, and any part of what was not.
//!
//! A sync covers the changes that were complete when it began. Files appear in and vanish from the directory when the
//! directory is synced. Of unsynced data each 4 KiB page may or may not have reached the disk, in any combination.

use crate::trace::Event;
use std::collections::BTreeMap;
use std::path::Path;

const PAGE: usize = 4096;

/// The files of one directory, as they are and as a power cut would leave them.
#[derive(Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    /// The file behind each name, as programs see it.
    names: BTreeMap<String, usize>,
    /// The same as the disk holds it.
    durable_names: BTreeMap<String, usize>,
    /// Changes of names that no sync of the directory has covered.
    renames: Vec<(String, Option<usize>)>,
    syncs: BTreeMap<usize, Sync>,
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    pending: Vec<Change>,
    /// How many changes have been synced so far.
    done: usize,
}

#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

/// A sync under way: what it covers.
enum Sync {
    Directory { renames: usize },
    File { file: usize, changes: usize },
}

impl Disk {
    /// Lets one event happen.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Created { file } => {
                if !self.names.contains_key(file) {
                    self.files.push(File::default());
                    self.names.insert(file.clone(), self.files.len() - 1);
                    self.renames.push((file.clone(), Some(self.files.len() - 1)));
                }
            }
            Event::Removed { file } => {
                self.names.remove(file);
                self.renames.push((file.clone(), None));
            }
            Event::Written { file, offset, bytes } => {
                self.named(file).pending.push(Change::Write(*offset, bytes.clone()));
            }
            Event::Truncated { file, length } => self.named(file).pending.push(Change::Truncate(*length)),
            Event::SyncBegan { file, id } if file.is_empty() => {
                self.syncs.insert(*id, Sync::Directory { renames: self.renames.len() });
            }
            Event::SyncBegan { file, id } => {
                let at = self.names[file];
                let changes = self.files[at].done + self.files[at].pending.len();
                self.syncs.insert(*id, Sync::File { file: at, changes });
            }
            Event::SyncEnded { id } => self.synced(*id),
            Event::Acknowledged(_) => {}
        }
    }

    fn named(&mut self, name: &str) -> &mut File {
        let at = self.names[name];
        &mut self.files[at]
    }

    fn synced(&mut self, id: usize) {
        match self.syncs.remove(&id).expect("a sync begins before it ends") {
            Sync::Directory { renames } => {
                // Two syncs of the directory may overlap; what an earlier one covered is gone from the list.
                for (name, file) in self.renames.drain(..renames.min(self.renames.len())).collect::<Vec<_>>() {
                    rename(&mut self.durable_names, &name, file);
                }
            }
            Sync::File { file, changes } => {
                let file = &mut self.files[file];
                let count = changes.saturating_sub(file.done);
                for change in file.pending.drain(..count) {
                    change.apply_to(&mut file.synced);
                }
                file.done += count;
            }
        }
    }

    /// Writes the files as they are when nothing unsynced was kept.
    pub(crate) fn lay_out_synced(&self, place: &Path) {
        for (name, file) in &self.durable_names {
            std::fs::write(place.join(name), &self.files[*file].synced).expect("a file is laid out");
        }
    }

    /// Writes the files with a random part of what was not synced.
    pub(crate) fn lay_out_torn(&self, place: &Path, chance: &mut Chance) {
        let mut names = self.durable_names.clone();
        let kept = chance.below(self.renames.len() + 1);
        for (name, file) in &self.renames[..kept] {
            rename(&mut names, name, *file);
        }
        let keep_in_ten = [1, 5, 9][chance.below(3)];
        for (name, file) in names {
            let bytes = self.files[file].torn(keep_in_ten, chance);
            std::fs::write(place.join(name), bytes).expect("a file is laid out");
        }
    }
}

fn rename(names: &mut BTreeMap<String, usize>, name: &str, file: Option<usize>) {
    match file {
        Some(file) => names.insert(name.to_owned(), file),
        None => names.remove(name),
    };
}

impl File {
    /// The synced bytes, with each page that differs in the running system taken over or not.
    fn torn(&self, keep_in_ten: usize, chance: &mut Chance) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        let mut running = self.synced.clone();
        for change in &self.pending {
            change.apply_to(&mut running);
        }
        if running.len() < bytes.len() && chance.below(2) == 0 {
            bytes.truncate(running.len());
        }
        for start in (0..running.len()).step_by(PAGE) {
            let end = (start + PAGE).min(running.len());
            let same = bytes.get(start..end) == Some(&running[start..end]);
            if !same && chance.below(10) < keep_in_ten {
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[start..end].copy_from_slice(&running[start..end]);
            }
        }
        bytes
    }
}

impl Change {
    fn apply_to(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, written) => {
                let end = offset + written.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*offset..end].copy_from_slice(written);
            }
            Self::Truncate(length) => bytes.resize(*length, 0),
        }
    }
}

/// A small generator of chance, the same everywhere.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).expect("below a usize")
    }
}
