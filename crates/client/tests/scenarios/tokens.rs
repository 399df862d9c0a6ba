//! Tokens: people answer waits by a link, each once, and a token is good for nothing else.

use crate::world::on_every_store;
use onward::testing::TestKit;
use onward::wire::TokenState;
use onward::{Client, Context, ExecutionId, Failed, PublicState, SignalEffect, Span, TokenText, Worker};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const NAMES: [&str; 2] = ["approved", "rejected"];

/// Two of three reviewers approve a payout.
async fn payout(ctx: Context, cents: u64) -> Result<Vec<String>, Failed> {
    let asked = ctx.wait_for_people("review", 2).named(NAMES).because(&format!("a payout of {cents} cents"));
    let answers = asked.await?.unwrap_or_default();
    let who = |answer: &onward::Received| answer.actor.as_ref().map(ToString::to_string).unwrap_or_default();
    Ok(answers.iter().map(|answer| format!("{} by {}", answer.name.as_ref().unwrap(), who(answer))).collect())
}

async fn token(client: &Client, id: ExecutionId, wait: &str, person: &str) -> TokenText {
    client.mint_token(id, wait, person).names(NAMES).await.unwrap().token
}

/// What comes of an answer by a token: its effect, or the code of the refusal.
async fn answer(client: &Client, token: &TokenText, name: &str) -> String {
    match client.signal_by_token(token.clone()).name(name).await {
        Ok(signalled) => signalled.effect.as_str().to_owned(),
        Err(error) => error.code().to_owned(),
    }
}

on_every_store! {
    async fn three_signals_with_one_reviewers_token_are_not_two_of_three(world: held) {
        let client = &world.client;
        let worker = Worker::new(client).on("payout", payout).start().unwrap();
        let id = client.submit("payout", &5_000).await.unwrap().id;
        world.until_state(id, PublicState::Suspended).await;
        let [ada, again, bob] = [
            token(client, id, "review", "ada").await,
            token(client, id, "review#1", "ada").await,
            token(client, id, "review", "bob").await,
        ];
        let asked = client.describe_token(ada.clone()).await.unwrap();
        assert_eq!((asked.execution, asked.state, asked.actor.as_str()), (id, TokenState::Open, "ada"));
        assert_eq!(asked.choices.iter().map(|name| name.as_str()).collect::<Vec<_>>(), NAMES);
        assert_eq!(asked.title.unwrap().as_str(), "a payout of 5000 cents");

        let first = client.signal_by_token(ada.clone()).name("approved").payload("fine").await.unwrap();
        assert_eq!(first.effect, SignalEffect::Counted);
        for token in [&ada, &again] {
            // The first choice of a person stands, whatever is sent later and with whatever token of theirs.
            let later = client.signal_by_token(token.clone()).name("rejected").await.unwrap();
            assert_eq!(later, first);
        }
        assert_eq!(world.get(id).await.state, PublicState::Suspended, "one person is one person");
        assert_eq!(client.describe_token(again).await.unwrap().sent.unwrap().name, first.name);
        let why = client.why(id).await.unwrap().reason.to_string();
        assert!(why.contains("1 more of 2 signals of distinct people for review#1"), "{why}");

        assert_eq!(answer(client, &bob, "maybe").await, "invalid_argument", "it is none of its choices");
        assert_eq!(answer(client, &bob, "approved").await, "resumed");
        world.until_state(id, PublicState::Completed).await;
        let result = client.result::<Vec<String>>(id).await.unwrap().unwrap();
        assert_eq!(result, ["approved by ada", "approved by bob"]);
        let late = client.describe_token(bob).await.unwrap();
        assert_eq!((late.state, late.sent.unwrap().effect), (TokenState::Over, SignalEffect::Resumed));
        worker.drain().await.unwrap();
    }

    async fn a_token_is_good_for_one_wait_of_one_life(world: held) {
        let client = &world.client;
        let rounds = async |ctx: Context, (): ()| {
            let mut names = Vec::new();
            for _ in 0..2 {
                let answer = ctx.wait_any(["approval"]).await?;
                names.extend(answer.and_then(|answer| answer.name).map(|name| name.to_string()));
            }
            Ok::<_, Failed>(names)
        };
        let worker = Worker::new(client).on("rounds", rounds).start().unwrap();
        let id = client.submit("rounds", &()).await.unwrap().id;
        world.until_state(id, PublicState::Suspended).await;
        let first = token(client, id, "approval", "ada").await;
        let early = token(client, id, "approval#2", "ada").await;
        assert_eq!(client.describe_token(early.clone()).await.unwrap().state, TokenState::Early);
        assert_eq!(answer(client, &early, "rejected").await, "buffered", "the first wait must not take it");
        assert_eq!(world.get(id).await.state, PublicState::Suspended);
        assert_eq!(answer(client, &first, "approved").await, "resumed");
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<Vec<String>>(id).await.unwrap().unwrap(), ["approved", "rejected"]);
        let bob = client.mint_token(id, "approval", "bob").await.unwrap_err();
        assert_eq!(bob.code(), "execution_finished");

        // The next life asks again, and links of the life before are good for nothing.
        client.replay(id, "once more").await.unwrap();
        world.until_state(id, PublicState::Suspended).await;
        let replayed = token(client, id, "approval", "ada").await;
        assert_eq!(answer(client, &first, "approved").await, "resumed", "a repeat gets the first answer");
        assert_eq!(world.get(id).await.state, PublicState::Suspended, "and changes nothing");
        assert_eq!(answer(client, &replayed, "approved").await, "resumed");
        world.until_state(id, PublicState::Suspended).await;
        let over = token(client, id, "approval#1", "bob").await;
        assert_eq!(answer(client, &over, "approved").await, "waitpoint_closed");
        client.cancel(id, "enough").await.unwrap();
        worker.drain().await.unwrap();
    }

    async fn a_link_of_an_earlier_life_is_refused(world: held) {
        let client = &world.client;
        let worker = Worker::new(client).on("payout", payout).start().unwrap();
        let id = client.submit("payout", &1).await.unwrap().id;
        world.until_state(id, PublicState::Suspended).await;
        let [ada, bob, eve] = ["ada", "bob", "eve"];
        let old = token(client, id, "review", eve).await;
        for person in [ada, bob] {
            let token = token(client, id, "review", person).await;
            answer(client, &token, "approved").await;
        }
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(answer(client, &old, "approved").await, "execution_finished");
        client.replay(id, "again").await.unwrap();
        world.until_state(id, PublicState::Suspended).await;
        assert_eq!(answer(client, &old, "approved").await, "waitpoint_closed");
        assert_eq!(client.describe_token(old).await.unwrap().state, TokenState::Over);
        client.cancel(id, "enough").await.unwrap();
        worker.drain().await.unwrap();
    }

    async fn tokens_end_with_their_time_their_key_and_their_namespace(world: held) {
        let client = &world.client;
        let id = client.submit("payout", &1).await.unwrap().id;
        let short = client.mint_token(id, "review", "ada").expires_after(HOUR).await.unwrap().token;
        let long = token(client, id, "review", "ada").await;
        let verify = async |token: &TokenText| match client.describe_token(token.clone()).await {
            Ok(info) => info.actor.to_string(),
            Err(error) => error.code().to_owned(),
        };
        world.advance(Span::hours(1));
        assert_eq!((verify(&short).await, verify(&long).await), ("token_expired".to_owned(), "ada".to_owned()));
        assert_eq!(answer(client, &short, "approved").await, "token_expired");

        // A token for one execution cannot be made into one for another by changing its text.
        let swapped = TokenText::from(format!("{}.{}", part(&short, 0..2), part(&long, 2..3)));
        assert_eq!(verify(&swapped).await, "token_invalid");
        let elsewhere = client.in_namespace("theirs").unwrap();
        assert_eq!(elsewhere.mint_token(id, "review", "ada").await.unwrap_err().code(), "execution_not_found");
        assert_eq!(elsewhere.describe_token(long.clone()).await.unwrap().execution, id, "a token needs no namespace");

        let keys = client.rotate_token_keys(2 * HOUR).await.unwrap();
        assert_eq!(keys.iter().map(|key| key.signs).collect::<Vec<_>>(), [true, false], "all processes read it first");
        world.advance(Span::seconds(2));
        let newer = token(client, id, "review", "bob").await;
        let keys = client.token_keys().await.unwrap();
        assert_eq!(keys.iter().map(|key| (key.signs, key.expires_at.is_some())).collect::<Vec<_>>(), [(false, true), (true, false)]);
        assert_eq!(verify(&long).await, "ada");
        world.advance(Span::hours(2));
        assert_eq!((verify(&long).await, verify(&newer).await), ("token_expired".to_owned(), "bob".to_owned()));
        client.rotate_token_keys(Duration::ZERO).await.unwrap();
        assert_eq!(verify(&newer).await, "token_expired", "without grace all tokens end at once");
        assert_eq!(verify(&long).await, "token_invalid", "its key was removed");
    }
}

/// Some of the three parts of a token.
fn part(token: &TokenText, which: std::ops::Range<usize>) -> String {
    token.reveal().split('.').skip(which.start).take(which.len()).collect::<Vec<_>>().join(".")
}

/// A handler has a link sent before it waits, and runs again later without sending another.
#[tokio::test]
async fn a_handler_has_a_link_sent_for_its_next_wait() {
    let kit = TestKit::new().await.unwrap();
    let ask = async |ctx: Context, (): ()| {
        ctx.wait_for::<()>("go").await?;
        let letter = (ctx.id(), ctx.next_wait("approval")?, "ada");
        ctx.client().submit("mail", &letter).idempotency_key(&ctx.id().to_string()).await?;
        let first = ctx.wait_any(["approval"]).await?;
        Ok::<_, Failed>(first.and_then(|answer| answer.name).map(|name| name.to_string()))
    };
    let (sent, mut letters) = tokio::sync::mpsc::unbounded_channel();
    let mail = move |ctx: Context, (id, wait, person): (ExecutionId, String, String)| {
        let sent = sent.clone();
        async move {
            let minted = ctx.client().mint_token(id, &wait, &person).names(NAMES).await?;
            sent.send(minted).unwrap();
            Ok::<_, Failed>(())
        }
    };
    let worker = Worker::new(kit.client()).on("ask", ask).on("mail", mail);
    let id = kit.client().submit("ask", &()).await.unwrap().id;
    kit.client().signal(id, "go").await.unwrap();
    kit.run_until_idle(&worker).await.unwrap();
    let minted = letters.try_recv().unwrap();
    assert_eq!(minted.wait.to_string(), "approval#1");
    kit.advance(HOUR).await.unwrap();
    kit.client().signal_by_token(minted.token).name("approved").await.unwrap();
    kit.run_until_idle(&worker).await.unwrap();
    assert_eq!(kit.client().result::<Option<String>>(id).await.unwrap().flatten().as_deref(), Some("approved"));
    assert!(letters.try_recv().is_err(), "one letter was sent");
}

/// A copy of the store alone signs nothing that a process with the secret accepts.
#[tokio::test]
async fn keys_that_are_bound_to_a_secret_need_it() {
    use onward::{ClientOptions, RootSecret};
    let dir = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", dir.path().join("onward.db").display());
    let open = async |secret: Option<&str>| {
        let token_secret = secret.map(|text| RootSecret::new(text.as_bytes()).unwrap());
        Client::open_with(&address, ClientOptions { token_secret, ..ClientOptions::default() }).await.unwrap()
    };
    let (right, wrong) = ("a secret of at least thirty-two bytes", "another of at least thirty-two bytes");
    let client = open(Some(right)).await;
    let id = client.submit("payout", &1).await.unwrap().id;
    let good = token(&client, id, "review", "ada").await;
    assert!(client.token_keys().await.unwrap().iter().all(|key| key.bound));
    client.shutdown().await.unwrap();
    for secret in [None, Some(wrong)] {
        let client = open(secret).await;
        assert_eq!(client.describe_token(good.clone()).await.unwrap_err().code(), "token_invalid");
        assert_eq!(client.mint_token(id, "review", "eve").await.unwrap_err().code(), "token_secret_missing");
        if secret.is_none() {
            let unbound = client.rotate_token_keys(None).await.unwrap_err();
            assert_eq!(unbound.code(), "token_secret_missing", "it would let a copy of the store sign");
        }
        client.shutdown().await.unwrap();
    }
    let client = open(Some(right)).await;
    assert_eq!(client.describe_token(good).await.unwrap().actor.as_str(), "ada");
    client.shutdown().await.unwrap();
}
