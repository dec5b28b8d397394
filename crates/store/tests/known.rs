//! What is known of nodes in memory, held against what is computed anew.

use store::{Change, FleetRow, Place, Quotas, Read as _, Sqlite, Store as _};
use units::Random;

use super::support::{CONDITION, INTERVAL, NOW, S, Sender, by};

/// What a process shows that knows nothing yet, of a copy in which nothing computed is kept.
fn computed_anew(store: &Sqlite, folder: &std::path::Path, number: usize, now_wall_ns: i64) -> Vec<FleetRow> {
    let copy = folder.join(format!("copy-{number}"));
    store.back_up(&copy).unwrap();
    let db = rusqlite::Connection::open(&copy).unwrap();
    db.execute_batch("DELETE FROM summary; UPDATE node SET summarized = 0").unwrap();
    drop(db);
    let rows = Sqlite::open(&copy, Quotas::default(), NOW).unwrap().fleet(now_wall_ns).unwrap();
    std::fs::remove_file(copy).unwrap();
    rows
}

#[test]
fn whatever_changes_in_whatever_order_what_is_known_is_what_is_computed_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.db");
    let mut changes = 0;
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let _ = std::fs::remove_file(&path);
        let mut store = Sqlite::open(&path, Quotas::default(), NOW).unwrap();
        // Another process of the same file, as a command on the hub's machine is.
        let mut command = Sqlite::open(&path, Quotas::default(), NOW).unwrap();
        let readers = [store.reader().unwrap(), store.reader().unwrap()];
        let mut nodes: Vec<Sender> = (1..=5).map(|number| Sender::enrolled(&mut store, number)).collect();
        let mut now = NOW + 40 * INTERVAL;
        for step in 0..60 {
            let at = random.below(nodes.len());
            let node = &mut nodes[at];
            match random.below(9) {
                0 => node.restart(),
                1 => node.gap(farm::monitor::GapReason::Measuring, INTERVAL),
                2 => node.content(farm::monitor::ContentKind::Condition, CONDITION),
                3 | 4 => (0..1 + random.below(30)).for_each(|_| {
                    let mut maximum_ns = || 5_000 + i64::try_from(random.below(130_000)).unwrap();
                    node.interval(&[maximum_ns(), maximum_ns()]);
                }),
                5 => {
                    let change = match random.below(5) {
                        0 => Change::Renamed { name: format!("name-{seed}-{step}") },
                        1 => Change::Placed { place: Some(Place { rack: step.to_string(), slot: "1".to_owned() }) },
                        2 => Change::Labeled { key: "fan".to_owned(), value: Some(step.to_string()) },
                        3 => Change::Retired,
                        _ => Change::Unretired,
                    };
                    command.change_node(node.key, &change, &by(now)).unwrap();
                    changes += 1;
                }
                6 => drop(store.maintain(1 + random.below(40), NOW).unwrap()),
                7 => now += S * i64::try_from(random.below(900)).unwrap(),
                _ => node.send_all(&mut store, now),
            }
            if random.below(3) == 0 {
                let expected = computed_anew(&store, folder.path(), step, now);
                assert_eq!(store.fleet(now).unwrap(), expected, "seed {seed}, step {step}");
                let reader = &readers[random.below(2)];
                assert_eq!(reader.fleet(now).unwrap(), expected, "a reader, seed {seed}, step {step}");
                for row in &expected {
                    assert_eq!(reader.fleet_row(row.node.key, now).unwrap().as_ref(), Some(row));
                }
            }
        }
        command.change_node(nodes[0].key, &Change::Revoked, &by(now)).unwrap();
        assert_eq!(readers[0].fleet_row(nodes[0].key, now).unwrap(), None);
        assert_eq!(store.fleet(now).unwrap().len(), 4);
    }
    assert!(changes > 10, "{changes}");
}

#[test]
fn what_another_release_has_kept_is_computed_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.db");
    let mut store = Sqlite::open(&path, Quotas::default(), NOW).unwrap();
    let mut node = Sender::enrolled(&mut store, 1);
    node.interval(&[7]);
    node.send_all(&mut store, NOW);
    super::support::maintain_all(&mut store);
    let shown = store.fleet(NOW).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(r#"UPDATE summary SET body = '{"form":1,' || substr(body, 11)"#).unwrap();
    let mut store = Sqlite::open(&path, Quotas::default(), NOW).unwrap();
    assert_eq!(store.fleet(NOW).unwrap(), shown);
    super::support::maintain_all(&mut store);
    let begins: String = db.query_row("SELECT substr(body, 1, 9) FROM summary", [], |row| row.get(0)).unwrap();
    assert_eq!(begins, r#"{"form":4"#);
}
