//! `punctual profile`: what a machine is and how it is set, read without changing anything.

mod sheet;
mod show;
mod show_devices;

use std::path::PathBuf;

use ::profile::ProbeIssue;
use anyhow::Context as _;
use units::Ns;

use crate::exit::Exit;
use crate::node;
use terminal::output;

/// Read everything about a machine that can matter for acting on time; changes nothing
///
/// What cannot be read is unknown, never an error. Root sees most: debugfs holds the fair server's budgets and the
/// preemption model in use.
#[derive(clap::Args)]
pub(crate) struct ProfileArgs {
    /// Read a captured tree, a folder with proc/ and sys/ in it, instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Also keep the files that were read in DIR, new or empty; no addresses, serial numbers or command lines of
    /// processes are kept, and the node is named `node`
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
    /// Count the interrupts that arrive in this time, for example 1s, instead of those since boot
    #[arg(long, value_name = "TIME", conflicts_with_all = ["root", "capture"])]
    watch: Option<Ns>,
    /// Print the profile as JSON (schema punctual/profile)
    #[arg(long)]
    json: bool,
}

impl ProfileArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let root = node::root(self.root.as_deref())?;
        let watch = self.watch.map(node::watch_window).transpose()?;
        let (mut profile, mut issues) = match &self.capture {
            Some(dir) => {
                let made = host::capture(&root, dir)?;
                let size = units::format::bytes(made.size_bytes);
                output::note(&format!("captured {} files, {size}, in {}", made.file_count, dir.display()));
                (made.profile, made.issues)
            }
            None => host::read_profile(&root),
        };
        if let Some(window) = watch {
            node::watch_interrupts(&root, window, &mut profile, &mut issues);
        }
        let text = if self.json {
            serde_json::to_string_pretty(&profile).context("cannot write the profile as JSON")? + "\n"
        } else {
            show::show(&profile, output::color_stdout())
        };
        output::data(&text);
        print_issues(&issues);
        Ok(Exit::Holds)
    }
}

/// Gaps come last and on stderr, so that they stand below the profile and never inside piped data.
fn print_issues(issues: &[ProbeIssue]) {
    /// Enough to see what is wrong; a damaged tree has hundreds of the same kind.
    const SHOWN_MAX: usize = 20;
    for issue in issues.iter().take(SHOWN_MAX) {
        output::note(&format!("{}: {}: {}", issue.source, issue.reason.as_str(), issue.effect));
    }
    if let Some(rest) = issues.len().checked_sub(SHOWN_MAX).filter(|&rest| rest > 0) {
        output::note(&format!("and {rest} more that could not be read"));
    }
}
