//! How much waits in each lane and for how long, read from the store whenever somebody measures.

use onward_core::{Lane, Namespace, Span};
use onward_engine::{Engine, Error};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;

/// The most lanes that are told of, those with the most ready work first: who names lanes by customer would drown the rest.
const LANES_MAX: usize = 100;
/// The most namespaces that are looked at.
const NAMESPACES_MAX: usize = 100;

/// What the lanes are like at one moment.
#[derive(Debug, Default)]
pub(crate) struct LaneMetrics(Vec<Row>);

#[derive(Debug)]
struct Row {
    labels: Labels,
    ready: u64,
    oldest: Span,
}

/// A metric: its name, what it means, and how it is read from a row.
type Told = (&'static str, &'static str, fn(&Row) -> f64);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    namespace: String,
    lane: String,
}

impl LaneMetrics {
    /// Looks at the lanes of those namespaces that the caller may know of.
    pub(crate) async fn look(engine: &Engine, sees: impl Fn(&Namespace) -> bool) -> Result<Self, Error> {
        let mut rows = Vec::new();
        for namespace in engine.namespaces().await?.into_iter().filter(sees).take(NAMESPACES_MAX) {
            for found in engine.lanes(&namespace).await? {
                let oldest = found.oldest.map_or(Span(0), |since| engine.now() - since);
                rows.push(Row { labels: labels(&namespace, &found.lane), ready: found.ready, oldest });
            }
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.ready));
        rows.truncate(LANES_MAX);
        Ok(Self(rows))
    }
}

fn labels(namespace: &Namespace, lane: &Lane) -> Labels {
    Labels { namespace: namespace.to_string(), lane: lane.to_string() }
}

impl Collector for LaneMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let told: [Told; 2] = [
            ("lane_ready", "Executions that are ready, by lane; counting stops at 10,000", |row| row.ready as f64),
            ("lane_oldest_seconds", "How long the oldest ready execution has waited, by lane", |row| {
                row.oldest.0 as f64 / 1_000.0
            }),
        ];
        for (name, help, value) in told {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for row in &self.0 {
                ConstGauge::new(value(row)).encode(metric.encode_family(&row.labels)?)?;
            }
        }
        Ok(())
    }
}
