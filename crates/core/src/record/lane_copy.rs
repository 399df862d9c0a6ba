//! The settings of a lane as one partition knows them.

use super::{Format, LaneSettings, Stored, formats};
use serde::{Deserialize, Serialize};

/// One partition's copy of a lane's settings; its rules read nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneCopy {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// The settings in force here.
    pub settings: LaneSettings,
    /// Which decision they are.
    pub revision: u64,
}

formats!(strict struct LaneCopy { format, settings, revision });

impl Stored for LaneCopy {}
