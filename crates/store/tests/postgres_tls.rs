//! Whether connections are encrypted when they should be, and servers without the right certificate are refused.

#![cfg(feature = "postgres")]

use onward_servers::postgres::{Postgres, Shutdown};
use onward_servers::program;
use onward_store::postgres::{self, Options};
use onward_store::{ErrorKind, Key, Partition, Result, Store};
use std::path::Path;
use std::process::Command;

/// Makes a key and a certificate for this machine, signed by an authority that is made with it.
fn certify(directory: &Path, name: &str) {
    std::fs::write(directory.join("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost").expect("a file");
    let steps = [
        format!(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout {name}-ca.key -out {name}-ca.crt"
        ),
        format!("req -newkey rsa:2048 -nodes -subj /CN=server -keyout {name}.key -out {name}.csr"),
        format!(
            "x509 -req -in {name}.csr -CA {name}-ca.crt -CAkey {name}-ca.key -CAcreateserial -days 2 -extfile names -out {name}.crt"
        ),
    ];
    for step in steps {
        let made = Command::new(program("openssl").expect("openssl is installed"))
            .args(step.split(' '))
            .current_dir(directory)
            .output()
            .expect("openssl runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
}

async fn open(server: &Postgres, rest: &str) -> Result<postgres::Postgres> {
    postgres::open(&format!("{}?{rest}", server.url()), Options::default()).await
}

/// How many connections of stores there are, and how many of them are encrypted.
async fn encrypted(server: &Postgres, store: &postgres::Postgres) -> String {
    store.load(Partition(0), &[Key::new("a")]).await.expect("the store loads");
    let count =
        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'onward'";
    server.sql("postgres", count).expect("the server tells")
}

async fn refused(server: &Postgres, rest: &str, word: &str) {
    let error = open(server, rest).await.expect_err("it cannot be opened");
    assert_eq!(error.kind(), ErrorKind::Unsuitable, "{error}");
    assert!(error.to_string().contains(word), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_used_and_checked() {
    let mut server = Postgres::start(&[]).expect("Postgres starts");
    refused(&server, "sslmode=require", "does not offer TLS").await;
    let store = open(&server, "sslmode=prefer").await.expect("a server without TLS will do");
    assert_eq!(encrypted(&server, &store).await, "f");
    store.close().await.expect("it closes");

    let directory = server.directory().to_owned();
    certify(&directory, "own");
    certify(&directory, "other");
    server.own(&directory.join("own.key")).expect("the key is handed over");
    let file = |name: &str| directory.join(name).display().to_string();
    for (setting, value) in
        [("ssl", "on".to_owned()), ("ssl_cert_file", file("own.crt")), ("ssl_key_file", file("own.key"))]
    {
        server.sql("postgres", &format!("ALTER SYSTEM SET {setting} = '{value}'")).expect("it is set");
    }
    server.restart(Shutdown::Fast).expect("Postgres starts again");

    let (own, other) = (file("own-ca.crt"), file("other-ca.crt"));
    let verified = format!("sslmode=verify-full&sslrootcert={own}");
    for (rest, expected) in
        [("sslmode=disable", "f"), ("sslmode=prefer", "t"), ("sslmode=require", "t"), (&verified, "t")]
    {
        let store = open(&server, rest).await.expect(rest);
        assert_eq!(encrypted(&server, &store).await, expected, "{rest}");
        store.close().await.expect("it closes");
        // Closed connections are forgotten a moment later.
        while server.sql("postgres", "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'onward'").unwrap()
            != "0"
        {}
    }
    refused(&server, &format!("sslmode=verify-full&sslrootcert={other}"), "not trusted").await;
    let nowhere = format!("sslmode=verify-full&sslrootcert={}", file("missing"));
    refused(&server, &nowhere, "missing").await;
}
