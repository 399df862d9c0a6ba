//! The plan in which two builds share a store: when each of them is alone, and what an older one must leave alone.

use crate::clock::{now, rest};
use crate::driver::Run;
use crate::{waits, work};
use onward::{Client, ClientOptions, Payload, PublicState};
use onward_checker::Line;
use onward_core::record::{FORMAT, Record};
use onward_core::{ExecutionId, Namespace, codec, index, limits};
use onward_store::{IndexName, Key, Partition, Partitions, Range, Store, Version};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Executions with a kept signal that are ready when the other build is left alone.
const PLANTED: u32 = 5;
/// When the number of suspended executions has not changed for so long, it will not.
const SETTLED_AFTER: u64 = 1_000;
/// The longest time that this is waited for.
const SETTLED_MAX: u64 = 20_000;
/// How often it is counted.
const SETTLE_TICK: u64 = 50;

/// The other build, and what it finds when it is left alone.
#[derive(Debug)]
pub(crate) struct OtherBuild {
    /// The program.
    pub(crate) program: PathBuf,
    /// The newest format of records that it reads.
    formats: u32,
    /// What had not ended when it was left alone; nothing before.
    found: Option<Found>,
}

/// Unfinished executions, as the other build found them.
#[derive(Debug, Default)]
struct Found {
    /// What it has to finish.
    readable: Vec<ExecutionId>,
    /// Records that the older build cannot read, and work that only this build has a handler for; with the record if it is unreadable.
    left: BTreeMap<ExecutionId, Option<Version>>,
    /// How many of the unreadable ones are suspended.
    suspended: usize,
}

impl OtherBuild {
    pub(crate) fn new(program: &Path, formats: Option<u32>) -> Self {
        Self { program: program.to_owned(), formats: formats.unwrap_or(FORMAT), found: None }
    }

    /// Whether all engine processes are to be of that build.
    pub(crate) fn is_alone(&self) -> bool {
        self.found.is_some()
    }

    /// Whether it is so old that some records must stay as they are while it is alone.
    fn is_older(&self) -> bool {
        self.formats < FORMAT
    }

    async fn look(&self, store: &dyn Store) -> io::Result<Found> {
        let (index, mut range) = (IndexName::new(index::list(&Namespace::default())), Range::default());
        let mut found = Found::default();
        loop {
            let page = store.scan(&index, &Partitions::All, range, limits::PAGE_MAX).await.map_err(io::Error::other)?;
            for item in &page.items {
                let id: ExecutionId = item.key.as_str().parse().map_err(io::Error::other)?;
                self.sort(store, id, &mut found).await?;
            }
            let last = page.items.last().filter(|_| page.more);
            let Some(last) = last else { return Ok(found) };
            range = Range { after: Some((last.rank, last.key.clone())), ..Range::default() };
        }
    }

    /// Puts an execution where it belongs, unless it has ended.
    async fn sort(&self, store: &dyn Store, id: ExecutionId, found: &mut Found) -> io::Result<()> {
        let Some(row) = load(store, id).await? else { return Ok(()) };
        let Record::Execution(execution) = codec::decode(&id.to_string().parse().map_err(io::Error::other)?, &row.body)
        else {
            return Err(io::Error::other(format!("{id} cannot be read")));
        };
        let unreadable = codec::needs_newer(&row.body, self.formats);
        if execution.is_finished() {
            return Ok(());
        }
        if unreadable || execution.kind.as_str() == waits::KIND {
            found.suspended += usize::from(unreadable && execution.public_state() == PublicState::Suspended);
            found.left.insert(id, unreadable.then_some(row.version));
        } else {
            found.readable.push(id);
        }
        Ok(())
    }
}

async fn load(store: &dyn Store, id: ExecutionId) -> io::Result<Option<onward_store::Record>> {
    let rows = store.load(Partition(id.partition().0), &[Key::new(id.to_string())]).await;
    Ok(rows.map_err(io::Error::other)?.pop().flatten())
}

/// Whether an execution has ended.
async fn has_ended(store: &dyn Store, id: ExecutionId) -> io::Result<bool> {
    let Some(row) = load(store, id).await? else { return Ok(true) };
    let key = id.to_string().parse().map_err(io::Error::other)?;
    Ok(matches!(codec::decode(&key, &row.body), Record::Execution(execution) if execution.is_finished()))
}

impl Run<'_> {
    /// Leaves the store to the other build, if there is one. No process of this build stays, not even the reader: each
    /// process runs an engine, which looks after timers.
    pub(crate) fn go_back(&mut self) -> io::Result<()> {
        let Some(other) = &self.other else { return Ok(()) };
        let found = OtherBuild::new(&other.program, Some(other.formats));
        // Signals that were not sent by now come when this build is alone.
        self.kill_senders()?;
        self.until_suspended()?;
        self.end_processes()?;
        self.end_reader()?;
        self.plant_newer()?;
        let found = self.runtime.block_on(found.look(&*self.store))?;
        let (suspended, left) = (found.suspended, found.left.values().flatten().count());
        println!("  from here on the other build is alone, with {left} records it cannot read, {suspended} suspended");
        if let Some(other) = &mut self.other {
            if other.is_older() && suspended == 0 {
                self.wrongs.push("nothing was suspended when the older build was left alone".into());
            }
            other.found = Some(found);
        }
        self.start_engines()
    }

    /// Puts work with a kept signal at the head of a queue whose workers take any kind: an older build cannot read it, and
    /// must do the work behind it.
    fn plant_newer(&mut self) -> io::Result<()> {
        let asked = now();
        let planted = self.runtime.block_on(async {
            let client = Client::open_with(&self.url, ClientOptions::default()).await?;
            let mut ids = Vec::new();
            for n in 0..PLANTED {
                let submission = client.submit_payload(work::KIND, Payload::null()).lane(work::HELD_LANE);
                let submission = submission.unique_key(&format!("planted-{n}")).signal("unwanted", &n);
                ids.push(submission.priority(limits::PRIORITY_MAX).await?.id);
            }
            client.shutdown().await?;
            Ok::<_, onward::Error>(ids)
        });
        for id in planted.map_err(io::Error::other)? {
            self.tell(&Line::Submitted { execution: id.to_string(), asked, at: now() })?;
        }
        Ok(())
    }

    /// Waits until work has come as far as it can without further signals.
    fn until_suspended(&mut self) -> io::Result<()> {
        let index = IndexName::new(index::state(&Namespace::default(), PublicState::Suspended));
        let (begun, mut last, mut since) = (now(), 0, now());
        while (last == 0 || now() < since + SETTLED_AFTER) && now() < begun + SETTLED_MAX {
            let count = self.runtime.block_on(self.store.count(&index, &Partitions::All, u64::MAX));
            let count = count.map_err(io::Error::other)?.n;
            if count != last {
                (last, since) = (count, now());
            }
            rest(SETTLE_TICK);
            self.check_processes()?;
        }
        Ok(())
    }

    /// How much work of the other build has not ended.
    pub(crate) fn unfinished_there(&mut self) -> io::Result<u64> {
        let Some(found) = self.other.as_mut().and_then(|other| other.found.as_mut()) else { return Ok(0) };
        let store = &*self.store;
        self.runtime.block_on(async {
            while let Some(id) = found.readable.last() {
                if !has_ended(store, *id).await? {
                    break;
                }
                found.readable.pop();
            }
            Ok(found.readable.len() as u64)
        })
    }

    /// Leaves the store to this build, and tells what the other one should not have changed.
    pub(crate) fn come_back(&mut self) -> io::Result<()> {
        self.end_processes()?;
        let Some(other) = self.other.take() else { return Ok(()) };
        let found = other.found.unwrap_or_default();
        let mut untouched = 0;
        for (id, version) in &found.left {
            let Some(version) = version else { continue };
            let now = self.runtime.block_on(load(&*self.store, *id))?.map(|row| row.version);
            if now == Some(*version) {
                untouched += 1;
            } else {
                self.wrongs.push(format!("{id} was changed by a build that cannot read it"));
            }
        }
        println!("  the other build is through, and left {untouched} records alone; from here on this build is alone");
        self.start_engines()?;
        self.start_senders()?;
        self.start_reader()?;
        self.finish_processes()
    }
}
