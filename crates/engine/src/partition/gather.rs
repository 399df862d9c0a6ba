//! Selects the waiting commands that fit one batch.

use crate::partition::task::Task;
use onward_core::{Verb, Weight, limits};
use std::collections::VecDeque;

/// Takes what fits one batch, in order of arrival. Background work gets at most half while calls wait, and a task that
/// kept conflicting goes alone.
pub(crate) fn gather(calls: &mut VecDeque<Task>, background: &mut VecDeque<Task>, partitions: u16) -> Vec<Task> {
    let alone = [&mut *calls, &mut *background]
        .into_iter()
        .find(|line| line.front().is_some_and(Task::is_alone))
        .and_then(VecDeque::pop_front);
    if let Some(task) = alone {
        return vec![task];
    }
    let mut tasks = Vec::new();
    let share = if calls.is_empty() { 1 } else { 2 };
    Room::whole(share).fill(&mut tasks, background, partitions);
    Room::whole(1).less(&tasks, partitions).fill(&mut tasks, calls, partitions);
    tasks
}

/// The room left in a batch.
struct Room {
    commands: usize,
    rows: usize,
    bytes: usize,
}

impl Room {
    /// The room of a whole batch, divided by `share`.
    fn whole(share: usize) -> Self {
        Self {
            commands: limits::BATCH_COMMANDS_MAX / share,
            rows: limits::BATCH_ROWS_MAX / share,
            bytes: limits::BATCH_BYTES_MAX / share,
        }
    }

    fn less(mut self, tasks: &[Task], partitions: u16) -> Self {
        tasks.iter().for_each(|task| self.take(task, partitions));
        self
    }

    fn take(&mut self, task: &Task, partitions: u16) {
        let Weight { rows, bytes } = task.command.weight(partitions);
        self.commands = self.commands.saturating_sub(1);
        self.rows = self.rows.saturating_sub(rows);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Takes tasks from a queue while they fit; the first of a batch always does.
    fn fill(&mut self, tasks: &mut Vec<Task>, line: &mut VecDeque<Task>, partitions: u16) {
        while let Some(task) = line.front() {
            let Weight { rows, bytes } = task.command.weight(partitions);
            let fits = self.commands > 0 && self.rows >= rows && self.bytes >= bytes;
            if task.is_alone() || !(fits || tasks.is_empty()) {
                return;
            }
            self.take(task, partitions);
            tasks.extend(line.pop_front());
        }
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
            let tasks = gather(&mut calls, &mut background, 64);
            let found = tasks.iter().filter(|task| task.is_background()).count();
            assert_eq!((tasks.len() - found, found), (of_calls, of_background));
        }
    }

    #[test]
    fn whoever_was_in_the_way_goes_alone_and_holds_nobody_up() {
        let (mut calls, mut background) = lines(3, 3);
        calls[0].conflicts = 2;
        assert_eq!(gather(&mut calls, &mut background, 64).len(), 1);
        assert_eq!(gather(&mut calls, &mut background, 64).len(), 5);
        let (mut calls, mut background) = lines(3, 0);
        calls[1].conflicts = 2;
        assert_eq!(gather(&mut calls, &mut background, 64).len(), 1, "it does not join the one before it");
    }
}
