//! Submits of one moment, sent together.

use super::decode;
use super::exchange::{Exchange, Request};
use super::gather::{Gather, Shareable};
use crate::Result;
use crate::wire::{SubmitBatch, SubmitBatchAnswer};
use onward_core::{Namespace, NewExecution, Submitted};
use std::sync::Arc;

/// What a submission takes beside its payload, its tags and what it requires: names, keys, times and a policy.
const AROUND: usize = 1024;

impl Shareable for NewExecution {
    type Answer = Submitted;

    fn goes_with(&self, other: &Self) -> bool {
        self.namespace == other.namespace
    }

    fn bytes(&self) -> usize {
        // Bytes travel in base64.
        let json = self.input.as_ref().map_or(0, |json| json.as_str().len());
        let blob = self.input_bytes.as_ref().map_or(0, |blob| blob.bytes.len().div_ceil(3) * 4);
        let tags: usize = self.tags.iter().map(|(key, value)| key.as_str().len() + value.as_str().len()).sum();
        let requires: usize = self.requires.capabilities().map(|one| one.as_str().len()).sum();
        AROUND + json + blob + tags + requires
    }
}

pub(super) fn gather(exchange: Arc<Exchange>) -> Gather<NewExecution> {
    Gather::new(exchange.patience(), move |executions: Vec<NewExecution>| {
        let exchange = exchange.clone();
        Box::pin(async move {
            let namespace = executions.first().map(|new| new.namespace.clone());
            send(&exchange, &namespace.unwrap_or_default(), &SubmitBatch { executions }).await
        })
    })
}

/// Submits many in one request. Each carries an id of its own, so that a repeat of the request finds the first one.
async fn send(exchange: &Exchange, namespace: &Namespace, batch: &SubmitBatch) -> Result<Vec<Result<Submitted>>> {
    let request = Request::post(namespace, "/v1/executions/batch", batch)?;
    let answer: SubmitBatchAnswer = exchange.ask(request).await?;
    Ok(answer.results.into_iter().map(|answer| answer.into_result().map(|done| decode::submitted(&done))).collect())
}

/// Submits many in as few requests as the server lets them fit: what is too large for one goes out in halves, and one that
/// is too large by itself is refused by itself.
pub(super) async fn send_all(
    exchange: &Exchange,
    namespace: &Namespace,
    executions: Vec<NewExecution>,
) -> Result<Vec<Result<Submitted>>> {
    let (mut answers, mut parts) = (Vec::with_capacity(executions.len()), vec![SubmitBatch { executions }]);
    while let Some(mut part) = parts.pop() {
        match send(exchange, namespace, &part).await {
            Ok(more) => answers.extend(more),
            Err(error) if !error.is_too_large() => return Err(error),
            Err(error) if part.executions.len() <= 1 => answers.push(Err(error)),
            Err(_) => {
                let executions = part.executions.split_off(part.executions.len() / 2);
                parts.extend([SubmitBatch { executions }, part]);
            }
        }
    }
    Ok(answers)
}
