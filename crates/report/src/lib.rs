//! Makes one HTML file from records: the viewer, with its data embedded.
//!
//! [`render_html`] writes a page that opens from disk and needs no network. The page contains three things: a plain summary
//! for text browsers, the data as a [`View`], and the viewer (built from `web/`, and committed in `viewer/` so that a Rust
//! build does not need Node). This crate reads no file and no clock.

#![forbid(unsafe_code)]

mod assemble;
mod calendar;
mod campaign;
mod coarse;
mod comparison;
mod conditions;
mod exact;
mod explanation;
mod headline;
mod html;
mod late;
mod load;
mod merge;
mod overview;
mod packet;
mod page;
mod program;
mod rhythm;
#[cfg(test)]
mod sample;
mod sync;
mod tail;
mod totals;
mod view;

use record::ToolVersion;

pub use crate::campaign::{CampaignInput, CampaignReasonView, CampaignView};
pub use coarse::{Resolution, bin_from_ns, bin_index};
pub use comparison::{ComparisonInput, ComparisonView};
pub use exact::{Exact, Instant};
pub use html::render_html;
pub use page::{Page, PageKind, Results};
pub use tail::{ClaimView, CurveView, ExpectationView, MaximaView, SeenView, TailView};
pub use view::{
    AssessmentView, BasisView, Bins, CalibrationCheckView, CalibrationMissedView, CalibrationOutcomeView,
    CalibrationRowView, CalibrationView, CauseChangeView, CauseView, ChangeView, ConditionView, DelayPartView,
    ExplainedFrom, ExplainedSampleView, ExplanationView, FollowedThreadView, FollowingCostView, GeneratedView,
    GroupView, HeadlineState, HeadlineView, HeatView, HistogramView, IntervalsView, LateCauseView, LateCausesView,
    LoadPartView, LoadTurnView, LoadView, MomentView, OverviewView, PacketArrivalsView, PacketClocksView,
    PacketDelayView, PacketDelaysView, PacketErrorView, PacketExplanationView, PacketFlowView, PacketPartView,
    PacketView, PacketWorstView, PageView, PartRowView, PartsView, PreemptionView, ProgramView, QuantileView,
    ReasonView, ResultsView, RhythmScanView, RhythmView, RowView, RunRowView, RunView, SCHEMA, SeriesView, ShareView,
    SpoiledView, StateView, StretchView, SyncAllanView, SyncBoundView, SyncEventView, SyncSourceView, SyncSpreadView,
    SyncStateChangeView, SyncStateView, SyncTrackView, SyncView, TallyView, TimelineView, TotalsView, VERSION,
    VerdictView, View, WorstOfView, WorstView,
};

/// The input for a report.
#[derive(Clone, Debug)]
pub struct ReportInput {
    /// Title of the page.
    pub title: String,
    /// Content of the page.
    pub page: Page,
    /// The program that makes the page, and the time.
    pub generated: Generated,
}

/// The program that makes a page, and the time.
#[derive(Clone, Debug, Default)]
pub struct Generated {
    /// The program that makes the page.
    pub tool: ToolVersion,
    /// `CLOCK_REALTIME` when the page is made (ns since 1970-01-01 UTC). It is an input because this crate reads no clock.
    pub realtime_ns: i64,
    /// IANA name of the time zone in which the page shows that time; `None`: UTC.
    pub time_zone: Option<String>,
}

impl View {
    /// Assembles the data that the page embeds.
    #[must_use]
    pub fn new(input: &ReportInput) -> Self {
        assemble::view(input)
    }
}

schemars::only_where_made! {
    impl View {
        /// The published JSON Schema, from which the viewer's types are generated.
        #[must_use]
        pub fn json_schema() -> serde_json::Value {
            schemars::schema_for!(Self).to_value()
        }
    }
}
