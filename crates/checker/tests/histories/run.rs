//! A hand-written history in which all holds, and the files it is written to.

use onward_checker::{Report, check};

const PLAN: &str =
    r#"{"is":"plan","name":"p","lease":1000,"partitions":1,"losses":"none","live_within":null,"expects_poison":true}"#;
const LOSSY: &str =
    r#"{"is":"plan","name":"p","lease":1000,"partitions":1,"losses":"last_second","live_within":10000}"#;

/// What the driver writes.
const DRIVER: &str = r#"
{"is":"fault","what":"kill","process":"engine-1","at":5000,"until":5001}
{"is":"poisoned","dead":"dead/0/1/7","at":4000}
"#;
/// One execution that a handler ran, and one that two callers ran: the first of them too late.
const ENGINE: &str = r#"
{"is":"submitted","execution":"x-a-0","asked":990,"at":1000}
{"is":"submitted","execution":"x-b-0","asked":991,"at":1001}
{"is":"begun","execution":"x-a-0","attempt":1,"at":1010}
{"is":"left","execution":"x-a-0","attempt":1,"at":1012}
{"is":"leased","execution":"x-b-0","attempt":1,"epoch":1,"asked":1010,"at":1020,"ttl":1000,"expires_at":902000}
{"is":"refused","execution":"x-b-0","attempt":1,"epoch":1,"code":"lease_expired","asked":2500,"at":2510}
{"is":"leased","execution":"x-b-0","attempt":2,"epoch":2,"asked":2600,"at":2610,"ttl":1000,"expires_at":903600}
{"is":"ended","execution":"x-b-0","attempt":2,"epoch":2,"asked":2620,"at":2630}
{"is":"decided","lane":"gated","asked":4100,"at":4500}
{"is":"failed","call":"submit","code":"unavailable","at":4600}
"#;
/// What happened, in the order of the feed.
pub(crate) const EVENTS: [&str; 8] = [
    r#"{"v":1,"at":900990,"namespace":"default","lane":"work","execution":"x-a-0","type":"submitted","kind":"job"}"#,
    r#"{"v":1,"at":900991,"namespace":"default","lane":"direct","execution":"x-b-0","type":"submitted","kind":"job"}"#,
    r#"{"v":1,"at":901000,"namespace":"default","lane":"work","execution":"x-a-0","type":"claimed","attempt":1,"epoch":1,"worker":"w"}"#,
    r#"{"v":1,"at":901000,"namespace":"default","lane":"direct","execution":"x-b-0","type":"claimed","attempt":1,"epoch":1,"worker":"w"}"#,
    r#"{"v":1,"at":901012,"namespace":"default","lane":"work","execution":"x-a-0","type":"completed","attempt":1}"#,
    r#"{"v":1,"at":902001,"namespace":"default","lane":"direct","execution":"x-b-0","type":"lease_expired","attempt":1,"again_at":902001}"#,
    r#"{"v":1,"at":902600,"namespace":"default","lane":"direct","execution":"x-b-0","type":"claimed","attempt":2,"epoch":2,"worker":"w"}"#,
    r#"{"v":1,"at":902620,"namespace":"default","lane":"direct","execution":"x-b-0","type":"completed","attempt":2}"#,
];
const LOOK: &str = r#"
{"is":"listed","execution":"x-a-0","state":"completed"}
{"is":"listed","execution":"x-b-0","state":"completed"}
{"is":"dead","key":"dead/0/1/7"}
{"is":"examined","records":9,"faults":[]}
"#;

/// The files of a run, which a test changes before it has them judged.
pub(crate) struct Run {
    pub(crate) plan: String,
    pub(crate) driver: String,
    pub(crate) engine: String,
    pub(crate) saw: Vec<String>,
    pub(crate) stored: Vec<String>,
    pub(crate) look: String,
}

impl Run {
    pub(crate) fn good() -> Self {
        let events: Vec<String> = EVENTS.iter().map(|&event| event.to_owned()).collect();
        Self {
            plan: PLAN.into(),
            driver: DRIVER.into(),
            engine: ENGINE.into(),
            saw: events.clone(),
            stored: events,
            look: LOOK.into(),
        }
    }

    /// The same in which the last second before a kill at 3000 may be lost; nobody is asked to be late or to plant anything.
    pub(crate) fn lossy() -> Self {
        let mut run = Self::good();
        run.plan = LOSSY.into();
        run.driver.push_str(
            "{\"is\":\"fault\",\"what\":\"primary\",\"process\":null,\"at\":3000,\"until\":3002,\"primary\":true}\n",
        );
        run.engine.push_str("{\"is\":\"submitted\",\"execution\":\"x-c-0\",\"asked\":3100,\"at\":7000}\n");
        run.engine.push_str("{\"is\":\"begun\",\"execution\":\"x-c-0\",\"attempt\":1,\"at\":7010}\n");
        for what in [
            r#""type":"submitted","kind":"job""#,
            r#""type":"claimed","attempt":1,"epoch":1,"worker":"w""#,
            r#""type":"completed","attempt":1"#,
        ] {
            let event =
                format!(r#"{{"v":1,"at":907000,"namespace":"default","lane":"work","execution":"x-c-0",{what}}}"#);
            run.saw.push(event.clone());
            run.stored.push(event);
        }
        run.look.push_str("{\"is\":\"listed\",\"execution\":\"x-c-0\",\"state\":\"completed\"}\n");
        run
    }

    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
        let saw = self.saw.iter().enumerate().map(|(at, event)| {
            // The store's clock is so far ahead of the machine's, and the reader a little behind.
            let time =
                event.split("\"at\":").nth(1).and_then(|rest| rest.split(',').next()).expect("a test's own file");
            let seen = time.parse::<u64>().expect("a test's own file").min(910_000) - 899_890;
            format!("{{\"is\":\"saw\",\"event\":{event},\"at\":{seen},\"cursor\":\"{at}\"}}\n")
        });
        let stored = self.stored.iter().map(|event| format!("{{\"is\":\"stored\",\"event\":{event}}}\n"));
        vec![
            ("driver".into(), lines(&format!("{}\n{}", self.plan, self.driver))),
            ("engine-1".into(), lines(&self.engine)),
            ("look".into(), lines(&self.look) + &stored.collect::<String>()),
            ("reader-1".into(), saw.collect()),
        ]
    }

    pub(crate) fn judged(&self) -> Report {
        written(&self.files())
    }

    /// Exchanges a piece of text that must be there.
    pub(crate) fn swap(field: &mut String, old: &str, new: &str) {
        assert!(field.contains(old), "{old}");
        *field = field.replacen(old, new, 1);
    }
}

/// Judges files on a disk, as the program does.
pub(crate) fn written(files: &[(String, String)]) -> Report {
    let directory =
        std::env::temp_dir().join(format!("checker-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::create_dir_all(&directory).expect("a test's own file");
    for (name, text) in files {
        std::fs::write(directory.join(format!("{name}.jsonl")), text).expect("a test's own file");
    }
    let report = check(&directory).expect("a test's own file");
    std::fs::remove_dir_all(&directory).expect("a test's own file");
    report
}
