//! The handler of work that waits: goes through its script and tells which signals it got for which wait.

use crate::clock::{now, sleep};
use crate::output::tell;
use crate::script::{Script, Step};
use onward::{Context, Failed, Received};
use onward_checker::{Line, Opened, Told};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The kind of work that waits. Builds that cannot wait have no handler for it.
pub(crate) const KIND: &str = "wait";

/// What a signal carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// No other call of a run has it.
    pub(crate) sent: String,
    /// Makes some of them too large for the record of the signal.
    pub(crate) padding: String,
}

/// The result of work that waits: each wait with the payloads of its signals.
pub(crate) type Result = Vec<(String, Vec<String>)>;

/// One run of the handler.
struct Waits<'a> {
    ctx: &'a Context,
    result: Result,
}

/// Runs a script from its start, as often as it takes.
pub(crate) async fn handle(ctx: Context, script: Script) -> std::result::Result<Result, Failed> {
    let (execution, attempt) = (ctx.id().to_string(), u64::from(ctx.attempt()));
    tell(&Line::Begun { execution: execution.clone(), attempt, at: now() });
    sleep(script.takes).await;
    if script.later && !ctx.is_resumed() && attempt == 1 {
        return Err(Failed::later(Duration::from_millis(100)));
    }
    let mut waits = Waits { ctx: &ctx, result: Vec::new() };
    for (at, step) in script.steps.iter().enumerate() {
        if at == script.fails_behind && ctx.retries() < script.fails {
            return Err(Failed::transient("not this time"));
        }
        waits.step(step).await?;
    }
    if script.fails_behind == script.steps.len() && ctx.retries() < script.fails {
        return Err(Failed::transient("not this time"));
    }
    tell(&Line::Left { execution, attempt, at: now() });
    Ok(waits.result)
}

impl Waits<'_> {
    async fn step(&mut self, step: &Step) -> std::result::Result<(), Failed> {
        match step {
            Step::One(name) => self.one(name, 1).await,
            Step::Rounds { name, times, .. } => {
                for number in 1..=*times {
                    self.one(name, number).await?;
                }
                Ok(())
            }
            Step::Both(one, other) => {
                let names = [one.as_str(), other];
                self.got(&names, &expected(self.ctx.wait_all(names).await?)?)
            }
            Step::Either(one, other) => {
                let names = [one.as_str(), other];
                self.got(&names, &[expected(self.ctx.wait_any(names).await?)?])
            }
            Step::People(name) => self.got(&[name], &expected(self.ctx.wait_for_people(name, 2).await?)?),
            Step::Timed { name, millis, .. } => {
                let (execution, wait) = (self.ctx.id().to_string(), format!("{name}#1"));
                tell(&Line::Opened(Opened { execution, wait, millis: *millis, at: now() }));
                let wait = self.ctx.wait_for::<Sent>(name).timeout(Duration::from_millis(*millis));
                let got = wait.await?;
                self.tell(name, 1, got.into_iter().map(|sent| sent.sent).collect());
                Ok(())
            }
        }
    }

    /// Waits for one signal on a name.
    async fn one(&mut self, name: &str, number: u32) -> std::result::Result<(), Failed> {
        let sent = expected(self.ctx.wait_for::<Sent>(name).await?)?;
        self.tell(name, number, vec![sent.sent]);
        Ok(())
    }

    /// Tells what the first waits for these names got.
    fn got(&mut self, names: &[&str], received: &[Received]) -> std::result::Result<(), Failed> {
        let mut each: BTreeMap<&str, Vec<String>> = names.iter().map(|name| (*name, Vec::new())).collect();
        for signal in received {
            let sent = signal.read::<Sent>()?.sent;
            let of = each.get_mut(signal.wait.as_str());
            of.ok_or_else(|| Failed::permanent("a signal came from a wait that the handler did not begin"))?.push(sent);
        }
        for (name, signals) in each {
            self.tell(name, 1, signals);
        }
        Ok(())
    }

    fn tell(&mut self, name: &str, number: u32, signals: Vec<String>) {
        let wait = format!("{name}#{number}");
        tell(&Line::Told(Told {
            execution: self.ctx.id().to_string(),
            attempt: u64::from(self.ctx.attempt()),
            wait: wait.clone(),
            signals: signals.clone(),
            at: now(),
        }));
        self.result.push((wait, signals));
    }
}

/// The signals of a wait without a timeout, which must not end without them.
fn expected<T>(signals: Option<T>) -> std::result::Result<T, Failed> {
    signals.ok_or_else(|| Failed::permanent("a wait without a timeout ended without its signals"))
}
