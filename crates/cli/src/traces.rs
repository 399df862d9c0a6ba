//! Traces of a server's calls, sent to a collector beside what is logged.

use crate::logging;
use crate::problem::Problem;
use crate::settings::Settings;
use async_trait::async_trait;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use onward::Span;
use onward::engine::clock::{Clock, SystemClock};
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::time::Duration;
use tokio::runtime::Handle;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The part of the program whose spans are exported.
const EXPORTED: &str = "onward_server";
/// What the collector is told that the traces come from.
const NAME: &str = "onward";
/// Where a collector takes traces.
const PATH: &str = "/v1/traces";
/// How long the collector may take to answer.
const ANSWER_TIME: Span = Span::seconds(5);
/// The most bytes of its answer, which nobody reads.
const ANSWER_BYTES: usize = 64 * 1024;
/// How long an ending server waits for the collector to take what is left.
const FLUSH_TIME: Duration = Duration::from_secs(10);

/// Traces on their way, if there is a collector.
#[derive(Debug)]
pub(crate) struct Traces(Option<SdkTracerProvider>);

impl Traces {
    /// Begins to log, and to export if there is where to.
    pub(crate) fn begin(settings: &Settings) -> Result<Self, Problem> {
        let Some(collector) = &settings.otlp_endpoint else {
            logging::begin(&settings.log, settings.log_format);
            return Ok(Self(None));
        };
        let provider = provider(collector)?;
        let exported = Targets::new().with_target(EXPORTED, LevelFilter::INFO);
        let exporting = tracing_opentelemetry::layer().with_tracer(provider.tracer(NAME)).with_filter(exported);
        tracing_subscriber::registry().with(logging::layer(&settings.log, settings.log_format)).with(exporting).init();
        Ok(Self(Some(provider)))
    }

    /// Sends what is left.
    pub(crate) async fn end(self) {
        let Some(provider) = self.0 else { return };
        // It waits for its own thread, which sends by this runtime.
        let flushed = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH_TIME)).await;
        if !matches!(flushed, Ok(Ok(()))) {
            tracing::warn!(?flushed, "the last traces could not be sent");
        }
    }
}

fn provider(collector: &str) -> Result<SdkTracerProvider, Problem> {
    let http = legacy::Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    let http = Here { http, runtime: Handle::current() };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(http)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{collector}{PATH}"))
        .build()
        .map_err(|error| Problem::System { what: "traces cannot be exported", why: error.to_string() })?;
    let resource = Resource::builder().with_service_name(NAME).build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}

/// Sends requests by the program's own runtime, since the thread that gathers spans has none, and by what speaks HTTP here
/// anyway.
#[derive(Debug)]
struct Here {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for Here {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let http = self.http.clone();
        let sending = async move {
            let (head, body) = http.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES).collect().await?.to_bytes();
            Ok::<_, HttpError>(Response::from_parts(head, body))
        };
        let in_time = async {
            tokio::select! {
                biased;
                answer = sending => answer,
                () = SystemClock.sleep(ANSWER_TIME) => Err("the collector took too long".into()),
            }
        };
        self.runtime.spawn(in_time).await?
    }
}
