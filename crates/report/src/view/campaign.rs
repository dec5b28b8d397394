//! A campaign as it is drawn.

use campaign::result::CampaignResult;
use schemars::JsonSchema;
use serde::Serialize;
use summary::campaign::CampaignTables;

use super::{ReasonView, RunView};
use crate::exact::Instant;

/// A campaign and its results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CampaignView {
    /// The document that `punctual campaign report --json` prints.
    pub document: CampaignResult,
    /// Its answers and figures in words.
    pub tables: CampaignTables,
    /// When the campaign began.
    pub began: Option<Instant>,
    /// IANA name of the node's time zone.
    pub time_zone: Option<String>,
    /// For each figure of the document: all conditions in the order of its bars, each as one series with all samples of
    /// its usable runs. Null if there are no records for the figure.
    pub distributions: Vec<Option<RunView>>,
    /// Why runs are degraded or invalid: each reason once, the worst first.
    pub reasons: Vec<CampaignReasonView>,
    /// For each run of the document: why it is degraded, invalid or unusable.
    pub run_reasons: Vec<Vec<String>>,
}

/// A reason why some runs of a campaign are degraded or invalid.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CampaignReasonView {
    /// The reason, with the first few different details.
    pub reason: ReasonView,
    /// Number of runs with this reason.
    pub runs: u64,
}
