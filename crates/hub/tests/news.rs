//! What a hub tells its nodes: where it is, and which certificate it has.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::{Sender, Signals};
use farm::monitor::{Purpose, ToldBody};
use hub::keys::Keys;
use store::{Change, Read as _, Store as _};

use crate::support::agent_node::AgentNode;
use crate::support::{TestHub, TestNode, by, free_port, punctual_hub, text};

fn run(folder: &Path, words: &[&str]) -> String {
    let (code, said, error) = text(&punctual_hub(folder, words));
    assert_eq!(code, 0, "{error}");
    said
}

#[test]
fn a_node_that_waits_hears_at_once_what_is_announced_and_nobody_else_hears_anything() {
    let hub = TestHub::start();
    let node = hub.enrolled("listens");
    let mut connection = hub.connect();
    let own = connection.own_value(hub.key());
    let told: ToldBody = node.listen(&hub, &mut connection, own, None).signed(Purpose::Told, hub.key());
    assert_eq!((told.connection, told.epoch), (own, hub.running().hub.epoch));
    let knows = told.news.unwrap().hash();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| node.listen(&hub, &mut connection, own, Some(knows)));
        run(&hub.folder, &["announce", "new.example:5400", "192.0.2.7"]);
        let told: ToldBody = waiting.join().unwrap().signed(Purpose::Told, hub.key());
        assert_eq!(told.news.unwrap().addresses, ["new.example:5400", "192.0.2.7"]);
    });
    assert_eq!(run(&hub.folder, &["announce"]), "new.example:5400\n192.0.2.7\n");
    let row = &hub.store().audit(None, 1).unwrap()[0];
    assert!(matches!(&row.change, Change::Announced { addresses } if addresses.len() == 2), "{row:?}");
    assert_ne!(text(&punctual_hub(&hub.folder, &["announce", "hub:port"])).0, 0);
    let refused = |node: &TestNode| {
        let mut connection = hub.connect();
        let own = connection.own_value(hub.key());
        node.listen(&hub, &mut connection, own, None).refused()
    };
    assert_eq!(refused(&TestNode::new()), (403, "not-enrolled".to_owned()));
    hub.store().change_node(node.key(), &Change::Revoked, &by()).unwrap();
    assert_eq!(refused(&node), (403, "revoked".to_owned()));
}

#[test]
fn a_hub_that_moves_is_found_where_it_said_it_would_be() {
    let place = tempfile::tempdir().unwrap();
    let (old, new) = (free_port(), free_port());
    let mut hub = TestHub::start_in(&place.path().join("hub"), old);
    let mut node = AgentNode::enrolled(&hub, &hub.token(None), "node", &[old]);
    node.measure(7_000);
    run(&hub.folder, &["announce", &new.to_string()]);
    // Its sender connects before the hub has looked, or after: the listener hears it in any case.
    let signals = Arc::new(Signals::default());
    let identity = Arc::new(node.state.identity().unwrap().unwrap());
    let spool = Arc::clone(&node.spool);
    let sender = Sender::new(node.state.clone(), identity, spool, Arc::clone(&signals), Duration::ZERO).unwrap();
    let listener = sender.listener();
    let listening = std::thread::spawn(move || listener.run());
    let until = Instant::now() + Duration::from_secs(30);
    while !signals.status().addresses.contains(&new.to_string()) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    signals.is_over();
    hub.stop();
    listening.join().unwrap();
    let hub = TestHub::start_in(&hub.folder, new);
    node.send().unwrap();
    node.check_held_by(&hub.store());
    let enrolment = node.state.enrolment().unwrap().unwrap();
    assert_eq!((enrolment.announced, enrolment.addresses), (vec![new.to_string()], vec![old.to_string()]));
    // What is no longer announced is forgotten, and what the user named stays.
    run(&hub.folder, &["announce", "--none"]);
    let until = Instant::now() + Duration::from_secs(30);
    while !node.state.enrolment().unwrap().unwrap().announced.is_empty() && Instant::now() < until {
        node.measure(1);
        node.send().unwrap();
    }
    assert!(node.state.enrolment().unwrap().unwrap().announced.is_empty());
}

#[test]
fn nodes_follow_the_certificate_however_often_it_was_changed_and_whoever_was_restored() {
    let place = tempfile::tempdir().unwrap();
    let (folder, port) = (place.path().join("hub"), free_port());
    let mut hub = TestHub::start_in(&folder, port);
    let node = |hub: &TestHub, name: &str| AgentNode::enrolled(hub, &hub.token(None), name, &[port]);
    let (mut always, mut asleep) = (node(&hub, "always"), node(&hub, "asleep"));
    let backup = place.path().join("before.backup");
    run(&folder, &["backup", backup.to_str().unwrap()]);
    for at in 1..4 {
        let open = hub.token(None);
        let said = run(&folder, &["certificate", "--change"]);
        always.measure(at);
        always.send().unwrap();
        hub.restart();
        always.measure(at + 1_000);
        always.send().unwrap();
        // A token of before names the certificate of before.
        let stranger = TestNode::new();
        assert_eq!(stranger.enrol(&hub, &open, "late").refused(), (403, "token".to_owned()));
        let known = always.state.enrolment().unwrap().unwrap().certificates;
        assert_eq!(said, format!("present {}\nnext    {}\n", known[0], known[1]));
    }
    assert!(run(&folder, &["certificate"]).ends_with("changed 3 times\n"));
    asleep.measure(5_000);
    asleep.send().unwrap();
    // A hub of a backup of before the changes, with what was kept apart.
    hub.stop();
    let restored = place.path().join("restored");
    let log = folder.join("keep-apart/nodes.log");
    run(&restored, &["restore", backup.to_str().unwrap(), "--log", log.to_str().unwrap()]);
    let hub = TestHub::start_in(&restored, port);
    for node in [&mut always, &mut asleep] {
        node.measure(77);
        node.send().unwrap();
        node.check_held_by(&hub.store());
    }
    let keys = |folder: &Path| {
        let keys = Keys::load_or_make(&hub::folder::Folder::open(folder).unwrap()).unwrap();
        (keys.agents.fingerprint(), keys.next, keys.steps)
    };
    assert_eq!(keys(&restored), keys(&folder));
}

#[test]
fn a_hub_with_stolen_keys_of_before_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (folder, stolen) = (place.path().join("hub"), place.path().join("stolen"));
    let (port, thief) = (free_port(), free_port());
    let mut hub = TestHub::start_in(&folder, port);
    let mut node = AgentNode::enrolled(&hub, &hub.token(None), "node", &[thief, port]);
    // All of the folder, but for what is kept apart.
    run(&folder, &["backup", stolen.to_str().unwrap()]);
    hub.stop();
    run(&folder, &["certificate", "--change"]);
    let hub = TestHub::start_in(&folder, port);
    node.measure(1);
    node.send().unwrap();
    let other = place.path().join("thief");
    run(&other, &["restore", stolen.to_str().unwrap()]);
    let of_thief = TestHub::start_in(&other, thief);
    node.measure(2);
    node.send().unwrap();
    node.check_held_by(&hub.store());
    assert_eq!(of_thief.store().fleet(crate::support::now_ns()).unwrap()[0].latest, None);
}
