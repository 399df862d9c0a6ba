//! Tokens on a real store: what checking one reads.

use crate::kit::{World, submit, work};
use onward_core::{Namespace, NewToken, Span, TokenText};
use onward_engine::{Engine, Error};

/// Reads that an engine makes by itself.
const FEW: u64 = 30;

/// Texts that are no good tokens, made of one that is: every changed bit of it, cut pieces, and those of another store.
fn broken(token: &TokenText) -> Vec<TokenText> {
    let bytes = token.reveal().as_bytes();
    let changed = (0..bytes.len() * 8).map(|at| {
        let mut bytes = bytes.to_vec();
        bytes[at / 8] ^= 1 << (at % 8);
        bytes.into_iter().map(char::from).collect::<String>()
    });
    let cut = (0..bytes.len()).step_by(7).map(|at| token.reveal()[..at].to_owned());
    changed.chain(cut).map(TokenText::from).collect()
}

async fn code(engine: &Engine, token: &TokenText) -> String {
    engine.verify_token(token).await.map(|_| "good".to_owned()).unwrap_or_else(|error| error.code().to_owned())
}

pub(crate) async fn whatever_is_wrong_with_a_token_only_the_keys_are_read_once_a_second(world: World) {
    let (near, far) = (world.engine().await, world.engine().await);
    let id = submit(&near, work("wait")).await;
    let new = NewToken::new(
        "approval".parse::<onward_core::record::WaitAddress>().expect("a wait"),
        "ada".parse().expect("a name"),
    );
    let minted = near.mint_token(&Namespace::default(), id, &new, None).await.expect("it is made");
    assert_eq!(code(&far, &minted.token).await, "good", "another process knows the key");

    let texts = broken(&minted.token);
    assert!(texts.len() > 2_000);
    let loads = far.store().stats().reads;
    for text in &texts {
        assert_eq!(far.verify_token(text).await, Err(Error::Refused(onward_core::Rejection::TokenInvalid)));
    }
    // What the engine reads by itself meanwhile is little beside one read for each.
    let read = far.store().stats().reads - loads;
    assert!(read < FEW, "{read} reads for {} tokens within a second", texts.len());
    for _ in 0..3 {
        world.clock.advance(Span::seconds(1));
        let loads = far.store().stats().reads;
        for text in texts.iter().take(500) {
            assert_eq!(code(&far, text).await, "token_invalid");
        }
        let read = far.store().stats().reads - loads;
        assert!((1..FEW).contains(&read), "{read} reads for 500 tokens in a second");
    }

    // Expiry is told behind a good signature only.
    world.clock.advance(Span::days(7));
    assert_eq!(code(&far, &minted.token).await, "token_expired");
    for text in texts.iter().step_by(50) {
        assert_eq!(code(&far, text).await, "token_invalid");
    }
    near.shutdown().await;
    far.shutdown().await;
}
