//! A program that listens for other nodes, on this machine.

use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::eventually;

/// A listening program. It ends with the test.
pub(crate) struct Listening {
    pub(crate) child: Child,
    pub(crate) folder: TempDir,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Listening {
    pub(crate) fn start(address: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind(format!("{address}:0")).unwrap().local_addr().unwrap().port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["listen", "--on", &format!("{address}:{port}")]);
        if !more.contains(&"--sched-priority") {
            command.args(["--sched-priority", "other"]);
        }
        command.arg("--token-file").arg(folder.path().join("token")).args(more);
        if more.contains(&"--once") {
            command.arg("-o").arg(folder.path().join("listened.json"));
        }
        std::fs::write(folder.path().join("to"), format!("{address}:{port}")).unwrap();
        let said = std::fs::File::create(folder.path().join("said")).unwrap();
        // One that serves more than one goes on where nobody reads what it prints.
        let is_read = more.contains(&"--once");
        let mut child =
            command.stdout(if is_read { Stdio::null() } else { Stdio::piped() }).stderr(said).spawn().unwrap();
        drop(child.stdout.take());
        let listening = Self { child, folder };
        eventually("the token is written", || listening.token().is_file());
        listening
    }

    pub(crate) fn token(&self) -> std::path::PathBuf {
        self.folder.path().join("token")
    }

    /// Where it listens.
    pub(crate) fn to(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("to")).unwrap()
    }

    /// A command that sends to it.
    pub(crate) fn send(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["packet", "send", "--sched-priority", "other", "--to", &self.to()]);
        command.arg("--token-file").arg(self.token()).arg("-o").arg(self.sent()).args(more);
        command
    }

    /// What it said on stderr until now.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("said")).unwrap()
    }

    pub(crate) fn sent(&self) -> std::path::PathBuf {
        self.folder.path().join("sent.json")
    }

    pub(crate) fn listened(&self) -> std::path::PathBuf {
        self.folder.path().join("listened.json")
    }
}
