//! Leases: one at a time for each execution, none ended early, and nothing accepted under one that is over.

use crate::history::{History, Lease};
use crate::report::Check;
use std::collections::{BTreeMap, BTreeSet};

/// Who holds a lease while the events of an execution are walked through.
struct Holding {
    attempt: Option<u64>,
    since: u64,
}

pub(super) fn apart(history: &History) -> Check {
    let mut check = Check::new("leases of an execution never overlap");
    for (execution, life) in history.lives() {
        let mut held: Option<Holding> = None;
        let mut over = 0;
        for event in life {
            if event.begins_lease() {
                check.looked_at += 1;
                if held.is_some() {
                    check.breaks(format!("{execution} was leased at {} while a lease was held", event.time));
                } else if event.time < over {
                    check.breaks(format!(
                        "{execution} was leased at {}, before the end of the last at {over}",
                        event.time
                    ));
                }
                held = Some(Holding { attempt: event.attempt, since: event.time });
            } else if event.ends_lease() {
                held = None;
                over = event.time;
            }
        }
    }
    check
}

pub(super) fn ends_have_their_lease(history: &History) -> Check {
    let mut check = Check::new("nothing ends under a lease that is over");
    for (execution, life) in history.lives() {
        let mut held: Option<Holding> = None;
        for event in life {
            if event.begins_lease() {
                held = Some(Holding { attempt: event.attempt, since: event.time });
            } else if event.ends_lease() {
                check.looked_at += 1;
                match held.take() {
                    Some(holding) if holding.attempt == event.attempt && holding.since <= event.time => {}
                    Some(holding) => check.breaks(format!(
                        "{execution}: {} of attempt {:?} at {} under the lease of attempt {:?} from {}",
                        event.name, event.attempt, event.time, holding.attempt, holding.since
                    )),
                    None => check.breaks(format!("{execution}: {} at {} without a lease", event.name, event.time)),
                }
            }
        }
    }
    check
}

/// Leases by execution, attempt and epoch; two of the same are told by [`known`].
fn told(history: &History) -> BTreeMap<&(String, u64, u64), &Lease> {
    history.leased.iter().map(|lease| (&lease.of, lease)).collect()
}

pub(super) fn last_long_enough(history: &History) -> Check {
    let mut check = Check::new("no lease runs out before its time");
    let shortest = history.plan.as_ref().map_or(0, |plan| plan.lease);
    let told = told(history);
    let seen: BTreeMap<&str, u64> = history.saw.iter().map(|(event, at)| (event.text.as_str(), *at)).collect();
    for (execution, life) in history.lives() {
        let mut claim = None;
        for event in life {
            if event.begins_lease() {
                claim = Some(event);
            }
            let Some(begun) = claim.filter(|_| event.name == "lease_expired") else { continue };
            check.looked_at += 1;
            let held = event.time.saturating_sub(begun.time);
            let key = (execution.to_owned(), begun.attempt.unwrap_or(0), begun.epoch.unwrap_or(0));
            let lease = told.get(&key);
            if held < shortest {
                check.breaks(format!("{execution}: a lease of {shortest} ms ran out after {held} ms"));
            } else if let Some(lease) = lease.filter(|lease| event.time < lease.expires_at) {
                check.breaks(format!("{execution}: a lease until {} ran out at {}", lease.expires_at, event.time));
            } else if let Some((lease, at)) = lease.zip(seen.get(event.text.as_str()))
                && *at < lease.asked + lease.ttl
            {
                let after = at.saturating_sub(lease.asked);
                check.breaks(format!("{execution}: a lease of {} ms was seen to be over after {after} ms", lease.ttl));
            }
        }
    }
    check
}

/// Leases that time or an operator ended.
fn taken(history: &History) -> BTreeSet<(String, u64, u64)> {
    let mut taken = BTreeSet::new();
    for (execution, life) in history.lives() {
        let mut held = None;
        for event in life {
            if event.begins_lease() {
                held = Some((execution.to_owned(), event.attempt.unwrap_or(0), event.epoch.unwrap_or(0)));
            } else if ["lease_expired", "lease_revoked"].contains(&event.name.as_str()) {
                taken.extend(held.take());
            }
        }
    }
    taken
}

/// A late call is accepted while its lease has not been ended, and refused afterwards.
pub(super) fn late_calls_are_refused(history: &History) -> Check {
    let mut check = Check::new("a call under a lease that was ended is refused");
    let (told, taken) = (told(history), taken(history));
    for call in &history.calls {
        let Some(lease) = told.get(&call.of) else {
            check.breaks(format!("{:?} was ended under a lease that nobody was given", call.of));
            continue;
        };
        // The lease began before its answer was read, so by then it is surely over.
        if call.asked >= lease.at + lease.ttl {
            check.looked_at += 1;
            if call.refused.is_none() && taken.contains(&call.of) {
                let late = call.asked - lease.at - lease.ttl;
                check.breaks(format!("{:?} was ended, and a call {late} ms too late was accepted", call.of));
            }
        }
    }
    if check.looked_at == 0 && history.plan.is_some() {
        check.breaks("no call came too late, so nothing was tried");
    }
    check
}

pub(super) fn known(history: &History) -> Check {
    let mut check = Check::new("every lease given is in the feed, once");
    let claims: BTreeSet<(&str, u64, u64)> = (history.stored.iter())
        .filter(|event| event.begins_lease())
        .filter_map(|event| Some((event.subject.as_str(), event.attempt?, event.epoch?)))
        .collect();
    let mut given = BTreeSet::new();
    for lease in &history.leased {
        check.looked_at += 1;
        let (execution, attempt, epoch) = &lease.of;
        let excused = history.may_lose(lease.at);
        if !given.insert(&lease.of) && !excused {
            check.breaks(format!("{execution}: the lease of epoch {epoch} was given twice"));
        } else if !claims.contains(&(execution.as_str(), *attempt, *epoch)) && !excused {
            check.breaks(format!("{execution}: the lease of epoch {epoch} is not in the feed"));
        }
    }
    check
}
