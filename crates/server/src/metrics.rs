//! What is measured, in the format of Prometheus. Every label has few values, whatever callers send.

use crate::lane_metrics::LaneMetrics;
use axum::http::{Method, StatusCode};
use onward_engine::Engine;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt;

/// Upper bounds of the classes of durations, in seconds.
const SECONDS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 60.0];

/// What the names of all metrics start with.
const PREFIX: &str = "onward";

/// A call: the route, not the path, so that there are as many as there are routes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    method: &'static str,
    route: String,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    method: &'static str,
    route: String,
}

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<Call, Counter>,
    seconds: Family<Route, Histogram>,
    pub(crate) waiting: Gauge,
    pub(crate) streams: Gauge,
}

impl Metrics {
    pub(crate) fn new(engine: Engine) -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let calls = Family::<Call, Counter>::default();
        let seconds = Family::<Route, Histogram>::new_with_constructor(|| Histogram::new(SECONDS));
        let (waiting, streams) = (Gauge::<i64>::default(), Gauge::<i64>::default());
        registry.register("http_calls", "Calls answered, by route and class of status", calls.clone());
        registry.register("http_seconds", "How long calls took, by route; long polls wait", seconds.clone());
        registry.register("http_claims_waiting", "Claims that wait for work", waiting.clone());
        registry.register("http_streams", "Streams of events that are open", streams.clone());
        registry.register_collector(Box::new(Counters(engine)));
        Self { registry, calls, seconds, waiting, streams }
    }

    pub(crate) fn answered(&self, method: &Method, route: &str, status: StatusCode, seconds: f64) {
        let method = known(method);
        let (route, status) = (route.to_owned(), class(status));
        self.seconds.get_or_create(&Route { method, route: route.clone() }).observe(seconds);
        self.calls.get_or_create(&Call { method, route, status }).inc();
    }

    /// All that is measured, and what the lanes are like.
    pub(crate) fn text(&self, lanes: LaneMetrics) -> Result<String, fmt::Error> {
        let (mut text, mut looked) = (String::new(), Registry::with_prefix(PREFIX));
        looked.register_collector(Box::new(lanes));
        text::encode_registry(&mut text, &self.registry)?;
        text::encode_registry(&mut text, &looked)?;
        text::encode_eof(&mut text)?;
        Ok(text)
    }
}

fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "OTHER",
    }
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        ..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        _ => "5xx",
    }
}

/// What the engine counts.
#[derive(Debug)]
struct Counters(Engine);

impl Collector for Counters {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for (name, value) in self.0.metrics().all() {
            let counter = ConstCounter::new(value);
            let name = format!("engine_{name}");
            let metric = encoder.encode_descriptor(&name, "See docs/http.md", None, counter.metric_type())?;
            counter.encode(metric)?;
        }
        Ok(())
    }
}

/// One more while it lives.
pub(crate) struct Counted(Gauge);

impl Counted {
    pub(crate) fn in_(gauge: &Gauge<i64, std::sync::atomic::AtomicI64>) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
