//! What a URL says: which server, database and schema, how many partitions, and how far to trust the network.

use super::pause;
use super::tls::{self, Trust};
use crate::limits::PARTITIONS_MAX;
use crate::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

const SCHEMA_DEFAULT: &str = "onward";
/// A connection whose other end is gone without a word is given up after about this long.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// The settings that all connections share. Plans are made while tables may still be empty, so those that only suit
/// small tables are off; the isolation level is part of what makes commits right.
const SETTINGS: &str = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_hashjoin=off -c enable_mergejoin=off \
    -c jit=off -c plan_cache_mode=force_generic_plan -c default_transaction_isolation=read\\ committed";

/// Where a store is and how to get there.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    /// The name of the schema, which needs no escaping.
    pub(super) schema: String,
    pub(super) partitions: Option<u16>,
}

/// Reads a URL.
pub(super) fn parse(url: &str) -> Result<Address> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    if !base.starts_with("postgres://") && !base.starts_with("postgresql://") {
        return Err(invalid("the address does not start with postgres://"));
    }
    let (mut schema, mut partitions) = (SCHEMA_DEFAULT.to_owned(), None);
    let (mut mode, mut roots) = ("prefer".to_owned(), None);
    let mut passed_on = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match name {
            "schema" => schema = schema_name(value)?,
            "partitions" => partitions = Some(partition_count(value)?),
            "sslmode" => mode = value.to_owned(),
            "sslrootcert" => roots = Some(PathBuf::from(decoded(value)?)),
            _ => passed_on.push(pair),
        }
    }
    let (ssl, trust) = trust(&mode, roots)?;
    let rest = if passed_on.is_empty() { base.to_owned() } else { format!("{base}?{}", passed_on.join("&")) };
    // The error of the library may quote the password.
    let mut config: Config = rest.parse().map_err(|_| {
        invalid("the address cannot be read: write postgres://user:password@host:port/database?schema=name")
    })?;
    config.ssl_mode(ssl).connect_timeout(pause::CONNECT).keepalives_idle(KEEPALIVE);
    config.keepalives_interval(KEEPALIVE / 3).keepalives_retries(3).tcp_user_timeout(KEEPALIVE * 2);
    let options = config.get_options().map_or(SETTINGS.to_owned(), |given| format!("{given} {SETTINGS}"));
    config.options(options);
    if config.get_application_name().is_none() {
        config.application_name("onward");
    }
    Ok(Address { config, tls: tls::connector(&trust)?, schema, partitions })
}

fn trust(mode: &str, roots: Option<PathBuf>) -> Result<(SslMode, Trust)> {
    match (mode, roots) {
        ("verify-full", roots) => Ok((SslMode::Require, Trust::Verified(roots))),
        (_, Some(_)) => Err(invalid("sslrootcert is only used with sslmode=verify-full: set both or neither")),
        ("disable", None) => Ok((SslMode::Disable, Trust::Anyone)),
        ("prefer", None) => Ok((SslMode::Prefer, Trust::Anyone)),
        ("require", None) => Ok((SslMode::Require, Trust::Anyone)),
        (other, None) => {
            Err(invalid(&format!("sslmode={other} is unknown: choose disable, prefer, require or verify-full")))
        }
    }
}

fn schema_name(value: &str) -> Result<String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = value.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if starts_well && value.len() <= 50 && value.bytes().all(is_plain) && !value.starts_with("pg_") {
        return Ok(value.to_owned());
    }
    Err(invalid(&format!("schema {value:?} is not 1 to 50 small letters, digits and _ with a letter first")))
}

fn partition_count(value: &str) -> Result<u16> {
    let count = value.parse().ok().filter(|count| (1..=PARTITIONS_MAX).contains(count));
    count.ok_or_else(|| invalid(&format!("partitions={value}: a store has 1 to {PARTITIONS_MAX}")))
}

fn decoded(value: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    let digit = |byte: Option<u8>| {
        byte.and_then(|byte| char::from(byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
    };
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = digit(rest.next()).zip(digit(rest.next()));
                digits.map(|(high, low)| high << 4 | low).ok_or_else(|| invalid("a % in the address is no escape"))?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| invalid("an escape in the address is no text"))
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::Invalid, message).unwritten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_all_there_is_to_choose() {
        let address =
            parse("postgres://me:a%20b@127.0.0.1:5/db?schema=one&partitions=8&sslmode=require&user=you").unwrap();
        assert_eq!((address.schema.as_str(), address.partitions), ("one", Some(8)));
        assert_eq!((address.config.get_user(), address.config.get_password()), (Some("you"), Some(&b"a b"[..])));
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        let address = parse("postgresql://h/db").unwrap();
        assert_eq!((address.schema.as_str(), address.partitions), ("onward", None));
        assert_eq!(decoded("/a%20b%C3%a9").unwrap(), "/a bé");
        for wrong in ["%", "%2", "%+2", "%zz", "%ff"] {
            assert!(decoded(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bad_address_is_refused_without_showing_the_password() {
        for rest in [
            "schema=A",
            "schema=pg_x",
            "schema=1a",
            "partitions=0",
            "partitions=x",
            "sslmode=verify-ca",
            "sslmode=",
            "sslrootcert=/x",
            "nonsense=1",
            "sslmode=verify-full&sslrootcert=/does/not/exist",
        ] {
            let error = parse(&format!("postgres://me:hidden@h/db?{rest}")).err().expect(rest);
            assert!(!error.to_string().contains("hidden"), "{error}");
            assert!(!error.is_temporary(), "{error}");
        }
        assert!(parse("mysql://h/db").is_err());
    }
}
