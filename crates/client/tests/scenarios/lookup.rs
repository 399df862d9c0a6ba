//! Looking: lists, namespaces, ids that do not exist, and waiting that ends.

use crate::world::on_every_store;
use onward::{Client, Error, ExecutionId, PublicState};
use std::time::Duration;

on_every_store! {
    async fn lists_go_from_new_to_old_in_pages(world: held) {
        let client = &world.client;
        let mut ids = Vec::new();
        for n in 0..25 {
            ids.push(client.submit("n", &n).await.unwrap().id);
            world.advance(onward::Span(1));
        }
        ids.reverse();
        let (mut seen, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = client.list(cursor.as_deref(), 10).await.unwrap();
            seen.extend(page.executions.iter().map(|execution| execution.id));
            pages += 1;
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!((seen, pages), (ids, 3));
    }

    async fn another_namespace_sees_nothing(world: new) {
        let client = &world.client;
        let other = client.in_namespace("other").unwrap();
        let id = client.submit("n", &1).await.unwrap().id;
        assert_eq!(other.get(id).await.unwrap(), None);
        assert_eq!(other.input(id).await.unwrap(), None);
        assert_eq!(other.result::<u8>(id).await.unwrap_err().code(), "execution_not_found");
        assert!(other.list(None, 10).await.unwrap().executions.is_empty());
        assert_eq!(client.get(id).await.unwrap().unwrap().state, PublicState::Waiting);
        assert_eq!(client.in_namespace("no/name").unwrap_err().code(), "invalid_name");
    }

    async fn ids_that_nobody_has_are_not_found(world: new) {
        let client = &world.client;
        for text in ["x-0192f0c8-0000-7000-8000-000000000001-17", "x-0192f0c8-0000-7000-8000-000000000001-65535"] {
            let id: ExecutionId = text.parse().unwrap();
            assert_eq!(client.get(id).await.unwrap(), None);
            assert_eq!(client.wait::<()>(id, Duration::ZERO).await.unwrap_err().code(), "execution_not_found");
        }
    }

    async fn waiting_ends_in_time(world: new) {
        let id = world.client.submit("never", &1).await.unwrap().id;
        let error = world.client.wait::<()>(id, Duration::from_millis(30)).await.unwrap_err();
        assert!(matches!(error, Error::WaitTimedOut { state: PublicState::Waiting, .. }), "{error}");
        assert!(error.is_temporary());
        assert_eq!(world.client.result::<()>(id).await.unwrap(), None);
    }
}

#[tokio::test]
async fn addresses_that_name_no_store_are_refused() {
    for (address, code) in [
        ("mysql://x", "unknown_store_scheme"),
        ("sqlite:", "malformed_store_address"),
        ("sqlite:missing-folder/onward.db", "store_unsuitable"),
    ] {
        assert_eq!(Client::open(address).await.unwrap_err().code(), code, "{address}");
    }
    let options = onward::ClientOptions { partitions: Some(0), ..onward::ClientOptions::default() };
    assert_eq!(Client::open_with("memory:", options).await.unwrap_err().code(), "invalid_argument");
}
