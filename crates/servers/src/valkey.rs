//! Valkey and Redis servers and clusters for tests: on loopback, with an append-only file, ended with their owner.

use crate::process::pause;
use crate::{Process, Signal, free_port, program};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// How often a server is asked whether it is ready before it is given up: about half a minute.
const TRIES_MAX: usize = 6_000;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How often other ports are tried when somebody else took the first ones.
const PORT_TRIES_MAX: usize = 4;
const PRIMARIES: usize = 3;
const SLOTS: u16 = 16_384;

/// Which program to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Valkey.
    Valkey,
    /// Redis.
    Redis,
}

/// One server, ended when this is dropped.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    settings: Vec<String>,
    port: u16,
    process: Option<Process>,
    directory: TempDir,
}

impl Server {
    /// Starts a server with an append-only file that is synced once a second; later settings win.
    ///
    /// # Errors
    /// When the program is missing or does not come up.
    pub fn start(kind: Kind, settings: &[&str]) -> io::Result<Self> {
        at_free_ports(|| Self::start_at(kind, free_port()?, settings))
    }

    /// Starts a server that can become part of a cluster and has no slots yet.
    ///
    /// # Errors
    /// When the program is missing or does not come up.
    pub fn start_for_cluster(kind: Kind, settings: &[&str]) -> io::Result<Self> {
        at_free_ports(|| {
            let (port, bus) = (free_port()?, free_port()?.to_string());
            // A replica need not wait for its primary to be gone for long before it asks for the votes.
            let own = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port", &bus];
            let mut all = vec!["--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0"];
            all.extend(own);
            all.extend(settings);
            Self::start_at(kind, port, &all)
        })
    }

    fn start_at(kind: Kind, port: u16, settings: &[&str]) -> io::Result<Self> {
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let mut server = Self { kind, settings, port, process: None, directory: tempfile::tempdir()? };
        server.run()?;
        Ok(server)
    }

    /// The port of its clients.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address, without a prefix.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Starts the server again after it was stopped or killed, with the same data.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn run(&mut self) -> io::Result<()> {
        let name = match self.kind {
            Kind::Valkey => "valkey-server",
            Kind::Redis => "redis-server",
        };
        let directory = self.directory.path();
        let mut args: Vec<String> = ["--bind", "127.0.0.1", "--port"].map(str::to_owned).into();
        args.push(self.port.to_string());
        args.extend(["--dir".to_owned(), directory.display().to_string()]);
        args.extend(["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"].map(str::to_owned));
        // From the usual 64 MB on, it would spend a part of a short run on rewriting what it has just written.
        args.extend(["--auto-aof-rewrite-min-size", "1gb"].map(str::to_owned));
        args.extend(self.settings.iter().cloned());
        self.process = Some(Process::start(&program(name)?, args, &directory.join("log"), None)?);
        let pid = self.process.as_ref().map_or(0, Process::pid);
        self.until("the server answers", |server| {
            // Somebody else may have taken the port meanwhile, and answer in its place.
            let own = server.ask(&["INFO", "server"])?.contains(&format!("process_id:{pid}\r"));
            let answer = server.ask(&["PING"])?;
            Ok((own && answer.starts_with("+PONG")) || answer.starts_with("-NOAUTH"))
        })
    }

    /// Stops the server as an operator would: it writes what it has and ends.
    ///
    /// # Errors
    /// When it does not run.
    pub fn stop(&mut self) -> io::Result<()> {
        self.end(Signal::TERM)
    }

    /// Kills the server on the spot.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&mut self) -> io::Result<()> {
        self.end(Signal::KILL)
    }

    /// Stops the server and starts it again.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn restart(&mut self) -> io::Result<()> {
        self.stop()?;
        self.run()
    }

    /// Sends a signal, such as `STOP` and `CONT`.
    ///
    /// # Errors
    /// When the server does not run.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        self.process.as_ref().ok_or_else(|| io::Error::other("the server does not run"))?.signal(signal)
    }

    fn end(&mut self, signal: Signal) -> io::Result<()> {
        self.signal(signal)?;
        if let Some(mut process) = self.process.take() {
            process.wait();
        }
        Ok(())
    }

    /// Sends one command and returns the answer as the protocol writes it, without its last line break.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn ask(&self, command: &[&str]) -> io::Result<String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let mut request = format!("*{}\r\n", command.len());
        for part in command {
            request.push_str(&format!("${}\r\n{part}\r\n", part.len()));
        }
        stream.write_all(request.as_bytes())?;
        answer(&mut BufReader::new(stream))
    }

    /// Asks until the answer is as wished.
    fn until(&self, what: &str, holds: impl Fn(&Self) -> io::Result<bool>) -> io::Result<()> {
        for _ in 0..TRIES_MAX {
            if self.process.as_ref().is_some_and(|process| !process.is_alive()) {
                break;
            }
            if matches!(holds(self), Ok(true)) {
                return Ok(());
            }
            pause();
        }
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        Err(io::Error::other(format!("it did not come about that {what}:\n{log}")))
    }

    fn log(&self) -> impl AsRef<Path> {
        self.directory.path().join("log")
    }
}

/// Starts something at ports that were free a moment ago, again when somebody else was faster.
fn at_free_ports<T>(start: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut last = start();
    for _ in 0..PORT_TRIES_MAX {
        match last {
            Err(error) if error.kind() != io::ErrorKind::NotFound => last = start(),
            done => return done,
        }
    }
    last
}

/// One answer of the protocol, nested ones line by line.
fn answer(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.trim_end();
    let count = |text: &str| text.parse::<usize>().unwrap_or(0);
    match line.split_at_checked(1) {
        Some(("$", length)) if length != "-1" => {
            let mut body = vec![0; count(length) + 2];
            reader.read_exact(&mut body)?;
            body.truncate(count(length));
            Ok(String::from_utf8_lossy(&body).into_owned())
        }
        Some(("*", length)) if length != "-1" => {
            let parts = (0..count(length)).map(|_| answer(reader)).collect::<io::Result<Vec<_>>>()?;
            Ok(parts.join("\n"))
        }
        _ => Ok(line.to_owned()),
    }
}

/// Three primaries with a replica each; the primaries come first.
#[derive(Debug)]
pub struct Cluster {
    /// All servers: three primaries, then the replica of each.
    pub servers: Vec<Server>,
}

impl Cluster {
    /// Starts six servers, joins them, and waits until all slots are served and every replica is linked.
    ///
    /// # Errors
    /// When a server or the cluster does not come up.
    pub fn start(kind: Kind, settings: &[&str]) -> io::Result<Self> {
        let mut servers = Vec::new();
        for _ in 0..2 * PRIMARIES {
            servers.push(Server::start_for_cluster(kind, settings)?);
        }
        let cluster = Self { servers };
        cluster.join()?;
        Ok(cluster)
    }

    fn join(&self) -> io::Result<()> {
        let first = &self.servers[0];
        for (at, server) in self.servers.iter().enumerate() {
            let port = first.port.to_string();
            let bus = first.ask(&["CONFIG", "GET", "cluster-port"])?;
            let bus = bus.lines().last().unwrap_or_default().to_owned();
            if at > 0 {
                server.ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])?;
            }
            if at < PRIMARIES {
                let share = |at: usize| usize::from(SLOTS) * at / PRIMARIES;
                let (from, to) = (share(at).to_string(), (share(at + 1) - 1).to_string());
                server.ask(&["CLUSTER", "ADDSLOTSRANGE", &from, &to])?;
                server.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()])?;
            }
        }
        let all = self.servers.len();
        for server in &self.servers {
            let known = format!("cluster_known_nodes:{all}");
            server.until("all know each other", |server| Ok(server.ask(&["CLUSTER", "INFO"])?.contains(&known)))?;
        }
        for (at, replica) in self.servers.iter().enumerate().skip(PRIMARIES) {
            let id = self.servers[at - PRIMARIES].ask(&["CLUSTER", "MYID"])?;
            replica.until("a replica follows", |replica| {
                Ok(replica.ask(&["CLUSTER", "REPLICATE", &id])?.starts_with("+OK"))
            })?;
        }
        self.settle()
    }

    /// Waits until every server says that all slots are served, and every replica is linked to its primary.
    ///
    /// # Errors
    /// When it does not come about.
    pub fn settle(&self) -> io::Result<()> {
        for server in self.servers.iter().filter(|server| server.process.is_some()) {
            server.until("the cluster is complete", |server| {
                let (state, role) = (server.ask(&["CLUSTER", "INFO"])?, server.ask(&["INFO", "replication"])?);
                let linked = role.contains("role:master") || role.contains("master_link_status:up");
                let shards = server.ask(&["CLUSTER", "SLOTS"])?.lines().filter(|line| line.len() == 40).count();
                Ok(state.contains("cluster_state:ok") && linked && shards == self.servers.len())
            })?;
        }
        Ok(())
    }

    /// Makes the replica of a primary, given by its place, take over without losing anything.
    ///
    /// # Errors
    /// When it does not take over.
    pub fn fail_over(&self, replica: usize) -> io::Result<()> {
        let replica = &self.servers[replica];
        replica.ask(&["CLUSTER", "FAILOVER"])?;
        replica.until("the replica took over", |replica| {
            Ok(replica.ask(&["INFO", "replication"])?.contains("role:master"))
        })
    }

    /// Which servers run and are primaries, by their places.
    #[must_use]
    pub fn primaries(&self) -> Vec<usize> {
        let is_primary = |server: &Server| {
            server.process.is_some()
                && server.ask(&["INFO", "replication"]).is_ok_and(|role| role.contains("role:master"))
        };
        (0..self.servers.len()).filter(|at| is_primary(&self.servers[*at])).collect()
    }

    /// Waits until the others know that a killed server is gone and serve all slots without it.
    ///
    /// # Errors
    /// When nobody takes over.
    pub fn take_over(&self, dead: usize) -> io::Result<()> {
        let port = format!(":{}@", self.servers[dead].port);
        for server in self.servers.iter().filter(|server| server.process.is_some()) {
            server.until("the others serve all slots", |server| {
                let (state, nodes) = (server.ask(&["CLUSTER", "INFO"])?, server.ask(&["CLUSTER", "NODES"])?);
                let gone =
                    nodes.lines().any(|node| node.contains(&port) && node.contains("fail") && !node.contains("fail?"));
                Ok(state.contains("cluster_state:ok") && gone)
            })?;
        }
        Ok(())
    }

    /// Starts a killed server again, which follows whoever took over, and waits until the cluster is complete.
    ///
    /// # Errors
    /// When it does not come about.
    pub fn revive(&mut self, dead: usize) -> io::Result<()> {
        self.servers[dead].run()?;
        self.settle()
    }

    /// The address of the cluster, by its first two servers.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{},127.0.0.1:{}", self.servers[0].port, self.servers[1].port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_keeps_its_data_over_a_restart() {
        for kind in [Kind::Valkey, Kind::Redis] {
            let mut server = Server::start(kind, &["--appendfsync", "always"]).unwrap();
            assert_eq!(server.ask(&["SET", "a", "1"]).unwrap(), "+OK");
            server.restart().unwrap();
            assert_eq!(server.ask(&["GET", "a"]).unwrap(), "1");
            server.kill().unwrap();
            assert!(server.ask(&["PING"]).is_err());
            server.run().unwrap();
            assert_eq!(server.ask(&["GET", "a"]).unwrap(), "1");
        }
    }

    #[test]
    fn a_cluster_forms_and_fails_over() {
        let cluster = Cluster::start(Kind::Valkey, &[]).unwrap();
        cluster.fail_over(3).unwrap();
        cluster.settle().unwrap();
        assert!(cluster.servers[0].ask(&["INFO", "replication"]).unwrap().contains("role:slave"));
    }

    #[test]
    fn a_replica_takes_over_from_a_killed_primary_which_then_follows_it() {
        let mut cluster = Cluster::start(Kind::Valkey, &[]).unwrap();
        assert_eq!(cluster.primaries(), [0, 1, 2]);
        cluster.servers[1].kill().unwrap();
        cluster.take_over(1).unwrap();
        assert_eq!(cluster.primaries(), [0, 2, 4]);
        cluster.revive(1).unwrap();
        assert_eq!(cluster.primaries(), [0, 2, 4]);
    }
}
