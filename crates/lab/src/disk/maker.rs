//! The process that makes images: nothing of it stays where the command that waits for it ends before it, however that
//! ends.

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

/// The hidden command by which this program makes an image.
pub const IMAGE_COMMAND: &str = "__lab-image";

/// How long clearing away may take.
const LAST_WORK: Duration = Duration::from_secs(5);

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The process that makes it could not be started or told.
    #[error("the process that makes an image: {0}")]
    Process(#[from] io::Error),
    /// It could not be made.
    #[error("{0}")]
    NotMade(String),
}

/// What the process is told.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    cache: PathBuf,
    disk: DiskName,
    packages: Vec<String>,
    boot: String,
}

/// What it says, a line each; the last is one of the latter two.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Told(String),
    Made(PathBuf),
    NotMade(String),
}

/// Asks for an image; `program` is this program's own file.
pub(super) fn image(
    cache: &Cache,
    node: &Node,
    disk: DiskName,
    program: &Path,
    told: &mut dyn FnMut(&str),
) -> Result<PathBuf, ImageError> {
    let mut maker = Command::new(program)
        .arg(IMAGE_COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let no_pipe = || io::Error::other("no pipe");
    let mut orders = maker.stdin.take().ok_or_else(no_pipe)?;
    let words = maker.stdout.take().ok_or_else(no_pipe)?;
    let text = serde_json::to_string(&Orders {
        cache: cache.path().to_owned(),
        disk,
        packages: node.packages.clone(),
        boot: node.boot.clone(),
    });
    writeln!(orders, "{}", text.map_err(io::Error::from)?)?;
    let mut outcome = Err(ImageError::NotMade("the process that makes an image ended without a word".to_owned()));
    for line in BufReader::new(words).lines() {
        match serde_json::from_str(&line?).map_err(io::Error::from)? {
            Word::Told(what) => told(&what),
            Word::Made(path) => outcome = Ok(path),
            Word::NotMade(why) => outcome = Err(ImageError::NotMade(why)),
        }
    }
    let _ = maker.wait();
    // The end of this pipe would have been the order to end.
    drop(orders);
    outcome
}

/// Runs as the process that makes an image.
///
/// # Errors
/// Where its own standard input fails at the start.
pub fn make_image() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let Orders { cache, disk, packages, boot } = serde_json::from_str(&line)?;
    // Away from the terminal: Ctrl-C there is for the command, whose end then ends this process in order.
    kernel::process::start_session();
    let stop = Arc::new(AtomicBool::new(false));
    kernel::signals::register(&stop, &Arc::new(AtomicBool::new(false)))?;
    let ended = Arc::clone(&stop);
    thread::Builder::new().name("lab-orders".to_owned()).spawn(move || {
        let _ = io::stdin().lock().read_to_string(&mut String::new());
        ended.store(true, Ordering::Release);
        // By then all is cleared away, unless this process only waits for another that makes the same.
        thread::sleep(LAST_WORK);
        std::process::exit(1);
    })?;
    let mut told = |what: &str| say(&Word::Told(what.to_owned()));
    let is_over = || stop.load(Ordering::Acquire);
    let made = make::image(&Cache::at(&cache)?, disk, &packages, &boot, &mut told, &is_over);
    say(&made.map_or_else(|error| Word::NotMade(error.to_string()), Word::Made));
    Ok(())
}

fn say(word: &Word) {
    // A command that is gone hears nothing; that its pipe is closed is noticed elsewhere.
    if let Ok(text) = serde_json::to_string(word) {
        let _ = writeln!(io::stdout().lock(), "{text}");
    }
}
