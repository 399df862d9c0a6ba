//! Every setting of a server: its names, what it is unless chosen, and what it means.
//!
//! The flags, the variables, the file, the example and the documentation all follow from here.

use super::amount::{GIB, KIB, MIB, Number, Pause, Size};
use super::kind::{Collector, Listen, Origins, Path, Switch};
use super::log::{Filter, Format};
use super::setting::{About, Setting, Shape};
use super::store::Store;
use onward::Span;

/// Declares the settings, and `ALL` of them in the order of their declaration.
macro_rules! settings {
    ($($SETTING:ident: $Kind:ty = $kind:expr => $about:tt)*) => {
        /// All settings, in the order in which they are shown.
        pub(crate) const ALL: [&About; [$(stringify!($SETTING)),*].len()] = [$(&$SETTING.about),*];

        $(pub(crate) const $SETTING: Setting<$Kind> = Setting { about: About $about, kind: $kind };)*
    };
}

settings! {
    STORE: Store = Store => {
        name: "store",
        variable: "ONWARD_STORE",
        flag: "store",
        stands_for: "ADDRESS",
        shape: Shape::Value,
        default: "sqlite:onward.db",
        example: "\"sqlite:onward.db\"",
        meaning: "Store: sqlite:PATH, postgres://…, valkey://… (or redis://…), or memory: for one that ends with the server.",
        is_rare: false,
    }

    BIND: Listen = Listen => {
        name: "bind",
        variable: "ONWARD_BIND",
        flag: "bind",
        stands_for: "ADDRESS",
        shape: Shape::Value,
        default: "127.0.0.1:8700",
        example: "\"127.0.0.1:8700\"",
        meaning: "Address to listen on. Any address but loopback needs require_keys.",
        is_rare: false,
    }

    REQUIRE_KEYS: Switch = Switch => {
        name: "require_keys",
        variable: "ONWARD_REQUIRE_KEYS",
        flag: "require-keys",
        stands_for: "true or false",
        shape: Shape::Switch,
        default: "false",
        example: "true",
        meaning: "Require an API key from every caller; issue one with `onward key create`.",
        is_rare: false,
    }

    TLS_CERTIFICATE: Path = Path => {
        name: "tls_certificate",
        variable: "ONWARD_TLS_CERTIFICATE",
        flag: "tls-certificate",
        stands_for: "FILE",
        shape: Shape::Value,
        default: "",
        example: "\"cert.pem\"",
        meaning: "TLS certificate in PEM; reloaded when it changes.",
        is_rare: false,
    }

    TLS_KEY: Path = Path => {
        name: "tls_key",
        variable: "ONWARD_TLS_KEY",
        flag: "tls-key",
        stands_for: "FILE",
        shape: Shape::Value,
        default: "",
        example: "\"key.pem\"",
        meaning: "Private key of the certificate, in PEM.",
        is_rare: false,
    }

    TOKEN_SECRET_FILE: Path = Path => {
        name: "token_secret_file",
        variable: "ONWARD_TOKEN_SECRET_FILE",
        flag: "token-secret-file",
        stands_for: "FILE",
        shape: Shape::Value,
        default: "",
        example: "\"token-secret\"",
        meaning: "File with a secret that new token keys are bound to, so that a copy of the store signs no tokens.",
        is_rare: false,
    }

    CORS: Origins = Origins => {
        name: "cors",
        variable: "ONWARD_CORS",
        flag: "cors",
        stands_for: "ORIGIN",
        shape: Shape::List,
        default: "",
        example: "[\"https://tools.example.com\"]",
        meaning: "Origins whose web pages may call; repeatable, or separated by commas.",
        is_rare: false,
    }

    // Callers that wait for nothing at all would ask without pause.
    LONGEST_WAIT: Pause = Pause { min: Span(10), max: Span::hours(1) } => {
        name: "longest_wait",
        variable: "ONWARD_LONGEST_WAIT",
        flag: "longest-wait",
        stands_for: "DURATION",
        shape: Shape::Value,
        default: "1m",
        example: "\"1m\"",
        meaning: "Maximum time that a call may wait for work, results or events.",
        is_rare: false,
    }

    GRACE: Pause = Pause { min: Span(0), max: Span::hours(1) } => {
        name: "grace",
        variable: "ONWARD_GRACE",
        flag: "grace",
        stands_for: "DURATION",
        shape: Shape::Value,
        default: "30s",
        example: "\"30s\"",
        meaning: "Time for running calls to finish after SIGTERM or Ctrl-C.",
        is_rare: false,
    }

    LOG: Filter = Filter => {
        name: "log",
        variable: "ONWARD_LOG",
        flag: "log",
        stands_for: "FILTER",
        shape: Shape::Value,
        default: "warn",
        example: "\"info\"",
        meaning: "Log filter: error, warn, info, debug, trace or off, optionally per module as in info,onward_engine=debug.",
        is_rare: false,
    }

    LOG_FORMAT: Format = Format => {
        name: "log_format",
        variable: "ONWARD_LOG_FORMAT",
        flag: "log-format",
        stands_for: "FORMAT",
        shape: Shape::Value,
        default: "text",
        example: "\"json\"",
        meaning: "Log format: text, or json with one object per line.",
        is_rare: false,
    }

    OTLP_ENDPOINT: Collector = Collector => {
        name: "otlp_endpoint",
        variable: "ONWARD_OTLP_ENDPOINT",
        flag: "otlp-endpoint",
        stands_for: "URL",
        shape: Shape::Value,
        default: "",
        example: "\"http://localhost:4318\"",
        meaning: "OTLP collector for traces, over plain HTTP. Needs a build with the feature otel.",
        is_rare: false,
    }

    CONNECTIONS: Number = Number { min: 1, max: 1_000_000 } => {
        name: "connections",
        variable: "ONWARD_CONNECTIONS",
        flag: "connections",
        stands_for: "NUMBER",
        shape: Shape::Value,
        default: "10000",
        example: "10000",
        meaning: "Maximum number of connections; further ones wait.",
        is_rare: true,
    }

    BODY_BYTES: Size = Size { min: KIB, max: GIB } => {
        name: "body_bytes",
        variable: "ONWARD_BODY_BYTES",
        flag: "body-bytes",
        stands_for: "SIZE",
        shape: Shape::Value,
        default: "1 MiB",
        example: "\"1 MiB\"",
        meaning: "Maximum body size of a call about one execution.",
        is_rare: true,
    }

    BATCH_BYTES: Size = Size { min: KIB, max: GIB } => {
        name: "batch_bytes",
        variable: "ONWARD_BATCH_BYTES",
        flag: "batch-bytes",
        stands_for: "SIZE",
        shape: Shape::Value,
        default: "8 MiB",
        example: "\"8 MiB\"",
        meaning: "Maximum body size of a batch call.",
        is_rare: true,
    }

    INFLIGHT_BYTES: Size = Size { min: KIB, max: 1024 * GIB } => {
        name: "inflight_bytes",
        variable: "ONWARD_INFLIGHT_BYTES",
        flag: "inflight-bytes",
        stands_for: "SIZE",
        shape: Shape::Value,
        default: "64 MiB",
        example: "\"64 MiB\"",
        meaning: "Maximum bytes of bodies in memory at once; at least body_bytes and batch_bytes.",
        is_rare: true,
    }

    BODY_TIME: Pause = Pause { min: Span::seconds(1), max: Span::hours(1) } => {
        name: "body_time",
        variable: "ONWARD_BODY_TIME",
        flag: "body-time",
        stands_for: "DURATION",
        shape: Shape::Value,
        default: "30s",
        example: "\"30s\"",
        meaning: "Maximum time for a body to arrive.",
        is_rare: true,
    }

    HEADER_TIME: Pause = Pause { min: Span::seconds(1), max: Span::hours(1) } => {
        name: "header_time",
        variable: "ONWARD_HEADER_TIME",
        flag: "header-time",
        stands_for: "DURATION",
        shape: Shape::Value,
        default: "1m",
        example: "\"1m\"",
        meaning: "Maximum time for headers to arrive, and maximum idle time of a connection.",
        is_rare: true,
    }

    HEADER_BYTES: Size = Size { min: 8 * KIB, max: MIB } => {
        name: "header_bytes",
        variable: "ONWARD_HEADER_BYTES",
        flag: "header-bytes",
        stands_for: "SIZE",
        shape: Shape::Value,
        default: "32 KiB",
        example: "\"32 KiB\"",
        meaning: "Maximum size of the headers.",
        is_rare: true,
    }
}
