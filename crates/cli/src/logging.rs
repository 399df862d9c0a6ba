//! What a server logs to standard error, for people or for programs.

use crate::settings::LogFormat;
use std::io::IsTerminal;
use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// Logs what a filter lets through.
pub(crate) fn begin(filter: &str, format: LogFormat) {
    tracing_subscriber::registry().with(layer(filter, format)).init();
}

/// Such logging as a layer, for a program that exports traces as well.
pub(crate) fn layer<S>(filter: &str, format: LogFormat) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    lines.with_filter(EnvFilter::new(filter))
}
