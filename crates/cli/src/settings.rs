//! What a server is started with: read from every place, checked once, the same for `serve` and `config check`.

mod amount;
mod file;
mod kind;
mod log;
mod mistake;
mod raw;
mod setting;
mod source;
mod sources;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod typed;

use crate::open::token_secret;
use crate::problem::Problem;
use crate::serve::ServeProblem;
pub(crate) use log::LogFormat;
pub(crate) use mistake::Mistake;
use onward::{Address, RootSecret};
use onward_server::{Limits, Options, StartError, Tls};
pub(crate) use source::SettingSource;
use sources::Sources;
pub(crate) use sources::{Given, Row};
use std::path::PathBuf;
pub(crate) use table::ALL;
pub(crate) use typed::Typed;

/// What a server is started with.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) store: String,
    pub(crate) options: Options,
    /// What token keys are bound to.
    pub(crate) token_secret: Option<RootSecret>,
    /// What is logged.
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    /// Where traces of calls go.
    #[cfg_attr(not(any(feature = "otel", test)), expect(dead_code, reason = "without the feature there is none"))]
    pub(crate) otlp_endpoint: Option<String>,
    /// The file that was read.
    pub(crate) file: Option<String>,
    /// Every setting with the place where it was found.
    pub(crate) rows: Vec<Row>,
}

impl Settings {
    /// Reads and checks everything that does not need the store.
    pub(crate) fn read(given: &Given<'_>) -> Result<Self, Problem> {
        let mut from = Sources::open(given)?;
        let store = from.take(&table::STORE)?;
        let (bind, require_keys) = (from.take(&table::BIND)?, from.take(&table::REQUIRE_KEYS)?);
        let (certificate, key) = (from.take(&table::TLS_CERTIFICATE)?, from.take(&table::TLS_KEY)?);
        let token_secret = secret(from.take(&table::TOKEN_SECRET_FILE)?, &from)?;
        let (cors, wait, grace) =
            (from.take(&table::CORS)?, from.take(&table::LONGEST_WAIT)?, from.take(&table::GRACE)?);
        let (log, log_format) = (from.take(&table::LOG)?, from.take(&table::LOG_FORMAT)?);
        let otlp_endpoint = from.take(&table::OTLP_ENDPOINT)?;
        let limits = Limits {
            wait,
            connections: from.take(&table::CONNECTIONS)?,
            body_bytes: from.take(&table::BODY_BYTES)?,
            batch_bytes: from.take(&table::BATCH_BYTES)?,
            inflight_bytes: from.take(&table::INFLIGHT_BYTES)?,
            body_time: from.take(&table::BODY_TIME)?,
            header_time: from.take(&table::HEADER_TIME)?,
            header_bytes: from.take(&table::HEADER_BYTES)?,
        };
        check_store(&store, &from)?;
        check_built(otlp_endpoint.as_deref(), &from)?;
        if !bind.ip().is_loopback() && !require_keys {
            return Err(ServeProblem::Reachable { place: from.place(&table::BIND.about), bind }.into());
        }
        check_room(&limits, &from)?;
        let tls = encrypted(certificate, key, &from)?;
        let options = Options { bind, require_keys, tls, cors, grace, limits };
        let file = from.file().map(str::to_owned);
        Ok(Self { store, options, token_secret, log, log_format, otlp_endpoint, file, rows: from.rows })
    }
}

fn check_store(store: &str, from: &Sources<'_>) -> Result<(), Problem> {
    match store.parse::<Address>() {
        Ok(Address::Http(_)) => Err(StartError::NoEngine.into()),
        Ok(_) => Ok(()),
        Err(error) => Err(Mistake::Store { place: from.place(&table::STORE.about), error: error.into() }.into()),
    }
}

/// A collector that would never hear of anything is a mistake that should be told.
fn check_built(collector: Option<&str>, from: &Sources<'_>) -> Result<(), Mistake> {
    if collector.is_none() || cfg!(feature = "otel") {
        return Ok(());
    }
    Err(Mistake::NotBuilt { place: from.place(&table::OTLP_ENDPOINT.about), feature: "otel" })
}

/// A body that is larger than the room for all bodies would wait for room that never comes.
fn check_room(limits: &Limits, from: &Sources<'_>) -> Result<(), Mistake> {
    let bodies = [(limits.body_bytes, &table::BODY_BYTES), (limits.batch_bytes, &table::BATCH_BYTES)];
    for (bytes, setting) in bodies {
        if bytes > limits.inflight_bytes {
            let (room, size) = (amount::size(limits.inflight_bytes as u64), amount::size(bytes as u64));
            let (name, room_name) = (setting.about.name, table::INFLIGHT_BYTES.about.name);
            let place = match from.place(&table::INFLIGHT_BYTES.about) {
                SettingSource::Default => from.place(&setting.about),
                place => place,
            };
            return Err(Mistake::Clash { place, why: format!("{room_name} is {room}, less than {name}, {size}") });
        }
    }
    Ok(())
}

fn secret(file: Option<PathBuf>, from: &Sources<'_>) -> Result<Option<RootSecret>, Mistake> {
    let Some(path) = file else { return Ok(None) };
    let place = from.place(&table::TOKEN_SECRET_FILE.about);
    match token_secret(&path) {
        Ok(secret) => Ok(Some(secret)),
        Err(why) => Err(Mistake::Unreadable { place, path: path.display().to_string(), why }),
    }
}

fn encrypted(certificate: Option<PathBuf>, key: Option<PathBuf>, from: &Sources<'_>) -> Result<Option<Tls>, Problem> {
    let (with, without) = match (certificate, key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => {
            let tls = Tls { certificate, key };
            tls.check()?;
            return Ok(Some(tls));
        }
        (Some(_), None) => (&table::TLS_CERTIFICATE.about, &table::TLS_KEY.about),
        (None, Some(_)) => (&table::TLS_KEY.about, &table::TLS_CERTIFICATE.about),
    };
    let why = format!("{} is given without {}; an encrypted server needs both", with.name, without.name);
    Err(Mistake::Clash { place: from.place(with), why }.into())
}
