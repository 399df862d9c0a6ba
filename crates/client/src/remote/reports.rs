//! Reports of one moment, sent together, with what they ask for in the same breath.

use super::exchange::{Exchange, Request};
use super::gather::{Gather, Shareable};
use super::undelivered::UndeliveredWork;
use super::{decode, encode};
use crate::call::Reports;
use crate::wire::{ClaimRequest, ItemAnswer, ReportBatch, ReportBatchAnswer, ReportItem};
use crate::{Error, Result};
use onward_core::{End, Namespace, Report, Reported, Span};
use onward_engine::Wants;
use std::sync::Arc;

/// The end of a lease, and what its worker wants next.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) namespace: Namespace,
    pub(super) report: Report,
    pub(super) claim: Option<Wants>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) reported: Result<Reported>,
    pub(super) claimed: Result<UndeliveredWork>,
}

/// What a report takes beside what it says: a lease, a name and what is wanted next.
const AROUND: usize = 512;

impl Shareable for Ended {
    type Answer = Told;

    fn goes_with(&self, other: &Self) -> bool {
        let alike = match (&self.claim, &other.claim) {
            (None, None) => true,
            (Some(one), Some(other)) => Wants { max: other.max, ..one.clone() } == *other,
            _ => false,
        };
        alike && self.namespace == other.namespace
    }

    fn bytes(&self) -> usize {
        let more = match &self.report.end {
            // Bytes travel in base64.
            End::Complete(complete) => complete.result.as_bytes().len().div_ceil(3) * 4,
            End::Fail(fail) => {
                let details = fail.failure.details.as_ref().map_or(0, |details| details.as_str().len());
                fail.failure.message.len() + details
            }
            End::Cancel(cancel) => cancel.reason.as_str().len(),
            End::Delay(_) | End::Unclaim(_) => 0,
        };
        AROUND + more
    }
}

pub(super) fn gather(exchange: Arc<Exchange>) -> Gather<Ended> {
    Gather::new(exchange.patience(), move |ended: Vec<Ended>| {
        let exchange = exchange.clone();
        Box::pin(async move { together(exchange, ended).await })
    })
}

/// Sends reports whose workers want the same, and shares out what was claimed.
async fn together(exchange: Arc<Exchange>, ended: Vec<Ended>) -> Result<Vec<Result<Told>>> {
    let wanted: Vec<usize> = ended.iter().map(|ended| ended.claim.as_ref().map_or(0, |wants| wants.max)).collect();
    let namespace = ended.first().map(|ended| ended.namespace.clone()).unwrap_or_default();
    let claim = ended.first().and_then(|ended| ended.claim.clone());
    let claim = claim.map(|wants| Wants { max: wanted.iter().sum(), ..wants });
    let reports = ended.into_iter().map(|ended| ended.report).collect();
    let Reports { reported, claimed } = send(&exchange, &namespace, reports, claim).await?;
    let mut share = claimed.map(Vec::into_iter);
    let told = reported.into_iter().zip(wanted).map(|(reported, most)| {
        let claimed = match &mut share {
            Ok(left) => Ok(UndeliveredWork::new(&exchange, &namespace, left.take(most).collect())),
            Err(error) => Err(error.clone()),
        };
        Ok(Told { reported, claimed })
    });
    Ok(told.collect())
}

/// Sends reports in one request, and claims. Each has a name, so that a repeat gets the answer of the first; a claim has
/// none, so that it is left out of a repeat: what the first one got and could not tell returns when its lease ends.
pub(super) async fn send(
    exchange: &Exchange,
    namespace: &Namespace,
    reports: Vec<Report>,
    claim: Option<Wants>,
) -> Result<Reports> {
    let items: Vec<ReportItem> = reports.into_iter().map(ReportItem::of).collect();
    let claim = claim.map(|wants| encode::claim(wants, Span(0)));
    let (asked, mut batch) = (claim.is_some(), ReportBatch { reports: items, claim });
    let mut answer = post(exchange, namespace, &batch).await;
    if asked && answer.as_ref().is_err_and(Error::is_temporary) {
        batch.claim = None::<ClaimRequest>;
        answer = post(exchange, namespace, &batch).await;
    }
    let ReportBatchAnswer { results, executions, claim_problem } = answer?;
    let reported = results.into_iter().map(ItemAnswer::into_result);
    let claimed = match claim_problem {
        Some(problem) => Err(Error::Server(Box::new(problem))),
        None => executions.into_iter().map(decode::claimed).collect(),
    };
    Ok(Reports { reported: reported.collect(), claimed })
}

async fn post(exchange: &Exchange, namespace: &Namespace, batch: &ReportBatch) -> Result<ReportBatchAnswer> {
    let request = Request::post(namespace, "/v1/work/reports", batch)?;
    exchange.ask(if batch.claim.is_some() { request.once() } else { request }).await
}
