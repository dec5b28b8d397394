//! The process that makes images. If the command that waits for it ends first, for any reason, it cleans up and ends
//! too.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::make;
use crate::cache::Cache;
use crate::scenario::{DiskName, Node};

/// The hidden command that runs this program to make an image.
pub const IMAGE_COMMAND: &str = "__lab-image";

/// How long cleaning up may take.
const LAST_WORK: Duration = Duration::from_secs(5);

/// Why an image could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The process that makes it could not be started, or communication with it failed.
    #[error("the process that makes an image: {0}")]
    Process(#[from] io::Error),
    /// It could not be made.
    #[error("{0}")]
    NotMade(String),
}

/// What the process has to make.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    cache: PathBuf,
    disk: DiskName,
    packages: Vec<String>,
    boot: String,
}

/// A message of the process, one line each; the last one is `Made` or `NotMade`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Message {
    Told(String),
    Made(PathBuf),
    NotMade(String),
}

/// Gets an image from the cache or has it made; `program` is this program's own file.
pub(super) fn image(
    cache: &Cache,
    node: &Node,
    disk: DiskName,
    program: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<PathBuf, ImageError> {
    let mut maker = Command::new(program)
        .arg(IMAGE_COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let no_pipe = || io::Error::other("no pipe");
    let mut orders = maker.stdin.take().ok_or_else(no_pipe)?;
    let messages = maker.stdout.take().ok_or_else(no_pipe)?;
    let text = serde_json::to_string(&Orders {
        cache: cache.path().to_owned(),
        disk,
        packages: node.packages.clone(),
        boot: node.boot.clone(),
    });
    writeln!(orders, "{}", text.map_err(io::Error::from)?)?;
    let mut outcome = Err(ImageError::NotMade("the process that makes an image ended without an answer".to_owned()));
    for line in BufReader::new(messages).lines() {
        match serde_json::from_str(&line?).map_err(io::Error::from)? {
            Message::Told(what) => progress(&what),
            Message::Made(path) => outcome = Ok(path),
            Message::NotMade(why) => outcome = Err(ImageError::NotMade(why)),
        }
    }
    let _ = maker.wait();
    // Keep this pipe open until here: closing it earlier is the order to end.
    drop(orders);
    outcome
}

/// Runs as the process that makes an image.
///
/// # Errors
/// If its own standard input fails at the start.
pub fn make_image() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let Orders { cache, disk, packages, boot } = serde_json::from_str(&line)?;
    // A separate session: Ctrl-C in the terminal is for the command. The command's end then ends this process in order.
    kernel::process::start_session();
    let stop = Arc::new(AtomicBool::new(false));
    kernel::signals::register(&stop, &Arc::new(AtomicBool::new(false)))?;
    let ended = Arc::clone(&stop);
    thread::Builder::new().name("lab-orders".to_owned()).spawn(move || {
        let _ = io::stdin().lock().read_to_string(&mut String::new());
        ended.store(true, Ordering::Release);
        // By then everything is cleaned up, unless this process only waits for another one that makes the same image.
        thread::sleep(LAST_WORK);
        std::process::exit(1);
    })?;
    let mut progress = |what: &str| send(&Message::Told(what.to_owned()));
    let is_over = || stop.load(Ordering::Acquire);
    let made = make::image(&Cache::at(&cache)?, disk, &packages, &boot, &mut progress, &is_over);
    send(&made.map_or_else(|error| Message::NotMade(error.to_string()), Message::Made));
    Ok(())
}

fn send(message: &Message) {
    // If the command is gone, nobody needs the message; the closed pipe is noticed elsewhere.
    if let Ok(text) = serde_json::to_string(message) {
        let _ = writeln!(io::stdout().lock(), "{text}");
    }
}
