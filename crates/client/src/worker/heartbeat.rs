//! One heartbeat for all leases of a worker: renews each at half its time and gives up those that are lost.

use super::leases::Leases;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use onward_core::{LeaseId, Millis, Renewed, Span};
use onward_engine::clock::Clock;
use onward_engine::{Engine, Error};
use std::sync::Arc;

/// How long a renewal that could not be carried out waits, as a part of the lease, and the longest such pause.
const RETRY_PART: u64 = 16;
const RETRY_MAX: Span = Span::seconds(1);

type Answer = (LeaseId, Result<Renewed, Error>);

/// Renews leases for as long as it is polled.
pub(crate) async fn run(engine: Engine, clock: Arc<dyn Clock>, leases: Leases, ttl: Span) {
    let mut asked: FuturesUnordered<BoxFuture<'static, Answer>> = FuturesUnordered::new();
    loop {
        let now = engine.now();
        leases.lose_expired(now);
        for fence in leases.due(now) {
            let engine = engine.clone();
            asked.push(Box::pin(async move {
                let answer = engine.renew(&[fence], ttl).await.pop();
                (fence.lease, answer.unwrap_or(Err(Error::Internal("a renewal was not answered".into()))))
            }));
        }
        let next = leases.next();
        let wait = async {
            match next {
                Some(at) => clock.sleep((at - now).max(Span(1))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some((lease, answer)) = asked.next(), if !asked.is_empty() => settle(&leases, lease, answer, engine.now(), ttl),
            () = leases.taken() => {}
            () = wait => {}
        }
    }
}

fn settle(leases: &Leases, lease: LeaseId, answer: Result<Renewed, Error>, now: Millis, ttl: Span) {
    match answer {
        Ok(renewed) => leases.renewed(lease, renewed, ttl),
        Err(Error::Refused(refusal)) => {
            tracing::debug!(%lease, %refusal, "a lease is lost");
            leases.lose(lease);
        }
        Err(error) => {
            tracing::warn!(%lease, %error, "a lease could not be renewed; trying again");
            leases.try_again(lease, now + Span(ttl.0 / RETRY_PART).min(RETRY_MAX));
        }
    }
}
