//! Whether a batch is written only while the store's own clock is in its window.

use super::Subject;
use super::kit::{P, fresh, key, load, outcome_of, putting, record};
use crate::{Batch, Millis, Outcome, Window};

/// Far windows are told from near ones, whatever clock the store has, and every answer carries its time.
pub async fn outside_is_judged_by_the_stores_clock(subject: &dyn Subject) {
    const HOUR: Millis = 3_600_000;
    let store = subject.open().await;
    let now = match outcome_of(&*store, Batch::new(P, fresh())).await {
        Outcome::Committed { now } => now,
        other => panic!("an empty batch was {other:?}"),
    };
    let cases = [
        (None, None, true),
        (Some(now), None, true),
        (Some(now - HOUR), Some(now + HOUR), true),
        (Some(now + HOUR), None, false),
        (None, Some(now), false),
        (None, Some(now - HOUR), false),
        (Some(now + HOUR), Some(now - HOUR), false),
    ];
    for (at, (not_before, not_after, inside)) in cases.into_iter().enumerate() {
        let name = format!("record/{at}");
        let mut batch = putting(&*store, P, vec![record(&name, "1")]).await;
        batch.window = Window { not_before, not_after };
        let outcome = outcome_of(&*store, batch).await;
        let (Outcome::Committed { now: seen } | Outcome::Outside { now: seen } | Outcome::Conflict { now: seen, .. }) =
            outcome;
        assert!(seen >= now && seen < now + HOUR, "case {at} was answered at {seen}, long after {now}");
        assert_eq!(matches!(outcome, Outcome::Committed { .. }), inside, "case {at}: {outcome:?}");
        assert_eq!(load(&*store, P, &name).await.is_some(), inside, "case {at}");
    }
}

/// `not_before <= now < not_after`, to the millisecond, and the window is judged before the expectations.
pub async fn the_edges_are_exact(subject: &dyn Subject) {
    let store = subject.open().await;
    if !subject.set_clock(5_000) {
        println!("window edges: not checked, this store's clock cannot be set");
        return;
    }
    for (now, inside) in [(4_999, false), (5_000, true), (5_999, true), (6_000, false), (4_000, false)] {
        subject.set_clock(now);
        let mut batch = putting(&*store, P, vec![record("a", "1")]).await;
        batch.window = Window { not_before: Some(5_000), not_after: Some(6_000) };
        let expected = if inside { Outcome::Committed { now } } else { Outcome::Outside { now } };
        assert_eq!(outcome_of(&*store, batch).await, expected);
        let mut stale = Batch::new(P, fresh());
        stale.expect.push((key("a"), Some(fresh())));
        stale.window = Window { not_before: Some(5_000), not_after: Some(6_000) };
        let outcome = outcome_of(&*store, stale).await;
        assert_eq!(matches!(outcome, Outcome::Conflict { .. }), inside, "at {now}: {outcome:?}");
    }
}
