//! What operators do with executions: cancel, steer, take away, run again, remove.

use crate::engine::unexpected;
use crate::{Engine, Error};
use onward_core::record::Did;
use onward_core::{Act, Command, CommandId, ExecutionId, Namespace, Operate, Reply};

impl Engine {
    /// Does something with an execution of a namespace.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn operate(&self, namespace: &Namespace, execution: ExecutionId, act: Act) -> Result<Did, Error> {
        self.operate_with(self.command_id(), namespace, execution, act).await
    }

    /// Does something with an execution under an id drawn before, so that the call can be repeated.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn operate_with(
        &self,
        command: CommandId,
        namespace: &Namespace,
        execution: ExecutionId,
        act: Act,
    ) -> Result<Did, Error> {
        did(self.call(execution.partition(), operation(command, namespace, execution, act)).await?)
    }

    /// Does the same with many executions, each on its own; the answers come in the same order.
    pub async fn operate_many(
        &self,
        namespace: &Namespace,
        executions: &[ExecutionId],
        act: &Act,
    ) -> Vec<Result<Did, Error>> {
        let commands = executions.iter().map(|execution| {
            let command = operation(self.command_id(), namespace, *execution, act.clone());
            (execution.partition(), command)
        });
        let answers = self.call_many(commands.collect()).await;
        answers.into_iter().map(|answer| answer.and_then(did)).collect()
    }
}

fn operation(command: CommandId, namespace: &Namespace, execution: ExecutionId, act: Act) -> Command {
    Command::Operate(Box::new(Operate { command, namespace: namespace.clone(), execution, act }))
}

fn did(reply: Reply) -> Result<Did, Error> {
    match reply {
        Reply::Operated(did) => Ok(did),
        other => Err(unexpected(&other)),
    }
}
