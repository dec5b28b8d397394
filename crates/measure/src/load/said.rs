//! What a program of a load writes on standard error: read to the end, so that it never waits for a reader; the last line is
//! kept, since it says why a program ended.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Longer lines are cut (bytes).
const LINE_BYTES: u64 = 512;
/// How long the last words of a program that has ended may take to be read.
const PATIENCE: Duration = Duration::from_millis(100);

/// The last line of a program's standard error.
#[derive(Clone, Debug, Default)]
pub(super) struct Said(Arc<(Mutex<Heard>, Condvar)>);

#[derive(Debug, Default)]
struct Heard {
    last_line: String,
    is_at_end: bool,
}

impl Said {
    /// Reads the standard error of a program that was started with a pipe for it; of others there is nothing to read.
    pub(super) fn listen_to(child: &mut Child) -> Self {
        let said = Self::default();
        let Some(pipe) = child.stderr.take() else {
            said.end();
            return said;
        };
        let heard = said.clone();
        // Ends with the last process that holds the pipe; without a thread nothing is heard, and the pipe is closed.
        let started = std::thread::Builder::new().name("guard-stderr".to_owned()).spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while matches!((&mut pipe).take(LINE_BYTES).read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line).trim().to_owned();
                if !text.is_empty() {
                    heard.0.0.lock().unwrap_or_else(PoisonError::into_inner).last_line = text;
                }
                line.clear();
            }
            heard.end();
        });
        if started.is_err() {
            said.end();
        }
        said
    }

    fn end(&self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).is_at_end = true;
        self.0.1.notify_all();
    }

    /// The last line that is not empty, of a program that has ended; empty if it wrote none.
    pub(super) fn last_line(&self) -> String {
        let heard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A child of the program's may live on with the pipe in its hands: nobody waits for that one.
        let (heard, _) = self
            .0
            .1
            .wait_timeout_while(heard, PATIENCE, |heard| !heard.is_at_end)
            .unwrap_or_else(PoisonError::into_inner);
        heard.last_line.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn last_line_of(script: &str) -> String {
        let mut child =
            Command::new("sh").args(["-c", script]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let said = Said::listen_to(&mut child);
        child.wait().unwrap();
        said.last_line()
    }

    #[test]
    fn the_last_line_is_kept_however_much_was_written() {
        assert_eq!(last_line_of("echo one >&2; echo two >&2; echo >&2"), "two");
        assert_eq!(last_line_of("true"), "");
        // Far more than a pipe holds: the program is never kept waiting.
        assert_eq!(
            last_line_of(
                "i=0; while [ $i -lt 20000 ]; do echo a line that says nothing >&2; i=$((i+1)); done; echo end >&2"
            ),
            "end"
        );
        assert_eq!(last_line_of("head -c 2000 /dev/zero | tr '\\0' x >&2").len(), 2000 % 512);
    }

    #[test]
    fn a_child_that_keeps_the_pipe_keeps_nobody_waiting() {
        let began = std::time::Instant::now();
        assert_eq!(last_line_of("echo gone >&2; sleep 3 &"), "gone");
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
