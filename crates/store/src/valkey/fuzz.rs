//! What comes from outside: addresses of servers, and the bytes of records, places and positions.

use super::address::Address;
use super::value::{event_id, pack, parse_place, place_start, position, unpack};
use crate::limits::PARTITIONS_MAX;
use crate::{Entry, IndexName, Key, Partition, Record, Version};
use onward_fuzz::proptest::collection::vec;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::proptest::sample::select;
use onward_fuzz::{fuzz, near, near_bytes};

/// The text of a valid address.
fn valid() -> impl Strategy<Value = String> + Clone {
    let options = select(vec!["prefix=a:b", "prefix=%61", "partitions=8", "wait=2", "cluster=false", "cluster=true"]);
    let host = "([a-z.]{1,9}|\\[::1\\])(:[0-9]{1,4})?";
    let place = ("(valkey|redis)s?://([a-z]{0,5}:[a-z%20]{1,9}@)?", host, "(,[a-z]{1,5}(:[0-9]{1,4})?)?", "(/[0-9]?)?");
    (place, vec(options, 0..3))
        .prop_map(|((scheme, host, other, db), options)| format!("{scheme}{host}{other}{db}?{}", options.join("&")))
}

#[test]
fn fuzz_addresses() {
    fuzz(near(valid()), |text| {
        let Ok(address) = Address::parse(&text) else { return Ok(false) };
        prop_assert!(!address.hosts.is_empty() && address.hosts.iter().all(|(name, _)| !name.is_empty()));
        prop_assert!(address.cluster || address.hosts.len() == 1);
        prop_assert!((1..=64).contains(&address.prefix.len()) && address.prefix.is_ascii());
        let moves_tags = address.prefix.contains(['{', '}', '*', ' ']);
        prop_assert!(!moves_tags, "{}", address.prefix);
        prop_assert!(address.partitions.is_none_or(|count| (1..=PARTITIONS_MAX).contains(&count)));
        for host in &address.hosts {
            prop_assert!(address.connection(host).is_ok(), "{host:?}");
        }
        Ok(true)
    });
}

/// Signs that mean something in an address may stand in a password, and whoever forgot to escape them can show the error.
#[test]
fn fuzz_errors_do_not_show_passwords() {
    let rest = near("[a-z]{1,3}(:[0-9]{1,4})?/[0-9]{1,2}\\?prefix=[a-z]{1,3}").prop_map(|rest| rest.replace('@', ""));
    fuzz(("[/?#@:,%&=+ ]?", rest), |(sign, rest)| {
        let text = format!("valkey://me:HID{sign}DEN@{rest}");
        let shown = match Address::parse(&text) {
            Ok(address) => return Ok(!format!("{address:?}").contains("HID")),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!shown.contains("HID") && !shown.contains("DEN"), "{text}: {shown}");
        Ok(false)
    });
}

#[test]
fn fuzz_bytes_of_records() {
    let entry = |name: &str, rank| Entry { name: IndexName::new(name), rank };
    let records = [None, Some(7)].map(|due| {
        let entries = vec![entry("list/default", 5), entry("tag/default/a=\u{e4}", u64::MAX)];
        let record = Record { key: Key::new("k"), version: Version(7), body: "{}".into(), entries, due };
        pack(&record, Partition(9))
    });
    fuzz(near_bytes(select(records.to_vec())), |bytes| {
        let Ok((partition, record)) = unpack(&Key::new("k"), bytes.clone()) else { return Ok(false) };
        prop_assert!(record.body.len() <= bytes.len());
        let again = pack(&record, partition);
        prop_assert_eq!(unpack(&Key::new("k"), again).unwrap(), (partition, record));
        Ok(true)
    });
}

#[test]
fn fuzz_bytes_of_places() {
    let place = |name: &[u8]| [name, b"\0", &7_u64.to_be_bytes(), b"key", &[0, 9]].concat();
    fuzz(near_bytes(select(vec![place(b""), place(b"list/default"), place("\u{e4}".as_bytes())])), |bytes| {
        let Ok((place, key, partition)) = parse_place(&bytes) else { return Ok(false) };
        let written = [place_start(&place, &key), partition.0.to_be_bytes().to_vec()].concat();
        prop_assert_eq!(written, bytes);
        Ok(true)
    });
}

#[test]
fn fuzz_ids_of_events() {
    fuzz(near("[0-9]{1,5}-[0-9]{1,15}"), |text| {
        let Ok(position) = position(text.as_bytes()) else { return Ok(false) };
        let plain = |part: &str| part.trim_start_matches('+').parse::<u64>().unwrap().to_string();
        let parts: Vec<String> = text.split('-').map(plain).collect();
        prop_assert_eq!(event_id(position), parts.join("-"), "no id stands for another position");
        Ok(true)
    });
}
