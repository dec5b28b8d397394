//! Makes one HTML file from records: the viewer, with its data embedded.
//!
//! [`render_html`] writes a page that opens from disk and needs no network. The page contains three things: a plain summary
//! for text browsers, the data as a [`View`], and the viewer (built from `web/`, and committed in `viewer/` so that a Rust
//! build does not need Node). This crate reads no file and no clock.

#![forbid(unsafe_code)]

mod answer;
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
mod load;
mod merge;
mod overview;
mod packet;
mod page;
mod program;
mod pulse;
mod rhythm;
mod run;
mod sync;
mod tail;
mod together;
mod view;

pub use coarse::{Resolution, bin_from_ns, bin_index};
pub use exact::{Exact, Instant};
pub use html::render_html;
pub use page::{CampaignInput, ComparisonInput, Generated, Page, PageKind, ReportInput, Results, TogetherInput};
pub use view::{
    ActingNodeView, ActingRowView, AnswerView, AssessmentView, BasisView, Bins, ByCauseView, CalibrationCheckView,
    CalibrationMissedView, CalibrationOutcomeView, CalibrationRowView, CalibrationView, CampaignReasonView,
    CampaignView, CauseChangeView, CauseView, ChangeView, ClaimView, ComparisonView, ConditionView, CurveView,
    DelayPartView, ExpectationView, ExplainedFrom, ExplainedSampleView, ExplanationView, FollowedThreadView,
    FollowingCostView, GeneratedView, GroupView, HeadlineState, HeadlineView, HeatView, HistogramView, IntervalsView,
    LateCauseView, LateCausesView, LeadRowView, LoadPartView, LoadTurnView, LoadView, MaximaView, MomentView,
    OverviewView, PacketArrivalsView, PacketClocksView, PacketDelayView, PacketDelaysView, PacketErrorView,
    PacketExplanationView, PacketFlowView, PacketPartView, PacketView, PacketWorstView, PageView, PartRowView,
    PartsView, PreemptionView, ProgramView, PulseView, QuantileView, ReasonView, ResultsView, RhythmScanView,
    RhythmView, RowView, RunRowView, RunView, SCHEMA, SeenView, SeriesView, ShareView, ShiftFiguresView, ShiftPairView,
    ShiftPartView, ShiftTrackView, ShiftView, SidesView, SignedRunView, SignedSamplesView, SpoiledView, StateView,
    StretchView, SweepCycleView, SweepRunView, SweepView, SyncAllanView, SyncBoundView, SyncEventView, SyncSourceView,
    SyncSpreadView, SyncStateChangeView, SyncStateView, SyncTrackView, SyncView, TailView, TallyView, TimelineView,
    TogetherView, TotalsView, VERSION, VerdictView, View, WitnessSecondView, WorstOfView, WorstView,
};
