//! What is said of results. A number that several texts state is computed here once: the terminal, the plain page and the viewer
//! draw the values of this crate and compute none of their own.

#![forbid(unsafe_code)]

mod assess;
mod assessment;
pub mod late;
mod percent;
#[cfg(test)]
mod tests_support;

pub use assess::{
    ASSESSMENT_SCHEMA, ASSESSMENT_VERSION, AssessmentDocument, AssessmentError, AssessmentInput, AssessmentPart,
    AssessmentValidity, Figures, LateWakeups, Part, PartCause, PartName, PartReason, PlaceFigures, assess,
    is_line_of_causes, late_causes,
};
pub use assessment::{Answer, Assessment, Change};
