//! The guard: a process of its own that takes a campaign's settings back where the campaign is killed.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use host::Root;

use super::folder::Folder;
use super::setting::Setting;
use crate::output;

/// The word by which this program starts itself as one.
pub(crate) const GUARD_COMMAND: &str = "campaign-guard";
/// What says that nothing is left to do.
const DISMISSED: &[u8] = b"done";
/// The kernel lets go of locks when their holder is wholly gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// A guard that waits; when this is dropped without a word, it takes the settings back.
pub(super) struct Guard {
    child: Child,
    input: Option<ChildStdin>,
}

impl Guard {
    pub(super) fn start(folder: &Path, root: &Root) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(GUARD_COMMAND).arg(folder);
        if !root.is_live() {
            command.arg(root.prefix());
        }
        // A group of its own: Ctrl-C is for the campaign, which then restores everything itself.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        Ok(Self { child, input })
    }

    /// Everything is taken back, or is to stay.
    pub(super) fn dismiss(&mut self) {
        if let Some(mut input) = self.input.take() {
            // Where it is gone already, there is nothing to end.
            let _ = io::Write::write_all(&mut input, DISMISSED);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.input.take());
    }
}

/// Waits for the campaign's end, and takes its settings back where it did not.
///
/// # Errors
/// Where they could not be.
pub(crate) fn guard() -> io::Result<()> {
    let mut words = std::env::args_os().skip(2);
    let folder = words.next().ok_or(io::ErrorKind::InvalidInput)?;
    let root = match words.next() {
        Some(tree) => Root::tree(Path::new(&tree)).map_err(io::Error::other)?,
        None => Root::live(),
    };
    let mut said = Vec::new();
    io::stdin().lock().read_to_end(&mut said)?;
    if said == DISMISSED {
        return Ok(());
    }
    let since = std::time::Instant::now();
    let restored = loop {
        match restore(Path::new(&folder), &root) {
            Err(_) if since.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(200)),
            other => break other,
        }
    };
    restored.map_err(|error| io::Error::other(format!("{error:#}")))
}

fn restore(folder: &Path, root: &Root) -> anyhow::Result<()> {
    let mut folder = Folder::open(folder)?;
    if folder.held.state.transactions.is_empty() {
        return Ok(());
    }
    let mut setting = Setting::open(root, Arc::new(AtomicBool::new(false)))?;
    setting.take_back(&mut folder, true)?;
    output::note(&format!(
        "the campaign was killed; its settings are taken back, and 'punctual campaign resume {}' goes on with it",
        folder.path.display()
    ));
    Ok(())
}
