//! A run in a process of its own, as whoever asks for it on somebody's behalf starts it: a campaign, and a node for another one.
//! What it tells comes as events, and it ends with the process that started it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use kernel::process::{Signal, signal, spawn_bound};
use record::{RunEvent, RunRequest};

/// How long a run may take to end after the signal.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long what a process told last may take to be read, once the process has ended.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// The same where it has not said yet what became of the run: that was written before the process ended, and is on its way
/// however busy the machine is. One that was killed has said nothing, and its pipe is closed, unless something that it started
/// holds it.
const CONCLUSION: Duration = Duration::from_secs(10);

/// Why a run cannot be started in a process of its own.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The request has no text.
    #[error("a request has no JSON form")]
    Request(#[source] serde_json::Error),
    /// The process cannot be started or waited for.
    #[error("{what}")]
    Process {
        /// What could not be done.
        what: &'static str,
        /// The kernel's reason.
        #[source]
        error: io::Error,
    },
}

impl ProcessError {
    fn of(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Process { what, error }
    }
}

/// How a run is started in a process of its own.
#[derive(Debug)]
pub struct ProcessPlan<'a> {
    /// The program that measures: this one.
    pub program: &'a Path,
    /// What is measured.
    pub request: &'a RunRequest,
    /// A word for people in the record.
    pub label: &'a str,
    /// Where its record goes, in the place of what is there; `None`: it is only told.
    pub file: Option<&'a Path>,
    /// Whether it is made although it is known that it will be invalid.
    pub is_wanted_anyway: bool,
    /// Where what it says to people goes.
    pub messages: File,
}

/// What comes next of a run.
#[derive(Debug)]
pub enum NextOfRun {
    /// It told something.
    Event(Box<RunEvent>),
    /// Nothing within the time.
    Nothing,
    /// Its process has ended, and has told everything.
    Ended(ExitStatus),
}

/// A run that goes on in a process of its own.
#[derive(Debug)]
pub struct ProcessRun {
    child: Child,
    events: Receiver<RunEvent>,
    ended_at: Option<Instant>,
    /// Whether it has told what became of the run, which is the last that it tells.
    has_concluded: bool,
}

impl ProcessRun {
    /// Starts the process, and hands it the request.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(plan: ProcessPlan<'_>) -> Result<Self, ProcessError> {
        let text = serde_json::to_vec(plan.request).map_err(ProcessError::Request)?;
        let mut command = Command::new(plan.program);
        command.args(["measure", "request", "-", "--events", "--label", plan.label]);
        if plan.is_wanted_anyway {
            command.arg("--anyway");
        }
        if let Some(file) = plan.file {
            command.arg("--force").arg("--output").arg(file);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(plan.messages);
        let mut child = spawn_bound(&mut command).map_err(ProcessError::of("cannot start 'punctual measure'"))?;
        if let Some(mut to) = child.stdin.take() {
            // One that ends before it has read says why.
            let _ = to.write_all(&text);
        }
        let told = child.stdout.take().ok_or_else(|| io::Error::other("it has no standard output"));
        let events =
            told.and_then(read_events).map_err(ProcessError::of("cannot read what 'punctual measure' tells"))?;
        Ok(Self { child, events, ended_at: None, has_concluded: false })
    }

    /// Waits at most so long for what it tells.
    ///
    /// # Errors
    /// Where the process is lost.
    pub fn next(&mut self, at_most: Duration) -> Result<NextOfRun, ProcessError> {
        match self.events.recv_timeout(at_most) {
            Ok(event) => return Ok(self.told(event)),
            // Nobody tells any more, and the process may go on for a moment.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(LAST_WORDS.min(at_most)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let status = self.child.try_wait().map_err(ProcessError::of("'punctual measure' is lost"))?;
        let Some(status) = status else {
            if self.ended_at.is_some_and(|since| since.elapsed() > PATIENCE) {
                let _ = self.child.kill();
            }
            return Ok(NextOfRun::Nothing);
        };
        // What it started may hold the pipe open for longer, and is not waited for.
        let at_most = if self.has_concluded { LAST_WORDS } else { CONCLUSION };
        match self.events.recv_timeout(at_most) {
            Ok(event) => Ok(self.told(event)),
            Err(_) => Ok(NextOfRun::Ended(status)),
        }
    }

    fn told(&mut self, event: RunEvent) -> NextOfRun {
        self.has_concluded |=
            matches!(event, RunEvent::Finished { .. } | RunEvent::Refused { .. } | RunEvent::Lost { .. });
        NextOfRun::Event(Box::new(event))
    }

    /// Ends it before its time; what it tells then is the record until now. One that does not end is killed.
    pub fn end(&mut self) {
        if self.ended_at.is_none() {
            // It may have ended by itself in between.
            let _ = signal(self.child.id(), Signal::Terminate);
            self.ended_at = Some(Instant::now());
        }
    }

    /// Whether [`Self::end`] was called.
    #[must_use]
    pub const fn was_ended(&self) -> bool {
        self.ended_at.is_some()
    }
}

impl Drop for ProcessRun {
    /// A run that nobody waits for any more does not go on.
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Reads events by a thread of its own, which ends with what it reads.
fn read_events(from: impl Read + Send + 'static) -> io::Result<Receiver<RunEvent>> {
    let (to, events) = channel();
    thread::Builder::new().name("punctual-told".to_owned()).spawn(move || {
        // A line that is none is of a program that the run started.
        let told = BufReader::new(from).lines().map_while(Result::ok);
        for event in told.filter_map(|line| RunEvent::from_line(&line).ok()) {
            if to.send(event).is_err() {
                return;
            }
        }
    })?;
    Ok(events)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use record::{Live, Manifest, Measurement, Record, RefusalClass};

    use super::*;

    /// What comes of a program that does what a script says, as the events that are no figures, and how it ended.
    fn told_by(script: &str, ends: bool) -> (Vec<RunEvent>, ExitStatus) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let request = RunRequest::from_json("{\"request\": {\"kind\": \"noise\"}}").unwrap();
        let messages = File::create(folder.path().join("said")).unwrap();
        let plan = ProcessPlan {
            program: &program,
            request: &request,
            label: "",
            file: None,
            is_wanted_anyway: false,
            messages,
        };
        let (mut run, mut told) = (ProcessRun::start(plan).unwrap(), Vec::new());
        loop {
            match run.next(Duration::from_millis(20)).unwrap() {
                NextOfRun::Event(event) => told.push(*event),
                NextOfRun::Nothing if ends => run.end(),
                NextOfRun::Nothing => {}
                NextOfRun::Ended(status) => return (told, status),
            }
        }
    }

    fn say(event: &RunEvent) -> String {
        format!("echo '{}'", event.to_line().trim_end())
    }

    #[test]
    fn what_is_told_comes_in_its_order_and_no_other_line_is_taken_for_it() {
        let live = RunEvent::Live { live: Live { elapsed_ns: 7, ..Live::default() } };
        let refused = RunEvent::Refused { class: RefusalClass::Usage, why: "no such CPU".to_owned() };
        let script = [&say(&live), "echo PING", "echo '{\"event\":'", &say(&refused), "exit 2"].join("\n");
        let (told, status) = told_by(&script, false);
        assert_eq!(told.iter().map(RunEvent::to_line).collect::<Vec<_>>(), [live.to_line(), refused.to_line()]);
        assert_eq!(status.code(), Some(2));
    }

    #[test]
    fn what_outlives_the_process_that_measures_is_not_waited_for() {
        let record = Record::empty("1".to_owned(), Measurement::Noise, Manifest::default());
        let finished = RunEvent::Finished { record: Box::new(record) };
        let begun = Instant::now();
        // It holds the pipe open.
        let (told, status) = told_by(&format!("sleep 20 &\n{}\nexit 0", say(&finished)), false);
        assert!(matches!(told[..], [RunEvent::Finished { .. }]) && status.success());
        assert!(begun.elapsed() < Duration::from_secs(15));
    }

    #[test]
    fn what_became_of_the_run_is_waited_for_also_where_it_is_read_late() {
        let record = Record::empty("1".to_owned(), Measurement::Noise, Manifest::default());
        let finished = RunEvent::Finished { record: Box::new(record) };
        // As on a machine that is so busy that its reader gets no CPU for a while.
        let (told, status) = told_by(&format!("(sleep 0.4; {}) &\nexit 0", say(&finished)), false);
        assert!(matches!(told[..], [RunEvent::Finished { .. }]) && status.success(), "{told:?}");
    }

    #[test]
    fn one_that_is_ended_tells_its_last_words() {
        let warning = RunEvent::Warning { text: "ended".to_owned() };
        let script =
            format!("trap \"{}; exit 1\" TERM\nwhile :; do sleep 0.01; done", say(&warning).replace('"', "\\\""));
        let (told, status) = told_by(&script, true);
        assert!(matches!(&told[..], [RunEvent::Warning { text }] if text == "ended"), "{told:?}");
        assert_eq!(status.code(), Some(1));
    }
}
