//! Whether a process hears that another one committed.

use super::Subject;
use super::kit::{P, put, record, soon};
use futures_util::StreamExt;

/// Each of several commits by another process brings at least one hint, and the commit is there when it comes.
pub async fn a_commit_wakes_another_process(subject: &dyn Subject) {
    let (writer, listener) = (subject.open().await, subject.open().await);
    let mut hints = listener.watch();
    for round in 0..5 {
        let name = format!("record/{round}");
        put(&*writer, P, vec![record(&name, "1")]).await;
        soon("a hint that shows the commit", async {
            loop {
                hints.next().await.expect("hints go on while the store is open");
                if super::kit::load(&*listener, P, &name).await.is_some() {
                    break;
                }
            }
        })
        .await;
    }
}
