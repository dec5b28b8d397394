//! The user's program, started under a guard and held until it is being followed.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use kernel::process::Signal;
use units::CpuSet;

use crate::load::guard::{Answer, Orders};
use crate::load::{GUARD_COMMAND, LoadSpec, tree};

/// How long the program may take to come up to where it is held.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the guard may take to end everything.
const END_TIMEOUT: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(2);

/// A program that was started here.
#[derive(Debug)]
pub(super) struct Program {
    guard: Child,
    orders: Option<ChildStdin>,
    answers: mpsc::Receiver<Answer>,
    /// The process as which it begins.
    pub(super) pid: u32,
    ended: Option<String>,
}

impl Program {
    /// Starts a command by the shell, under a guard (`own` is this program's own file), and holds it before its first
    /// instruction. What it prints goes to standard error.
    pub(super) fn start(command: &str, cpus: &CpuSet, own: &Path) -> io::Result<Self> {
        let mut guard = Command::new(own)
            .arg(GUARD_COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let pipe = || io::Error::other("the guard has no pipe");
        let mut orders = guard.stdin.take().ok_or_else(pipe)?;
        let told = guard.stdout.take().ok_or_else(pipe)?;
        let (sender, answers) = mpsc::channel();
        // Ends with the guard, whose end closes the pipe.
        std::thread::Builder::new().name("app-answers".to_owned()).spawn(move || {
            for line in BufReader::new(told).lines().map_while(Result::ok) {
                if let Ok(answer) = serde_json::from_str(&line) {
                    if sender.send(answer).is_err() {
                        break;
                    }
                }
            }
        })?;
        let wanted = Orders { spec: LoadSpec::of_command(command), cpus: cpus.clone(), held: true };
        writeln!(orders, "{}", serde_json::to_string(&wanted)?).and_then(|()| orders.flush())?;
        let mut program = Self { guard, orders: Some(orders), answers, pid: 0, ended: None };
        match program.answers.recv_timeout(START_TIMEOUT) {
            Ok(Answer::Started) => {}
            Ok(Answer::Failed { program, error, .. }) => return Err(io::Error::other(format!("{program}: {error}"))),
            Ok(Answer::EndedEarly { how, .. }) => return Err(io::Error::other(how)),
            Err(_) => return Err(io::Error::other("the guard gave no answer within 10 s")),
        }
        let began = Instant::now();
        while began.elapsed() < START_TIMEOUT {
            if let Some(pid) = tree::descendants(program.guard.id()).first().copied().filter(|pid| is_stopped(*pid)) {
                program.pid = pid;
                return Ok(program);
            }
            std::thread::sleep(LOOK);
        }
        Err(io::Error::other("it did not come up within 10 s"))
    }

    /// Lets it begin.
    pub(super) fn release(&self) -> io::Result<()> {
        kernel::process::signal(self.pid, Signal::Continue)
    }

    /// How it ended, once it and all that it left behind have.
    pub(super) fn ended(&mut self) -> Option<&str> {
        if self.ended.is_none() {
            self.ended = self.answers.try_iter().find_map(|answer| match answer {
                Answer::EndedEarly { how, .. } => Some(how),
                Answer::Started | Answer::Failed { .. } => None,
            });
        }
        // A shell may be gone and what it started go on.
        if self.ended.is_some() && !tree::descendants(self.guard.id()).is_empty() {
            return None;
        }
        self.ended.as_deref()
    }

    fn end(&mut self) {
        // The closed pipe is the order to end.
        self.orders = None;
        let began = Instant::now();
        while let Ok(None) = self.guard.try_wait() {
            if began.elapsed() > END_TIMEOUT {
                // The guard itself hangs: its children are bound to its life.
                let _ = self.guard.kill();
                let _ = self.guard.wait();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

fn is_stopped(pid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name stands in parentheses and can hold any character.
    text.rfind(')').and_then(|end| text.get(end + 2..)).is_some_and(|rest| rest.starts_with('T'))
}
