//! Payloads: large ones, binary ones, and text that must come back exactly.

use crate::world::{PATIENCE, on_every_store};
use onward::{Context, Failed, Payload, PublicState, Worker, limits};

on_every_store! {
    async fn binary_payloads_of_the_largest_size_come_back_exactly(world: new) {
        let client = &world.client;
        let bytes: Vec<u8> = (0..limits::PAYLOAD_BYTES_MAX).map(|n| (n * 31 % 256) as u8).collect();
        let flip = async |_: Context, input: Payload| {
            assert_eq!(input.content_type(), "image/png");
            let flipped: Vec<u8> = input.as_bytes().iter().map(|byte| !byte).collect();
            Payload::bytes("image/x-negative", flipped)
        };
        let worker = Worker::new(client).on_payload("flip", flip).start().unwrap();
        let payload = Payload::bytes("image/png", bytes.clone()).unwrap();
        let id = client.submit_payload("flip", payload.clone()).await.unwrap().id;
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.input(id).await.unwrap().unwrap(), payload);
        let output = client.output(id).await.unwrap().unwrap();
        assert_eq!(output.content_type(), "image/x-negative");
        assert!(output.as_bytes().iter().zip(&bytes).all(|(out, byte)| *out == !byte) && output.as_bytes().len() == bytes.len());
        assert_eq!(client.result::<u8>(id).await.unwrap_err().code(), "result_mismatch");
        worker.drain().await.unwrap();
    }

    async fn large_and_odd_json_comes_back_exactly(world: new) {
        let client = &world.client;
        let echo = async |_: Context, input: serde_json::Value| Ok::<_, Failed>(input);
        let worker = Worker::new(client).on("echo", echo).start().unwrap();
        for input in [
            serde_json::json!("ä\u{0}\u{2028}\"\\ 🦀"),
            serde_json::json!({ "text": "y".repeat(400_000), "list": [null, true, 1.5, -7] }),
            serde_json::json!(["x".repeat(1_022)]),
        ] {
            let id = client.submit("echo", &input).await.unwrap().id;
            assert_eq!(client.wait::<serde_json::Value>(id, PATIENCE).await.unwrap(), input);
        }
        let text = "{\"a\" : 1.50,  \"a\": 2}";
        let id = client.submit_payload("echo", Payload::json(text).unwrap()).await.unwrap().id;
        assert_eq!(client.input(id).await.unwrap().unwrap().as_bytes(), text.as_bytes(), "not even spaces change");
        worker.drain().await.unwrap();
    }
}
