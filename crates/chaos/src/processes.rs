//! How the processes of a run are started and ended: engines, senders and the reader.

use crate::child::Child;
use crate::driver::Run;
use crate::plan::LEASE;
use crate::progress::last_cursor;
use std::cmp::Ordering;
use std::io;
use std::path::PathBuf;

/// Engine processes of a run.
const ENGINES: usize = 3;
/// Senders of a run whose plan has any.
const SENDERS: usize = 2;

impl Run<'_> {
    /// A name that no other process of the run has.
    fn name(&mut self, kind: &str) -> String {
        self.born += 1;
        format!("{kind}-{:04}", self.born)
    }

    /// Starts engine processes until there are as many as there should be.
    pub(crate) fn start_engines(&mut self) -> io::Result<()> {
        while self.engines.len() < ENGINES {
            let jumps = self.plan.jumps() && self.engines.is_empty();
            let engine = self.start_engine(jumps)?;
            self.engines.push(engine);
        }
        Ok(())
    }

    /// Starts an engine process, perhaps with a wall clock of its own.
    pub(crate) fn start_engine(&mut self, jumps: bool) -> io::Result<Child> {
        let (name, seed) = (self.name("engine"), self.chance.word().to_string());
        let env = if jumps { self.own_clock()? } else { Vec::new() };
        let args = ["engine", "--store", &self.url, "--name", &name, "--lease", &LEASE.to_string(), "--seed", &seed];
        match self.next_build() {
            Some(program) => Child::start_build(&program, &self.directory, &name, &args, &env),
            None => Child::start(&self.directory, &name, &args, &env),
        }
    }

    /// The program of the next engine process, when that is of the other build: it is alone, or fewer processes are of it,
    /// so that both builds are always there.
    fn next_build(&self) -> Option<PathBuf> {
        let other = self.other.as_ref()?;
        let others = self.engines.iter().filter(|engine| engine.is_other).count();
        let its_turn = match others.cmp(&(self.engines.len() - others)) {
            Ordering::Less => true,
            Ordering::Equal => self.born.is_multiple_of(2),
            Ordering::Greater => false,
        };
        (other.is_alone() || its_turn).then(|| other.program.clone())
    }

    /// Starts the next life of the reader.
    pub(crate) fn start_reader(&mut self) -> io::Result<()> {
        let name = self.name("reader");
        let mut args = vec!["reader", "--store", &self.url];
        if let Some(cursor) = &self.cursor {
            args.extend(["--after", cursor]);
        }
        self.reader = Some(Child::start(&self.directory, &name, &args, &[])?);
        Ok(())
    }

    /// Starts senders until there are as many as there should be, if the plan has any.
    pub(crate) fn start_senders(&mut self) -> io::Result<()> {
        while self.plan.waits && self.senders.len() < SENDERS {
            let sender = self.start_sender()?;
            self.senders.push(sender);
        }
        Ok(())
    }

    /// Starts a sender. It is always of this build.
    pub(crate) fn start_sender(&mut self) -> io::Result<Child> {
        let (name, seed) = (self.name("sender"), self.chance.word().to_string());
        Child::start(&self.directory, &name, &["sender", "--store", &self.url, "--seed", &seed], &[])
    }

    /// Makes sure that all of them live.
    pub(crate) fn check_processes(&mut self) -> io::Result<()> {
        let senders = self.senders.iter_mut();
        self.engines.iter_mut().chain(senders).chain(&mut self.reader).try_for_each(Child::check)
    }

    /// Lets processes begin nothing new.
    pub(crate) fn finish_processes(&mut self) -> io::Result<()> {
        self.engines.iter_mut().chain(&mut self.senders).try_for_each(Child::finish)
    }

    /// Lets senders end, then engine processes.
    pub(crate) fn end_processes(&mut self) -> io::Result<()> {
        for processes in [&mut self.senders, &mut self.engines] {
            processes.iter_mut().for_each(Child::ask_to_end);
            std::mem::take(processes).iter_mut().try_for_each(Child::end)?;
        }
        Ok(())
    }

    /// Lets the reader end, and keeps where it had come to.
    pub(crate) fn end_reader(&mut self) -> io::Result<()> {
        let Some(mut reader) = self.reader.take() else { return Ok(()) };
        reader.end()?;
        self.remember(&reader)
    }

    /// Keeps where a reader that ended had come to.
    pub(crate) fn remember(&mut self, reader: &Child) -> io::Result<()> {
        if let Some(cursor) = last_cursor(&reader.file)? {
            self.cursor = Some(cursor);
        }
        Ok(())
    }
}
