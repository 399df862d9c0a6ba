//! The live reader of the feed: tells every event with the cursor behind it, from which its next life goes on.

use crate::args::ReaderArgs;
use crate::child::{Wish, wanted, wishes};
use crate::clock::{now, sleep};
use crate::engine::open;
use crate::output::tell;
use onward::EventFilter;
use onward::engine::Told;
use onward_checker::Line;

/// The pause after a read that ended with an error.
const ERROR_PAUSE: u64 = 50;

pub(crate) async fn run(args: ReaderArgs) -> Result<(), onward::Error> {
    let mut wishes = wishes();
    let client = open(&args.store).await?;
    let mut events = client.events(EventFilter::default(), args.after);
    loop {
        let told = tokio::select! {
            biased;
            () = wanted(&mut wishes, Wish::End) => break,
            told = events.next() => told,
        };
        match told {
            Ok(Some(Told::Event { event, cursor })) => {
                let event =
                    serde_json::to_value(&event).map_err(|error| onward::engine::Error::Internal(error.to_string()))?;
                tell(&Line::Saw { event, at: now(), cursor });
            }
            Ok(Some(Told::Gap)) => tell(&Line::Gap { at: now() }),
            Ok(None) => break,
            Err(error) if error.is_temporary() => sleep(ERROR_PAUSE).await,
            Err(error) => return Err(error),
        }
    }
    client.shutdown().await
}
