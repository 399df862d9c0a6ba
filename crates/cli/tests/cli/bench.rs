//! Benchmarks as a command of the program: its help, and scenarios that start the program again.

use crate::program::Workdir;
use serde_json::Value;

#[test]
fn bench_is_a_command_with_examples() {
    let place = Workdir::new();
    assert!(place.run(&["--help"]).out.contains("bench"));
    let help = place.run(&["bench", "--help"]);
    assert!(help.exit == 0 && help.out.contains("onward bench lifecycle"), "{}", help.out);
    assert!(!help.out.contains("child"), "{}", help.out);
}

#[test]
fn bench_starts_the_program_again_as_a_child_and_as_a_server() {
    for scenario in ["processes", "remote"] {
        let place = Workdir::new();
        let ran = place.run(&["--json", "bench", scenario, "--quick"]);
        // How fast it is, is not tested: a missed bar is as good.
        assert!(ran.exit == 0 || ran.exit == 3, "{}", ran.err);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(report["scenario"], scenario);
        assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0, "its stores are gone");
    }
}

#[test]
fn bench_refuses_what_it_cannot_measure() {
    let place = Workdir::new();
    place.run(&["--store", "nonsense", "bench", "costs"]).refused("bench_store", 2);
    place.run(&["bench", "costs", "--server", "http://localhost:1"]).refused("usage", 2);
}
