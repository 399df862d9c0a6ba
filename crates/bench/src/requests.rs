//! How many requests a server got, as the server itself says.

use super::Error;
use super::server::{Server, number};
use super::weight::primaries;
use onward_servers::postgres::Postgres;
use onward_servers::valkey;
use std::io::{Read, Seek, SeekFrom};

/// What Postgres writes into its log for a request, by either of its two protocols.
const LOGGED: [&str; 2] = ["LOG:  execute ", "LOG:  statement: "];

impl Server {
    /// Lets the server count from now on, or lets it rest.
    pub(crate) fn count_requests(&self, on: bool) -> Result<(), Error> {
        let Self::Postgres(server) = self else { return Ok(()) };
        // Its statistics come up to ten seconds late, its log at once.
        let (change, wanted) = match on {
            true => ("ALTER SYSTEM SET log_statement = 'all'", "all"),
            false => ("ALTER SYSTEM RESET log_statement", "none"),
        };
        server.sql("postgres", change)?;
        server.sql("postgres", "SELECT pg_reload_conf()")?;
        while server.sql("postgres", "SHOW log_statement")? != wanted {}
        Ok(())
    }

    /// A moment to count from.
    pub(crate) fn moment(&self) -> Result<u64, Error> {
        match self {
            Self::Postgres(server) => Ok(log(server)?.metadata()?.len()),
            Self::Valkey(server) => heard(&[server]),
            Self::Cluster(cluster) => heard(&primaries(cluster)?),
        }
    }

    /// Requests since a moment; asking may cost some itself, always as many.
    pub(crate) fn requests_since(&self, moment: u64) -> Result<u64, Error> {
        match self {
            Self::Postgres(server) => {
                let (mut log, mut said) = (log(server)?, Vec::new());
                log.seek(SeekFrom::Start(moment))?;
                log.read_to_end(&mut said)?;
                Ok(logged(&String::from_utf8_lossy(&said)))
            }
            Self::Valkey(_) | Self::Cluster(_) => Ok(self.moment()? - moment),
        }
    }
}

fn log(server: &Postgres) -> Result<std::fs::File, Error> {
    Ok(std::fs::File::open(server.directory().join("log"))?)
}

fn logged(log: &str) -> u64 {
    log.lines().filter(|line| LOGGED.iter().any(|mark| line.contains(mark))).count() as u64
}

/// How often clients gave these servers something to read. Commands are no measure: those inside a script count too.
fn heard(servers: &[&valkey::Server]) -> Result<u64, Error> {
    let mut sum = 0;
    for server in servers {
        let info = server.ask(&["INFO", "stats"])?;
        let line = info.lines().find_map(|line| line.strip_prefix("total_reads_processed:"));
        sum += number(line.unwrap_or_default())?;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_from_what_else_is_logged() {
        let log = "2030 UTC [1] LOG:  execute s1: SELECT 1\n2030 UTC [1] DETAIL:  parameters: $1 = 'a'\n\
                   2030 UTC [2] LOG:  statement: LISTEN x\n2030 UTC [3] LOG:  received SIGHUP\n";
        assert_eq!(logged(log), 2);
    }
}
