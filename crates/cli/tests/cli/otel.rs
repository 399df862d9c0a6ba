//! Traces of a server's calls at a collector.

use crate::program::Workdir;
use crate::serving::signal;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Long enough that only a test that hangs notices.
const HANG: Duration = Duration::from_secs(60);
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A collector that takes everything; answers its address and what it is sent: the first line, and the body.
fn collector() -> (String, Receiver<(String, Vec<u8>)>) {
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", door.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for stream in door.incoming().map_while(Result::ok) {
            let mut stream = BufReader::new(stream);
            while let Some(request) = receive(&mut stream) {
                stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                if tell.send(request).is_err() {
                    return;
                }
            }
        }
    });
    (address, told)
}

/// The next request of a connection, if there is one.
fn receive(stream: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut line = || {
        let mut text = String::new();
        stream.read_line(&mut text).ok().filter(|bytes| *bytes > 0)?;
        Some(text.trim_end().to_lowercase())
    };
    let first = line()?;
    let headers: Vec<String> = std::iter::from_fn(&mut line).take_while(|header| !header.is_empty()).collect();
    let length = headers.iter().find_map(|header| header.strip_prefix("content-length: "))?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((first, body))
}

#[test]
fn otel_spans_of_calls_reach_a_collector() {
    let place = Workdir::new();
    let (collector, told) = collector();
    let (server, url) = place.serve(&["--otlp-endpoint", &collector]);
    let submit = format!(
        "curl -fsS -X POST \"$URL/v1/executions\" -H 'content-type: application/json' -H 'onward-namespace: shop' \
        -H 'traceparent: 00-{TRACE}-b7ad6b7169203331-01' -d '{{\"kind\":\"k\"}}'"
    );
    assert!(place.shell(&url, &submit).contains("\"created\":true"));
    // What is left is sent before the server ends.
    signal(&server, "-TERM");
    assert_eq!(server.ends(), 0);
    let (line, body) = told.recv_timeout(HANG).expect("a span arrives");
    assert_eq!(line, "post /v1/traces http/1.1");
    let trace: Vec<u8> = (0..16).map(|at| u8::from_str_radix(&TRACE[2 * at..2 * at + 2], 16).unwrap()).collect();
    let holds = |part: &[u8]| body.windows(part.len()).any(|window| window == part);
    assert!(holds(&trace), "it goes on with the trace of its caller");
    for part in ["POST /v1/executions", "http.route", "http.response.status_code", "namespace", "shop", "onward"] {
        assert!(holds(part.as_bytes()), "{part}");
    }
}

#[test]
fn otel_without_a_collector_costs_no_call() {
    let place = Workdir::new();
    let (server, url) = place.serve(&["--otlp-endpoint", "http://127.0.0.1:9", "--log", "off"]);
    assert!(place.shell(&url, "curl -fsS \"$URL/v1/counts\"").contains("total"));
    signal(&server, "-TERM");
    assert_eq!(server.ends(), 0);
}
