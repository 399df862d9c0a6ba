//! How records and places are compared, one tag after the other, each page by one script and so at one moment.

use super::read::{Reader, bytes, list, strange};
use super::script::Call;
use super::value::{head, parse_place, unpack};
use crate::{AuditPage, Fault, FaultKind, Key, Result, check};
use redis::Value;
use std::fmt::Write as _;

/// The most records or places of one page, since the server does nothing else meanwhile.
const PAGE_MAX: usize = 1_000;

/// What an audit still has to look at: the records of all tags come first, then the places.
enum From {
    Records { tag: usize, cursor: u64 },
    Places { tag: usize, after: Vec<u8> },
}

impl From {
    fn parse(text: &str, tags: usize) -> Option<Self> {
        let mut parts = text.split(' ');
        let (what, tag, place) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        if tag >= tags || parts.next().is_some() {
            return None;
        }
        match what {
            "records" => Some(Self::Records { tag, cursor: place.parse().ok()? }),
            "places" => Some(Self::Places { tag, after: from_hex(place)? }),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Records { tag, cursor } => format!("records {tag} {cursor}"),
            Self::Places { tag, after } => {
                let mut text = format!("places {tag} ");
                for byte in after {
                    let _ = write!(text, "{byte:02x}");
                }
                text
            }
        }
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
        .collect()
}

impl Reader<'_> {
    pub(super) async fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage> {
        let tags = self.keys.tags().len();
        let start = match from {
            None => From::Records { tag: 0, cursor: 0 },
            Some(text) => From::parse(text, tags).ok_or_else(|| check::foreign_audit_cursor(text))?,
        };
        let limit = limit.clamp(1, PAGE_MAX);
        let mut page = AuditPage::default();
        let next = match start {
            From::Records { tag, cursor } => match self.records(tag, cursor, limit, &mut page).await? {
                0 if tag + 1 < tags => Some(From::Records { tag: tag + 1, cursor: 0 }),
                0 => Some(From::Places { tag: 0, after: Vec::new() }),
                cursor => Some(From::Records { tag, cursor }),
            },
            From::Places { tag, after } => match self.places(tag, &after, limit, &mut page).await? {
                Some(after) => Some(From::Places { tag, after }),
                None if tag + 1 < tags => Some(From::Places { tag: tag + 1, after: Vec::new() }),
                None => None,
            },
        };
        page.next = next.map(|next| next.text());
        Ok(page)
    }

    async fn look(&self, tag: usize, what: &str, from: &[u8], limit: usize) -> Result<std::vec::IntoIter<Value>> {
        let tag = &self.keys.tags()[tag];
        let mut command = Call::Audit.with([tag.records.as_str(), &tag.index].into_iter());
        command.arg(what).arg(from).arg(limit);
        Ok(list(self.one(tag.slot, command).await?)?.into_iter())
    }

    /// Records with the places they miss; returns where the server goes on.
    async fn records(&self, tag: usize, cursor: u64, limit: usize, page: &mut AuditPage) -> Result<u64> {
        let mut answer = self.look(tag, "records", cursor.to_string().as_bytes(), limit).await?;
        let cursor = bytes(answer.next().ok_or_else(strange)?)?;
        let cursor = std::str::from_utf8(&cursor).ok().and_then(|cursor| cursor.parse().ok()).ok_or_else(strange)?;
        for found in list(answer.next().ok_or_else(strange)?)? {
            let Ok([key, value, missing]) = <[Value; 3]>::try_from(list(found)?) else { return Err(strange()) };
            let key = Key::new(String::from_utf8(bytes(key)?).map_err(|_| strange())?);
            let (partition, record) = unpack(&key, bytes(value)?)?;
            let places: Vec<_> = record.places().collect();
            for which in list(missing)? {
                let Value::Int(which) = which else { return Err(strange()) };
                let place =
                    usize::try_from(which).ok().and_then(|which| places.get(which)).ok_or_else(strange)?.clone();
                let (version, kind) = (Some(record.version), FaultKind::Missing);
                page.faults.push(Fault { partition, key: key.clone(), version, place, kind });
            }
            page.records.push((partition, record));
        }
        Ok(cursor)
    }

    /// Places that no record claims; returns the last place when there may be more.
    async fn places(&self, tag: usize, after: &[u8], limit: usize, page: &mut AuditPage) -> Result<Option<Vec<u8>>> {
        let mut answer = self.look(tag, "places", after, limit).await?;
        let Some(Value::Int(count)) = answer.next() else { return Err(strange()) };
        let last = bytes(answer.next().ok_or_else(strange)?)?;
        for stray in list(answer.next().ok_or_else(strange)?)? {
            let mut stray = list(stray)?.into_iter();
            let (place, key, listed) = parse_place(&bytes(stray.next().ok_or_else(strange)?)?)?;
            // The places of a record that lives elsewhere are set right there.
            let (version, partition) = match stray.next() {
                Some(Value::BulkString(owner)) => {
                    head(&owner).map(|(version, partition)| (Some(version), partition)).ok_or_else(strange)?
                }
                _ => (None, listed),
            };
            page.faults.push(Fault { partition, key, version, place, kind: FaultKind::Stray });
        }
        page.rows = u64::try_from(count).map_err(|_| strange())?;
        Ok((page.rows >= limit as u64).then_some(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};

    #[test]
    fn fuzz_places_in_an_audit() {
        fuzz(near("records [0-3] [1-9][0-9]{0,18}|places [0-3] ([0-9a-f]{2}){0,20}"), |text| {
            let Some(from) = From::parse(&text, 4) else { return Ok(false) };
            let (From::Records { tag, .. } | From::Places { tag, .. }) = &from;
            prop_assert!(*tag < 4);
            let again = From::parse(&from.text(), 4).map(|again| again.text());
            prop_assert_eq!(again, Some(from.text()));
            Ok(true)
        });
    }
}
