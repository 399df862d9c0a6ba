//! What operators do with executions: cancel, steer, take away, run again, remove.

use crate::engine::unexpected;
use crate::{Engine, Error};
use onward_core::record::Did;
use onward_core::{Act, Actor, Command, ExecutionId, Namespace, Operate, Reply};

impl Engine {
    /// Does something with an execution of a namespace.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn operate(&self, namespace: &Namespace, execution: ExecutionId, act: Act) -> Result<Did, Error> {
        let command = self.command_id();
        self.operate_with(Operate { command, namespace: namespace.clone(), execution, by: None, act }).await
    }

    /// Does something with an execution under an id drawn before, so that the call can be repeated, and in a name.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn operate_with(&self, operate: Operate) -> Result<Did, Error> {
        did(self.call(operate.execution.partition(), Command::Operate(Box::new(operate))).await?)
    }

    /// Does the same with many executions, each on its own; the answers come in the same order.
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
