//! Which addresses are taken, what they become, and that nothing else is touched.

use super::*;

#[tokio::test]
async fn files_get_folders_of_their_own_and_vanish() {
    let dir = tempfile::tempdir().unwrap();
    let existing = dir.path().join("mine.db");
    std::fs::write(&existing, "precious").unwrap();
    let scratch = Scratch::new(&format!("sqlite:{}", existing.display())).unwrap();
    assert_eq!(scratch.kind(), Kind::File);
    let (first, second) = (scratch.address().unwrap(), scratch.shared_address().unwrap());
    assert_ne!(first, second);
    open(&first).await.unwrap().close().await.unwrap();
    assert!(file(&first).unwrap().exists());
    scratch.clear(&first).await.unwrap();
    assert!(!file(&first).unwrap().exists());
    scratch.clear(&format!("sqlite:{}", existing.display())).await.unwrap();
    drop(scratch);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mine.db"]);
    assert_eq!(std::fs::read_to_string(existing).unwrap(), "precious");
}

#[test]
fn stores_on_a_server_have_names_of_their_own() {
    let name = format!("bench_{}_0", std::process::id());
    for (address, kind, expected) in [
        ("postgres://u:secret@h/d", Kind::Postgres, format!("postgres://u:secret@h/d?schema={name}")),
        ("valkey://h?wait=1", Kind::Valkey, format!("valkey://h?wait=1&prefix={name}")),
        ("redis://h:1,h:2", Kind::Valkey, format!("redis://h:1,h:2?prefix={name}")),
    ] {
        let scratch = Scratch::new(address).unwrap();
        assert_eq!(scratch.kind(), kind, "{address}");
        assert_eq!(scratch.shared_address().unwrap(), expected);
        assert!(!shown(address).contains("secret") && !format!("{scratch:?}").contains("secret"));
    }
}

#[test]
fn memory_serves_one_process_only() {
    let scratch = Scratch::new("memory:").unwrap();
    assert_eq!((scratch.kind(), scratch.address().unwrap().as_str()), (Kind::Memory, "memory:"));
    assert_eq!(scratch.shared_address().unwrap_err().code(), "bench_store");
}

#[test]
fn what_names_no_store_is_refused() {
    for address in ["nonsense", "http://localhost:8700", "postgres:", "valkey:", "sqlite:no/such/folder.db"] {
        assert_eq!(Scratch::new(address).unwrap_err().code(), "bench_store", "{address}");
    }
}
