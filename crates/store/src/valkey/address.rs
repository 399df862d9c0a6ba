//! Which servers and which store an address names: `valkey://user:password@host:port,host:port/db?prefix=onward`.

use crate::limits::PARTITIONS_MAX;
use crate::{Error, ErrorKind, Result};
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo};

const PORT: u16 = 6379;
const PREFIX: &str = "onward";
const PREFIX_BYTES_MAX: usize = 64;

/// Everything an address says.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) hosts: Vec<Host>,
    pub(super) cluster: bool,
    pub(super) prefix: String,
    pub(super) partitions: Option<u16>,
    /// How many replicas must have a group before it is answered.
    pub(super) wait: u32,
    tls: bool,
    user: Option<String>,
    password: Option<String>,
    db: i64,
}

/// A server's name or number, and its port.
pub(super) type Host = (String, u16);

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad("it has no scheme such as valkey://"))?;
        let tls = match scheme {
            "valkey" | "redis" => false,
            "valkeys" | "rediss" => true,
            _ => return Err(bad("its scheme is not valkey, redis, valkeys or rediss")),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, db) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            None => (None, None),
            Some((user, password)) => (Some(decode(user)?), Some(decode(password)?)),
        };
        let hosts = hosts.split(',').map(host).collect::<Result<Vec<_>>>()?;
        let db = if db.is_empty() { Ok(0) } else { db.parse() };
        let mut address = Self {
            cluster: hosts.len() > 1,
            hosts,
            prefix: PREFIX.to_owned(),
            partitions: None,
            wait: 0,
            tls,
            user: user.filter(|user| !user.is_empty()),
            password: password.filter(|password| !password.is_empty()),
            db: db
                .ok()
                .filter(|db| *db >= 0)
                .ok_or_else(|| bad("what follows the host is not the number of a database"))?,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            address.option(name, &decode(value)?)?;
        }
        if address.cluster && address.db != 0 {
            return Err(bad("a cluster has only database 0"));
        }
        Ok(address)
    }

    fn option(&mut self, name: &str, value: &str) -> Result<()> {
        let wrong = || bad(&format!("{name}={value} makes no sense"));
        match name {
            "cluster" => self.cluster = value.parse::<bool>().map_err(|_| wrong())? || self.hosts.len() > 1,
            "wait" => self.wait = value.parse().map_err(|_| wrong())?,
            "partitions" => {
                let count = value.parse().map_err(|_| wrong())?;
                if count == 0 || count > PARTITIONS_MAX {
                    return Err(bad(&format!(
                        "{count} partitions were asked for, and a store has 1 to {PARTITIONS_MAX}"
                    )));
                }
                self.partitions = Some(count);
            }
            "prefix" => {
                // Braces would move the store's own hash tags.
                let plain = |byte: u8| byte.is_ascii_graphic() && !b"{}*?[]\\".contains(&byte);
                if value.is_empty() || value.len() > PREFIX_BYTES_MAX || !value.bytes().all(plain) {
                    return Err(bad("a prefix is 1 to 64 letters, digits and signs, without braces and wildcards"));
                }
                self.prefix = value.to_owned();
            }
            // A password with a sign that is not escaped may reach as far as here, and ends with an @.
            other => {
                let shown = other.rsplit('@').next().unwrap_or_default();
                return Err(bad(&format!("{shown:?} is not cluster, prefix, partitions or wait")));
            }
        }
        Ok(())
    }

    /// How to reach one server.
    pub(super) fn connection(&self, (host, port): &Host) -> redis::RedisResult<ConnectionInfo> {
        let (host, port) = (host.clone(), *port);
        let address = if self.tls {
            ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
        } else {
            ConnectionAddr::Tcp(host, port)
        };
        let mut settings = RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3).set_db(self.db);
        if let Some(user) = &self.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &self.password {
            settings = settings.set_password(password);
        }
        Ok(address.into_connection_info()?.set_redis_settings(settings))
    }
}

/// The password stays out of logs.
impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Address").field("hosts", &self.hosts).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

fn bad(why: &str) -> Error {
    let message = format!(
        "the store's address cannot be used: {why}; write it like valkey://user:password@host:6379/0?prefix=onward"
    );
    Error::new(ErrorKind::Invalid, message).unwritten()
}

/// A host with its port. Errors do not repeat it: behind a slash that is not escaped it may be half of a password.
fn host(text: &str) -> Result<Host> {
    let (name, rest) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some(parts) => parts,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    if name.is_empty() {
        return Err(bad("it names no host"));
    }
    let port = match rest.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|_| digits(port)),
        None => rest.is_empty().then_some(PORT),
    };
    Ok((name.to_owned(), port.ok_or_else(|| bad("a host is not followed by a port from 0 to 65535"))?))
}

/// Whether a text has digits only: `+7` is a number too, but no port.
fn digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Undoes `%20` and the like.
fn decode(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = behind.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.ok_or_else(|| bad("a % is not followed by two hexadecimal digits"))?);
        rest = &behind[2..];
    }
    String::from_utf8(bytes).map_err(|_| bad("it is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_an_address_is_understood() {
        let plain = Address::parse("valkey://localhost").unwrap();
        assert_eq!(
            (plain.hosts.as_slice(), plain.cluster, plain.tls),
            ([("localhost".into(), 6379)].as_slice(), false, false)
        );
        assert_eq!((plain.prefix.as_str(), plain.partitions, plain.wait, plain.db), ("onward", None, 0, 0));
        let full = "rediss://me:p%40ss:word@[::1]:7000/3?prefix=a:b&partitions=8&wait=2";
        let full = Address::parse(full).unwrap();
        assert_eq!((full.hosts.as_slice(), full.tls, full.db), ([("::1".into(), 7000)].as_slice(), true, 3));
        assert_eq!((full.user.as_deref(), full.password.as_deref()), (Some("me"), Some("p@ss:word")));
        assert_eq!((full.prefix.as_str(), full.partitions, full.wait), ("a:b", Some(8), 2));
        assert!(!format!("{full:?}").contains("p@ss"));
        let only_password = Address::parse("redis://:secret@h").unwrap();
        assert_eq!((only_password.user, only_password.password.as_deref()), (None, Some("secret")));
        assert!(Address::parse("redis://a:1,b:2").unwrap().cluster);
        assert!(Address::parse("redis://a?cluster=true").unwrap().cluster);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "localhost",
            "http://h",
            "valkey://",
            "valkey://h:port",
            "valkey://h/x",
            "valkey://h?partitions=0",
            "valkey://h?partitions=4097",
            "valkey://h?prefix=",
            "valkey://h?prefix={a}",
            "valkey://h?wait=-1",
            "valkey://h?other=1",
            "valkey://a,b/1",
            "valkey://%zz@h",
            "valkey://%+7@h",
            "valkey://[::1]x",
            "valkey://[::1]x:7",
            "valkey://h:+7",
            "valkey://h/-1",
            "valkey://h?cluster=maybe",
        ] {
            let error = Address::parse(text).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
        }
        for text in
            ["valkey://me:hid/den@h", "valkey://me:hid?den@h", "valkey://me:hid?den@h?prefix=a", "x:hidden@://h"]
        {
            let error = Address::parse(text).expect_err(text).to_string();
            assert!(!error.contains("hid") && !error.contains("den"), "{text}: {error}");
        }
    }
}
