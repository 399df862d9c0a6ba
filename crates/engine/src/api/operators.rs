//! Operator calls on executions: cancel, reschedule, prioritise, tag, revoke, replay, purge.

use crate::engine::unexpected;
use crate::{Engine, Error};
use onward_core::record::Did;
use onward_core::{Act, Actor, Command, ExecutionId, Namespace, Operate, Reply};

impl Engine {
    /// Applies an act to an execution of a namespace.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn operate(&self, namespace: &Namespace, execution: ExecutionId, act: Act) -> Result<Did, Error> {
        let command = self.command_id();
        self.operate_with(Operate { command, namespace: namespace.clone(), execution, by: None, act }).await
    }

    /// Applies an act under an id drawn before, so that the call can be retried, and in an actor's name.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn operate_with(&self, operate: Operate) -> Result<Did, Error> {
        did(self.call(operate.execution.partition(), Command::Operate(Box::new(operate))).await?)
    }

    /// Applies an act to many executions, each independently; the results come in the same order.
    pub async fn operate_many(
        &self,
        namespace: &Namespace,
        executions: &[ExecutionId],
        by: Option<&Actor>,
        act: &Act,
    ) -> Vec<Result<Did, Error>> {
        let commands = executions.iter().map(|execution| {
            let (command, namespace) = (self.command_id(), namespace.clone());
            let operate = Operate { command, namespace, execution: *execution, by: by.cloned(), act: act.clone() };
            (execution.partition(), Command::Operate(Box::new(operate)))
        });
        let answers = self.call_many(commands.collect()).await;
        answers.into_iter().map(|answer| answer.and_then(did)).collect()
    }
}

fn did(reply: Reply) -> Result<Did, Error> {
    match reply {
        Reply::Operated(did) => Ok(did),
        other => Err(unexpected(&other)),
    }
}
