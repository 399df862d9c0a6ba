//! What comes from outside as text: addresses of servers, and lists of places in rows.

use super::address;
use super::value::{places_from_text, places_to_text};
use crate::limits::PARTITIONS_MAX;
use onward_fuzz::proptest::collection::vec;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::proptest::sample::select;
use onward_fuzz::{fuzz, near};

/// The text of a valid address, without its password.
fn valid() -> impl Strategy<Value = String> + Clone {
    let options = select(vec![
        "schema=one",
        "partitions=8",
        "sslmode=require",
        "sslmode=disable",
        "application_name=me",
        "connect_timeout=5",
        "user=you",
        "options=-c%20jit%3Doff",
        "target_session_attrs=read-write",
        "sslmode=verify-full&sslrootcert=%2Fdoes%2Fnot%2Fexist",
    ]);
    let place = "postgres(ql)?://([a-z]{1,5}@)?[a-z.]{1,9}(:[0-9]{1,4})?(,[a-z]{1,5})?(/[a-z]{1,5})?";
    (place, vec(options, 0..3)).prop_map(|(place, options)| format!("{place}?{}", options.join("&")))
}

#[test]
fn fuzz_addresses() {
    fuzz(near(valid()), |text| {
        let Ok(address) = address::parse(&text) else { return Ok(false) };
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        prop_assert!((1..=50).contains(&address.schema.len()) && address.schema.bytes().all(plain));
        prop_assert!(address.partitions.is_none_or(|count| (1..=PARTITIONS_MAX).contains(&count)));
        prop_assert!(text.starts_with("postgres://") || text.starts_with("postgresql://"));
        Ok(true)
    });
}

/// Signs that mean something in an address may stand in a password, and whoever forgot to escape them can show the error.
#[test]
fn fuzz_errors_do_not_show_passwords() {
    let rest = near("[a-z]{1,3}(:[0-9]{1,4})?/[a-z]{1,3}\\?schema=[a-z]{1,3}");
    fuzz(("[/?#@:,%&=+ ]?", rest), |(sign, rest)| {
        let text = format!("postgres://me:HID{sign}DEN@{rest}");
        let Err(error) = address::parse(&text) else { return Ok(true) };
        let shown = format!("{error} {error:?}");
        prop_assert!(!shown.contains("HID") && !shown.contains("DEN"), "{text}: {shown}");
        Ok(false)
    });
}

#[test]
fn fuzz_texts_of_places() {
    fuzz(near("(-?[0-9]{1,18} [a-z/= ]{1,9}\n){0,3}(-?[0-9]{1,18} )?"), |text| {
        let Ok((entries, due)) = places_from_text(&text) else { return Ok(false) };
        let written = places_to_text(&entries, due);
        prop_assert_eq!(places_from_text(&written).unwrap(), (entries, due));
        Ok(true)
    });
}
