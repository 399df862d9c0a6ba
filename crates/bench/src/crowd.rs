//! Whether work is handed over as fast on a server with thousands of parked calls and streams as on a quiet one.

use super::measure::{Stopwatch, percentile, sorted};
use super::report::Report;
use super::served::Served;
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress, remote};
use futures_util::future::join;
use onward::call::Ask;
use onward_core::{Claimed, Lane, Span, Submitted};
use onward_engine::clock::{Clock, SystemClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Samples before each measurement.
const WARM_UP: usize = 20;
/// What is between two samples, in which every stream is told of the one before.
const PAUSE: Span = Span(20);
/// How often it is looked whether everybody is in.
const LOOK_EVERY: Span = Span(20);
/// Connections that are made at the same time, so that none is turned away at the door.
const AT_ONCE: usize = 64;

const LANE: &str = "bench";

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("crowd", site.url());
    let lane: Lane = work::name(LANE);
    progress(&format!("crowd: {} calls and {} streams come in", size.parked, size.streams));
    let (quiet, crowded) = (Served::start(site).await?, Served::start(site).await?);
    let few = Crowd::gather(&quiet, size.few, size.few).await?;
    let many = Crowd::gather(&crowded, size.parked, size.streams).await?;
    let mut figures = [const { Vec::new() }; 4];
    for round in 1..=size.rounds {
        progress(&format!("crowd, round {round} of {}", size.rounds));
        let (mut with_few, mut with_many) = (Vec::new(), Vec::new());
        for sample in 0..WARM_UP + size.samples {
            let took = (hand_over(&quiet, &lane).await?, hand_over(&crowded, &lane).await?);
            if sample >= WARM_UP {
                with_few.push(took.0);
                with_many.push(took.1);
            }
        }
        let parts = [(&with_few, 0.5), (&with_many, 0.5), (&with_few, 0.99), (&with_many, 0.99)];
        for (values, (samples, part)) in figures.iter_mut().zip(parts) {
            values.push(percentile(&sorted(samples), part));
        }
    }
    let memory = crowded.memory_mib()?;
    let missing = many.missing().await?;
    if missing * 10 > size.parked + size.streams {
        return Err(Error::Broken(format!("{missing} of the crowd had gone at the end")));
    }
    let told = many.told.load(Ordering::Relaxed);
    drop((few, many));
    quiet.end(site).await?;
    crowded.end(site).await?;
    report.figure("parked calls", size.parked as f64, "");
    report.figure("streams", size.streams as f64, "");
    report.figure("messages that the streams were told", told as f64, "");
    let [few, many, few_worst, many_worst] = figures;
    let ratios: Vec<f64> = many.iter().zip(&few).map(|(many, few)| many / few.max(f64::MIN_POSITIVE)).collect();
    report.spread(&format!("with {} of each, p50", size.few), &few, "ms");
    report.spread("with all, p50", &many, "ms");
    report.spread(&format!("with {} of each, p99", size.few), &few_worst, "ms");
    report.spread("with all, p99", &many_worst, "ms");
    let ratio = report.spread("with all / with few, p50", &ratios, "");
    report.at_most("with all / with few, p50", ratio, 1.5, "");
    report.at_most("memory of the server", memory, 400.0, "MiB");
    Ok(report)
}

/// From a submit until a worker that waits has it, in milliseconds; completing it is not measured.
async fn hand_over(served: &Served, lane: &Lane) -> Result<f64, Error> {
    let client = &served.client;
    let (wants, new) = (work::patient(lane), work::execution(lane));
    let parked = client.ask::<Vec<Claimed>>(Ask::Claim { wants, wait: PATIENCE });
    let mut parked = std::pin::pin!(parked);
    // It comes before the submit, as workers do that have nothing else to do.
    tokio::select! {
        biased;
        early = &mut parked => return Err(Error::Broken(format!("there was work already: {early:?}"))),
        () = SystemClock.sleep(PAUSE) => {}
    }
    let watch = Stopwatch::start();
    let claim = async { (parked.await, watch.millis()) };
    let ((claimed, took), submitted) = join(claim, client.ask::<Submitted>(Ask::Submit(Box::new(new)))).await;
    submitted?;
    remote::complete(client, vec![work::one(claimed?)?]).await?;
    Ok(took)
}

/// Connections of callers that wait and of readers that follow; they end when this is dropped.
struct Crowd {
    told: Arc<AtomicUsize>,
    host: String,
    parked: usize,
    streams: usize,
    _tasks: JoinSet<()>,
}

impl Crowd {
    /// Lets all of them in, and waits until the server has them.
    async fn gather(served: &Served, parked: usize, streams: usize) -> Result<Self, Error> {
        let (told, inside) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        let host = served.host();
        for at in 0..parked + streams {
            let request = if at < parked { parked_call(&host, at) } else { stream(&host) };
            let (host, present) = (host.clone(), inside.clone());
            let told = (at >= parked).then(|| told.clone());
            tasks.spawn(async move {
                // A connection that ends is missing in what the server counts.
                let _ended = attend(&host, &request, &present, told).await;
            });
            if at % AT_ONCE == AT_ONCE - 1 {
                entered(&inside, at + 1).await?;
            }
        }
        entered(&inside, parked + streams).await?;
        let crowd = Self { told, host, parked, streams, _tasks: tasks };
        let watch = Stopwatch::start();
        while crowd.missing().await? > 0 {
            if watch.millis() > PATIENCE.0 as f64 {
                let missing = crowd.missing().await?;
                return Err(Error::Broken(format!("{missing} of the crowd were not let in")));
            }
            SystemClock.sleep(LOOK_EVERY).await;
        }
        Ok(crowd)
    }

    /// How many the server does not have, by its own count. A parked call that comes again is missed for a moment.
    async fn missing(&self) -> Result<usize, Error> {
        let request = format!("GET /metrics HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.host);
        let mut connection = TcpStream::connect(&self.host).await?;
        connection.write_all(request.as_bytes()).await?;
        let mut told = String::new();
        connection.read_to_string(&mut told).await?;
        let gauge = |name: &str| {
            let line = told.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            line.unwrap_or(0_usize)
        };
        let (claims, streams) = (gauge("onward_http_claims_waiting "), gauge("onward_http_streams "));
        Ok(self.parked.saturating_sub(claims) + self.streams.saturating_sub(streams))
    }
}

async fn entered(inside: &AtomicUsize, all: usize) -> Result<(), Error> {
    let watch = Stopwatch::start();
    while inside.load(Ordering::Acquire) < all {
        if watch.millis() > PATIENCE.0 as f64 {
            let inside = inside.load(Ordering::Acquire);
            return Err(Error::Broken(format!("only {inside} of {all} connections were let in")));
        }
        SystemClock.sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// A call that waits for work of a lane where none comes.
fn parked_call(host: &str, at: usize) -> String {
    let body = format!(r#"{{"worker":"crowd-{at}","lanes":["crowd-{}"],"wait":"1m"}}"#, at % 100);
    let length = body.len();
    format!(
        "POST /v1/work/claim HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A reader that follows everything.
fn stream(host: &str) -> String {
    format!("GET /v1/events/stream HTTP/1.1\r\nhost: {host}\r\n\r\n")
}

/// Sends a request again whenever it is answered, and counts the messages of a stream.
async fn attend(
    host: &str,
    request: &str,
    inside: &AtomicUsize,
    told: Option<Arc<AtomicUsize>>,
) -> std::io::Result<()> {
    let mut connection = TcpStream::connect(host).await?;
    connection.write_all(request.as_bytes()).await?;
    inside.fetch_add(1, Ordering::Release);
    let mut read = vec![0; 4096];
    loop {
        let count = connection.read(&mut read).await?;
        match (&told, count) {
            (_, 0) => return Ok(()),
            (Some(told), count) => {
                let messages = read[..count].windows(4).filter(|window| window == b"\nid:").count();
                told.fetch_add(messages, Ordering::Relaxed);
            }
            (None, _) => connection.write_all(request.as_bytes()).await?,
        }
    }
}
