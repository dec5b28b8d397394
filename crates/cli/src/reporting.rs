//! Makes the page of runs.

use analyse::Assessment;
use record::{Record, ToolVersion};
use report::{FindingView, Generated, ReportInput};

use crate::node::Node;

/// The whole page.
pub(crate) fn render(title: String, assessment: Option<Assessment>, runs: Vec<Record>, node: Option<&Node>) -> String {
    let now = jiff::Zoned::now();
    let generated = Generated {
        tool: ToolVersion { name: "punctual".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        realtime_ns: i64::try_from(now.timestamp().as_nanosecond()).unwrap_or(i64::MAX),
        time_zone: now.time_zone().iana_name().map(str::to_owned),
    };
    report::render_html(&ReportInput {
        title,
        assessment,
        runs,
        profile: node.and_then(|node| serde_json::to_value(&node.profile).ok()),
        findings: node.map_or_else(Vec::new, |node| node.findings.iter().map(finding_view).collect()),
        generated,
    })
}

fn finding_view(_: &crate::node::Finding) -> FindingView {
    unreachable!("there are none")
}
