//! How each fault is brought about, and what the history is told of it.

use crate::clock::{now, rest};
use crate::driver::Run;
use crate::plan::{Fault, LEASE};
use onward_checker::Line;
use onward_servers::Signal;
use onward_servers::postgres::Shutdown;
use std::io;

/// How long a process is stopped beside others: they take it for dead after six seconds and its place after that.
const STOPPED_BESIDE: u64 = 9_000;
/// How long the only process is stopped: its leases are long over.
const STOPPED_ALONE: u64 = 3 * LEASE;
/// How long the only process goes on alone afterwards.
const ALONE: u64 = 3_000;
/// How often connections are ended in one storm, and the pause between.
const STORM: (usize, u64) = (5, 100);
/// Where a wall clock jumps to, in seconds from the right time.
const JUMPS: [&str; 4] = ["+3600", "+0", "-3600", "+0"];
/// After so many jumps under a running process, a new one is started at each of as many.
const STARTS_AFTER: u64 = JUMPS.len() as u64;

impl Run<'_> {
    /// Breaks something; when this answers, it is over.
    pub(crate) fn inject(&mut self, fault: Fault, round: u64) -> io::Result<()> {
        match fault {
            Fault::KillEngine => {
                let which = self.draw(self.engines.len());
                self.kill_engine(which)?;
                drop(self.engines.remove(which));
                let engine = self.start_engine(false)?;
                self.engines.insert(which, engine);
                Ok(())
            }
            Fault::KillSender => {
                let which = self.draw(self.senders.len());
                self.kill_sender(which)?;
                self.senders[which] = self.start_sender()?;
                Ok(())
            }
            Fault::KillReader => {
                self.kill_reader()?;
                self.start_reader()
            }
            Fault::RestartPostgres => {
                self.timed("Postgres restarted", |run| run.servers.postgres()?.restart(Shutdown::Immediate))
            }
            Fault::TerminateBackends => self.timed("storm of terminations", |run| {
                let all = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                           WHERE pid <> pg_backend_pid() AND datname = current_database()";
                for _ in 0..STORM.0 {
                    run.servers.postgres()?.sql("postgres", all)?;
                    rest(STORM.1);
                }
                Ok(())
            }),
            Fault::RestartValkey => self.timed("Valkey restarted", |run| {
                run.servers.valkeys().iter_mut().try_for_each(|server| server.stop().and_then(|()| server.run()))
            }),
            Fault::KillValkey => self.timed("Valkey killed", |run| {
                run.servers.valkeys().iter_mut().try_for_each(|server| server.kill().and_then(|()| server.run()))
            }),
            Fault::FlushScripts => self.timed("scripts flushed", |run| {
                run.servers.valkeys().iter().try_for_each(|server| server.ask(&["SCRIPT", "FLUSH"]).map(|_| ()))
            }),
            Fault::FailOver => self.fail_over(),
            Fault::KillPrimary => self.kill_primary(),
            Fault::StopEngine => {
                let which = self.draw(self.engines.len());
                self.stop(which, STOPPED_BESIDE, "engine stopped beside others")
            }
            Fault::StopAlone => self.stop_alone(),
            Fault::JumpClock => {
                let jump = JUMPS[usize::try_from(round).unwrap_or(0) % JUMPS.len()];
                self.timed(&format!("clock at {jump} s"), |run| run.set_clock(jump))?;
                if round % (2 * STARTS_AFTER) < STARTS_AFTER {
                    return Ok(());
                }
                // A process takes the time of day once, so the next one begins with a wrong one.
                self.kill_engine(0)?;
                self.engines[0] = self.start_engine(true)?;
                Ok(())
            }
        }
    }

    /// Does something and tells when it began and ended.
    fn timed(&mut self, what: &str, act: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        let at = now();
        act(self)?;
        self.tell_fault(what, None, at, false)
    }

    fn tell_fault(&mut self, what: &str, process: Option<String>, at: u64, primary: bool) -> io::Result<()> {
        self.tell(&Line::Fault { what: what.to_owned(), process, at, until: now(), primary })
    }

    fn kill_engine(&mut self, which: usize) -> io::Result<()> {
        let at = now();
        let engine = &mut self.engines[which];
        engine.check()?;
        engine.kill()?;
        let name = engine.name.clone();
        self.tell_fault("engine killed", Some(name), at, false)
    }

    fn kill_sender(&mut self, which: usize) -> io::Result<()> {
        let at = now();
        let sender = &mut self.senders[which];
        sender.check()?;
        sender.kill()?;
        let name = sender.name.clone();
        self.tell_fault("sender killed", Some(name), at, false)
    }

    /// Kills all senders and starts none.
    pub(crate) fn kill_senders(&mut self) -> io::Result<()> {
        (0..self.senders.len()).try_for_each(|which| self.kill_sender(which))?;
        self.senders.clear();
        Ok(())
    }

    fn kill_reader(&mut self) -> io::Result<()> {
        let at = now();
        let Some(mut reader) = self.reader.take() else { return Ok(()) };
        reader.check()?;
        reader.kill()?;
        self.remember(&reader)?;
        self.tell_fault("reader killed", Some(reader.name.clone()), at, false)
    }

    /// A replica takes over in good order.
    fn fail_over(&mut self) -> io::Result<()> {
        let primaries = self.servers.cluster()?.primaries();
        let all = self.servers.cluster()?.servers.len();
        let replicas: Vec<usize> = (0..all).filter(|at| !primaries.contains(at)).collect();
        let replica = replicas[self.draw(replicas.len())];
        self.timed("replica took over", |run| {
            let cluster = run.servers.cluster()?;
            cluster.fail_over(replica)?;
            cluster.settle()
        })
    }

    /// A primary dies; it comes back as a replica as soon as another server serves its slots.
    fn kill_primary(&mut self) -> io::Result<()> {
        let primaries = self.servers.cluster()?.primaries();
        let primary = primaries[self.draw(primaries.len())];
        let at = now();
        self.servers.cluster()?.servers[primary].kill()?;
        self.tell_fault("primary killed", None, at, true)?;
        let cluster = self.servers.cluster()?;
        cluster.take_over(primary)?;
        cluster.revive(primary)
    }

    fn stop(&mut self, which: usize, millis: u64, what: &str) -> io::Result<()> {
        let at = now();
        self.engines[which].signal(Signal::STOP)?;
        rest(millis);
        self.engines[which].signal(Signal::CONT)?;
        let name = self.engines[which].name.clone();
        self.tell_fault(what, Some(name), at, false)
    }

    /// Kills all processes but one, stops that one past its leases, lets it go on alone, and starts the others again.
    fn stop_alone(&mut self) -> io::Result<()> {
        self.kill_reader()?;
        for which in 1..self.engines.len() {
            self.kill_engine(which)?;
        }
        self.engines.truncate(1);
        self.stop(0, STOPPED_ALONE, "engine stopped alone")?;
        rest(ALONE);
        self.start_engines()?;
        self.start_reader()
    }
}
