//! The client as a caller of a server: how its calls share requests, and what it does when a server takes less at once.

use crate::site::Site;
use onward::Client;
use onward_server::{Limits, Options};
use std::collections::BTreeSet;

async fn client(site: &Site) -> Client {
    Client::open(&format!("http://{}", site.address)).await.unwrap()
}

#[tokio::test]
async fn what_shares_a_request_shares_a_partition_of_its_moment() {
    let site = Site::open().await;
    let client = client(&site).await;
    let before = site.client.engine().unwrap().metrics().commits;
    let many = (0..100).map(|n| client.submit("kind", &n));
    let answers = client.submit_many(many).await.unwrap();
    let ids: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().id).collect();
    let last_bits: BTreeSet<u128> = ids.iter().map(|id| id.uuid().as_u128() & 3).collect();
    assert_eq!(last_bits.len(), 1);
    // A second may have passed in the middle of them.
    let partitions: BTreeSet<_> = ids.iter().map(|id| id.partition()).collect();
    assert!(partitions.len() <= 2, "{partitions:?}");
    let commits = site.client.engine().unwrap().metrics().commits - before;
    assert!(commits <= 4, "{commits} commits");
    site.drained().await;
}

#[tokio::test]
async fn a_call_too_large_for_a_server_goes_out_in_pieces() {
    let limits = Limits { batch_bytes: 64 * 1024, ..Limits::default() };
    let site = Site::with(Options { limits, ..Options::default() }).await;
    let client = client(&site).await;
    let large = "x".repeat(10_000);
    let many = (0..40).map(|n| client.submit("kind", &(n, &large)));
    let answers = client.submit_many(many).await.unwrap();
    let ids: BTreeSet<_> = answers.into_iter().map(|answer| answer.unwrap().id).collect();
    assert_eq!(ids.len(), 40);
    for id in ids {
        assert!(client.get(id).await.unwrap().is_some());
    }
    let mixed = [1, 100_000, 1].map(|size| client.submit("kind", &"x".repeat(size)));
    let answers = client.submit_many(mixed).await.unwrap();
    let codes: Vec<_> = answers.iter().map(|answer| answer.as_ref().err().map(onward::Error::code)).collect();
    assert_eq!(codes, [None, Some("body_too_large"), None], "what is too large by itself is refused by itself");
    site.drained().await;
}
