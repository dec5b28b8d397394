//! Tokens, nodes, the log.

use farm::stream::NodeKey;
use store::{
    Adopting, Change, ChangeError, EnrolError, Enrolling, LastRestore, NewToken, Place, Quotas, SecretHash, TokenState,
    check_name,
};

use super::support::{Fresh, Kept, NOW, by};

fn enrolling(key: u8, secret: &[u8]) -> Enrolling {
    let node = NodeKey([key; 32]);
    let secret = SecretHash::of(secret);
    Enrolling { node, secret, name: "board".to_owned(), version: "0.1.0".to_owned(), at_wall_ns: NOW }
}

pub(crate) fn a_token_enrols_one_node_and_answers_it_again(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let made_for = NewToken { labels: [("line".to_owned(), "3".to_owned())].into(), ..NewToken::default() };
    let first = store.add_token(SecretHash::of(b"one"), &made_for, &by(NOW)).unwrap();
    let second = store.add_token(SecretHash::of(b"two"), &NewToken::default(), &by(NOW)).unwrap();
    let third = store.add_token(SecretHash::of(b"three"), &NewToken::default(), &by(NOW)).unwrap();
    store.end_token(third, &by(NOW + 1)).unwrap();

    let node = store.enrol(&enrolling(1, b"one")).unwrap();
    assert_eq!((node.name.as_str(), node.labels.get("line").map(String::as_str)), ("board", Some("3")));
    // The answer was lost on its way: later, and whatever else the node says of itself.
    let again = Enrolling { name: "other".to_owned(), at_wall_ns: NOW + 9, ..enrolling(1, b"one") };
    assert_eq!(store.enrol(&again).unwrap(), node);

    assert!(matches!(store.enrol(&enrolling(2, b"one")), Err(EnrolError::TokenUsed)));
    assert!(matches!(store.enrol(&enrolling(2, b"three")), Err(EnrolError::TokenEnded)));
    assert!(matches!(store.enrol(&enrolling(2, b"four")), Err(EnrolError::NoSuchToken)));
    assert!(matches!(store.enrol(&enrolling(1, b"two")), Err(EnrolError::AlreadyEnrolled { name }) if name == "board"));
    let states: Vec<_> = store.tokens().unwrap().into_iter().map(|token| (token.id, token.state)).collect();
    assert_eq!(
        states,
        [(third, TokenState::Ended), (second, TokenState::Open), (first, TokenState::Used(NodeKey([1; 32])))]
    );
    // A used one stays used, so that its node is answered.
    store.end_token(first, &by(NOW)).unwrap();
    assert_eq!(store.enrol(&enrolling(1, b"one")).unwrap(), node);
    assert!(matches!(store.end_token(99, &by(NOW)), Err(ChangeError::NoSuchToken)));

    store.change_node(node.key, &Change::Revoked, &by(NOW + 2)).unwrap();
    for secret in [&b"one"[..], b"two"] {
        assert!(matches!(store.enrol(&enrolling(1, secret)), Err(EnrolError::Revoked)));
    }
    assert_eq!(store.nodes().unwrap().len(), 1);
}

pub(crate) fn names_are_unique_and_steer_nothing(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    for (key, secret) in [(1, b"1"), (2, b"2"), (3, b"3")] {
        store.add_token(SecretHash::of(secret), &NewToken::default(), &by(NOW)).unwrap();
        store.enrol(&enrolling(key, secret)).unwrap();
    }
    let names: Vec<String> = store.nodes().unwrap().into_iter().map(|node| node.name).collect();
    assert_eq!(names, ["board", "board-2", "board-3"]);
    let renamed = |name: &str| Change::Renamed { name: name.to_owned() };
    let key = NodeKey([2; 32]);
    assert!(matches!(store.change_node(key, &renamed("board"), &by(NOW)), Err(ChangeError::NameTaken { .. })));
    assert_eq!(store.change_node(key, &renamed("board-2"), &by(NOW)).unwrap().name, "board-2", "its own is no other's");
    let refused =
        ["", "../up", "..", ".", "a/b", "a\\b", "bell\u{7}", "\u{1b}[2J", "line\nbreak", " board", "\u{202e}drawkcab"];
    for name in refused.into_iter().chain([&*"x".repeat(254)]) {
        assert!(check_name(name).is_err(), "{name:?}");
        assert!(matches!(store.change_node(key, &renamed(name), &by(NOW)), Err(ChangeError::Name(_))));
        let secret = format!("secret of {name}");
        store.add_token(SecretHash::of(secret.as_bytes()), &NewToken::default(), &by(NOW)).unwrap();
        let asked = Enrolling { name: name.to_owned(), ..enrolling(9, secret.as_bytes()) };
        assert!(matches!(store.enrol(&asked), Err(EnrolError::Name(_))));
        let token = NewToken { name: Some(name.to_owned()), ..NewToken::default() };
        assert!(store.add_token(SecretHash::of(b"named"), &token, &by(NOW)).is_err());
    }
    // What pages escape is a name.
    assert_eq!(store.change_node(key, &renamed("<script>é"), &by(NOW)).unwrap().name, "<script>é");
    // A long name leaves room for its number.
    for (key, secret) in [(11, b"a"), (12, b"b")] {
        store.add_token(SecretHash::of(secret), &NewToken::default(), &by(NOW)).unwrap();
        let node = store.enrol(&Enrolling { name: "é".repeat(126), ..enrolling(key, secret) }).unwrap();
        assert!(node.name.len() <= 253, "{}", node.name);
    }
}

pub(crate) fn changes_are_logged_and_read_back(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    for (key, secret) in [(1, b"1"), (2, b"2")] {
        store.add_token(SecretHash::of(secret), &NewToken::default(), &by(NOW)).unwrap();
        store.enrol(&enrolling(key, secret)).unwrap();
    }
    let key = NodeKey([1; 32]);
    let place = Place { rack: "R1".to_owned(), slot: "7/b".to_owned() };
    let label = |value: Option<&str>| Change::Labeled { key: "arch".to_owned(), value: value.map(str::to_owned) };
    let changes = [
        Change::Placed { place: Some(place.clone()) },
        label(Some("arm64")),
        Change::Renamed { name: "rack 1".to_owned() },
        Change::Noted { text: "new fan".to_owned() },
        Change::Retired,
    ];
    for (at, change) in (1..).zip(&changes) {
        store.change_node(key, change, &by(NOW + at)).unwrap();
    }
    let node = store.node_named("rack 1").unwrap().unwrap();
    assert_eq!((&node.place, node.retired_wall_ns), (&Some(place), Some(NOW + 5)));
    assert_eq!(node.labels.get("arch").map(String::as_str), Some("arm64"));
    let log = store.audit(Some(key), 100).unwrap();
    let logged: Vec<&Change> = log.iter().rev().map(|row| &row.change).skip(1).collect();
    assert_eq!(logged, changes.iter().collect::<Vec<_>>());
    assert_eq!((&log[0].by, log[0].node), (&by(NOW + 5), Some(key)));
    assert_eq!(store.audit(None, 3).unwrap().len(), 3);
    assert!(store.audit(None, 100).unwrap().len() > log.len());

    store.change_node(key, &Change::Unretired, &by(NOW)).unwrap();
    store.change_node(key, &label(None), &by(NOW)).unwrap();
    let node = store.change_node(key, &Change::Placed { place: None }, &by(NOW)).unwrap();
    assert!(node.place.is_none() && node.retired_wall_ns.is_none() && node.labels.is_empty());
    // What is refused is not logged.
    let before = store.audit(None, 1_000).unwrap().len();
    let refused = [
        Change::Epoch { epoch: 9 },
        Change::BackedUp { of_wall_ns: 1, complete_until_wall_ns: 1 },
        Change::Noted { text: "x".repeat(5_000) },
        label(Some("\u{7}")),
    ];
    for change in &refused {
        assert!(store.change_node(key, change, &by(NOW)).is_err(), "{change:?}");
    }
    assert!(matches!(store.change_node(NodeKey([77; 32]), &Change::Retired, &by(NOW)), Err(ChangeError::NoSuchNode)));
    assert_eq!(store.audit(None, 1_000).unwrap().len(), before);

    // One that replaces another ends what is expected of that.
    let other = NodeKey([2; 32]);
    let made_for = NewToken { replaces: Some(other), name: Some("new board".to_owned()), ..NewToken::default() };
    store.add_token(SecretHash::of(b"new"), &made_for, &by(NOW)).unwrap();
    let new = store.enrol(&enrolling(3, b"new")).unwrap();
    assert_eq!((new.name.as_str(), new.replaces), ("new board", Some(other)));
    assert_eq!(store.node(other).unwrap().unwrap().retired_wall_ns, Some(NOW));
}

pub(crate) fn a_life_of_the_hub_is_raised_and_ends_open_tokens(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    assert_eq!(store.epoch().unwrap(), 1);
    store.add_token(SecretHash::of(b"1"), &NewToken::default(), &by(NOW)).unwrap();
    store.add_token(SecretHash::of(b"2"), &NewToken::default(), &by(NOW)).unwrap();
    store.enrol(&enrolling(1, b"1")).unwrap();
    assert_eq!(store.raise_epoch(0, &by(NOW)).unwrap(), 2);
    assert_eq!(store.raise_epoch(0, &by(NOW)).unwrap(), 3);
    assert_eq!(store.end_all_tokens(&by(NOW)).unwrap(), 1);
    assert_eq!(store.end_all_tokens(&by(NOW)).unwrap(), 0);
    assert!(matches!(store.enrol(&enrolling(2, b"2")), Err(EnrolError::TokenEnded)));
    assert!(store.enrol(&enrolling(1, b"1")).is_ok());
    let reader = store.reader().unwrap();
    assert_eq!(reader.epoch().unwrap(), 3);
    assert_eq!(store.raise_epoch(0, &by(NOW)).unwrap(), 4);
    assert_eq!(reader.epoch().unwrap(), 4, "a reader sees what was committed since");
    assert_eq!(store.raise_epoch(1 << 50, &by(NOW)).unwrap(), 1 << 50);
    assert_eq!(store.raise_epoch(1 << 50, &by(NOW)).unwrap(), (1 << 50) + 1, "it is raised in any case");
}

pub(crate) fn the_latest_backup_is_known_by_the_log(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    assert_eq!((store.last_backup().unwrap(), store.last_restore().unwrap()), (None, None));
    let made = |of_wall_ns, complete_until_wall_ns| Change::BackedUp { of_wall_ns, complete_until_wall_ns };
    store.log_of_hub(&made(NOW, NOW), &by(NOW + 9)).unwrap();
    assert_eq!((store.last_backup().unwrap(), store.last_restore().unwrap()), (Some(NOW), None));
    let restored = Change::Restored {
        of_wall_ns: NOW - 5,
        complete_until_wall_ns: NOW - 7,
        revoked_unknown_since_wall_ns: Some(NOW),
    };
    store.log_of_hub(&restored, &by(NOW + 10)).unwrap();
    let last = LastRestore { at_wall_ns: NOW + 10, complete_until_wall_ns: NOW - 7 };
    assert_eq!((store.last_backup().unwrap(), store.last_restore().unwrap()), (Some(NOW), Some(last)));
    assert_eq!(store.audit(None, 2).unwrap()[0].change, restored);
    // What is of nodes goes another way.
    let error = store.log_of_hub(&Change::Epoch { epoch: 9 }, &by(NOW)).unwrap_err();
    assert!(matches!(error, ChangeError::NotOfTheHub));
    // One that is younger and lacks more.
    store.log_of_hub(&made(NOW + 20, NOW - 7), &by(NOW + 30)).unwrap();
    assert_eq!(store.last_backup().unwrap(), Some(NOW));
    store.log_of_hub(&made(NOW + 40, NOW + 40), &by(NOW + 40)).unwrap();
    assert_eq!(store.last_backup().unwrap(), Some(NOW + 40));
}

pub(crate) fn a_restored_hub_takes_a_node_back(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let adopting = |key: u8| Adopting { node: NodeKey([key; 32]), name: "board".to_owned(), at_wall_ns: NOW };
    let node = store.adopt(&adopting(1)).unwrap();
    assert_eq!(store.adopt(&adopting(1)).unwrap(), node);
    assert_eq!(store.adopt(&adopting(2)).unwrap().name, "board-2");
    store.change_node(node.key, &Change::Revoked, &by(NOW)).unwrap();
    assert!(matches!(store.adopt(&adopting(1)), Err(EnrolError::Revoked)));
}
