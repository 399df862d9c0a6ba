//! What stands in for traces in a program without them: logs alone.

use crate::logging;
use crate::problem::Problem;
use crate::settings::Settings;

/// No traces.
#[derive(Debug)]
pub(crate) struct Traces;

impl Traces {
    /// Begins to log.
    pub(crate) fn begin(settings: &Settings) -> Result<Self, Problem> {
        logging::begin(&settings.log, settings.log_format);
        Ok(Self)
    }

    /// There is nothing to send.
    pub(crate) async fn end(self) {}
}
