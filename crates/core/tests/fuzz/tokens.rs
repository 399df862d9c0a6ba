//! Tokens: whatever a caller sends, only what a key has signed is read.

use onward_core::record::KeySecret;
use onward_core::{SigningKey, TokenBody, TokenText};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near};

const GOOD: &str = r#"{"k":"0000000000000000000000000000002b","s":"default","x":"x-0192f0c8-0000-7000-8000-000000000001-17","w":"0.approval#1","n":["approved"],"a":"ada","e":1800000000000}"#;

#[test]
fn fuzz_tokens_are_read_as_they_were_signed_and_nothing_else_is() {
    let key = SigningKey::of(&KeySecret([7; 32]), None);
    let body: TokenBody = serde_json::from_str(GOOD).expect("the body of a token");
    let token = body.sign(&key);
    fuzz(near(Just(token.reveal().to_owned())), |text| {
        let read = TokenBody::verify(&TokenText::from(text.clone()), |_| Some(&key));
        prop_assert_eq!(read.is_some(), text == token.reveal());
        Ok(read.is_some())
    });
}
