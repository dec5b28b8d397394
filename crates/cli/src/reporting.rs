//! Makes the page of runs.

use profile::Profile;
use profile::check::{Finding, Findings};
use record::{Record, ToolVersion};
use report::{CampaignInput, ComparisonInput, Generated, Page, ReportInput, Results, TogetherInput};
use summary::Assessment;
use summary::together::{NamedShift, NamedSweep};

/// The whole page, of runs with the labels under which they were measured.
pub(crate) fn render(
    title: String,
    assessment: Option<Assessment>,
    runs: Vec<Record>,
    labels: Vec<String>,
    profile: Option<&Profile>,
    audit: Option<&Findings>,
) -> String {
    let of_programs = runs.iter().filter_map(|run| run.app()).flat_map(|app| &app.findings);
    let mut findings: Vec<Finding> = of_programs.cloned().collect();
    findings.extend(audit.into_iter().flat_map(|audit| audit.findings.clone()));
    findings.sort_by_key(|finding| finding.severity);
    let profile = profile.and_then(|profile| serde_json::to_value(profile).ok());
    page(title, Page::from_results(assessment, Results { runs, labels, profile, findings }))
}

/// The page of nodes that act together: what witnesses saw and sweeps came to, with their runs.
pub(crate) fn render_together(
    title: String,
    shifts: Vec<NamedShift>,
    sweeps: Vec<NamedSweep>,
    runs: Vec<Record>,
    labels: Vec<String>,
) -> String {
    let results = Results { runs, labels, ..Results::default() };
    page(title, Page::together(TogetherInput { shifts, sweeps, results }))
}

/// The page of a comparison.
pub(crate) fn render_comparison(title: String, comparison: ComparisonInput) -> String {
    page(title, Page::Comparison(Box::new(comparison)))
}

/// The page of a campaign.
pub(crate) fn render_campaign(campaign: CampaignInput) -> String {
    page(campaign.result.name.clone(), Page::Campaign(Box::new(campaign)))
}

/// The page of a calibration.
#[cfg(feature = "lab")]
pub(crate) fn render_calibration(calibration: report::CalibrationView) -> String {
    page("Calibration".to_owned(), Page::Calibration(calibration))
}

fn page(title: String, page: Page) -> String {
    report::render_html(&ReportInput { title, page, generated: generated() })
}

fn generated() -> Generated {
    let now = jiff::Zoned::now();
    Generated {
        tool: ToolVersion { name: "punctual".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        realtime_ns: i64::try_from(now.timestamp().as_nanosecond()).unwrap_or(i64::MAX),
        time_zone: now.time_zone().iana_name().map(str::to_owned),
    }
}
