//! A process of this program that keeps a file open, because the kernel forgets what was written there when it is closed.
//!
//! It is found again by a note that it writes itself, before it opens the file: its number, and when the kernel started
//! it, which no other process with that number has.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use kernel::whole_file;
use knobs::{Order, Reading, Value};

use super::{Access, Files};

/// The word that makes a program [`hold_latency`], before the bound and the folder of the machine's files.
pub const HOLDER_COMMAND: &str = "__latency-holder";

/// How long the holder may take to end after the signal.
const PATIENCE: Duration = Duration::from_secs(5);
/// What it says once the kernel has taken the value.
const HELD: &str = "held";

/// A file that a process of this program's keeps open, or not.
pub(super) struct HeldOpen<'a> {
    pub(super) path: &'a str,
}

impl Access for HeldOpen<'_> {
    fn read(&self, files: &Files) -> Reading {
        read(&files.prefix, self.path)
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        write(&files.prefix, value)
    }
}

fn at(prefix: &Path, path: &str) -> PathBuf {
    prefix.join(path.trim_start_matches('/'))
}

/// Where the note is; it is gone with a start of the machine, as the process is.
fn note(prefix: &Path) -> PathBuf {
    prefix.join("run/punctual/latency-holder")
}

/// A process, as nothing else is called at any time of this start of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holder {
    us: u32,
    pid: u32,
    /// When it was started, in the kernel's ticks.
    start: u64,
}

/// When a process was started (ticks since the machine's start; proc_pid_stat(5), field 22); `None` where it has ended.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may have anything in it, but nothing behind it has a bracket.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    // One that has ended and that nobody has taken leave of holds nothing.
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

impl Holder {
    /// The one of the note, where it still runs.
    fn find(prefix: &Path) -> Option<Self> {
        let text = fs::read_to_string(note(prefix)).ok()?;
        let mut numbers = text.split_ascii_whitespace();
        let us = numbers.next()?.parse().ok()?;
        let pid = numbers.next()?.parse().ok()?;
        let start = numbers.next()?.parse().ok()?;
        (start_of(pid) == Some(start)).then_some(Self { us, pid, start })
    }

    fn end(self, prefix: &Path) -> io::Result<()> {
        kernel::process::end(self.pid, &|| start_of(self.pid) == Some(self.start), PATIENCE)?;
        fs::remove_file(note(prefix))
    }
}

/// Whether something is held at `path`, what, and by which process.
fn read(prefix: &Path, path: &str) -> Reading {
    if !at(prefix, path).exists() {
        return Reading::Missing;
    }
    Reading::Is(match Holder::find(prefix) {
        Some(Holder { us, pid, start }) => Value::Text(format!("{us} by process {pid}, started at tick {start}")),
        None => Value::Absent,
    })
}

/// Ends the process that holds it, and only that one, where there is one; starts one that holds `value`.
fn write(prefix: &Path, value: &Value) -> io::Result<()> {
    if let Some(holder) = Holder::find(prefix) {
        holder.end(prefix)?;
    }
    let Value::Text(text) = value else { return Ok(()) };
    let us = text.split_ascii_whitespace().next().unwrap_or_default();
    let mut command = Command::new(std::env::current_exe()?);
    command.args([HOLDER_COMMAND, us]).arg(prefix);
    let mut child =
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut said)?;
    }
    match said.trim() {
        HELD => Ok(()),
        why => {
            // It has ended, or will: nothing waits for it then.
            let _ = child.wait();
            Err(io::Error::other(if why.is_empty() { "the process that was to hold it has ended" } else { why }))
        }
    }
}

/// What such a process does: it holds the bound (us) that the second word of its command line says, below the folder that
/// the third one names, until it is ended.
///
/// It says on its standard output that it holds it, or why not; where nobody hears that, it ends.
///
/// # Errors
/// Where the note or the file cannot be written.
pub fn hold_latency() -> io::Result<()> {
    let bad = || io::Error::new(io::ErrorKind::InvalidInput, "wanted: a bound in us, and a folder");
    let mut words = std::env::args_os().skip(2);
    let us = words.next().and_then(|us| us.to_str()?.parse().ok()).ok_or_else(bad)?;
    let prefix = words.next().map(PathBuf::from).ok_or_else(bad)?;
    let path = knobs::catalogue::find("cpu.dma-latency-us").map_or("", |knob| knob.path);
    hold(&prefix, path, us)
}

fn hold(prefix: &Path, path: &str, us: u32) -> io::Result<()> {
    // The terminal that it was started from may go.
    kernel::process::start_session();
    let held = take(prefix, path, us).and_then(|file| {
        let mut stdout = io::stdout();
        writeln!(stdout, "{HELD}").and_then(|()| stdout.flush()).map(|()| file)
    });
    match held {
        Ok(_open) => loop {
            std::thread::park();
        },
        Err(error) => {
            let _ = fs::remove_file(note(prefix));
            let _ = writeln!(io::stdout(), "{path}: {error}");
            Err(error)
        }
    }
}

fn take(prefix: &Path, path: &str, us: u32) -> io::Result<fs::File> {
    let bytes = i32::try_from(us).map_err(io::Error::other)?.to_ne_bytes();
    let pid = std::process::id();
    let start =
        start_of(pid).ok_or_else(|| io::Error::other("the kernel does not report when this process was started"))?;
    let note = note(prefix);
    if let Some(folder) = note.parent() {
        fs::create_dir_all(folder)?;
    }
    // Written before the file is opened, so that the holder is known at every moment at which it is held.
    let text = format!("{us} {pid} {start}\n");
    whole_file::replace(&note, &whole_file::unfinished(&note), |file| file.write_all(text.as_bytes()))?;
    let mut file = fs::OpenOptions::new().write(true).open(at(prefix, path))?;
    file.write_all(&bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_a_process_that_is_another_one_now_says_nothing() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("run/punctual")).unwrap();
        fs::create_dir_all(tree.path().join("dev")).unwrap();
        let path = "/dev/cpu_dma_latency";
        assert_eq!(read(tree.path(), path), Reading::Missing);
        fs::write(tree.path().join("dev/cpu_dma_latency"), [0; 4]).unwrap();
        assert_eq!(read(tree.path(), path), Reading::Is(Value::Absent));
        let (pid, start) = (std::process::id(), start_of(std::process::id()).unwrap());
        let noted = |text: String| {
            fs::write(note(tree.path()), text).unwrap();
            read(tree.path(), path)
        };
        let text = format!("7 by process {pid}, started at tick {start}");
        assert_eq!(noted(format!("7 {pid} {start}\n")), Reading::Is(Value::Text(text)));
        assert_eq!(noted(format!("7 {pid} {}\n", start + 1)), Reading::Is(Value::Absent));
        assert_eq!(noted("7 x".to_owned()), Reading::Is(Value::Absent));
        // Taking back what is not there ends nobody: this test goes on.
        write(tree.path(), &Value::Absent).unwrap();
    }
}
