//! Addresses of stores and servers: told apart, printed without what is secret, and refused without showing it.

use onward::Address;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near};

fn valid() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        Just("memory:".to_owned()),
        "sqlite:(/|\\./)?[a-z]{1,8}(/[a-z]{1,8})?\\.db",
        "postgres(ql)?://([a-z]{1,5}(:[a-z%0-9]{1,5})?@)?[a-z.]{1,9}(:[0-9]{1,5})?/[a-z]{1,5}(\\?schema=[a-z]{1,5})?",
        "(valkey|redis)s?://([a-z]{0,5}:[a-z]{1,5}@)?[a-z]{1,9}(:[0-9]{1,5})?(,[a-z]{1,5})?(\\?prefix=[a-z]{1,5})?",
        "https?://[a-z.]{1,9}(:[0-9]{1,5})?(/[a-z]{1,5})?/{0,2}",
    ]
}

#[test]
fn fuzz_addresses_keep_their_text() {
    fuzz(near(valid()), |text| {
        let Ok(address) = text.parse::<Address>() else { return Ok(false) };
        let written = match &address {
            Address::Sqlite(path) => format!("sqlite:{}", path.display()),
            Address::Postgres(url) | Address::Valkey(url) | Address::Http(url) => url.as_str().to_owned(),
            Address::Memory => "memory:".to_owned(),
        };
        let is_http = matches!(address, Address::Http(_));
        let kept = if is_http { text.trim_end_matches('/') } else { text.as_str() };
        prop_assert_eq!(&written, kept);
        prop_assert_eq!(written.parse(), Ok(address));
        Ok(true)
    });
}

/// Whoever mistypes an address with a password in it can show the error to others.
#[test]
fn fuzz_errors_do_not_show_passwords() {
    let scheme = near("postgres|postgresql|valkey|rediss|http|https|mysql")
        .prop_filter("these name files", |scheme| !scheme.starts_with("sqlite:") && !scheme.starts_with("memory:"));
    let rest = near("[a-z.]{1,9}(:[0-9]{1,5})?/[a-z]{1,5}").prop_map(|rest| rest.replace('@', ""));
    fuzz((scheme, near(Just("://".to_owned())), rest), |(scheme, between, rest)| {
        let text = format!("{scheme}{between}me:hidden@{rest}");
        match text.parse::<Address>() {
            Ok(address) => {
                prop_assert!(!format!("{address:?}").contains("hidden"), "{address:?}");
                Ok(true)
            }
            Err(error) => {
                prop_assert!(!format!("{error} {error:?}").contains("hidden"), "{error}");
                Ok(false)
            }
        }
    });
}
