//! The guard of a load or of a followed program, seen from the process that measures.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::GUARD_COMMAND;
use super::guard::{Answer, Orders, Word};

/// How long what is guarded may take to come up.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the guard may take to end everything.
const END_TIMEOUT: Duration = Duration::from_secs(8);
/// How often it is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(2);

/// A guard that runs; all that it guards ends with this value.
#[derive(Debug)]
pub(crate) struct Guarded {
    guard: Child,
    orders: Option<ChildStdin>,
    answers: mpsc::Receiver<Answer>,
}

impl Guarded {
    /// Starts a guard (`own` is this program's own file) and gives it its orders; `stderr` is where what it guards
    /// may write.
    pub(crate) fn start(orders: &Orders, own: &Path, stderr: Stdio) -> io::Result<Self> {
        let mut guard =
            Command::new(own).arg(GUARD_COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn()?;
        let pipe = || io::Error::other("the guard has no pipe");
        let mut orders_pipe = guard.stdin.take().ok_or_else(pipe)?;
        let answered = guard.stdout.take().ok_or_else(pipe)?;
        let (sender, answers) = mpsc::channel();
        // Ends with the guard, whose end closes the pipe.
        std::thread::Builder::new().name("guard-answers".to_owned()).spawn(move || {
            for line in BufReader::new(answered).lines().map_while(Result::ok) {
                if let Ok(answer) = serde_json::from_str(&line) {
                    if sender.send(answer).is_err() {
                        break;
                    }
                }
            }
        })?;
        writeln!(orders_pipe, "{}", serde_json::to_string(orders)?).and_then(|()| orders_pipe.flush())?;
        Ok(Self { guard, orders: Some(orders_pipe), answers })
    }

    /// The guard's process, whose descendants are what it guards.
    pub(crate) fn id(&self) -> u32 {
        self.guard.id()
    }

    /// Its first answer.
    pub(crate) fn first_answer(&self) -> io::Result<Answer> {
        self.answers
            .recv_timeout(START_TIMEOUT)
            .map_err(|_| io::Error::other(format!("the guard gave no answer within {} s", START_TIMEOUT.as_secs())))
    }

    /// Says something to it; one that is gone needs no word.
    pub(crate) fn say(&mut self, word: &Word) {
        if let (Some(orders), Ok(text)) = (&mut self.orders, serde_json::to_string(word)) {
            let _ = writeln!(orders, "{text}").and_then(|()| orders.flush());
        }
    }

    /// Has it count and end everything, and returns all that it said since it was last asked.
    pub(crate) fn end(&mut self) -> Vec<Answer> {
        self.say(&Word::End);
        let began = Instant::now();
        let mut said = Vec::new();
        while let Ok(answer) = self.answers.recv_timeout(END_TIMEOUT.saturating_sub(began.elapsed())) {
            let is_last = matches!(answer, Answer::Ended { .. });
            said.push(answer);
            if is_last {
                break;
            }
        }
        said
    }

    /// Its next answer, if one comes within this time.
    pub(crate) fn next_answer(&self, within: Duration) -> Option<Answer> {
        self.answers.recv_timeout(within).ok()
    }

    /// The guard's answers since the last call.
    pub(crate) fn answers(&self) -> impl Iterator<Item = Answer> + '_ {
        self.answers.try_iter()
    }
}

impl Drop for Guarded {
    /// Ends it, and waits until nothing of what it guards is left.
    fn drop(&mut self) {
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
