//! Being one of several processes on a store: say that one lives, see who else does, and share the partitions.

use crate::nearby::{LaneName, Nearby};
use crate::roster::{Homes, Roster, Sighting};
use crate::shared::Shared;
use crate::{Error, Scope, binding, claims, clockwork, far};
use onward_core::record::{Format, Member, Record};
use onward_core::{Key, MemberId, Span, index};
use onward_store::{Batch, Home, IndexName, Outcome, Partition, Partitions, Range, Version};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How often a process says that it lives and looks for others.
const BEAT: Span = Span::seconds(2);
/// Where the records of members are.
const PLACE: Partition = Partition(0);
/// The most members that are looked at.
const MEMBERS_MAX: usize = 1_000;
/// Beats in a row that may fail before a process takes itself for dead: the others do by then.
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
                    tracing::warn!(%error, missed, "the other processes could not be told that this one lives");
                    if missed > MISSED_MAX { Homes::Nowhere } else { shared.homes() }
                }
            },
        };
        if now != Home::ByMembership {
            shared.unsure.store(false, Ordering::Relaxed);
        }
        if homes != shared.homes() {
            tracing::debug!(?homes, "this process looks after other partitions than before");
        }
        shared.set_homes(homes);
        shared.board.set_nearby(member.nearby(&shared, now));
        if std::mem::take(&mut member.mourns) {
            // Beside the heartbeat, which must not wait for it.
            let shared_too = shared.clone();
            shared.jobs.spawn(async move {
                clockwork::read_near(&shared_too).await;
                claims::look_again(&shared_too, true).await;
            });
        }
        far::help(&shared).await;
        let pause = async {
            match now {
                // A little less each time, so that processes that start together spread out.
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

/// One process among others.
struct Membership {
    id: MemberId,
    roster: Roster,
    /// The lanes that workers of this process ask for.
    lanes: Vec<LaneName>,
    /// The version of the own record, once it is written.
    version: Option<Version>,
    beats: u64,
    /// Somebody has died since this was last asked, so that there may be work and due times that nobody told of.
    mourns: bool,
}

impl Membership {
    fn new(shared: &Shared) -> Self {
        let id = MemberId(shared.chance.id());
        Self { id, roster: Roster::new(id), lanes: Vec::new(), version: None, beats: 0, mourns: false }
    }

    /// Says that this process lives, and shares the partitions with those that do too.
    async fn beat(&mut self, shared: &Shared) -> Result<Homes, Error> {
        self.say(shared).await?;
        // Whoever comes sees this process at once, and need not be seen as soon.
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

    /// The partitions whose ready work this process takes first. Without members there is nobody to share with.
    fn nearby(&self, shared: &Shared, home: Home) -> Nearby {
        match home {
            Home::ByMembership => self.roster.nearby(&self.lanes, shared.partitions),
            Home::Nowhere | Home::Everywhere => Nearby::default(),
        }
    }

    async fn say(&mut self, shared: &Shared) -> Result<(), Error> {
        self.beats += 1;
        self.lanes = shared.board.worked();
        let scope = shared.options.scope.clone();
        let (namespace, tag) = scope.map(|scope| (scope.namespace, scope.tag)).unwrap_or_default();
        let record = Record::Member(Member {
            format: Format,
            namespace,
            tag,
            lanes: self.lanes.iter().cloned().collect(),
            beats: self.beats,
        });
        let key = binding::store_key(&Key::Member(self.id));
        for _ in 0..2 {
            let mut batch = Batch::new(PLACE, Version(shared.chance.id()));
            batch.expect.push((key.clone(), self.version));
            batch.put.push(binding::row(key.clone(), &record, batch.id));
            let (id, sent) = (batch.id, shared.time.local());
            let outcomes = shared.store.commit(vec![batch]).await?;
            if let Some(outcome) = outcomes.first() {
                shared.time.observe(sent, binding::outcome_time(outcome));
            }
            match outcomes.first() {
                Some(Outcome::Conflict { current, .. }) => {
                    // Others took it for dead and removed it, or an answer was lost.
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
            let (same_scope, lanes) = match onward_core::codec::decode(&key, &row.body) {
                Record::Member(other) => (Scope::is_shared_with(shared.options.scope.as_ref(), &other), other.lanes),
                // A newer version wrote it; whatever it looks after, it does so by itself.
                _ => (false, BTreeSet::new()),
            };
            Some(Sighting { member, version: row.version, same_scope, lanes })
        };
        Ok(rows.into_iter().flatten().filter_map(sighting).collect())
    }

    /// Lets the others take over at once.
    async fn leave(&self, shared: &Shared) {
        if let Some(version) = self.version
            && let Err(error) = remove(shared, self.id, version).await
        {
            tracing::debug!(%error, "the other processes will notice by themselves that this one has gone");
        }
    }
}

/// Removes the record of a member that has not moved.
async fn remove(shared: &Shared, member: MemberId, version: Version) -> Result<(), Error> {
    let key = binding::store_key(&Key::Member(member));
    let mut batch = Batch::new(PLACE, Version(shared.chance.id()));
    batch.expect.push((key.clone(), Some(version)));
    batch.delete.push(key);
    shared.store.commit(vec![batch]).await?;
    Ok(())
}
