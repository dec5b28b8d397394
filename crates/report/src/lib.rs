//! One HTML file from records: the viewer with its data inside.
//!
//! [`render_html`] writes a page that opens from disk and asks the network for nothing.
//! The page carries three things: a plain summary that a text browser shows, the data as a [`View`], and the viewer
//! (built from `web/`, committed in `viewer/` so that a Rust build needs no Node).
//! This crate draws nothing and measures nothing; it reads no file and no clock.

#![forbid(unsafe_code)]

mod assemble;
mod campaign;
mod coarse;
mod comparison;
mod exact;
mod explanation;
mod headline;
mod html;
mod load;
mod merge;
mod page;
mod program;
mod rhythm;
#[cfg(test)]
mod sample;
mod tail;
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
    AssessmentView, Bins, CalibrationCheckView, CalibrationMissedView, CalibrationOutcomeView, CalibrationRowView,
    CalibrationView, CauseChangeView, CauseView, ChangeView, DelayPartView, ExplainedSampleView, ExplanationView,
    FollowedThreadView, FollowingCostView, GeneratedView, HeadlineState, HeadlineView, HeatView, HistogramView,
    IntervalsView, LoadPartView, LoadTurnView, LoadView, MomentView, PageView, PartRowView, PartsView, PreemptionView,
    ProgramView, QuantileView, ReasonView, ResultsView, RhythmScanView, RhythmView, RowView, RunView, SCHEMA,
    SeriesView, ShareView, StateView, StretchView, TimelineView, VERSION, VerdictView, View, WorstView,
};

/// What a report is made of.
#[derive(Clone, Debug)]
pub struct ReportInput {
    /// The name that the page bears.
    pub title: String,
    /// What it tells of.
    pub page: Page,
    /// By what the page was made, and when.
    pub generated: Generated,
}

/// By what a page was made, and when.
#[derive(Clone, Debug, Default)]
pub struct Generated {
    /// The program.
    pub tool: ToolVersion,
    /// `CLOCK_REALTIME` at that moment (ns since 1970-01-01 UTC); an argument, since nothing here reads a clock.
    pub realtime_ns: i64,
    /// The zone in which the page shows that moment, an IANA name; UTC where absent.
    pub time_zone: Option<String>,
}

impl View {
    /// The data that the page embeds.
    #[must_use]
    pub fn new(input: &ReportInput) -> Self {
        assemble::view(input)
    }

    /// The published JSON Schema, from which the viewer's types are generated.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }
}
