//! The commands on the hub's machine, while it serves.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use farm::Token;
use farm::monitor::{EnrolmentBody, HubKey, MarkBody, Purpose};
use farm::stream::NodeKey;
use hub::keys::hexadecimal;

use crate::support::{Client, TestHub, TestNode, get, punctual_hub, text};

/// A hub that would serve in a folder, at any ports.
fn serving(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual-hub"));
    command.arg("--folder").arg(folder).args(["serve", "--no-own-machine"]);
    command.args(["--agents", "127.0.0.1:0", "--people", "127.0.0.1:0"]);
    command
}

/// Starts a hub that is a process; what it prints of itself, word by word.
fn serve(folder: &Path, lines: usize) -> (Ended, Vec<Vec<String>>) {
    let mut command = serving(folder);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let printed = BufReader::new(child.stdout.take().unwrap()).lines().take(lines).map(Result::unwrap);
    let words = printed.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect();
    (Ended(child), words)
}

/// The service manager that a hub is told of.
fn manager(name: &Path) -> std::os::unix::net::UnixDatagram {
    let manager = std::os::unix::net::UnixDatagram::bind(name).unwrap();
    manager.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    manager
}

#[test]
fn a_hub_serves_on_where_nobody_reads_what_it_prints() {
    let place = tempfile::tempdir().unwrap();
    let name = place.path().join("manager");
    let manager = manager(&name);
    let folder = place.path().join("hub");
    let mut command = serving(&folder);
    let mut child = Ended(command.env("NOTIFY_SOCKET", &name).stdout(Stdio::piped()).spawn().unwrap());
    // As `head` does, and sooner.
    drop(child.0.stdout.take());
    let mut word = [0; 64];
    let length = manager.recv(&mut word).expect("it is ready");
    assert!(!word[..length].is_empty());
    let (code, link, _) = text(&punctual_hub(&folder, &["link"]));
    assert!(code == 0 && link.starts_with("http://127.0.0.1:"), "{link}");
    assert!(child.0.try_wait().unwrap().is_none(), "it has ended");
}

#[test]
fn a_service_manager_hears_that_the_hub_is_ready_and_still_works() {
    let place = tempfile::tempdir().unwrap();
    let name = place.path().join("manager");
    let manager = manager(&name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual-hub"));
    command.arg("--folder").arg(place.path().join("hub")).args([
        "serve",
        "--no-own-machine",
        "--agents",
        "127.0.0.1:0",
        "--people",
    ]);
    let child = command.arg("127.0.0.1:0").env("NOTIFY_SOCKET", &name).stdout(Stdio::null()).spawn().unwrap();
    let next = || {
        let mut word = [0; 64];
        manager.recv(&mut word).map(|length| String::from_utf8(word[..length].to_vec()).unwrap()).unwrap()
    };
    let mut child = Ended(child);
    let heard = [next(), next(), next()];
    assert!(heard.contains(&"READY=1".to_owned()) && heard.contains(&"WATCHDOG=1".to_owned()), "{heard:?}");
    let ended = Command::new("kill").arg(child.0.id().to_string()).status().unwrap();
    assert!(ended.success() && child.0.wait().unwrap().success());
    let last: Vec<String> = std::iter::repeat_with(next).take_while(|word| word != "STOPPING=1").collect();
    assert!(last.iter().all(|word| word == "WATCHDOG=1"), "{last:?}");
}

/// All files of a folder that are not a user's.
fn foreign(folder: &Path, user: u32) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { foreign(&path, user) } else { vec![path] });
    let mut all: Vec<PathBuf> = below.chain([folder.to_owned()]).collect();
    all.retain(|path| std::fs::metadata(path).unwrap().uid() != user);
    all
}

/// A service runs as a user of its own, whom nobody can log in as: the superuser's commands leave it its files.
#[test]
fn what_the_superuser_does_in_the_folder_of_a_service_belongs_to_the_service_s_user() {
    const SERVICE: u32 = 65_534;
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("hub");
    drop(serve(&folder, 2));
    let own = kernel::process::effective_user();
    assert_eq!(foreign(&folder, own), Vec::<PathBuf>::new());
    if !kernel::process::is_root() {
        // Nobody else can give a folder away.
        return;
    }
    let given = Command::new("chown").arg("-R").arg(format!("{SERVICE}:{SERVICE}")).arg(&folder).status().unwrap();
    assert!(given.success());
    for command in [&["enrol"][..], &["link"], &["backup"], &["status"]] {
        let output = punctual_hub(&folder, command);
        assert_eq!(output.status.code(), Some(0), "{command:?}: {output:?}");
        assert_eq!(foreign(&folder, SERVICE), Vec::<PathBuf>::new(), "{command:?}");
    }
    // Whoever serves is that user.
    let mut serve = Command::new("timeout");
    serve.args([
        "30",
        env!("CARGO_BIN_EXE_punctual-hub"),
        "serve",
        "--no-own-machine",
        "--agents",
        "127.0.0.1:0",
        "--people",
    ]);
    let refused = serve.arg("127.0.0.1:0").arg("--folder").arg(&folder).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("belongs to another user"), "{refused:?}");
}

/// A process that ends with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_was_acknowledged_outlives_a_kill() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("hub");
    let mut node = TestNode::new();
    node.begin("host");
    let mut marks: Vec<MarkBody> = Vec::new();
    for start in 0..3 {
        let (mut serving, words) = serve(&folder, 2);
        let (_, token, _) = text(&punctual_hub(&folder, &["enrol"]));
        let token: Token = token.parse().unwrap();
        let mut connection = Client::connect(words[0][1].parse().unwrap(), *token.fingerprint());
        let described = connection.ask("GET /v1/hub", b"").unwrap().json();
        let hub = HubKey(described["hub"].as_str().unwrap().parse::<NodeKey>().unwrap().0);
        if start == 0 {
            let secret = hexadecimal(*token.secret().bytes());
            let body = EnrolmentBody { secret, name: "host".to_owned(), version: String::new() };
            let message = node.signed(Purpose::Enrolment, hub, serde_json::to_vec(&body).unwrap());
            assert_eq!(connection.post("/v1/enrol", &message).status, 200);
        }
        if let Some(last) = marks.last() {
            let again: MarkBody = connection.post("/v1/batch", &node.batch(hub)).signed(Purpose::Mark, hub);
            assert_eq!(again, *last, "start {start}");
        }
        node.interval(&[9_000], None);
        marks.push(connection.post("/v1/batch", &node.batch(hub)).signed(Purpose::Mark, hub));
        // Without any chance to tidy up.
        serving.0.kill().unwrap();
        serving.0.wait().unwrap();
    }
    assert_eq!(marks.iter().map(|mark| mark.sequence).collect::<Vec<_>>(), [3, 4, 5]);
}

#[test]
fn started_alone_it_makes_what_it_needs_and_a_link_opens_the_pages() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("state/hub");
    let (_serving, words) = serve(&folder, 3);
    let link = &words[2][1];
    let (host, path) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let people = host.parse().unwrap();
    let answer = get(people, &format!("/{path}"), "");
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert!(get(people, "/", &format!("Cookie: {cookie}\r\n")).text().contains("No node is enrolled yet"));
    for entry in std::fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let wanted = if entry.path().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{}", entry.path().display());
    }
    let another = text(&punctual_hub(&folder, &["link"]));
    assert!(another.1.starts_with(&format!("http://{host}/link/")), "{another:?}");
    let wrong = text(&punctual_hub(&place.path().join("nowhere"), &["status"]));
    assert!(wrong.0 == 2 && wrong.2.contains("--folder"), "{wrong:?}");
}

#[test]
fn a_printed_token_enrols_and_what_commands_change_is_logged_and_seen() {
    let hub = TestHub::start();
    let run = |words: &[&str]| text(&punctual_hub(&hub.folder, words));
    // As 'serve' writes it, which is not what started this hub.
    let addresses = serde_json::json!({ "agents_port": hub.running().agents.port(), "people": "http://localhost/" });
    std::fs::write(hub.folder.join("addresses.json"), addresses.to_string()).unwrap();
    let (code, token, note) = run(&["enrol", "--label", "arm=v7", "--host", "hub.example"]);
    assert_eq!(code, 0, "{note}");
    assert!(
        note.contains(&format!("punctual agent enrol hub.example:{} < token", hub.running().agents.port())),
        "{note}"
    );
    let token: Token = token.parse().unwrap();
    assert_eq!(*token.fingerprint(), hub.running().hub.keys.agents.fingerprint());
    let node = TestNode::new();
    let secret = hexadecimal(*token.secret().bytes());
    assert_eq!(node.enrolled_as(&hub, &secret, "lime2").name, "lime2");
    assert_eq!(run(&["status"]).0, 0);
    assert_eq!(run(&["node", "rename", "lime2", "door"]).0, 0);
    assert_eq!(run(&["node", "place", "door", "rack 1", "3"]).0, 0);
    assert_eq!(run(&["node", "label", "door", "fan", "arm=v8"]).0, 0);
    assert_eq!(run(&["node", "note", &node.key().to_string(), "new fan"]).0, 0);
    let nodes = run(&["nodes"]).1;
    assert!(nodes.contains("door") && nodes.contains("waiting"), "{nodes}");
    let wrong = run(&["node", "rename", "door", "../x"]);
    assert!(wrong.0 == 2 && wrong.2.contains("slash"), "{wrong:?}");
    let unknown = run(&["revoke", "lime2"]);
    assert!(unknown.0 == 2 && unknown.2.contains("punctual-hub nodes"), "{unknown:?}");
    use store::Read as _;
    let log = hub.store().audit(Some(node.key()), 10).unwrap();
    assert!(log.len() >= 6 && log.iter().all(|row| !row.by.who.is_empty()), "{log:?}");
    let labels = hub.store().node(node.key()).unwrap().unwrap().labels;
    assert_eq!(
        labels.into_iter().collect::<Vec<_>>(),
        [("arm", "v8"), ("fan", "")].map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    assert_eq!(run(&["revoke", "door"]).0, 0);
    assert!(run(&["nodes", "--all"]).1.contains("revoked"));
}

#[test]
fn status_tells_scripts_whether_to_look() {
    let hub = TestHub::start();
    let mut node = hub.enrolled("lime2");
    node.ends_now_after(1);
    node.begin("lime2");
    node.interval(&[250_000], None);
    node.send(&hub);
    let (code, json, _) = text(&punctual_hub(&hub.folder, &["status", "--json"]));
    let status: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, status["beyond-limit"][0].as_str()), (1, Some("lime2")), "{json}");
    let (code, said, _) = text(&punctual_hub(&hub.folder, &["status"]));
    assert!(code == 1 && said.contains("beyond their limit: lime2"), "{said}");
    assert_eq!(text(&punctual_hub(&hub.folder, &["node", "retire", "lime2"])).0, 0);
    assert_eq!(text(&punctual_hub(&hub.folder, &["status"])).0, 0);
}

#[test]
fn tokens_of_a_list_are_listed_and_can_be_ended() {
    let hub = TestHub::start();
    let names = hub.folder.join("names");
    std::fs::write(&names, "one\ntwo\n").unwrap();
    let run = |words: &[&str]| text(&punctual_hub(&hub.folder, words));
    let (code, lines, error) = run(&["enrol", "--names", names.to_str().unwrap()]);
    assert_eq!((code, lines.lines().count()), (0, 2), "{error}");
    let (name, token) = lines.lines().next().unwrap().split_once('\t').unwrap();
    let token: Token = token.parse().unwrap();
    assert_eq!(run(&["enrol", "--end", "2"]).0, 0);
    let node = TestNode::new();
    assert_eq!(node.enrolled_as(&hub, &hexadecimal(*token.secret().bytes()), "host").name, name);
    let list = run(&["enrol", "--list"]).1;
    assert!(list.contains("used by one") && list.contains("ended"), "{list}");
}
