//! An encrypted server: who trusts its certificate is served, who does not encrypt is not, and a new certificate is taken up.

use crate::certify::Certificates;
use crate::site::Site;
use onward::ClientOptions;
use onward_core::{Millis, Span};
use onward_engine::clock::TestClock;
use onward_server::{Options, Server, StartError};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// So often is looked for the new certificate; each look is a connection and a step of the clock.
const LOOKS_MAX: usize = 1_000;
/// As far as the clock is moved between two looks: the server looks at its files as often.
const STEP: Span = Span::seconds(5);
const REQUEST: &[u8] = b"GET /v1/counts HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// What the server answers over an encrypted connection, or why there is none.
async fn ask(address: SocketAddr, caller: &TlsConnector) -> io::Result<String> {
    let stream = TcpStream::connect(address).await?;
    let name = "localhost".try_into().unwrap();
    let mut stream = caller.connect(name, stream).await?;
    stream.write_all(REQUEST).await?;
    let mut answer = Vec::new();
    // A server that closes without a farewell has said all that there is.
    match stream.read_to_end(&mut answer).await {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}

async fn is_served(site: &Site, caller: &TlsConnector) {
    let answer = ask(site.address, caller).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"total\""), "{answer}");
}

#[tokio::test]
async fn only_callers_who_trust_the_certificate_are_served() {
    let certificates = Certificates::new();
    certificates.make("own");
    certificates.make("other");
    certificates.install("own");
    let site = Site::with(Options { tls: Some(certificates.served()), ..Options::default() }).await;
    let (own, other) = (certificates.trusting("own"), certificates.trusting("other"));
    is_served(&site, &own).await;
    let refused = ask(site.address, &other).await.unwrap_err();
    assert!(refused.to_string().contains("certificate"), "{refused}");
    is_served(&site, &own).await;
    site.drained().await;
}

/// Calls that are not encrypted get no answer that could be taken for one, and do no harm to others.
#[tokio::test]
async fn plain_calls_are_not_served() {
    let certificates = Certificates::new();
    certificates.make("own");
    certificates.install("own");
    let site = Site::with(Options { tls: Some(certificates.served()), ..Options::default() }).await;
    for sent in [REQUEST, b"", b"\x16\x03\x01\xff\xff", b"\0\0\0\0"] {
        let mut stream = TcpStream::connect(site.address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _closed = stream.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&answer));
    }
    is_served(&site, &certificates.trusting("own")).await;
    site.drained().await;
}

/// Moves the clock until a caller is served.
async fn until_served(site: &Site, clock: &TestClock, caller: &TlsConnector) {
    for _ in 0..LOOKS_MAX {
        if ask(site.address, caller).await.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            return;
        }
        clock.advance(STEP);
        tokio::task::yield_now().await;
    }
    panic!("the new certificate is never used");
}

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let certificates = Certificates::new();
    certificates.make("old");
    certificates.make("new");
    certificates.install("old");
    let clock = Arc::new(TestClock::at(Millis(1_700_000_000_000)));
    let client = ClientOptions { clock: clock.clone(), ..ClientOptions::default() };
    let site = Site::of(client, Options { tls: Some(certificates.served()), ..Options::default() }).await;
    let (old, new) = (certificates.trusting("old"), certificates.trusting("new"));
    is_served(&site, &old).await;
    // A certificate whose key is not there yet is not used.
    certificates.install_file("new.crt", "served.crt");
    for _ in 0..5 {
        clock.advance(STEP);
        is_served(&site, &old).await;
    }
    certificates.install("new");
    until_served(&site, &clock, &new).await;
    assert!(ask(site.address, &old).await.is_err(), "the old certificate is used no more");
    site.drained().await;
}

#[tokio::test]
async fn a_server_does_not_start_with_a_certificate_that_cannot_be_used() {
    let certificates = Certificates::new();
    certificates.make("one");
    certificates.make("other");
    std::fs::write(certificates.file("empty"), "").unwrap();
    let client = onward::Client::open("memory:").await.unwrap();
    for (certificate, key) in [
        ("one.crt", "other.key"),
        ("one.crt", "missing"),
        ("missing", "one.key"),
        ("empty", "one.key"),
        ("one.key", "one.key"),
    ] {
        let tls = onward_server::Tls { certificate: certificates.file(certificate), key: certificates.file(key) };
        let options = Options { bind: "127.0.0.1:0".parse().unwrap(), tls: Some(tls), ..Options::default() };
        let error = Server::bind(client.clone(), options).await.unwrap_err();
        assert!(matches!(error, StartError::Tls(_)), "{certificate} and {key}: {error}");
    }
    client.shutdown().await.unwrap();
}
