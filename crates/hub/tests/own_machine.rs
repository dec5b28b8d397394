//! A new hub has its own machine monitored by the program beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use store::{Quotas, Read as _, Sqlite, TokenState};

use crate::support::now_ns;

/// A program that enrols or refuses to, and notes what it is asked for.
fn program(place: &Path, enrol: &str) {
    let text = format!(
        "#!/bin/sh\necho \"$1 $2\" >>\"{0}/asked\"\ncase $2 in\nstatus) echo '{{\"is_running\": false}}' ;;\nenrol) {enrol} ;;\n\
         run) echo $$ >\"{0}/pid\"; trap 'echo ended >>\"{0}/asked\"; exit 0' TERM; while :; do sleep 0.05; done ;;\nesac\n",
        place.display()
    );
    let path = place.join("punctual");
    let part = place.join("part");
    fs::write(&part, text).unwrap();
    fs::set_permissions(&part, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&part, &path).unwrap();
}

/// Starts the hub, waits for something that it does, and ends it; what it said.
fn serve_until(place: &Path, done: impl Fn() -> bool) -> String {
    let mut command = Command::new(place.join("punctual-hub"));
    command.arg("--folder").arg(place.join("hub"));
    command.args(["serve", "--agents", "127.0.0.1:0", "--people", "127.0.0.1:0"]);
    for name in ["NOTIFY_SOCKET", "STATE_DIRECTORY"] {
        command.env_remove(name);
    }
    let said = fs::File::create(place.join("said")).unwrap();
    let mut child = command.stdout(said.try_clone().unwrap()).stderr(said).stdin(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !done() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    kernel::process::signal(child.id(), kernel::process::Signal::Terminate).unwrap();
    assert!(child.wait().unwrap().success());
    fs::read_to_string(place.join("said")).unwrap()
}

fn open_tokens(place: &Path) -> usize {
    let store = Sqlite::open(&place.join("hub/store.sqlite"), Quotas::default(), now_ns()).unwrap();
    store.tokens().unwrap().iter().filter(|token| token.state == TokenState::Open).count()
}

#[test]
fn its_own_machine_is_enrolled_once_and_its_agent_ends_with_the_hub() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let own = place.join("punctual-hub");
    fs::hard_link(env!("CARGO_BIN_EXE_punctual-hub"), &own)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_punctual-hub"), &own).map(drop))
        .unwrap();
    let has = |name: &str, words: &str| fs::read_to_string(place.join(name)).is_ok_and(|text| text.contains(words));
    // One that cannot be enrolled: the hub serves all the same, and leaves no token behind.
    program(place, "exec <&-; echo no way >&2; exit 1");
    let said = serve_until(place, || has("said", "not monitored"));
    assert!(said.contains("this machine is not monitored") && said.contains("no way"), "{said}");
    assert_eq!(open_tokens(place), 0);
    // The token comes by stdin, and in no command.
    let enrolment = place.join("hub/own-machine/enrolment.json");
    program(place, &format!("cat >\"{}/token\"; echo '{{}}' >'{}'", place.display(), enrolment.display()));
    serve_until(place, || place.join("pid").exists());
    assert!(has("token", "PUNCTUAL"));
    let asked = || fs::read_to_string(place.join("asked")).unwrap();
    assert!(asked().ends_with("agent run\nended\n"), "{}", asked());
    // Enrolled it stays.
    fs::remove_file(place.join("pid")).unwrap();
    serve_until(place, || place.join("pid").exists());
    assert_eq!(asked().matches("agent enrol").count(), 2, "{}", asked());
    assert!(asked().ends_with("agent status\nagent run\nended\n"), "{}", asked());
}
