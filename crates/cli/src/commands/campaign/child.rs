//! One run: `punctual measure` as a process of its own, as anybody would start it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use campaign::What;
use kernel::process::{Signal, signal, spawn_bound};
use measure::Stop;
use record::Record;

use crate::records;

/// Between two looks at the process.
const PERIOD: Duration = Duration::from_millis(50);
/// How long a run may take to end once it is told to.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a run ended.
pub(super) enum Ended {
    /// With its record.
    Measured(Box<Record>, Duration),
    /// Told to by somebody.
    Stopped,
}

/// Measures, with its record in `file` and what it says in `said`.
pub(super) fn measure(
    what: &What,
    label: &str,
    file: &Path,
    said: &Path,
    stop: &Stop,
    ticks: &mut dyn FnMut(Duration),
) -> anyhow::Result<Ended> {
    let messages = File::create(said).with_context(|| format!("cannot write {}", said.display()))?;
    let program = std::env::current_exe().context("the path of this program")?;
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.arg("measure");
    match what {
        What::Words(words) => command.args(words).stdin(Stdio::null()),
        What::Run(_) => command.args(["request", "-"]).stdin(Stdio::piped()),
    };
    command.args(["--label", label]).arg("--output").arg(file).stdout(Stdio::null()).stderr(messages);
    let mut child = spawn_bound(&mut command).context("cannot start 'punctual measure'")?;
    if let (What::Run(run), Some(mut to)) = (what, child.stdin.take()) {
        // One that ends before it has read says why, below.
        let _ = to.write_all(&serde_json::to_vec(run)?);
    }
    let mut told: Option<Instant> = None;
    let status = loop {
        if let Some(status) = child.try_wait().context("'punctual measure' is lost")? {
            break status;
        }
        match told {
            None if stop.ended_early() => {
                // It may have ended by itself in between.
                let _ = signal(child.id(), Signal::Terminate);
                told = Some(Instant::now());
            }
            Some(since) if since.elapsed() > PATIENCE => {
                let _ = child.kill();
            }
            _ => ticks(begun.elapsed()),
        }
        thread::sleep(PERIOD);
    };
    if told.is_some() {
        // What there is of it is kept, under a name that nobody takes for a whole run.
        let _ = fs::rename(file, file.with_extension("json.interrupted"));
        return Ok(Ended::Stopped);
    }
    // 0 and 1: it holds, or a deadline is broken. 3: invalid, with a record that says so.
    if !matches!(status.code(), Some(0 | 1 | 3)) || !file.exists() {
        let said = fs::read_to_string(said).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(5).collect();
        let last = last.into_iter().rev().collect::<Vec<_>>().join("; ");
        bail!("'punctual measure' of {} ended with {status}: {last}", what.in_words());
    }
    // On the disk before the journal says that it is there.
    File::open(file).and_then(|file| file.sync_all()).with_context(|| file.display().to_string())?;
    Ok(Ended::Measured(Box::new(records::record(file)?), begun.elapsed()))
}
