//! The kinds of pages, each with its content and with a route for programs that serve pages.

use std::collections::BTreeMap;

use analysis::compare::Comparison;
use campaign::result::CampaignResult;
use profile::check::Finding;
use record::{Record, ToolVersion};
use summary::together::{NamedShift, NamedSweep};
use summary::{Assessment, Measured};

use crate::view::CalibrationView;

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

/// The content of a page.
#[derive(Clone, Debug)]
pub enum Page {
    /// Runs side by side.
    Runs(Results),
    /// An assessment: the runs of a machine, with the conclusion from them.
    Assessment(Box<Assessment>, Results),
    /// Runs of a user's own program.
    Program(Results),
    /// Nodes that act together, with what witnesses saw and sweeps came to.
    Together(Box<TogetherInput>),
    /// Two groups of runs.
    Comparison(Box<ComparisonInput>),
    /// A campaign: several conditions, with the results of each.
    Campaign(Box<CampaignInput>),
    /// A calibration of the program itself.
    Calibration(CalibrationView),
}

/// What was measured and read of a machine.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The runs, in the order in which they are shown.
    pub runs: Vec<Record>,
    /// What `--label` said of each run, if the runs have names that say more (of their files, for example); by these labels
    /// they are grouped. Empty: the labels of the runs are as they were measured.
    pub labels: Vec<String>,
    /// Everything that was read from the node; shown folded and searchable.
    pub profile: Option<serde_json::Value>,
    /// Findings from the profile, the most severe first.
    pub findings: Vec<Finding>,
}

/// The input for the page of nodes that act together.
#[derive(Clone, Debug, Default)]
pub struct TogetherInput {
    /// What witnesses saw, each with a name of its own.
    pub shifts: Vec<NamedShift>,
    /// What sweeps came to, each with a name of its own.
    pub sweeps: Vec<NamedSweep>,
    /// Their runs, and others that are shown beside them.
    pub results: Results,
}

/// The input for the page of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonInput {
    /// The result of the comparison.
    pub comparison: Comparison,
    /// The runs of A.
    pub a: Vec<Record>,
    /// The runs of B.
    pub b: Vec<Record>,
}

/// The input for the page of a campaign.
#[derive(Clone, Debug)]
pub struct CampaignInput {
    /// The result of the campaign.
    pub result: CampaignResult,
    /// The records of its runs, by their file names in the document, which also gives condition and measurement of each.
    /// Records of unused runs are included if they can be read.
    pub records: BTreeMap<String, Record>,
}

impl Results {
    /// Gives each run a name of its own, and keeps the labels by which they are grouped.
    fn name_runs(&mut self) {
        if self.labels.len() != self.runs.len() {
            self.labels = self.runs.iter().map(|run| run.label.clone()).collect();
        }
        tell_labels_apart(&mut self.runs);
    }

    /// The label by which a run is grouped; `None` for imports, whose label is the name of their file.
    pub(crate) fn label_of(&self, at: usize) -> Option<&str> {
        let run = self.runs.get(at).filter(|run| !run.manifest().is_imported())?;
        Some(self.labels.get(at).unwrap_or(&run.label))
    }
}

/// The kinds of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// The kind of [`Page::Runs`].
    Runs,
    /// The kind of [`Page::Assessment`].
    Assessment,
    /// The kind of [`Page::Program`].
    Program,
    /// The kind of [`Page::Together`].
    Together,
    /// The kind of [`Page::Comparison`].
    Comparison,
    /// The kind of [`Page::Campaign`].
    Campaign,
    /// The kind of [`Page::Calibration`].
    Calibration,
}

impl PageKind {
    /// All kinds of pages.
    pub const ALL: [Self; 7] = [
        Self::Runs,
        Self::Assessment,
        Self::Program,
        Self::Together,
        Self::Comparison,
        Self::Campaign,
        Self::Calibration,
    ];

    /// The name of the kind in a [`View`](crate::View).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Assessment => "assessment",
            Self::Program => "program",
            Self::Together => "together",
            Self::Comparison => "comparison",
            Self::Campaign => "campaign",
            Self::Calibration => "calibration",
        }
    }

    /// The path under which pages of this kind are served: `/campaigns` for `/campaigns/NAME`.
    #[must_use]
    pub const fn route(self) -> &'static str {
        match self {
            Self::Runs => "/runs",
            Self::Assessment => "/assessments",
            Self::Program => "/programs",
            Self::Together => "/together",
            Self::Comparison => "/comparisons",
            Self::Campaign => "/campaigns",
            Self::Calibration => "/calibrations",
        }
    }
}

impl Page {
    /// Makes the page of nodes that act together.
    #[must_use]
    pub fn together(mut input: TogetherInput) -> Self {
        input.results.name_runs();
        Self::Together(Box::new(input))
    }

    /// Makes the page of some runs, with the conclusion from them if there is one.
    #[must_use]
    pub fn from_results(assessment: Option<Assessment>, mut results: Results) -> Self {
        results.name_runs();
        match assessment {
            Some(assessment) => Self::Assessment(Box::new(assessment), results),
            None if !results.runs.is_empty() && results.runs.iter().all(|run| run.app().is_some()) => {
                Self::Program(results)
            }
            None => Self::Runs(results),
        }
    }

    /// The kind of the page.
    #[must_use]
    pub const fn kind(&self) -> PageKind {
        match self {
            Self::Runs(_) => PageKind::Runs,
            Self::Assessment(..) => PageKind::Assessment,
            Self::Program(_) => PageKind::Program,
            Self::Together(_) => PageKind::Together,
            Self::Comparison(_) => PageKind::Comparison,
            Self::Campaign(_) => PageKind::Campaign,
            Self::Calibration(_) => PageKind::Calibration,
        }
    }

    /// What was measured on a machine; `None` for pages that do not show it.
    #[must_use]
    pub const fn results(&self) -> Option<&Results> {
        match self {
            Self::Runs(results) | Self::Assessment(_, results) | Self::Program(results) => Some(results),
            Self::Together(input) => Some(&input.results),
            Self::Comparison(_) | Self::Campaign(_) | Self::Calibration(_) => None,
        }
    }

    /// The conclusion from the runs; `None` if the page has none.
    #[must_use]
    pub fn assessment(&self) -> Option<&Assessment> {
        match self {
            Self::Assessment(assessment, _) => Some(assessment),
            _ => None,
        }
    }

    /// The runs with the conclusion from them; `None` for pages that have no [`Results`].
    pub(crate) fn measured(&self) -> Option<Measured<'_>> {
        Some(Measured { assessment: self.assessment(), runs: &self.results()?.runs })
    }

    /// The deadline of a run on this page (ns): that of the assessment, or its own.
    pub(crate) fn deadline_ns(&self, run: &Record) -> Option<u64> {
        Measured { assessment: self.assessment(), runs: &[] }.deadline_ns(run)
    }

    /// The runs of the page; empty for pages that have no [`Results`].
    #[must_use]
    pub fn runs(&self) -> &[Record] {
        self.results().map_or(&[], |results| &results.runs)
    }
}

/// Numbers the runs that have the same label, as two files of the same name in different folders do: "night (1)", "night (2)".
fn tell_labels_apart(runs: &mut [Record]) {
    let named = |run: &Record| if run.label.is_empty() { run.measurement.name().to_owned() } else { run.label.clone() };
    let labels: Vec<String> = runs.iter().map(named).collect();
    for (at, run) in runs.iter_mut().enumerate() {
        let same = labels.iter().filter(|label| **label == labels[at]).count();
        if same > 1 {
            let number = labels.iter().take(at + 1).filter(|label| **label == labels[at]).count();
            run.label = format!("{} ({number})", labels[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use record::{AppRun, Detail, Validity};

    use super::*;
    use crate::view::View;

    #[test]
    fn runs_of_the_same_label_are_told_apart_by_numbers() {
        let run = |label: &str| Record { label: label.to_owned(), ..samples::run(Validity::default()) };
        let runs = vec![run("night"), run("day"), run("night"), run(""), run("")];
        let page = Page::from_results(None, Results { runs, ..Results::default() });
        let labels: Vec<&str> = page.runs().iter().map(|run| run.label.as_str()).collect();
        assert_eq!(labels, ["night (1)", "day", "night (2)", "wakeup (1)", "wakeup (2)"]);
    }

    #[test]
    fn the_view_names_the_kind_of_its_page() {
        let run = samples::run(Validity::default());
        let program = Record { detail: Detail::Program(AppRun::default()), ..run.clone() };
        let results = |runs: Vec<Record>| Results { runs, ..Results::default() };
        let page_of = |runs| Page::from_results(None, results(runs));
        for (page, kind) in [
            (page_of(vec![run.clone()]), PageKind::Runs),
            (page_of(Vec::new()), PageKind::Runs),
            (page_of(vec![program.clone()]), PageKind::Program),
            (page_of(vec![program, run]), PageKind::Runs),
        ] {
            assert_eq!(page.kind(), kind);
            let input = ReportInput { title: String::new(), page, generated: Generated::default() };
            assert_eq!(serde_json::to_value(View::new(&input)).unwrap()["page"]["kind"], kind.name());
        }
    }
}
