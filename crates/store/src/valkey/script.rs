//! The scripts that run inside the server, and how they are called.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisResult, Script};
use std::sync::LazyLock;

/// A script of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// Batches of which some add something: refused whole when the server's memory is full.
    Commit,
    /// Batches that only check, delete and trim: they go on when the memory is full, and make room.
    Release,
    Log,
    Feed,
    Audit,
    Initialise,
    Probe,
}

const ALL: [Call; 7] = [Call::Commit, Call::Release, Call::Log, Call::Feed, Call::Audit, Call::Initialise, Call::Probe];

static SCRIPTS: LazyLock<[Script; 7]> = LazyLock::new(|| ALL.map(|call| Script::new(&call.text())));

impl Call {
    fn text(self) -> String {
        let (flags, parts): (&str, &[&str]) = match self {
            Self::Commit => ("", &[include_str!("places.lua"), include_str!("commit.lua")]),
            Self::Release => ("flags=allow-oom", &[include_str!("places.lua"), include_str!("commit.lua")]),
            Self::Log => ("flags=no-writes", &[include_str!("log.lua")]),
            Self::Feed => ("flags=no-writes", &[include_str!("feed.lua")]),
            Self::Audit => ("flags=no-writes", &[include_str!("places.lua"), include_str!("audit.lua")]),
            Self::Initialise => ("flags=allow-oom", &[include_str!("initialise.lua")]),
            Self::Probe => ("flags=allow-oom", &[include_str!("probe.lua")]),
        };
        format!("#!lua {flags}\n{}", parts.concat())
    }

    /// A call of this script with its keys; the arguments are added to it.
    pub(super) fn with<'a>(self, keys: impl ExactSizeIterator<Item = &'a str>) -> Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(SCRIPTS[self as usize].get_hash()).arg(keys.len());
        for key in keys {
            command.arg(key);
        }
        command
    }
}

/// Makes every script known to a server.
pub(super) async fn load(connection: &mut MultiplexedConnection) -> RedisResult<()> {
    let mut commands = Pipeline::new();
    for call in ALL {
        commands.cmd("SCRIPT").arg("LOAD").arg(call.text()).ignore();
    }
    commands.query_async(connection).await
}

/// One command as a pipeline.
pub(super) fn alone(command: Cmd) -> Pipeline {
    let mut commands = Pipeline::with_capacity(1);
    commands.add_command(command);
    commands
}
