//! Membership of this process: writes heartbeats, reads those of others, and divides the partitions.

use crate::members::roster::{Homes, Roster, Sighting};
use crate::shared::Shared;
use crate::timers::due;
use crate::work::affinity::{Affinity, Kinds, LaneName, Served};
use crate::work::{claims, remote};
use crate::{Error, Scope, binding};
use onward_core::record::{Format, LaneServed, Member, Record};
use onward_core::{Key, MemberId, Span, index};
use onward_store::{Batch, Home, IndexName, Outcome, Partition, Partitions, Range, Version};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Interval of heartbeats and of reads of the other members.
const BEAT: Span = Span::seconds(2);
/// Partition of the member records.
const PLACE: Partition = Partition(0);
/// Maximum number of members that are read.
const MEMBERS_MAX: usize = 1_000;
/// Beats in a row that may fail before a process considers itself dead: the others do by then.
const MISSED_MAX: u32 = 3;

/// Keeps the homes of this process up to date, for as long as the engine runs.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut home = shared.store.home();
    let mut member = Membership::new(&shared);
    let mut missed = 0;
    loop {
        let now = *home.borrow_and_update();
        let homes = match now {
            Home::Nowhere => Homes::Nowhere,
            Home::Everywhere => Homes::Everywhere,
            Home::ByMembership => match member.beat(&shared).await {
                Ok(homes) => {
                    missed = 0;
                    homes
                }
                Err(error) => {
                    missed += 1;
                    tracing::warn!(%error, missed, "the heartbeat failed; other processes may consider this one dead");
                    if missed > MISSED_MAX { Homes::Nowhere } else { shared.homes() }
                }
            },
        };
        if now != Home::ByMembership {
            shared.unsure.store(false, Ordering::Relaxed);
        }
        if homes != shared.homes() {
            tracing::debug!(?homes, "the partitions whose home this process is have changed");
        }
        shared.set_homes(homes);
        shared.board.set_served_elsewhere(member.served_elsewhere(now));
        shared.board.set_affinity(member.affinity(&shared, now));
        if std::mem::take(&mut member.mourns) {
            // In a task of its own, since the heartbeat must not wait for it.
            let shared_too = shared.clone();
            shared.jobs.spawn(async move {
                due::read_near(&shared_too).await;
                claims::look_again(&shared_too, true).await;
            });
        }
        remote::help(&shared).await;
        let pause = async {
            match now {
                // Randomly shortened, so that processes that start together spread out.
                Home::ByMembership => shared.clock.sleep(Span(BEAT.0 - shared.chance.word() % (BEAT.0 / 8))).await,
                Home::Nowhere | Home::Everywhere => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = shared.stopped() => break,
            _ = home.changed() => {}
            () = pause => {}
        }
    }
    member.leave(&shared).await;
}

/// This process as a member among others.
struct Membership {
    id: MemberId,
    roster: Roster,
    /// What workers of this process ask for.
    served: Served,
    /// Version of this process's record, once it is written.
    version: Option<Version>,
    beats: u64,
    /// A member has died since this was last read; it may have left work and due times without a notification.
    mourns: bool,
}

impl Membership {
    fn new(shared: &Shared) -> Self {
        let id = MemberId(shared.chance.id());
        Self {
            id,
            roster: Roster::new(id, shared.options.formats_known),
            served: Served::new(),
            version: None,
            beats: 0,
            mourns: false,
        }
    }

    /// Writes a heartbeat, and divides the partitions among the members that are alive.
    async fn beat(&mut self, shared: &Shared) -> Result<Homes, Error> {
        self.say(shared).await?;
        // A new member sees this process at once, and need not be seen as soon.
        if self.roster.is_alone() && self.beats.is_multiple_of(2) {
            return Ok(self.roster.homes(shared.partitions));
        }
        let seen = self.look(shared).await?;
        self.roster.look(&seen);
        self.mourns |= self.roster.somebody_died();
        shared.unsure.store(self.roster.is_unsure(), Ordering::Relaxed);
        for (member, version) in self.roster.forgotten() {
            remove(shared, member, version).await?;
        }
        Ok(self.roster.homes(shared.partitions))
    }

    /// The partitions whose ready work this process takes first. Without membership no lane is shared.
    fn affinity(&self, shared: &Shared, home: Home) -> Affinity {
        match home {
            Home::ByMembership => self.roster.affinity(&self.served, shared.partitions),
            Home::Nowhere | Home::Everywhere => Affinity::default(),
        }
    }

    /// What the workers of other live processes ask for; `None` when other processes are not known.
    fn served_elsewhere(&self, home: Home) -> Option<Vec<Served>> {
        (home == Home::ByMembership).then(|| self.roster.served_elsewhere())
    }

    async fn say(&mut self, shared: &Shared) -> Result<(), Error> {
        self.beats += 1;
        self.served = shared.board.worked();
        let scope = shared.options.scope.clone();
        let (namespace, tag) = scope.map(|scope| (scope.namespace, scope.tag)).unwrap_or_default();
        let record = Record::Member(Member {
            format: Format,
            namespace,
            tag,
            lanes: self.served.iter().map(announced).collect(),
            formats: shared.options.formats_known,
            beats: self.beats,
        });
        let key = binding::store_key(&Key::Member(self.id));
        for _ in 0..2 {
            let mut batch = Batch::new(PLACE, Version(shared.chance.id()));
            batch.expect.push((key.clone(), self.version));
            batch.put.push(binding::row(key.clone(), &Key::Member(self.id), &record, batch.id));
            let (id, sent) = (batch.id, shared.time.local());
            let outcomes = shared.store.commit(vec![batch]).await?;
            if let Some(outcome) = outcomes.first() {
                shared.time.observe(sent, binding::outcome_time(outcome));
            }
            match outcomes.first() {
                Some(Outcome::Conflict { current, .. }) => {
                    // Another member considered it dead and removed it, or an outcome was lost.
                    self.version = current.iter().find_map(|(_, record)| record.as_ref()).map(|record| record.version);
                }
                _ => {
                    self.version = Some(id);
                    return Ok(());
                }
            }
        }
        Err(Error::Contended)
    }

    async fn look(&self, shared: &Shared) -> Result<Vec<Sighting>, Error> {
        let index = IndexName::new(index::MEMBERS);
        let place = Partitions::Some(vec![PLACE]);
        let page = shared.store.scan(&index, &place, Range::default(), MEMBERS_MAX).await?;
        let own = binding::store_key(&Key::Member(self.id));
        let names: Vec<_> = page.items.into_iter().map(|found| found.key).filter(|key| *key != own).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let rows = shared.store.load(PLACE, &names).await?;
        let sighting = |row: onward_store::Record| {
            let key = row.key.as_str().parse().ok()?;
            let Key::Member(member) = key else { return None };
            let (same_scope, formats, served) = match onward_core::codec::decode(&key, &row.body) {
                Record::Member(other) => {
                    let same_scope = Scope::is_shared_with(shared.options.scope.as_ref(), &other);
                    (same_scope, other.formats, heard(other.lanes))
                }
                // What cannot be read shares no partitions with this process.
                _ => (false, 0, Served::new()),
            };
            Some(Sighting { member, version: row.version, same_scope, formats, served })
        };
        Ok(rows.into_iter().flatten().filter_map(sighting).collect())
    }

    /// Removes this process's record, so that the others take over at once.
    async fn leave(&self, shared: &Shared) {
        if let Some(version) = self.version
            && let Err(error) = remove(shared, self.id, version).await
        {
            tracing::debug!(%error, "leaving failed; the other processes will miss the heartbeats of this one");
        }
    }
}

/// A lane as a member's record announces it.
fn announced(((namespace, lane), kinds): (&LaneName, &Kinds)) -> LaneServed {
    LaneServed { namespace: namespace.clone(), lane: lane.clone(), kinds: kinds.as_deref().cloned() }
}

/// What a member's record announces.
fn heard(lanes: Vec<LaneServed>) -> Served {
    lanes.into_iter().map(|served| ((served.namespace, served.lane), served.kinds.map(Arc::new))).collect()
}

/// Removes the record of a member if it still has this version.
async fn remove(shared: &Shared, member: MemberId, version: Version) -> Result<(), Error> {
    let key = binding::store_key(&Key::Member(member));
    let mut batch = Batch::new(PLACE, Version(shared.chance.id()));
    batch.expect.push((key.clone(), Some(version)));
    batch.delete.push(key);
    shared.store.commit(vec![batch]).await?;
    Ok(())
}
