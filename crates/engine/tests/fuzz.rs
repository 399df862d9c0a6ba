//! Cursors that readers and searchers made up: an engine refuses them or goes on from somewhere, and never breaks.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use onward_core::record::PublicState;
use onward_core::{Millis, Namespace, NewExecution, Payload, Span};
use onward_engine::{Engine, Error, EventFilter, FindFilter, Options};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::proptest::sample::select;
use onward_fuzz::{fuzz, near};
use onward_store::memory::Memory;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// An engine with some work in it.
fn engine() -> (Runtime, Engine) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let engine = runtime.block_on(async {
        let memory = Memory::new(4, onward_store::system_clock(), 7);
        let engine = Engine::start(Arc::new(memory), Options::default()).await.unwrap();
        for number in 0..20 {
            let kind = if number % 2 == 0 { "even" } else { "odd" };
            let mut new = NewExecution::new(kind.parse().unwrap(), Payload::null());
            new.delay = (number % 3 == 0).then_some(Span::hours(1));
            engine.submit(new).await.unwrap();
        }
        engine
    });
    (runtime, engine)
}

/// Whether a call was refused as its caller's mistake; anything else is a fault.
fn is_refused(error: &Error) -> Result<bool, TestCaseError> {
    prop_assert_eq!(error.code(), "invalid_argument", "{}", error);
    Ok(false)
}

#[test]
fn fuzz_cursors_of_searches() {
    let (runtime, engine) = engine();
    let first = runtime.block_on(engine.find(&Namespace::default(), &FindFilter::default(), None, 7)).unwrap();
    let given = first.next.unwrap();
    let id = given.split_once('.').unwrap().1.to_owned();
    let ranks = prop_oneof![any::<u64>().boxed(), Just(u64::MAX).boxed(), (0_u64..3).boxed()];
    let cursors = near(prop_oneof![Just(given), ranks.prop_map(move |rank| format!("{rank}.{id}"))]);
    let states = [None, Some(PublicState::Waiting), Some(PublicState::Delayed), Some(PublicState::Completed)];
    let time = || prop::option::of(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()].prop_map(Millis));
    let filters = (select(states.to_vec()), time(), time(), any::<usize>());
    fuzz((cursors, filters), |(cursor, (state, created_from, created_until, limit))| {
        let filter =
            FindFilter { states: state.into_iter().collect(), created_from, created_until, ..FindFilter::default() };
        match runtime.block_on(engine.find(&Namespace::default(), &filter, Some(&cursor), limit)) {
            Ok(page) => {
                prop_assert!(page.executions.len() <= 20);
                Ok(true)
            }
            Err(error) => is_refused(&error),
        }
    });
}

#[test]
fn fuzz_cursors_of_events() {
    let (runtime, engine) = engine();
    let valid = "[0-9]{1,2}(\\|[0-3]\\.[0-9]{1,2}\\.[0-9]{1,3}\\.[0-9]{1,5})?|18446744073709551615";
    fuzz(near(valid), |cursor| {
        let mut events = engine.subscribe(EventFilter::default(), Some(cursor));
        match runtime.block_on(events.next_now()) {
            Ok(_) => {
                let told = runtime.block_on(async {
                    let mut told = 0;
                    while events.next_now().await.unwrap().is_some() {
                        told += 1;
                    }
                    told
                });
                prop_assert!(told <= 100, "a reader comes to the end");
                Ok(true)
            }
            Err(error) => is_refused(&error),
        }
    });
}
