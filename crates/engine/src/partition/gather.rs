//! Selects the waiting commands that are applied together; how many of them fit one batch shows when they are applied.

use crate::partition::task::Task;
use onward_core::limits;
use std::collections::VecDeque;

/// Takes commands in order of arrival. Background work gets at most half while calls wait, and a task that kept
/// conflicting goes alone.
pub(crate) fn gather(calls: &mut VecDeque<Task>, background: &mut VecDeque<Task>) -> Vec<Task> {
    let alone = [&mut *calls, &mut *background]
        .into_iter()
        .find(|line| line.front().is_some_and(Task::is_alone))
        .and_then(VecDeque::pop_front);
    if let Some(task) = alone {
        return vec![task];
    }
    let mut tasks = Vec::new();
    let share = if calls.is_empty() { 1 } else { 2 };
    take(&mut tasks, background, limits::BATCH_COMMANDS_MAX / share);
    take(&mut tasks, calls, limits::BATCH_COMMANDS_MAX);
    tasks
}

/// Takes from a queue until there are `max`.
fn take(tasks: &mut Vec<Task>, line: &mut VecDeque<Task>, max: usize) {
    while tasks.len() < max && line.front().is_some_and(|task| !task.is_alone()) {
        tasks.extend(line.pop_front());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::task::Answer;
    use onward_core::{Command, Due, Fence, Key, LeaseId, Millis, PartitionId, Renew, Span};

    fn task(command: Command) -> Task {
        Task::new(command, Answer::Discard, Millis(0))
    }

    fn due(n: u64) -> Task {
        task(Command::Due(Due { key: Key::Message(PartitionId(0), PartitionId(0), n) }))
    }

    fn renew() -> Task {
        let execution = "x-0192f0c8-0000-7000-8000-000000000001-0".parse().unwrap();
        let fence = Fence { execution, lease: LeaseId(1), epoch: 1, attempt: 0 };
        task(Command::Renew(Renew { fence, ttl: Span::seconds(10) }))
    }

    fn lines(calls: usize, background: u64) -> (VecDeque<Task>, VecDeque<Task>) {
        ((0..calls).map(|_| renew()).collect(), (0..background).map(due).collect())
    }

    #[test]
    fn calls_and_background_work_share_a_batch() {
        for (calls, background, of_calls, of_background) in
            [(0, 1_000, 0, 256), (1_000, 0, 256, 0), (1_000, 1_000, 128, 128), (10, 1_000, 10, 128)]
        {
            let (mut calls, mut background) = lines(calls, background);
            let tasks = gather(&mut calls, &mut background);
            let found = tasks.iter().filter(|task| task.is_background()).count();
            assert_eq!((tasks.len() - found, found), (of_calls, of_background));
        }
    }

    #[test]
    fn whoever_was_in_the_way_goes_alone_and_holds_nobody_up() {
        let (mut calls, mut background) = lines(3, 3);
        calls[0].conflicts = 2;
        assert_eq!(gather(&mut calls, &mut background).len(), 1);
        assert_eq!(gather(&mut calls, &mut background).len(), 5);
        let (mut calls, mut background) = lines(3, 0);
        calls[1].conflicts = 2;
        assert_eq!(gather(&mut calls, &mut background).len(), 1, "it does not join the one before it");
    }
}
