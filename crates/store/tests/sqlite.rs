//! What is SQLite's own: its file.

use std::fs;

use store::{HistoryAsked, Quotas, Read as _, Sqlite, Store as _, StoreError, Tier};

use super::support::{INTERVAL, Kept, NOW, Sender, by, fresh_sqlite, maintain_all};

#[test]
fn what_is_answered_is_there_after_a_kill() {
    let Kept { mut store, folder } = fresh_sqlite(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    (0..10).for_each(|at| node.interval(&[at]));
    node.send_all(&mut *store, NOW);
    // The files as a power cut would leave them: nothing is closed.
    let copy = tempfile::tempdir().unwrap();
    for name in ["hub.db", "hub.db-wal"] {
        fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let after = Sqlite::open(&copy.path().join("hub.db"), Quotas::default(), NOW).unwrap();
    let asked = HistoryAsked { from_utc_ns: NOW, to_utc_ns: NOW + 100 * INTERVAL, most_points: 100 };
    assert_eq!(after.history(node.key, &asked).unwrap(), store.history(node.key, &asked).unwrap());
    assert_eq!(after.history(node.key, &asked).unwrap().cpus[0].points.len(), 10);
}

#[test]
fn a_file_of_something_else_or_a_later_release_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    for content in ["not a database, but long enough to be taken for one by its length".repeat(40), "short".to_owned()]
    {
        fs::write(&path, &content).unwrap();
        let error = Sqlite::open(&path, Quotas::default(), NOW).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
    fs::remove_file(&path).unwrap();
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(Sqlite::open(&path, Quotas::default(), NOW), Err(StoreError::Foreign { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);

    let newer = folder.path().join("newer");
    drop(Sqlite::open(&newer, Quotas::default(), NOW).unwrap());
    let db = rusqlite::Connection::open(&newer).unwrap();
    db.execute("INSERT INTO migration (version, at_wall_ns) VALUES (99, 0)", []).unwrap();
    drop(db);
    let error = Sqlite::open(&newer, Quotas::default(), NOW).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
}

#[test]
fn a_damaged_file_is_named_and_never_makes_a_panic() {
    let Kept { mut store, folder } = fresh_sqlite(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    for at in 0..500 {
        node.interval(&[at]);
    }
    node.send_all(&mut *store, NOW);
    maintain_all(&mut *store);
    let whole = folder.path().join("whole");
    store.back_up(&whole).unwrap();
    let whole = fs::read(whole).unwrap();
    let asked = HistoryAsked { from_utc_ns: NOW, to_utc_ns: NOW + 1_000 * INTERVAL, most_points: 10_000 };
    let mut random = units::Random::new(4);
    let mut refused = 0;
    for _ in 0..60 {
        let mut bytes = whole.clone();
        let at = 4_096 + random.below(bytes.len() - 4_096);
        for byte in bytes.iter_mut().skip(at).take(200) {
            *byte = 0xa5;
        }
        let path = folder.path().join("damaged");
        fs::write(&path, &bytes).unwrap();
        let read = Sqlite::open(&path, Quotas::default(), NOW).and_then(|mut store| {
            store.history(node.key, &asked)?;
            store.fleet(NOW)?;
            store.maintain(1_000, NOW)
        });
        if let Err(error) = read {
            refused += 1;
            assert!(error.to_string().contains("damaged"), "the file is named: {error}");
        }
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(folder.path().join(format!("damaged{end}")));
        }
    }
    assert!(refused >= 10, "{refused} of 60 were seen");
}

#[test]
fn a_backup_goes_into_an_empty_file_and_is_one_file_when_it_is_closed() {
    let Kept { mut store, folder } = fresh_sqlite(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    node.interval(&[7]);
    node.send_all(&mut *store, NOW);
    let path = folder.path().join("copy");
    fs::write(&path, b"").unwrap();
    store.back_up(&path).unwrap();
    assert!(store.back_up(&path).is_err(), "nothing is written over");
    Sqlite::check(&path).unwrap();
    let mut copy = Sqlite::open(&path, Quotas::default(), NOW).unwrap();
    copy.raise_epoch(9, &by(NOW)).unwrap();
    copy.close_whole().unwrap();
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("copy-")), "{names:?}");
    let copy = Sqlite::open(&path, Quotas::default(), NOW).unwrap();
    assert_eq!((copy.epoch().unwrap(), copy.nodes().unwrap().len()), (9, 1));
    // A file without a store in it.
    fs::write(folder.path().join("empty"), b"").unwrap();
    assert!(matches!(Sqlite::check(&folder.path().join("empty")), Err(StoreError::Foreign { .. })));
}

#[test]
fn a_store_of_version_1_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.db");
    // Written down once, so that it stays what it was.
    let made = include_str!("../fixtures/version-1.sql");
    rusqlite::Connection::open(&path).unwrap().execute_batch(made).unwrap();
    let mut store = Sqlite::open(&path, Quotas::default(), NOW).unwrap();
    assert_eq!(store.epoch().unwrap(), 3);
    let node = store.node_named("rack-7").unwrap().unwrap();
    assert_eq!((node.version.as_str(), node.labels["line"].as_str()), ("0.1.0", "2"));
    let asked = HistoryAsked { from_utc_ns: NOW, to_utc_ns: NOW + 1_000 * INTERVAL, most_points: 1_000 };
    let history = store.history(node.key, &asked).unwrap();
    let of = |cpu: usize| {
        let figures = |point: &store::Point| (point.start_utc_ns - NOW, point.maximum_ns, point.samples);
        history.cpus[cpu].points.iter().map(figures).collect::<Vec<_>>()
    };
    assert_eq!(of(0)[..2], [(0, Some(12_345), 300_000), (INTERVAL, Some(11_000), 300_000)]);
    assert_eq!(of(1)[..2], [(0, Some(54_321), 299_999), (INTERVAL, Some(15_000), 300_000)]);
    assert_eq!((of(1).len(), history.gaps.len()), (684, 1), "packed and not");
    let cause = history.cpus[1].points[0].cause.as_ref().unwrap();
    assert_eq!(cause.in_words(), "interrupt: eth0 (interrupt 44) (shown, 90 % of the time)");
    let clock = &history.sources[0].points[3].worst;
    assert_eq!(
        (clock.source.as_str(), clock.bound_ns, clock.largest_step_ns),
        ("system clock", Some(33_000), -7_000_000)
    );
    let days = HistoryAsked { most_points: 20, ..asked.clone() };
    let days = store.history(node.key, &days).unwrap();
    let largest = days.cpus[1].points.iter().filter_map(|point| point.maximum_ns).max();
    assert_eq!((days.tier, largest), (Tier::Days, Some(54_321)));
    let histograms = store.histograms(node.key, NOW, NOW + INTERVAL).unwrap();
    assert_eq!((histograms.len(), histograms[0].histogram.count()), (1, 7_200_000));
    assert_eq!(store.content(histograms[0].condition).unwrap().unwrap().text, super::support::CONDITION);
    let row = store.fleet(NOW).unwrap().remove(0);
    let ever_ns = row.ever.map(|ever| ever.maximum_ns);
    assert_eq!((ever_ns, row.state), (Some(54_321), store::NodeState::Monitoring));
    store.raise_epoch(0, &by(NOW)).unwrap();
    maintain_all(&mut store);
    assert_eq!(store.history(node.key, &asked).unwrap(), history);
}

#[test]
fn a_reader_reads_while_a_batch_is_written() {
    let Kept { mut store, folder: _folder } = fresh_sqlite(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    let reader = store.reader().unwrap();
    let (key, asked) = (node.key, HistoryAsked { from_utc_ns: NOW, to_utc_ns: i64::MAX, most_points: 100 });
    let done = &std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut last = 0;
            loop {
                let is_done = done.load(std::sync::atomic::Ordering::Acquire);
                let history = reader.history(key, &asked).unwrap();
                let samples: u64 = history.cpus.iter().flat_map(|cpu| &cpu.points).map(|point| point.samples).sum();
                assert!(samples >= last && samples % 300_000 == 0, "what is committed stays: {samples} after {last}");
                last = samples;
                if is_done {
                    return last;
                }
            }
        });
        for at in 0..50 {
            node.interval(&[at]);
            node.send_all(&mut *store, NOW);
        }
        done.store(true, std::sync::atomic::Ordering::Release);
        assert_eq!(reading.join().unwrap(), 50 * 300_000);
    });
}
