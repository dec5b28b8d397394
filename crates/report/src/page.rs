//! What a page tells of: one of a few kinds, each with a route, so that whoever serves pages serves the same ones.

use analyse::Assessment;
use profile::check::Finding;
use record::Record;

use crate::{CalibrationView, CampaignInput, ComparisonInput};

/// What a page tells of.
#[derive(Clone, Debug)]
pub enum Page {
    /// Runs side by side.
    Runs(Results),
    /// The conclusion over the runs of a machine.
    Assessment(Box<Assessment>, Results),
    /// Runs of a user's own program.
    Program(Results),
    /// Two groups of runs.
    Comparison(Box<ComparisonInput>),
    /// Many conditions and what came of each.
    Campaign(Box<CampaignInput>),
    /// A calibration of the program itself.
    Calibration(CalibrationView),
}

/// What was measured and read of a machine.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The runs, in the order in which they are shown.
    pub runs: Vec<Record>,
    /// Everything that was read from the node; shown folded and searchable.
    pub profile: Option<serde_json::Value>,
    /// What was found in the profile, the gravest first.
    pub findings: Vec<Finding>,
}

/// The kinds of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Of [`Page::Runs`].
    Runs,
    /// Of [`Page::Assessment`].
    Assessment,
    /// Of [`Page::Program`].
    Program,
    /// Of [`Page::Comparison`].
    Comparison,
    /// Of [`Page::Campaign`].
    Campaign,
    /// Of [`Page::Calibration`].
    Calibration,
}

impl PageKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Runs, Self::Assessment, Self::Program, Self::Comparison, Self::Campaign, Self::Calibration];

    /// Its name, as the view has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Assessment => "assessment",
            Self::Program => "program",
            Self::Comparison => "comparison",
            Self::Campaign => "campaign",
            Self::Calibration => "calibration",
        }
    }

    /// The path below which pages of this kind are served, by what they tell of: `/campaigns/NAME`.
    #[must_use]
    pub const fn route(self) -> &'static str {
        match self {
            Self::Runs => "/runs",
            Self::Assessment => "/assessments",
            Self::Program => "/programs",
            Self::Comparison => "/comparisons",
            Self::Campaign => "/campaigns",
            Self::Calibration => "/calibrations",
        }
    }
}

impl Page {
    /// The page of some runs, with the conclusion over them where one was drawn.
    #[must_use]
    pub fn of_results(assessment: Option<Assessment>, results: Results) -> Self {
        match assessment {
            Some(assessment) => Self::Assessment(Box::new(assessment), results),
            None if !results.runs.is_empty() && results.runs.iter().all(|run| run.app().is_some()) => {
                Self::Program(results)
            }
            None => Self::Runs(results),
        }
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> PageKind {
        match self {
            Self::Runs(_) => PageKind::Runs,
            Self::Assessment(..) => PageKind::Assessment,
            Self::Program(_) => PageKind::Program,
            Self::Comparison(_) => PageKind::Comparison,
            Self::Campaign(_) => PageKind::Campaign,
            Self::Calibration(_) => PageKind::Calibration,
        }
    }

    /// What was measured of a machine, on pages that show it.
    #[must_use]
    pub const fn results(&self) -> Option<&Results> {
        match self {
            Self::Runs(results) | Self::Assessment(_, results) | Self::Program(results) => Some(results),
            Self::Comparison(_) | Self::Campaign(_) | Self::Calibration(_) => None,
        }
    }

    /// The conclusion over the runs, where one was drawn.
    #[must_use]
    pub fn assessment(&self) -> Option<&Assessment> {
        match self {
            Self::Assessment(assessment, _) => Some(assessment),
            _ => None,
        }
    }

    /// The runs, none on pages that show others.
    #[must_use]
    pub fn runs(&self) -> &[Record] {
        self.results().map_or(&[], |results| &results.runs)
    }
}

#[cfg(test)]
mod tests {
    use record::{AppRun, Detail, Validity};

    use super::*;
    use crate::{Generated, ReportInput, View};

    #[test]
    fn the_view_names_the_kind_of_its_page() {
        let run = crate::sample::run(Validity::default());
        let program = Record { detail: Detail::Program(AppRun::default()), ..run.clone() };
        let results = |runs: Vec<Record>| Results { runs, ..Results::default() };
        let of = |runs| Page::of_results(None, results(runs));
        for (page, kind) in [
            (of(vec![run.clone()]), PageKind::Runs),
            (of(Vec::new()), PageKind::Runs),
            (of(vec![program.clone()]), PageKind::Program),
            (of(vec![program, run]), PageKind::Runs),
        ] {
            assert_eq!(page.kind(), kind);
            let input = ReportInput { title: String::new(), page, generated: Generated::default() };
            assert_eq!(serde_json::to_value(View::new(&input)).unwrap()["page"]["kind"], kind.name());
        }
    }
}
