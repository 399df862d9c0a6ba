//! The calls by which workers pause, report on and give up their work, and by which operators steer executions.

use super::calls::{Caller, Heard};
use crate::world::Running;
use onward_core::record::Did;
use onward_core::{Act, CommandId, ExecutionId, Fence, Millis, Namespace, Operate, Reason, Renewed, When};

impl Caller {
    pub(crate) async fn delay(
        &mut self,
        process: &Running,
        command: CommandId,
        fence: Fence,
        when: When,
    ) -> Heard<Millis> {
        let (since, hurry) = self.begin(|checker| checker.sent(command, fence));
        self.say(process, format_args!("delay {} epoch {} by {command} {when:?}", fence.execution, fence.epoch));
        let heard = self.hear(process, hurry, process.engine.delay_with(command, fence, when)).await;
        self.judge(&heard, |checker, now, answer| checker.delayed(since, now, (command, fence), answer));
        heard
    }

    pub(crate) async fn progress(&mut self, process: &Running, fence: Fence, percent: u8) -> Heard<Renewed> {
        let (since, hurry) = self.begin(|checker| checker.says(fence, percent));
        let message = Reason::new("on its way");
        self.say(process, format_args!("progress {} epoch {} {percent}", fence.execution, fence.epoch));
        let call = process.engine.progress(fence, Some(percent), Some(message.clone()));
        let heard = self.hear(process, hurry, call).await;
        self.judge(&heard, |checker, now, answer| {
            checker.progressed(since, now, fence, (percent, &message), answer);
        });
        heard
    }

    /// Ends an execution that its own worker finds unwanted.
    pub(crate) async fn give_up(&mut self, process: &Running, command: CommandId, fence: Fence) -> Heard<()> {
        let (since, hurry) = self.begin(|checker| checker.sent(command, fence));
        self.say(process, format_args!("cancel own {} epoch {} by {command}", fence.execution, fence.epoch));
        let call = process.engine.cancel_own(command, fence, Reason::new("nobody needs this"));
        let heard = self.hear(process, hurry, call).await;
        self.judge(&heard, |checker, now, answer| checker.given_up(since, now, (command, fence), answer));
        heard
    }

    pub(crate) async fn operate(
        &mut self,
        process: &Running,
        command: CommandId,
        namespace: &Namespace,
        id: ExecutionId,
        act: &Act,
    ) -> Heard<Did> {
        let (since, hurry) = self.begin(|checker| checker.operates(command, id, act));
        self.say(process, format_args!("{} {id} by {command} {act:?}", act.name()));
        let (namespace, act_again) = (namespace.clone(), act.clone());
        let operate = Operate { command, namespace, execution: id, by: None, act: act_again };
        let heard = self.hear(process, hurry, process.engine.operate_with(operate)).await;
        self.judge(&heard, |checker, _, answer| checker.operated(since, command, id, act, answer));
        heard
    }
}
