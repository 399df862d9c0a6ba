//! Where settings come from, which count most, what is refused, and whether the documentation tells of all.

use super::setting::Shape;
use super::sources::Given;
use super::table::ALL;
use super::{SettingSource, Settings};
use crate::config::example;
use crate::problem::{Exit, Problem};
use onward_server::Options;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a test gives to the program.
#[derive(Default)]
struct World {
    typed: Vec<(&'static str, String)>,
    environment: BTreeMap<&'static str, OsString>,
    config: Option<String>,
}

impl World {
    fn read(&self) -> Result<Settings, Problem> {
        let flag = |name: &str| ALL.iter().find(|about| about.name == name).unwrap().flag;
        let typed = self.typed.iter().map(|(name, value)| (*name, (flag(name), value.clone()))).collect();
        let environment = |name: &str| self.environment.get(name).cloned();
        Settings::read(&Given { typed, config: self.config.clone(), environment: &environment })
    }

    /// The code and the sentence of what is refused.
    fn refused(&self) -> (String, String) {
        let problem = self.read().unwrap_err();
        assert_eq!(problem.exit(), Exit::Usage, "{problem}");
        (problem.code().to_owned(), problem.to_string())
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn file(folder: &tempfile::TempDir, text: &str) -> String {
    let path = folder.path().join("onward.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A setting, then values for a flag, the environment and a file, and how each is shown.
type Example = (&'static str, [&'static str; 3], [Value; 3]);

/// Every setting that can be told apart without files beside it.
fn examples() -> Vec<Example> {
    let mut examples = plain_examples();
    if cfg!(feature = "otel") {
        examples.push((
            "otlp_endpoint",
            ["http://localhost:4318", "http://127.0.0.1:1/", "'http://c.example.com/otlp'"],
            [json!("http://localhost:4318"), json!("http://127.0.0.1:1"), json!("http://c.example.com/otlp")],
        ));
    }
    examples
}

/// Those that every program has.
fn plain_examples() -> Vec<Example> {
    vec![
        (
            "store",
            ["memory:", "sqlite:e.db", "'sqlite:f.db'"],
            [json!("memory:"), json!("sqlite:e.db"), json!("sqlite:f.db")],
        ),
        (
            "bind",
            ["127.0.0.1:1", "127.0.0.2:2", "'[::1]:3'"],
            [json!("127.0.0.1:1"), json!("127.0.0.2:2"), json!("[::1]:3")],
        ),
        ("require_keys", ["true", "false", "true"], [json!(true), json!(false), json!(true)]),
        (
            "cors",
            ["https://a,https://b:1", "https://c", "['https://d', 'http://e']"],
            [json!(["https://a", "https://b:1"]), json!(["https://c"]), json!(["https://d", "http://e"])],
        ),
        ("longest_wait", ["1s", "2m", "'1h'"], [json!("1s"), json!("2m"), json!("1h")]),
        ("grace", ["0s", "250ms", "'90s'"], [json!("0s"), json!("250ms"), json!("1m30s")]),
        (
            "log",
            ["off", "debug", "'info,onward_engine=debug'"],
            [json!("off"), json!("debug"), json!("info,onward_engine=debug")],
        ),
        ("log_format", ["json", "text", "'json'"], [json!("json"), json!("text"), json!("json")]),
        ("connections", ["1", "1000000", "20"], [json!(1), json!(1_000_000), json!(20)]),
        ("body_bytes", ["2MiB", "4096", "4097"], [json!(2_097_152), json!(4096), json!(4097)]),
        ("batch_bytes", ["9 MiB", "2 KiB", "'1 MiB'"], [json!(9_437_184), json!(2048), json!(1_048_576)]),
        ("inflight_bytes", ["1 GiB", "16 MiB", "8388608"], [json!(1_073_741_824), json!(16_777_216), json!(8_388_608)]),
        ("body_time", ["1s", "2s", "'3s'"], [json!("1s"), json!("2s"), json!("3s")]),
        ("header_time", ["4s", "5s", "'6s'"], [json!("4s"), json!("5s"), json!("6s")]),
        ("header_bytes", ["8 KiB", "16 KiB", "'1 MiB'"], [json!(8192), json!(16_384), json!(1_048_576)]),
    ]
}

#[test]
fn a_flag_counts_more_than_the_environment_and_that_more_than_the_file() {
    let folder = folder();
    let examples = examples();
    let without =
        ["tls_certificate", "tls_key", "token_secret_file", if cfg!(feature = "otel") { "" } else { "otlp_endpoint" }];
    let covered = |name: &str| examples.iter().any(|example| example.0 == name) || without.contains(&name);
    assert!(ALL.iter().all(|about| covered(about.name)));
    for (name, given, expected) in &examples {
        let about = ALL.iter().find(|about| about.name == *name).unwrap();
        let config = file(&folder, &format!("# one\n{name} = {}\n", given[2]));
        for present in 0..8_u8 {
            let has = |place: usize| present & (1 << place) != 0;
            let mut world = World { config: has(2).then(|| config.clone()), ..World::default() };
            world.typed.extend(has(0).then(|| (*name, given[0].to_owned())));
            world.environment.extend(has(1).then(|| (about.variable, given[1].into())));
            let read = world.read().unwrap();
            let row = read.rows.iter().find(|row| row.name == *name).unwrap();
            let places = [
                SettingSource::Flag(about.flag),
                SettingSource::Environment(about.variable),
                SettingSource::File { path: config.clone(), line: 2, name: about.name },
            ];
            match (0..3).find(|place| has(*place)) {
                Some(first) => {
                    assert_eq!((&row.place, &row.json), (&places[first], &expected[first]), "{name} {present}");
                }
                None => assert_eq!(row.place, SettingSource::Default, "{name}"),
            }
            let others = read.rows.iter().filter(|row| row.name != *name);
            assert!(
                others.clone().count() == ALL.len() - 1
                    && others.clone().all(|row| row.place == SettingSource::Default)
            );
        }
    }
}

#[test]
fn nothing_given_is_the_default_of_the_server() {
    let read = World::default().read().unwrap();
    assert_eq!(format!("{:?}", read.options), format!("{:?}", Options::default()));
    assert_eq!((read.store.as_str(), read.log.as_str(), read.file), ("sqlite:onward.db", "warn", None));
    let names: Vec<_> = read.rows.iter().map(|row| row.name).collect();
    assert_eq!(names, ALL.map(|about| about.name), "every setting is taken, in the order of the table");
    for (row, about) in read.rows.iter().zip(ALL) {
        let expected = if about.default.is_empty() { "none" } else { about.default };
        assert_eq!(row.text, expected, "{}", about.name);
    }
}

#[test]
fn the_file_may_be_named_in_the_environment_and_what_is_empty_is_not_there() {
    let folder = folder();
    let config = file(&folder, "grace = '7s'");
    let named = BTreeMap::from([("ONWARD_CONFIG", OsString::from(&config)), ("ONWARD_GRACE", OsString::new())]);
    let world = World { environment: named, ..World::default() };
    let read = world.read().unwrap();
    assert_eq!((read.options.grace.0, read.file.as_deref()), (7_000, Some(config.as_str())));
    let world = World { config: Some("missing.toml".to_owned()), ..world };
    let (code, sentence) = world.refused();
    assert!(code == "config_unreadable" && sentence.starts_with("--config: missing.toml cannot be read"), "{sentence}");
    let empty = World { environment: BTreeMap::from([("ONWARD_CONFIG", OsString::new())]), ..World::default() };
    assert_eq!(empty.read().unwrap().file, None);
}

/// Lines of a file, the name they are about, and the end of the sentence.
const BAD: &[(&str, &str, &str)] = &[
    ("connections = 0", "connections", "0 is not a whole number from 1 to 1000000"),
    ("connections = -1", "connections", "-1 is not a whole number from 1 to 1000000"),
    (
        "connections = 99999999999999999999",
        "connections",
        "a number beyond all bounds is not a whole number from 1 to 1000000",
    ),
    ("connections = '5'", "connections", "\"5\" is not a whole number from 1 to 1000000"),
    ("require_keys = 'yes'", "require_keys", "\"yes\" is not true or false"),
    ("require_keys = 1", "require_keys", "1 is not true or false"),
    ("bind = 8700", "bind", "8700 is not an address and a port such as 127.0.0.1:8700 or [::1]:8700"),
    ("bind = 'localhost'", "bind", "\"localhost\" is not an address and a port such as 127.0.0.1:8700 or [::1]:8700"),
    ("grace = 30", "grace", "30 is not a length of time from 0s to 1h"),
    ("grace = '30'", "grace", "\"30\" is not a length of time from 0s to 1h"),
    ("grace = '2h'", "grace", "\"2h\" is not a length of time from 0s to 1h"),
    ("body_time = '0s'", "body_time", "\"0s\" is not a length of time from 1s to 1h"),
    ("body_bytes = 0", "body_bytes", "0 is not a size from 1 KiB to 1 GiB"),
    ("body_bytes = '1 MB'", "body_bytes", "\"1 MB\" is not a size from 1 KiB to 1 GiB"),
    ("header_bytes = '4 KiB'", "header_bytes", "\"4 KiB\" is not a size from 8 KiB to 1 MiB"),
    ("log_format = 'xml'", "log_format", "\"xml\" is not text or json"),
    (
        "log = 'inof'",
        "log",
        "\"inof\" is not one of error, warn, info, debug, trace, off, or such as info,onward_engine=debug",
    ),
    (
        "log = 'onward=loud'",
        "log",
        "\"onward=loud\" is not one of error, warn, info, debug, trace, off, or such as info,onward_engine=debug",
    ),
    ("store = 5", "store", "5 is not the address of a store in quotes, such as \"sqlite:onward.db\""),
    ("tls_key = ['a']", "tls_key", "[\"a\"] is not the path of a file in quotes"),
];

#[test]
fn values_that_are_not_allowed_are_refused_with_their_line() {
    let folder = folder();
    for (line, name, end) in BAD {
        let config = file(&folder, &format!("\n\n{line}\n"));
        let world = World { config: Some(config.clone()), ..World::default() };
        assert_eq!(world.refused(), ("invalid_setting".to_owned(), format!("{config}, line 3, {name}: {end}")));
    }
    for origin in
        ["*", "null", "tools.example.com", "https://", "https://Tools.example.com", "https://a/", "https://a b"]
    {
        let world = World { config: Some(file(&folder, &format!("cors = [{origin:?}]"))), ..World::default() };
        let (code, sentence) = world.refused();
        assert!(code == "invalid_setting" && sentence.contains("is not a list of origins such as"), "{sentence}");
    }
}

#[test]
fn the_place_is_named_whichever_it_is() {
    let typed = World { typed: vec![("connections", "many".to_owned())], ..World::default() };
    let expected = "--connections: \"many\" is not a whole number from 1 to 1000000";
    assert_eq!(typed.refused(), ("invalid_setting".to_owned(), expected.to_owned()));
    let environment = BTreeMap::from([("ONWARD_REQUIRE_KEYS", "yes".into())]);
    let expected = "ONWARD_REQUIRE_KEYS: \"yes\" is not true or false";
    assert_eq!(World { environment, ..World::default() }.refused().1, expected);
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    let folder = folder();
    for (text, code, part) in [
        ("bind = '0.0.0.0:1'", "keys_required", "line 1, bind: 0.0.0.0:1 can be reached from elsewhere"),
        ("\ntls_key = 'k'", "settings_clash", "line 2, tls_key: tls_key is given without tls_certificate"),
        (
            "tls_certificate = 'c'",
            "settings_clash",
            "line 1, tls_certificate: tls_certificate is given without tls_key",
        ),
        ("tls_certificate = 'c'\ntls_key = 'k'", "certificate_unusable", "the certificate cannot be used: c: "),
        (
            "batch_bytes = '65 MiB'",
            "settings_clash",
            "line 1, batch_bytes: inflight_bytes is 64 MiB, less than batch_bytes, 65 MiB",
        ),
        (
            "inflight_bytes = '1 KiB'",
            "settings_clash",
            "line 1, inflight_bytes: inflight_bytes is 1 KiB, less than body_bytes",
        ),
        ("store = 'mysql://ada:secret@db'", "unknown_store_scheme", "line 1, store: \"db\" names no store"),
        ("store = 'sqlite:'", "malformed_store_address", "line 1, store: "),
        ("store = 'http://localhost:8700'", "needs_store", "a server needs an engine of its own"),
    ] {
        let (found, sentence) = World { config: Some(file(&folder, text)), ..World::default() }.refused();
        assert!(
            found == code && sentence.contains(part) && !sentence.contains("secret"),
            "{text}: {found}: {sentence}"
        );
    }
}

#[test]
fn a_collector_is_refused_where_nothing_would_reach_it() {
    let typed = |value: &str| World { typed: vec![("otlp_endpoint", value.to_owned())], ..World::default() };
    for wrong in
        ["localhost:4318", "https://localhost:4318", "grpc://localhost:4317", "http://", "http:///x", "http://a:b@c"]
    {
        let (code, sentence) = typed(wrong).refused();
        assert_eq!(code, "invalid_setting", "{sentence}");
        assert!(sentence.starts_with("--otlp-endpoint: ") && sentence.contains("http://localhost:4318"), "{sentence}");
    }
    assert_eq!(typed("").read().unwrap().otlp_endpoint, None);
    if !cfg!(feature = "otel") {
        let (code, sentence) = typed("http://localhost:4318").refused();
        let expected = "--otlp-endpoint: this program was built without the feature otel";
        assert_eq!((code.as_str(), sentence.as_str()), ("setting_not_built", expected));
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_names_of_a_setting_follow_one_rule() {
    for about in ALL {
        assert_eq!(about.variable, format!("ONWARD_{}", about.name.to_uppercase()));
        assert_eq!(about.flag, about.name.replace('_', "-"));
        assert_eq!(about.shape == Shape::Switch, ["true", "false"].contains(&about.default), "{}", about.name);
    }
}

#[test]
fn the_documentation_tells_of_every_setting_and_of_no_other() {
    let page = std::fs::read_to_string(repository().join("docs/operate/server.md")).unwrap();
    let found: Vec<&str> = page.lines().filter(|line| line.contains("`ONWARD_") && line.starts_with("| `")).collect();
    let expected = ALL.map(|about| {
        let default = if about.default.is_empty() { "none".to_owned() } else { format!("`{}`", about.default) };
        format!("| `{}` | `{}` | `--{}` | {default} | {} |", about.name, about.variable, about.flag, about.meaning)
    });
    assert_eq!(found, expected, "expected:\n{}", expected.join("\n"));
}

#[test]
fn files_that_we_show_are_files_that_can_be_read() {
    let folder = folder();
    let page = std::fs::read_to_string(repository().join("docs/operate/server.md")).unwrap();
    let mut texts: Vec<String> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect();
    assert!(!texts.is_empty());
    texts.push(std::fs::read_to_string(repository().join("deploy/onward.toml")).unwrap());
    texts.push(example());
    // The same with every setting taken in; the certificates and the secret that it names do not exist.
    let is_usable = |line: &&str| {
        !line.contains(".pem")
            && !line.contains("\"token-secret\"")
            && (cfg!(feature = "otel") || !line.contains("4318"))
    };
    texts.push(example().lines().filter(is_usable).fold(String::new(), |text, line| {
        let is_setting = ALL.iter().any(|about| line.starts_with(&format!("# {} = ", about.name)));
        text + if is_setting { line.trim_start_matches("# ") } else { line } + "\n"
    }));
    for text in &texts {
        World { config: Some(file(&folder, text)), ..World::default() }.read().unwrap();
    }
    let all = texts.last().unwrap().lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    assert_eq!(all, ALL.len() - if cfg!(feature = "otel") { 3 } else { 4 });
}
