//! A guest's QEMU process. If the guest has a disk, each boot gets a new QEMU: that takes half the time of resetting
//! the emulated machine, and no state is left over.
//!
//! QEMU's monitor protocol (docs/interop/qmp-spec) reports whether the guest rebooted or ended for good.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use serde::Deserialize;
use serde_json::Value;

use super::port::{Cut, PERIOD};
use crate::tool::{self, ToolError};

/// How to start a guest's QEMU, each time as a new process.
pub(super) struct Supply {
    /// A template of its command line.
    pub(super) command: Command,
    /// The file for its error messages.
    pub(super) log: PathBuf,
}

impl Supply {
    /// Starts QEMU, which ends with the calling thread.
    fn switch_on(&self) -> Result<Child, ToolError> {
        let program = self.command.get_program();
        let not_started = |error| tool::not_started(&program.to_string_lossy(), error);
        let log = fs::File::create(&self.log).map_err(not_started)?;
        let mut command = Command::new(program);
        command.args(self.command.get_args()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        kernel::process::spawn_bound(&mut command).map_err(not_started)
    }
}

/// A guest's QEMU process, or the sequence of them.
#[derive(Clone)]
pub(super) struct Power(Arc<Mutex<State>>);

struct State {
    child: Child,
    /// What to do when it ends.
    then: Then,
    /// How the guest ended for good: the exit status of QEMU, or why it did not start again.
    ended: Option<String>,
}

/// What to do when a QEMU process ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The guest has ended for good.
    Off,
    /// Start the next one only if QEMU reported a reboot.
    AsReported,
    /// Start the next one.
    On,
}

impl Power {
    /// Powers on. The guest ends with the calling thread and cannot reboot.
    pub(super) fn on(supply: &Supply) -> Result<Self, ToolError> {
        let child = supply.switch_on()?;
        Ok(Self(Arc::new(Mutex::new(State { child, then: Then::Off, ended: None }))))
    }

    /// Powers on, and on again whenever the guest reboots. `monitor` is the socket of QEMU's monitor protocol; `cut` is
    /// called when the guest or its agent goes down.
    pub(super) fn on_with_reboots(supply: Supply, monitor: PathBuf, cut: Arc<Cut>) -> Result<Self, ToolError> {
        let (started, first) = mpsc::channel();
        // Each QEMU ends with the thread that started it, so this thread lives until the last one has ended.
        let spawned = thread::Builder::new().name("lab-power".to_owned()).spawn(move || {
            let power = match supply.switch_on() {
                Ok(child) => Self(Arc::new(Mutex::new(State { child, then: Then::AsReported, ended: None }))),
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            if started.send(Ok(power.clone())).is_ok() {
                power.keep_on(&supply, &monitor, &cut);
            }
        });
        let not_started = |error| tool::not_started("a thread", error);
        spawned.map_err(not_started)?;
        first.recv().map_err(|_| not_started(io::ErrorKind::BrokenPipe.into()))?
    }

    fn keep_on(&self, supply: &Supply, monitor: &PathBuf, cut: &Cut) {
        loop {
            let is_reboot = self.watch(monitor, cut);
            cut.now();
            let mut state = self.held();
            let status = state.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            let is_off = state.then == Then::Off || (state.then == Then::AsReported && !is_reboot);
            let next = if is_off { Err(status) } else { supply.switch_on().map_err(|error| error.to_string()) };
            match next {
                Ok(child) => *state = State { child, then: Then::AsReported, ended: None },
                Err(why) => {
                    state.ended = Some(why);
                    return;
                }
            }
        }
    }

    /// Follows one QEMU process to its end; returns whether its guest rebooted.
    fn watch(&self, monitor: &PathBuf, cut: &Cut) -> bool {
        let mut is_reboot = false;
        let Some(from) = self.connect(monitor) else { return is_reboot };
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            match parse_event(&line) {
                Some(MonitorEvent::Reboot) => is_reboot = true,
                Some(MonitorEvent::AgentGone) => cut.now(),
                None => {}
            }
        }
        is_reboot
    }

    /// Connects to QEMU's monitor, whose socket appears shortly after the start; `None` if QEMU ends before that.
    fn connect(&self, monitor: &PathBuf) -> Option<UnixStream> {
        loop {
            if let Ok(mut stream) = UnixStream::connect(monitor) {
                // QEMU sends events only after this command.
                if stream.write_all(b"{\"execute\": \"qmp_capabilities\"}\n").is_ok() {
                    return Some(stream);
                }
            }
            if self.held().child.try_wait().is_ok_and(|status| status.is_some()) {
                return None;
            }
            thread::sleep(PERIOD);
        }
    }

    fn held(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the guest ended for good; `None` while it runs or reboots.
    pub(super) fn ended(&self) -> Option<String> {
        let mut state = self.held();
        if state.then == Then::Off && state.ended.is_none() {
            state.ended = state.child.try_wait().ok().flatten().map(|status| status.to_string());
        }
        state.ended.clone()
    }

    /// Cuts the power: kills QEMU and starts a new one.
    pub(super) fn cut(&self) {
        let mut state = self.held();
        state.then = Then::On;
        let _ = state.child.kill();
    }

    /// Powers off for good.
    pub(super) fn end(&self) {
        let mut state = self.held();
        state.then = Then::Off;
        let _ = state.child.kill();
        let _ = state.child.wait();
    }
}

/// An event of QEMU's monitor that matters here.
#[derive(Debug, PartialEq, Eq)]
enum MonitorEvent {
    /// QEMU ends because its guest reboots.
    Reboot,
    /// The agent has closed the port.
    AgentGone,
}

#[derive(Deserialize)]
struct Line {
    event: String,
    #[serde(default)]
    data: Value,
}

fn parse_event(line: &str) -> Option<MonitorEvent> {
    let Line { event, data } = serde_json::from_str(line).ok()?;
    match event.as_str() {
        "SHUTDOWN" => (data.get("reason")? == "guest-reset").then_some(MonitorEvent::Reboot),
        "VSERPORT_CHANGE" => (data.get("open")? == &Value::Bool(false)).then_some(MonitorEvent::AgentGone),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn a_reboot_is_distinguished_from_a_shutdown() {
        let line = |event: &str, data: &str| {
            format!(r#"{{"timestamp": {{"seconds": 1, "microseconds": 2}}, "event": "{event}", "data": {data}}}"#)
        };
        let reset = line("SHUTDOWN", r#"{"guest": true, "reason": "guest-reset"}"#);
        assert_eq!(parse_event(&reset), Some(MonitorEvent::Reboot));
        assert_eq!(parse_event(&line("SHUTDOWN", r#"{"guest": true, "reason": "guest-shutdown"}"#)), None);
        assert_eq!(
            parse_event(&line("VSERPORT_CHANGE", r#"{"open": false, "id": "lab-port"}"#)),
            Some(MonitorEvent::AgentGone)
        );
        assert_eq!(parse_event(&line("VSERPORT_CHANGE", r#"{"open": true, "id": "lab-port"}"#)), None);
        for other in [r#"{"QMP": {"version": {}, "capabilities": ["oob"]}}"#, r#"{"return": {}}"#, "no JSON", ""] {
            assert_eq!(parse_event(other), None);
        }
    }

    /// A shell in place of QEMU, without a monitor: it records each start and runs `script`.
    fn shell_as_qemu(folder: &std::path::Path, script: &str) -> Supply {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo started >>{}; {script}", folder.join("starts").display())]);
        Supply { command, log: folder.join("log") }
    }

    fn starts(folder: &std::path::Path) -> usize {
        fs::read_to_string(folder.join("starts")).unwrap_or_default().lines().count()
    }

    fn until(what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn power_comes_back_after_a_cut_but_not_after_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let supply = shell_as_qemu(folder.path(), "exec sleep 600");
        let power = Power::on_with_reboots(supply, folder.path().join("monitor"), Arc::default()).unwrap();
        until("it is started", || starts(folder.path()) == 1);
        power.cut();
        until("it is started again", || starts(folder.path()) == 2);
        assert_eq!(power.ended(), None);
        power.end();
        until("it is off", || power.ended().is_some());
        assert_eq!(starts(folder.path()), 2);
    }

    #[test]
    fn a_guest_that_powers_off_stays_off() {
        let folder = tempfile::tempdir().unwrap();
        let supply = shell_as_qemu(folder.path(), "exit 3");
        let power = Power::on_with_reboots(supply, folder.path().join("monitor"), Arc::default()).unwrap();
        until("it is off", || power.ended().is_some_and(|how| how.contains('3')));
        assert_eq!(starts(folder.path()), 1);
    }

    #[test]
    fn a_missing_qemu_is_reported_with_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let supply = Supply { command: Command::new("/nowhere/qemu-system-x86_64"), log: folder.path().join("log") };
        let error = Power::on_with_reboots(supply, folder.path().join("monitor"), Arc::default()).err().unwrap();
        assert!(error.to_string().contains("apt-get install qemu-system-x86"), "{error}");
    }
}
