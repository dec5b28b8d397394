//! What the tests of the built program share.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

#[cfg(feature = "agent")]
pub(crate) mod agents_hub;
pub(crate) mod bench;
pub(crate) mod chronyd;
pub(crate) mod followed;
pub(crate) mod hogs;
pub(crate) mod listening;
pub(crate) mod ptp4l;
pub(crate) mod synthetic;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use record::Record;

/// The program, about to be started.
pub(crate) fn punctual(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(arguments).stdin(Stdio::null()).env("NO_COLOR", "1").env_remove("COLUMNS");
    command
}

/// The program while it measures; a test that fails leaves none behind.
pub(crate) struct Running(Option<Child>);

impl Running {
    /// With its record on stdout.
    pub(crate) fn start(arguments: &[&str], more: &[&str]) -> Self {
        let all = [arguments, more, &["--json"]].concat();
        Self(Some(punctual(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    pub(crate) fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl std::ops::Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs it to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    punctual(arguments).output().unwrap()
}

/// Its exit code, 128 and more for a signal.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(128)
}

/// What it said on stderr.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What it printed on stdout.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The record that it printed.
pub(crate) fn record(output: &Output) -> Record {
    let text = String::from_utf8_lossy(&output.stdout);
    Record::from_json(&text).unwrap_or_else(|error| panic!("{error}\nstdout: {text}\nstderr: {}", said(output)))
}

/// Waits for a condition for as long as a loaded machine may need.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what} did not come about within 2 min");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The first of its threads whose name begins so.
pub(crate) fn thread_of(child: &Child, prefix: &str) -> Option<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).ok()?.flatten();
    let is_it = |task: &std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with(prefix))
    };
    tasks.filter(is_it).find_map(|task| task.file_name().to_str()?.parse().ok())
}

/// Waits until a thread that measures has been given a CPU 300 times, or computed for 300 ms: the run has begun then, which
/// on a busy machine can be long after the program's threads exist.
pub(crate) fn eventually_measures(child: &Child) {
    let has_worked = |prefix: &str| {
        let path = format!("/proc/{}/task/{}/schedstat", child.id(), thread_of(child, prefix)?);
        let text = std::fs::read_to_string(path).ok()?;
        // Time on a CPU (ns), time of waiting for one (ns), and how often it was given one (proc_pid_schedstat in
        // fs/proc/base.c).
        let mut numbers = text.split_ascii_whitespace().map(|number| number.parse::<u64>().unwrap_or(0));
        Some(numbers.next()? >= 300_000_000 || numbers.nth(1)? >= 300)
    };
    let names = ["punctual-w", "punctual-n", "punctual-clock", "punctual-r", "punctual-s"];
    eventually("a run that has begun", || has_ended(child) || names.iter().any(|name| has_worked(name) == Some(true)));
}

/// Whether it has ended, though nobody has taken its exit status (its state is Z, proc_pid_stat).
pub(crate) fn has_ended(child: &Child) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

/// Whether any process has `mark` in its command line.
pub(crate) fn anybody_has(mark: &str) -> bool {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let name = entry.file_name();
        let is_process = name.to_str().is_some_and(|n| n != own && n.bytes().all(|b| b.is_ascii_digit()));
        is_process
            && std::fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
    })
}

/// Sends a signal by its name.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Whether this process may use real-time priorities; tests that need them say so where it may not.
pub(crate) fn may_be_real_time() -> bool {
    std::thread::spawn(|| kernel::sched::set_policy(kernel::sched::Policy::Fifo(1)).is_ok()).join().unwrap()
}

/// Where the committed fixtures are.
pub(crate) fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}
