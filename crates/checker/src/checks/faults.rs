//! The faults themselves: they happened, the store is consistent behind them, and every partition lives again soon.

use crate::history::History;
use crate::report::Check;
use std::collections::BTreeMap;

pub(super) fn happened(history: &History) -> Check {
    let mut check = Check::new("faults happened");
    check.looked_at = history.faults.len();
    if history.faults.is_empty() {
        check.breaks("nothing was broken, so nothing was tried");
    }
    check
}

pub(super) fn consistent(history: &History) -> Check {
    let mut check = Check::new("records and indexes agree at the end");
    match &history.examined {
        None => check.breaks("the store was not examined"),
        Some((records, faults)) => {
            check.looked_at = usize::try_from(*records).unwrap_or(usize::MAX);
            check.broken.clone_from(faults);
        }
    }
    check
}

/// The partition of an execution, which is the last part of its id.
fn partition(execution: &str) -> Option<u64> {
    execution.rsplit('-').next()?.parse().ok()
}

pub(super) fn live_again(history: &History) -> Check {
    let mut check = Check::new("every partition is live again in time");
    let Some((partitions, bound)) = history.plan.as_ref().and_then(|plan| Some((plan.partitions, plan.live_within?)))
    else {
        return check;
    };
    let mut slowest = 0;
    for fault in history.faults.iter().filter(|fault| fault.primary) {
        let mut first: BTreeMap<u64, u64> = BTreeMap::new();
        for (execution, asked, at) in &history.submitted {
            if let Some(partition) = partition(execution).filter(|_| *asked >= fault.until) {
                let soonest = first.entry(partition).or_insert(*at);
                *soonest = (*soonest).min(*at);
            }
        }
        for partition in 0..partitions {
            check.looked_at += 1;
            match first.get(&partition).map(|at| at - fault.at) {
                Some(after) if after <= bound => slowest = slowest.max(after),
                Some(after) => {
                    check.breaks(format!("partition {partition} was live {after} ms after the kill at {}", fault.at));
                }
                None => check.breaks(format!("partition {partition} accepted nothing after the kill at {}", fault.at)),
            }
        }
    }
    check.note = format!("slowest {slowest} ms of {bound}");
    check
}
