//! What is said of results. A number that several texts state is computed here once: the terminal, the plain page and the viewer
//! draw the values of this crate and compute none of their own.

#![forbid(unsafe_code)]

pub mod answer;
mod assess;
mod assessment;
pub mod campaign;
pub mod columns;
pub mod comparison;
mod document;
pub mod explanation;
pub mod headline;
pub mod late;
mod late_table;
pub mod line_calibration;
pub mod load;
mod measured;
pub mod packet;
mod percent;
pub mod program;
pub mod published;
pub mod pulse;
pub mod rhythm;
pub mod run;
pub mod shift;
pub mod sweep;
pub mod sync;
pub mod tail;
pub mod together;
pub mod totals;
mod whole;

pub use assess::{
    ASSESSMENT_SCHEMA, ASSESSMENT_VERSION, AssessmentDocument, AssessmentError, AssessmentInput, AssessmentPart,
    AssessmentValidity, Figures, LateWakeups, Part, PartCause, PartName, PartReason, PlaceFigures, assess,
    is_line_of_causes, late_causes,
};
pub use assessment::{Answer, Assessment, Change};
pub use document::DocumentError;
pub use headline::{Headline, HeadlineState, headline};
pub use late_table::{LateTable, LateTableRow, late_table};
pub use measured::{Measured, are_delays, are_many, are_offsets, label};
pub use totals::Totals;
pub use whole::{COLUMNS_LACK, Lack, Summary};
