//! Keys of callers: what is read is exactly what was revealed.

use onward::keys::{Secret, hash};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near};

#[test]
fn fuzz_keys_are_read_as_they_were_revealed() {
    fuzz(near("onward_[0-9a-f]{32}_[0-9a-f]{64}"), |text| {
        let Some((id, secret)) = Secret::read(&text) else { return Ok(false) };
        prop_assert_eq!(secret.reveal(id), text.as_str());
        prop_assert!(secret.is(&hash(&secret)));
        prop_assert!(!format!("{secret:?}").contains(&text[text.len() - 4..]), "a secret is not printed by accident");
        Ok(true)
    });
}

/// A key that differs anywhere is another key.
#[test]
fn fuzz_no_other_key_has_the_hash_of_a_secret() {
    let whole = "onward_0000000000000000000000000000002a_".to_owned() + &"5".repeat(64);
    let (_, known) = Secret::read(&whole).unwrap();
    fuzz(near(Just(whole.clone())), |text| match Secret::read(&text) {
        None => Ok(false),
        Some((_, secret)) => {
            let is_same = text[text.len() - 64..] == whole[whole.len() - 64..];
            prop_assert_eq!(secret.is(&hash(&known)), is_same);
            Ok(true)
        }
    });
}
