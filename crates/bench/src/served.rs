//! A server in a process of its own, as a benchmark calls it.

use super::measure::Stopwatch;
use super::work::PATIENCE;
use super::{Error, Site, system};
use onward::Client;
use onward_engine::clock::{Clock, SystemClock};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tokio::sync::oneshot;

/// A server on a fresh store.
#[derive(Debug)]
pub(crate) struct Served {
    process: Process,
    address: String,
    url: String,
    pub(crate) client: Client,
    /// From the start of its process until it answered that it is ready, in milliseconds.
    pub(crate) ready_after: f64,
}

/// A process that is killed when this is dropped.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

impl Served {
    /// Starts the program that runs as a server on a store that does not exist yet.
    pub(crate) async fn start(site: &Site) -> Result<Self, Error> {
        let address = site.shared_address()?;
        let watch = Stopwatch::start();
        let program = std::env::current_exe()?;
        let mut command = Command::new(program);
        command.args(["--json", "--store", &address, "serve", "--bind", "127.0.0.1:0"]);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process(command.spawn()?);
        let line = tokio::select! {
            line = first_line(&mut process.0) => line.unwrap_or_default(),
            () = SystemClock.sleep(PATIENCE) => String::new(),
        };
        let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        let url = said["url"].as_str().ok_or_else(|| Error::Child("did not say where it serves".to_owned()))?;
        let (client, url) = (Client::open(url).await?, url.to_owned());
        client.lanes().await?;
        Ok(Self { process, address, url, client, ready_after: watch.millis() })
    }

    /// Where it listens: host and port.
    pub(crate) fn host(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    /// Memory of its process that no file backs, in MiB.
    pub(crate) fn memory_mib(&self) -> Result<f64, Error> {
        system::anonymous_mib_of(&self.process.0.id().to_string())
    }

    /// Time that its process has spent on processors, in seconds.
    pub(crate) fn processor_seconds(&self) -> Result<f64, Error> {
        system::processor_seconds_of(&self.process.0.id().to_string())
    }

    /// Ends it and removes its store.
    pub(crate) async fn end(self, site: &Site) -> Result<(), Error> {
        let address = self.address.clone();
        self.client.shutdown().await?;
        drop(self);
        site.clear(&address).await
    }
}

/// What a process says first. Its output is read to the end, so that it never waits for a reader.
fn first_line(process: &mut Child) -> oneshot::Receiver<String> {
    let (tell, told) = oneshot::channel();
    if let Some(output) = process.stdout.take() {
        std::thread::spawn(move || {
            let mut lines = BufReader::new(output).lines().map_while(Result::ok);
            // Nobody waits for a line that comes too late.
            let _late = lines.next().map(|line| tell.send(line));
            lines.for_each(drop);
        });
    }
    told
}
