//! A hub that is restored elsewhere, and the old one that wakes up.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::{SendError, Sender, Signals};
use farm::monitor::{Purpose, Refused, ReturnBody};
use farm::stream::NodeKey;
use hub::apart::{ApartLog, Event, Line};
use hub::backup::Backup;
use hub::folder::Folder;
use store::{Change, Read as _, Sqlite, Store as _, TokenState};

use crate::support::agent_node::AgentNode;
use crate::support::{TestHub, TestNode, any, by, free_port, now_ns, punctual_hub, serve_in_vain, text};

fn path(of: &Path) -> &str {
    of.to_str().unwrap()
}

fn back_up(hub: &TestHub, to: &Path) {
    let (code, _, error) = text(&punctual_hub(&hub.folder, &["backup", path(to)]));
    assert_eq!(code, 0, "{error}");
}

/// Restores by the command; what it says as JSON.
fn restored(folder: &Path, words: &[&str]) -> serde_json::Value {
    let (code, said, error) = text(&punctual_hub(folder, &[&["restore", "--json"], words].concat()));
    assert_eq!(code, 0, "{error}");
    serde_json::from_str(&said).unwrap()
}

fn is_old_hub(error: &SendError) -> bool {
    matches!(error, SendError::OldHub { .. })
}

#[test]
fn a_restored_hub_has_every_maximum_again_and_the_old_one_that_wakes_up_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (old_folder, new_folder) = (place.path().join("old"), place.path().join("new"));
    let (old_port, new_port) = (free_port(), free_port());
    let mut old = TestHub::start_in(&old_folder, old_port);
    let node = |hub: &TestHub, name: &str| AgentNode::enrolled(hub, &hub.token(None), name, &[old_port, new_port]);
    let mut nodes = vec![node(&old, "a"), node(&old, "b")];
    let mut thief = node(&old, "thief");
    let (used_later, never_used) = (old.token(Some("by-the-door")), old.token(None));
    for at in 0..20 {
        nodes.iter_mut().chain([&mut thief]).for_each(|node| node.measure(10_000 + at));
    }
    nodes.iter().chain([&thief]).for_each(|node| node.send().unwrap());
    let backup = place.path().join("hub.backup");
    back_up(&old, &backup);
    // What the backup lacks: intervals, nodes of both kinds of tokens, a revocation.
    nodes.push(AgentNode::enrolled(&old, &used_later, "host", &[old_port, new_port]));
    nodes.push(node(&old, "d"));
    for at in 0..20 {
        nodes.iter_mut().for_each(|node| node.measure(500_000 - at));
    }
    nodes.iter().for_each(|node| node.send().unwrap());
    assert_eq!(text(&punctual_hub(&old_folder, &["revoke", "thief"])).0, 0);
    old.stop();
    // Some is not acknowledged when the machine is lost.
    nodes.iter_mut().for_each(|node| node.measure(777));
    let log = place.path().join("nodes.log");
    fs::copy(old_folder.join("keep-apart/nodes.log"), &log).unwrap();

    let said = restored(&new_folder, &[path(&backup), "--log", path(&log)]);
    assert_eq!(said["revoked"], serde_json::json!(["thief"]), "{said}");
    assert_eq!(said["enrolled"], serde_json::json!(["by-the-door", "d"]), "{said}");
    assert_eq!((said["ended-tokens"].as_u64(), said["epoch-before"].as_u64()), (Some(1), Some(1)), "{said}");
    let new = TestHub::start_in(&new_folder, new_port);
    assert_eq!((new.key(), Some(new.running().hub.epoch)), (old_key(&new_folder), said["epoch"].as_u64()));
    // Nobody touches the nodes.
    nodes.iter().for_each(|node| node.send().unwrap());
    thief.measure(1);
    assert!(matches!(&thief.send(), Err(SendError::Hub(error)) if error.refused() == Some(Refused::Revoked)));
    nodes.iter().for_each(|node| node.check_held_by(&new.store()));
    let refused = TestNode::new().enrol(&new, &never_used, "x").refused();
    assert_eq!(refused, (403, "token".to_owned()));
    let tokens = new.store().tokens().unwrap();
    assert!(tokens.iter().any(|token| token.state == TokenState::Used(nodes[2].key)), "{tokens:?}");

    // The old machine is repaired.
    let awake = TestHub::start_in(&old_folder, old_port);
    for turn in 0..3 {
        nodes.iter_mut().for_each(|node| node.measure(1_000_000 + turn));
        for node in &mut nodes {
            // The old one's address comes first: it is refused, and the next one is tried.
            node.send().unwrap();
            if turn == 1 {
                node.restart();
            }
        }
    }
    nodes.iter().for_each(|node| node.check_held_by(&new.store()));
    assert_eq!((awake.store().epoch().unwrap(), awake.store().nodes().unwrap().len()), (1, 5));
    // With the old one alone nothing counts as acknowledged.
    drop(new);
    nodes.iter_mut().for_each(|node| node.measure(5));
    for node in &nodes {
        let waiting = node.spool.lock().unwrap().counts().1;
        assert!(node.send().is_err() && node.spool.lock().unwrap().counts().1 == waiting && waiting == 1);
    }
}

/// A hub that nodes have sent all to, and a port for the one that was restored from its backup, which lacks the end of it.
fn restored_without_a_tail(place: &Path, nodes: usize) -> (TestHub, Vec<AgentNode>, SocketAddr) {
    let new_port = free_port();
    let old = TestHub::start_in(&place.join("old"), any());
    let addresses = [old.running().agents, new_port];
    let mut enrolled: Vec<AgentNode> =
        (0..nodes).map(|at| AgentNode::enrolled(&old, &old.token(None), &format!("n{at}"), &addresses)).collect();
    let mut measured = |maximum_ns: i64| {
        for node in &mut enrolled {
            node.measure(maximum_ns);
            node.send().unwrap();
        }
    };
    measured(4_000);
    let backup = place.join("hub.backup");
    back_up(&old, &backup);
    measured(90_000);
    restored(&place.join("new"), &[path(&backup)]);
    (old, enrolled, new_port)
}

#[test]
fn a_restored_hub_gets_the_lost_tail_of_nodes_that_have_nothing_to_send() {
    let place = tempfile::tempdir().unwrap();
    let (mut old, mut nodes, new_port) = restored_without_a_tail(place.path(), 2);
    old.stop();
    // One was started again: what the backup lacks is of a stream that has ended, and the one that goes on is at its beginning.
    nodes[1].restart();
    let new = TestHub::start_in(&place.path().join("new"), new_port);
    assert_ne!(nodes[0].held_by(&new.store()).0, nodes[0].truth, "the backup lacks something");
    for node in &nodes {
        node.send().unwrap();
        node.check_held_by(&new.store());
    }
}

/// Runs a node's sender, as the agent does, while something happens to the hub that it has asked once; until it has ended well.
fn while_sending<T>(node: &AgentNode, hub: TestHub, happens: impl FnOnce(TestHub) -> T) -> T {
    let signals = Arc::new(Signals::default());
    let identity = Arc::new(node.state.identity().unwrap().unwrap());
    let (spool, interval) = (Arc::clone(&node.spool), Duration::from_millis(50));
    let before_ns = now_ns();
    let sender = Sender::new(node.state.clone(), identity, spool, Arc::clone(&signals), interval).unwrap();
    let sending = std::thread::spawn(|| sender.run());
    let has_asked = |store: &Sqlite| store.node(node.key).unwrap().unwrap().seen_wall_ns >= Some(before_ns);
    assert!(comes(|| has_asked(&hub.store())), "it asks after its start");
    let kept = happens(hub);
    signals.is_over();
    sending.join().unwrap();
    kept
}

/// Whether something comes true in time.
fn comes(is_there: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_there() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    is_there()
}

#[test]
fn an_agent_that_waits_finds_out_by_itself_that_its_hub_was_restored() {
    let place = tempfile::tempdir().unwrap();
    let (old, nodes, new_port) = restored_without_a_tail(place.path(), 1);
    while_sending(&nodes[0], old, |mut old| {
        old.stop();
        let new = TestHub::start_in(&place.path().join("new"), new_port);
        comes(|| nodes[0].held_by(&new.store()).0 == nodes[0].truth);
        nodes[0].check_held_by(&new.store());
        new
    });
}

#[test]
fn an_agent_that_waits_gives_again_what_a_hub_lost_of_streams_that_have_ended() {
    let place = tempfile::tempdir().unwrap();
    let (folder, port) = (place.path().join("hub"), free_port());
    let mut hub = TestHub::start_in(&folder, port);
    let mut node = AgentNode::enrolled(&hub, &hub.token(None), "a", &[port]);
    let measured = |node: &mut AgentNode, maximum_ns| {
        node.measure(maximum_ns);
        node.send().unwrap();
    };
    measured(&mut node, 4_000);
    hub.stop();
    hub.store().close_whole().unwrap();
    let earlier = fs::read(folder.join("store.sqlite")).unwrap();
    let hub = TestHub::start_in(&folder, port);
    measured(&mut node, 90_000);
    node.restart();
    measured(&mut node, 5_000);
    while_sending(&node, hub, |mut hub| {
        // Its disk is set back, and nobody restores it: its life is the same.
        hub.stop();
        for name in ["store.sqlite-wal", "store.sqlite-shm"] {
            let _ = fs::remove_file(folder.join(name));
        }
        fs::write(folder.join("store.sqlite"), &earlier).unwrap();
        let hub = TestHub::start_in(&folder, port);
        comes(|| node.held_by(&hub.store()).0 == node.truth);
        node.check_held_by(&hub.store());
        hub
    });
}

/// The key of the hub of a folder.
fn old_key(folder: &Path) -> farm::monitor::HubKey {
    let folder = Folder::open(folder).unwrap();
    hub::keys::Keys::load_or_make(&folder).unwrap().hub()
}

#[test]
fn without_the_log_nodes_show_what_the_hub_has_signed_and_the_unknown_time_is_said() {
    let place = tempfile::tempdir().unwrap();
    let (old_folder, new_folder) = (place.path().join("old"), place.path().join("new"));
    let (old_port, new_port) = (free_port(), free_port());
    let mut old = TestHub::start_in(&old_folder, old_port);
    let backup = place.path().join("hub.backup");
    let of_ns = now_ns();
    back_up(&old, &backup);
    let mut node = AgentNode::enrolled(&old, &old.token(Some("door")), "host", &[old_port, new_port]);
    let mut thief = AgentNode::enrolled(&old, &old.token(None), "thief", &[old_port, new_port]);
    for node in [&mut node, &mut thief] {
        node.measure(9_000);
        node.send().unwrap();
    }
    old.stop();
    let (code, said, error) = text(&punctual_hub(&new_folder, &["restore", path(&backup)]));
    assert!(code == 0 && said.contains("unknown from") && said.contains("revoke them again"), "{said} {error}");
    let new = TestHub::start_in(&new_folder, new_port);
    let log = new.store().audit(None, 100).unwrap();
    let since = log.iter().find_map(|row| match row.change {
        Change::Restored { revoked_unknown_since_wall_ns, .. } => revoked_unknown_since_wall_ns,
        _ => None,
    });
    assert!(since.is_some_and(|since| since >= of_ns && since <= now_ns()), "{log:?}");
    node.measure(8_000);
    node.send().unwrap();
    node.check_held_by(&new.store());
    assert_eq!(new.store().node(node.key).unwrap().unwrap().name, "door");
    let enrolment = node.state.enrolment().unwrap().unwrap();
    assert_eq!(enrolment.epoch, new.running().hub.epoch, "it keeps what the hub has signed in this life");
    // One that was revoked here stays out.
    thief.measure(1);
    thief.send().unwrap();
    new.store().change_node(thief.key, &Change::Revoked, &by()).unwrap();
    thief.measure(1);
    assert!(matches!(&thief.send(), Err(SendError::Hub(error)) if error.refused() == Some(Refused::Revoked)));
    // The old one that wakes up knows by the enrolment that it is old, and a fresh spool does not help it.
    let mut late = AgentNode::enrolled(&new, &new.token(None), "late", &[new_port, old_port]);
    drop(new);
    let awake = TestHub::start_in(&old_folder, old_port);
    late.measure(3);
    assert!(matches!(&late.send(), Err(SendError::Hub(error)) if error.refused() == Some(Refused::OldHub)));
    assert!(awake.store().node(late.key).unwrap().is_none());
    // One that it knows, and that has forgotten all marks, has the life in its enrolment.
    assert!(awake.store().node(node.key).unwrap().is_some());
    node.restart_without_spool();
    node.measure(4);
    assert!(node.send().is_err());
    assert_eq!(node.spool.lock().unwrap().counts(), (3, 3), "the old hub acknowledges nothing");
}

#[test]
fn of_two_that_were_restored_from_one_backup_nodes_stay_with_the_later_one() {
    let place = tempfile::tempdir().unwrap();
    let old = TestHub::start_in(&place.path().join("old"), any());
    let ports = [free_port(), free_port()];
    let mut node = AgentNode::enrolled(&old, &old.token(None), "a", &[old.running().agents, ports[0], ports[1]]);
    node.measure(4_000);
    node.send().unwrap();
    let backup = place.path().join("hub.backup");
    back_up(&old, &backup);
    node.measure(40_000);
    node.send().unwrap();
    drop(old);
    let of = |path: &Path| Backup::open(path).unwrap().manifest;
    let first = of(&backup);
    assert_eq!(first.complete_until_wall_ns, first.of_wall_ns);
    let folders = [place.path().join("one"), place.path().join("two")];
    let epochs = folders.each_ref().map(|folder| restored(folder, &[path(&backup)])["epoch"].as_u64().unwrap());
    assert_ne!(epochs[0], epochs[1]);
    // Within a second chance decides which one it is.
    let later = usize::from(epochs[1] > epochs[0]);
    let one = TestHub::start_in(&folders[1 - later], ports[1 - later]);
    // Nobody has sent again to it what its backup lacked: nor has a backup of it.
    let too_early = place.path().join("too-early.backup");
    let (_, _, warned) = text(&punctual_hub(&one.folder, &["backup", path(&too_early)]));
    assert!(warned.contains("Still to come, or to be retired: a"), "{warned}");
    assert_eq!(of(&too_early).complete_until_wall_ns, first.of_wall_ns);
    node.send().unwrap();
    node.measure(3_000);
    node.send().unwrap();
    node.check_held_by(&one.store());
    let two = TestHub::start_in(&folders[later], ports[later]);
    drop(one);
    node.measure(2_000);
    node.send().unwrap();
    node.check_held_by(&two.store());
    drop(two);
    let again = TestHub::start_in(&folders[1 - later], ports[1 - later]);
    node.measure(1_000);
    let error = node.send().unwrap_err();
    // The last address may be one that nobody listens at.
    assert!(is_old_hub(&error) || matches!(error, SendError::Hub(_)), "{error}");
    assert_eq!(node.spool.lock().unwrap().counts().1, 1, "the earlier one acknowledges nothing any more");
    drop(again);
    let two = TestHub::start_in(&folders[later], ports[later]);
    node.send().unwrap();
    node.check_held_by(&two.store());
}

#[test]
fn a_restore_writes_over_nothing_and_goes_on_after_a_kill() {
    let place = tempfile::tempdir().unwrap();
    let hub = TestHub::start_in(&place.path().join("old"), any());
    hub.enrolled("lime2");
    let backup = place.path().join("hub.backup");
    back_up(&hub, &backup);
    let restore = |folder: &Path| text(&punctual_hub(folder, &["restore", path(&backup)]));
    let there = restore(&hub.folder);
    assert!(there.0 == 2 && there.2.contains("store.sqlite is there"), "{there:?}");
    // A log of SQLite's alone would be taken for the new store's.
    let folder = place.path().join("new");
    let made = |name: &str, bytes: &[u8]| {
        let _ = fs::create_dir(&folder);
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        fs::write(folder.join(name), bytes).unwrap();
    };
    made("store.sqlite-wal", b"left");
    assert!(restore(&folder).2.contains("store.sqlite-wal is there"));
    fs::remove_file(folder.join("store.sqlite-wal")).unwrap();
    made("hub.key", b"another hub's");
    assert!(restore(&folder).2.contains("of another hub"));
    fs::remove_file(folder.join("hub.key")).unwrap();
    let missing = text(&punctual_hub(&folder, &["restore", path(&backup), "--log", "/nowhere/nodes.log"]));
    assert!(missing.0 == 2 && missing.2.contains("no such file"), "{missing:?}");
    // Killed at any point: what stands there then.
    made("restore-unfinished", b"");
    made("store.restoring", b"half");
    made("store.sqlite", b"SQLite format 3\0 a whole one, not marked as such");
    let serve = serve_in_vain(&folder);
    assert!(serve.0 == 2 && serve.2.contains("not finished"), "{serve:?}");
    assert_eq!(text(&punctual_hub(&folder, &["status"])).0, 2);
    // One that is refused now does not clear the way for a hub of the keys alone.
    let log = ApartLog::new(&Folder::make(&place.path().join("log")).unwrap(), hub.key());
    let event = Event::Enrolled { node: NodeKey([3; 32]), name: "../x".to_owned(), token_sha256: None };
    log.append(&[Line { at_wall_ns: now_ns(), event }]).unwrap();
    let refused = text(&punctual_hub(&folder, &["restore", path(&backup), "--log", path(log.path())]));
    assert!(refused.0 == 2 && refused.2.contains("slash"), "{refused:?}");
    assert!(folder.join("restore-unfinished").exists());
    let (code, _, error) = restore(&folder);
    assert_eq!(code, 0, "{error}");
    let new = TestHub::start_in(&folder, any());
    assert_eq!((new.key(), new.store().nodes().unwrap().len()), (hub.key(), 1));
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("restor")), "{left:?}");
    // A number that nodes have seen is passed over.
    let above = (1_u64 << 52) + 5;
    let said = restored(&place.path().join("above"), &[path(&backup), "--epoch-above", &above.to_string()]);
    assert!(said["epoch"].as_u64().unwrap() > above, "{said}");
}

#[test]
fn a_hub_whose_log_knows_a_later_life_does_not_serve() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("hub");
    let mut hub = TestHub::start_in(&folder, any());
    let backup = place.path().join("hub.backup");
    back_up(&hub, &backup);
    hub.stop();
    hub.store().close_whole().unwrap();
    let old = fs::read(folder.join("store.sqlite")).unwrap();
    // Restored in its place: the log of the folder goes on.
    fs::remove_file(folder.join("store.sqlite")).unwrap();
    let first = restored(&folder, &[path(&backup)]);
    assert_eq!(first["has-log"], true, "{first}");
    let again = TestHub::start_in(&folder, any());
    assert_eq!(Some(again.running().hub.epoch), first["epoch"].as_u64());
    drop(again);
    // Somebody puts the old store back by hand.
    for name in ["store.sqlite-wal", "store.sqlite-shm"] {
        let _ = fs::remove_file(folder.join(name));
    }
    fs::write(folder.join("store.sqlite"), old).unwrap();
    let error = hub::serve::Running::start(&hub.options).err().unwrap().to_string();
    assert!(error.contains("a later life of this hub") && error.contains("punctual-hub restore"), "{error}");
}

#[test]
fn a_hub_that_has_lost_its_store_does_not_begin_a_new_one() {
    let mut hub = TestHub::start();
    fs::write(hub.folder.join("addresses.json"), r#"{"agents_port": 1, "people": "http://localhost/"}"#).unwrap();
    hub.stop();
    for name in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"] {
        let _ = fs::remove_file(hub.folder.join(name));
    }
    for (code, _, error) in [serve_in_vain(&hub.folder), text(&punctual_hub(&hub.folder, &["status"]))] {
        assert!(code == 2 && error.contains("punctual-hub restore"), "{error}");
    }
    assert!(!hub.folder.join("store.sqlite").exists());
}

#[test]
fn nobody_returns_by_what_was_signed_for_another_node_or_by_another_hub() {
    let (hub, other) = (TestHub::start(), TestHub::start());
    let enrolment = |hub: &TestHub, node: &TestNode| {
        let answer = node.enrol(hub, &hub.token(None), "name");
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text()
    };
    let (node, thief) = (TestNode::new(), TestNode::new());
    let shows = |who: &TestNode, enrolment: String| {
        let body = serde_json::to_vec(&ReturnBody { enrolment, version: String::new() }).unwrap();
        hub.connect().post("/v1/return", &who.signed(Purpose::Return, hub.key(), body))
    };
    let refused = |status: u16, word: &str| (status, word.to_owned());
    let own = enrolment(&hub, &node);
    assert_eq!(shows(&thief, own.clone()).refused(), refused(401, "not-signed"));
    let elsewhere = enrolment(&other, &thief);
    assert_eq!(shows(&thief, elsewhere).refused(), refused(401, "not-signed"));
    assert_eq!(shows(&thief, "hello".to_owned()).refused(), refused(400, "malformed"));
    // By its own hand a node says nothing of what the hub has signed.
    let by_itself = String::from_utf8(thief.signed(Purpose::Return, hub.key(), b"{}".to_vec())).unwrap();
    assert_eq!(shows(&thief, by_itself).refused(), refused(400, "malformed"));
    assert_eq!(shows(&node, own.clone()).status, 200, "one that is enrolled stays so");
    hub.store().change_node(node.key(), &Change::Revoked, &by()).unwrap();
    assert_eq!(shows(&node, own).refused(), refused(403, "revoked"));
    assert_eq!(hub.store().nodes().unwrap().len(), 1);
}
