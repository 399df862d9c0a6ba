//! Operator calls on executions: any act, on one or on many.

use crate::{Engine, Error};
use onward_core::{Act, ActOutcome, Actor, CommandId, ExecutionId, Namespace, Operate};

impl Engine {
    /// Applies an act to an execution of a namespace.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn operate(
        &self,
        namespace: &Namespace,
        execution: ExecutionId,
        act: impl Into<Act>,
    ) -> Result<ActOutcome, Error> {
        let (command, namespace, act) = (self.command_id(), namespace.clone(), act.into());
        self.run(Operate { command, namespace, execution, by: None, act }).await
    }

    /// Applies an act to many executions, each independently; the results come in the same order.
    pub async fn operate_many(
        &self,
        command: CommandId,
        namespace: &Namespace,
        executions: &[ExecutionId],
        by: Option<&Actor>,
        act: &Act,
    ) -> Vec<Result<ActOutcome, Error>> {
        let of_one = |execution: &ExecutionId| {
            let (command, namespace) = (command.about(*execution), namespace.clone());
            Operate { command, namespace, execution: *execution, by: by.cloned(), act: act.clone() }
        };
        self.run_many(executions.iter().map(of_one)).await
    }
}
