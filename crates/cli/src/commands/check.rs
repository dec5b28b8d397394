//! `punctual check`: an audit of every setting that matters, without changing anything.

use std::fmt::Write as _;
use std::path::PathBuf;

use ::profile::check::{Finding, Findings, Severity, summary};
use ::profile::{ProbeIssue, Profile};
use anyhow::Context as _;
use units::{CpuSet, Ns};

use crate::exit::Exit;
use crate::node;
use crate::view::findings;
use terminal::output;
use terminal::wrap;

/// Audit every setting that matters: what is wrong or contradictory, why, and how to change it
///
/// What cannot be read is not judged. Root sees most.
#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// Audit a captured tree, a folder with proc/ and sys/ in it, instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Judge the interrupts that arrive in this time, for example 1s, instead of those since boot
    #[arg(long, value_name = "TIME", conflicts_with = "root")]
    watch: Option<Ns>,
    /// Judge what concerns these CPUs: frequencies, idle states and interrupts of others are passed over; what holds for
    /// the whole machine is judged all the same
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Show only what is at least so severe
    #[arg(long, value_name = "LEVEL", value_enum)]
    severity: Option<SeverityArg>,
    /// Say also why each finding matters, and of notes what was read and how to change it
    #[arg(short, long)]
    verbose: bool,
    /// Print the findings as JSON (schema punctual/findings)
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SeverityArg {
    Problem,
    Warning,
    Note,
}

impl From<SeverityArg> for Severity {
    fn from(arg: SeverityArg) -> Self {
        match arg {
            SeverityArg::Problem => Self::Problem,
            SeverityArg::Warning => Self::Warning,
            SeverityArg::Note => Self::Note,
        }
    }
}

/// The profile without what is of other CPUs alone.
fn of_cpus(mut profile: Profile, cpus: &CpuSet) -> Profile {
    let touches = |of: &CpuSet| !of.intersection(cpus).is_empty();
    profile.power.frequency_policies.retain(|policy| touches(&policy.cpus));
    profile.power.idle.retain(|group| touches(&group.cpus));
    profile.power.idle.iter_mut().for_each(|group| group.cpus = group.cpus.intersection(cpus));
    profile.power.resume_latency_us.retain(|_, of| touches(of));
    profile.power.resume_latency_us.values_mut().for_each(|of| *of = of.intersection(cpus));
    // Where an interrupt can arrive, where that is known; one that is known of nowhere stays.
    profile.irqs.lines.retain(|irq| irq.effective_affinity.as_ref().or(irq.affinity.as_ref()).is_none_or(touches));
    profile
}

impl CheckArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let root = node::root(self.root.as_deref())?;
        let watch = self.watch.map(node::watch_window).transpose()?;
        let (mut profile, mut issues) = host::read_profile(&root);
        if let Some(window) = watch {
            node::watch_interrupts(&root, window, &mut profile, &mut issues);
        }
        let mut audit = Findings::from_profile(&profile, issues);
        if let Some(cpus) = &self.cpus {
            if let Some(online) = profile.cpus.online.as_ref().filter(|online| cpus.intersection(online).is_empty()) {
                anyhow::bail!("--cpus {cpus}: none of them is online; this machine has {online}");
            }
            audit.findings = Findings::from_profile(&of_cpus(profile, cpus), Vec::new()).findings;
        }
        if let Some(least) = self.severity.map(Severity::from) {
            let all = audit.findings.len();
            audit.findings.retain(|finding| finding.severity <= least);
            let left_out = all - audit.findings.len();
            if left_out > 0 && !self.json {
                output::note(&format!("{left_out} less severe not shown"));
            }
        }
        let text = if self.json {
            serde_json::to_string_pretty(&audit).context("cannot write the findings as JSON")? + "\n"
        } else {
            show(&audit, self.verbose, wrap::width(), output::color_stdout())
        };
        output::data(&text);
        Ok(exit(&audit.findings))
    }
}

fn exit(findings: &[Finding]) -> Exit {
    if findings.iter().any(|finding| finding.severity == Severity::Problem) { Exit::Broken } else { Exit::Holds }
}

/// What is to be changed with its change, notes a line each; all of it where `is_verbose`.
fn show(audit: &Findings, is_verbose: bool, width: usize, color: bool) -> String {
    let mut text = String::new();
    for finding in &audit.findings {
        findings::head(&mut text, finding, width, color);
        if is_verbose || finding.severity != Severity::Note {
            findings::labeled(&mut text, "read", findings::readings(finding), width);
            if is_verbose {
                findings::labeled(&mut text, "why", std::iter::once(finding.why.clone()), width);
            }
            findings::labeled(&mut text, "change", finding.remedy.iter().cloned(), width);
            text.push('\n');
        }
    }
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
    show_issues(&mut text, &audit.issues, is_verbose, width);
    let has_more = !is_verbose && (!audit.findings.is_empty() || !audit.issues.is_empty());
    let more = if has_more { " (-v: all of each)" } else { "" };
    text.push_str(&wrap::paragraph(&format!("{}{more}", summary(&audit.findings)), "", width));
    text
}

/// What was not judged, since nobody could read it; what follows from that where `is_verbose`.
fn show_issues(text: &mut String, issues: &[ProbeIssue], is_verbose: bool, width: usize) {
    /// Enough to see what is wrong; a damaged tree has hundreds of the same kind.
    const SHOWN_MAX: usize = 8;
    if issues.is_empty() {
        return;
    }
    text.push_str("Not read, so not judged:\n");
    for issue in issues.iter().take(SHOWN_MAX) {
        let mut line = format!("{}: {}", issue.source, issue.reason.as_str());
        if is_verbose {
            let _ = write!(line, ": {}", issue.effect);
        }
        text.push_str(&wrap::paragraph(&line, "  ", width));
    }
    if let Some(rest) = issues.len().checked_sub(SHOWN_MAX).filter(|&rest| rest > 0) {
        let _ = writeln!(text, "  and {rest} more");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use ::profile::check::Evidence;

    use super::*;

    fn finding(severity: Severity) -> Finding {
        Finding {
            id: "some-id".to_owned(),
            severity,
            title: "Something is wrong".to_owned(),
            evidence: vec![Evidence { source: "/proc/x".to_owned(), value: "1".to_owned() }],
            why: "It takes long and longer.".to_owned(),
            remedy: vec!["Do this.".to_owned(), "Or that.".to_owned()],
        }
    }

    fn audit(findings: Vec<Finding>, issues: Vec<ProbeIssue>) -> Findings {
        Findings { findings, ..Findings::from_profile(&::profile::Profile::default(), issues) }
    }

    #[test]
    fn findings_are_aligned_and_wrapped() {
        let whole = "  Something is wrong
         [some-id]
  read    /proc/x: 1
  why     It takes long and
            longer.
  change  Do this.
          Or that.

";
        let end = "1 problem, 1 note; most pressing:\nSomething is wrong [some-id]\n";
        let expected = format!("PROBLEM{whole}NOTE   {whole}{end}");
        let both = audit(vec![finding(Severity::Problem), finding(Severity::Note)], Vec::new());
        let shown = |is_verbose, width| show(&both, is_verbose, width, false);
        assert_eq!(shown(true, 33), expected);
        let short = "\
PROBLEM  Something is wrong [some-id]
         read    /proc/x: 1
         change  Do this.
                 Or that.

NOTE     Something is wrong [some-id]

1 problem, 1 note; most pressing: Something is wrong [some-id] (-v: all of each)
";
        assert_eq!(shown(false, 120), short);
    }

    #[test]
    fn gaps_are_listed_and_counted() {
        let issue = |index: usize| ProbeIssue {
            source: format!("/sys/{index}"),
            reason: ::profile::IssueReason::Denied,
            effect: "unknown".to_owned(),
        };
        let shown = |is_verbose| show(&audit(Vec::new(), (0..10).map(issue).collect()), is_verbose, 100, false);
        let text = shown(true);
        assert!(text.contains("  /sys/0: permission denied: unknown\n"), "{text}");
        assert!(text.ends_with("  and 2 more\n\nnothing found\n"), "{text}");
        let text = shown(false);
        assert!(text.contains("  /sys/0: permission denied\n"), "{text}");
        assert!(text.ends_with("\nnothing found (-v: all of each)\n"), "{text}");
    }

    #[test]
    fn only_a_problem_fails() {
        assert_eq!(exit(&[finding(Severity::Warning), finding(Severity::Note)]), Exit::Holds);
        assert_eq!(exit(&[finding(Severity::Problem)]), Exit::Broken);
        assert_eq!(exit(&[]), Exit::Holds);
    }
}
