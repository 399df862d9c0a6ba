//! The demonstration holds what it shows.

use crate::program::Workdir;
use onward_servers::postgres::Postgres;
use onward_servers::valkey::{Kind, Server};
use serde_json::Value;

#[test]
fn the_demo_shows_and_checks_every_scene() {
    let place = Workdir::new();
    let ran = place.run(&["demo"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{}", ran.out);
    for scene in ["1. Plain work", "2. A failure", "3. Work for later", "4. A worker process is killed", "5. The books"]
    {
        assert!(ran.out.contains(scene), "{scene}: {}", ran.out);
    }
    assert!(ran.out.contains("kill -9 ") && ran.out.contains("13 of 13 checks held"), "{}", ran.out);
    assert!(!ran.out.contains('\x1b'), "a pipe gets no colours");
    assert!(!place.db().exists(), "it leaves nothing behind");
}

#[test]
fn programs_get_the_checks_as_json() {
    let ran = Workdir::new().run(&["demo", "--json"]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((summary["held"].as_u64(), summary["broken"].as_u64()), (Some(13), Some(0)), "{summary}");
    assert_eq!(summary["checks"].as_array().unwrap().len(), 13);
}

#[test]
fn the_demo_holds_on_postgres() {
    let server = Postgres::start(&[]).unwrap();
    held_on(&server.url());
    let left = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'bench%'";
    let schema = server.sql("postgres", left).unwrap();
    assert_eq!(server.sql("postgres", &format!("SELECT count(*) FROM {schema}.records")).unwrap(), "0");
}

#[test]
fn the_demo_holds_on_valkey() {
    let server = Server::start(Kind::Valkey, &[]).unwrap();
    held_on(&server.url());
    let left = server.ask(&["KEYS", "*}:r"]).unwrap();
    assert_eq!(left, "", "no record is left");
}

/// The scenes with a killed process among others, on a server.
fn held_on(url: &str) {
    let ran = Workdir::new().run(&["--json", "demo", "--store", url]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    assert_eq!((summary["held"].as_u64(), summary["broken"].as_u64()), (Some(13), Some(0)), "{summary}");
}
