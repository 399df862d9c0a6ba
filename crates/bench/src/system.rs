//! What the operating system says about a process: memory that is only its own, and time on a processor.

use super::Error;

/// Ticks of the kernel's process clock in a second; the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// What the kernel calls the process that asks.
const THIS: &str = "self";

/// Memory of this process that no file backs, in MiB.
pub(crate) fn anonymous_mib() -> Result<f64, Error> {
    anonymous_mib_of(THIS)
}

/// The same of another process.
pub(crate) fn anonymous_mib_of(process: &str) -> Result<f64, Error> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let kib = anonymous_kib(&status).ok_or_else(|| Error::Broken("a process's status has no RssAnon".to_owned()))?;
    Ok(kib / 1024.0)
}

fn anonymous_kib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Time that this process has spent on processors, in seconds.
pub(crate) fn processor_seconds() -> Result<f64, Error> {
    processor_seconds_of(THIS)
}

/// The same of another process.
pub(crate) fn processor_seconds_of(process: &str) -> Result<f64, Error> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let ticks = ticks(&stat).ok_or_else(|| Error::Broken("a process's stat has no times".to_owned()))?;
    Ok(ticks / TICKS_PER_SECOND)
}

/// User and system time. The name of the process may hold anything, so fields are counted from behind it.
fn ticks(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194560 100 0 0 0 150 25 0 0 20 0 4 0 100 1 2";
        assert_eq!(ticks(stat), Some(175.0));
        assert_eq!(anonymous_kib("VmRSS:\t  10 kB\nRssAnon:\t    2048 kB\n"), Some(2048.0));
        assert!(ticks("nonsense").is_none() && anonymous_kib("").is_none());
    }

    #[test]
    fn this_process_has_memory() {
        assert!(anonymous_mib().unwrap() > 0.0);
        assert!(processor_seconds().unwrap() >= 0.0);
    }
}
