//! Temporary.
#![allow(clippy::all, clippy::disallowed_methods, clippy::unwrap_used)]
use onward::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
#[tokio::main]
async fn main() {
    let addr = std::env::args().nth(1).unwrap();
    let conc: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let client = Client::open(&addr).await.unwrap();
    let n = 10_000;
    let t = std::time::Instant::now();
    for _ in 0..10 { for r in client.submit_many((0..n/10).map(|i| client.submit("x", &i))).await.unwrap() { r.unwrap(); } }
    println!("submit {:.0}/s", n as f64 / t.elapsed().as_secs_f64());
    let done = Arc::new(AtomicUsize::new(0)); let d = done.clone();
    let notify = Arc::new(tokio::sync::Notify::new()); let nn = notify.clone();
    let t = std::time::Instant::now();
    let w = Worker::new(&client).on("x", move |_: Context, i: u32| { let d = d.clone(); let nn = nn.clone(); async move { if d.fetch_add(1, Ordering::SeqCst) + 1 == n { nn.notify_one(); } Ok::<_, Failed>(i) } }).concurrency(conc).start().unwrap();
    notify.notified().await;
    w.drain().await.unwrap();
    println!("run {:.0}/s conc {conc}", n as f64 / t.elapsed().as_secs_f64());
    let m = client.engine().metrics(); println!("{:?}", m.all());
    client.shutdown().await.unwrap();
}
