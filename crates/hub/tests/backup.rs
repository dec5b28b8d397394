//! Backups, made while the hub serves.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use hub::backup::{Backup, BackupError};
use store::{Change, Read as _, Store as _};
use units::Random;

use crate::support::{TestHub, by, now_ns, punctual_hub, serve_in_vain, text};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A hub with something in it, and a backup of it.
fn backed_up() -> (TestHub, tempfile::TempDir, PathBuf) {
    let hub = TestHub::start();
    let mut node = hub.enrolled("lime2");
    node.begin("lime2");
    node.interval(&[9_000], None);
    node.send(&hub);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("hub.backup");
    let (code, _, error) = text(&punctual_hub(&hub.folder, &["backup", path.to_str().unwrap()]));
    assert_eq!(code, 0, "{error}");
    (hub, place, path)
}

#[test]
fn a_backup_is_one_private_file_that_takes_no_other_s_place_and_says_what_it_is_of() {
    let (hub, place, path) = backed_up();
    let before = now_ns();
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode, names(place.path())), (0o600, vec!["hub.backup".to_owned()]));
    let first = fs::read(&path).unwrap();
    let run = |words: &[&str]| text(&punctual_hub(&hub.folder, words));
    let file = path.to_str().unwrap();
    let refused = run(&["backup", file]);
    assert!(refused.0 == 2 && refused.2.contains("--force"), "{refused:?}");
    assert_eq!((fs::read(&path).unwrap(), names(place.path()).len()), (first, 1), "nothing is left of it");
    let (code, json, _) = run(&["backup", file, "--force", "--json"]);
    let made: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, made["bytes"].as_u64()), (0, Some(fs::metadata(&path).unwrap().len())), "{json}");
    assert!(made["of-utc-ns"].as_i64().unwrap() >= before && made["took-ms"].is_u64(), "{json}");
    let manifest = Backup::open(&path).unwrap().manifest;
    assert_eq!((manifest.hub, manifest.epoch), (hub.key().to_string(), 1));
    // The key of the next certificate is not in it.
    let apart = fs::read(hub.folder.join("keep-apart/agents-next.key")).unwrap();
    let bytes = fs::read(&path).unwrap();
    let has = |key: &[u8]| bytes.windows(key.len()).any(|window| window == key);
    assert!(!has(&apart) && has(&fs::read(hub.folder.join("hub.key")).unwrap()));
    let log = hub.store().audit(None, 1).unwrap();
    assert!(
        matches!(log[0].change, Change::BackedUp { of_wall_ns, .. } if Some(of_wall_ns) == made["of-utc-ns"].as_i64())
    );
    let (_, said, warned) = run(&["status"]);
    assert!(said.contains("latest backup: complete until ") && !warned.contains("backup"), "{said} {warned}");
}

#[test]
fn a_folder_of_backups_keeps_the_last_ones_of_the_hub_s_present_life() {
    let (hub, _place, _) = backed_up();
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("backups");
    fs::create_dir(&to).unwrap();
    let others = ["note.txt", "punctual-hub-00000000-20200101T000000000Z.backup"];
    others.iter().for_each(|name| fs::write(to.join(name), "mine").unwrap());
    // What a killed one left.
    let left = format!(".punctual-hub-{}-20200101T000000000Z.backup.punctual-new", &hub.key().to_string()[..8]);
    fs::write(to.join(&left), "half").unwrap();
    let back_up = || {
        let (code, said, error) =
            text(&punctual_hub(&hub.folder, &["backup", "--to", to.to_str().unwrap(), "--keep", "2", "--json"]));
        assert_eq!(code, 0, "{error}");
        let made: serde_json::Value = serde_json::from_str(&said).unwrap();
        Path::new(made["file"].as_str().unwrap()).file_name().unwrap().to_string_lossy().into_owned()
    };
    let made: Vec<String> = (0..4).map(|_| back_up()).collect();
    let with_others = |made: &[String]| {
        let mut all: Vec<String> = others.iter().map(|name| (*name).to_owned()).chain(made.iter().cloned()).collect();
        all.sort();
        all
    };
    assert_eq!(names(&to), with_others(&made[2..]));
    // Those of an earlier life are kept beside.
    hub.store().raise_epoch(0, &by()).unwrap();
    let later: Vec<String> = (0..3).map(|_| back_up()).collect();
    assert_eq!(names(&to), with_others(&[&made[2..], &later[1..]].concat()));
}

#[test]
fn no_changed_byte_and_no_length_of_a_backup_is_taken() {
    let (_hub, place, path) = backed_up();
    let whole = fs::read(&path).unwrap();
    let changed = place.path().join("changed");
    let mut random = Random::new(54);
    let end = whole.len() - 1_200;
    // The end byte by byte, and of the rest some.
    let some: Vec<usize> = (0..150).map(|_| random.below(end)).collect();
    let places = (end..whole.len()).chain(some);
    for at in places {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << random.below(8);
        fs::write(&changed, &bytes).unwrap();
        let opened = Backup::open(&changed);
        assert!(matches!(opened, Err(BackupError::Damaged(_) | BackupError::NoEnd(_))), "{at}: {opened:?}");
    }
    let lengths = (0..120).chain(whole.len() - 300..whole.len()).chain([whole.len() / 2]);
    for length in lengths {
        fs::write(&changed, &whole[..length]).unwrap();
        assert!(matches!(Backup::open(&changed), Err(BackupError::NoEnd(_))), "{length}");
    }
    // Nothing is written of one that is refused.
    let folder = place.path().join("new");
    let (code, _, error) = text(&punctual_hub(&folder, &["restore", changed.to_str().unwrap()]));
    assert!(code == 2 && error.contains("cut off") && !folder.exists(), "{error}");
}

#[test]
fn who_has_nodes_and_no_backup_is_warned() {
    let hub = TestHub::start();
    let warned = || text(&punctual_hub(&hub.folder, &["status"])).2;
    assert!(!warned().contains("backup"), "there is nothing to lose");
    hub.enrolled("lime2");
    assert!(warned().contains("there is no backup of this hub"), "{}", warned());
    let day_ns = 86_400 * 1_000_000_000;
    let of_wall_ns = now_ns() - 8 * day_ns;
    let made = Change::BackedUp { of_wall_ns, complete_until_wall_ns: of_wall_ns };
    hub.store().log_of_hub(&made, &by()).unwrap();
    assert!(warned().contains("8 days ago"), "{}", warned());
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("one");
    let (code, _, said) = text(&punctual_hub(&hub.folder, &["backup", file.to_str().unwrap()]));
    assert!(code == 0 && said.contains("8 days ago"), "{said}");
    assert!(!warned().contains("days ago"));
}

#[test]
fn a_damaged_store_is_named_with_the_remedy_and_is_not_backed_up() {
    let (mut hub, place, _) = backed_up();
    hub.stop();
    hub.store().close_whole().unwrap();
    let store = hub.folder.join("store.sqlite");
    let whole = fs::read(&store).unwrap();
    assert!(whole.len() > 100_000);
    let mut random = Random::new(9);
    let mut named = 0;
    for turn in 0..12 {
        let mut bytes = whole.clone();
        let from = if turn == 0 { 4_096 } else { 100 + random.below(bytes.len() - 100) };
        bytes.iter_mut().skip(from).take(if turn == 0 { 1 << 20 } else { 3_000 }).for_each(|byte| *byte = 0xa5);
        fs::write(&store, &bytes).unwrap();
        let file = place.path().join(format!("of-damaged-{turn}"));
        for words in [&["status"][..], &["backup", file.to_str().unwrap()]] {
            let (code, _, error) = text(&punctual_hub(&hub.folder, words));
            assert!((0..=2).contains(&code) && !error.contains("panicked"), "{code} {error}");
            if code == 2 {
                assert!(error.contains("damaged") && error.contains("punctual-hub restore"), "{words:?}: {error}");
                assert!(!file.exists());
                named += 1;
            }
        }
        if turn == 0 {
            let (code, _, error) = serve_in_vain(&hub.folder);
            assert!(code == 2 && error.contains("damaged") && error.contains("punctual-hub restore"), "{error}");
        }
        for name in ["store.sqlite-wal", "store.sqlite-shm"] {
            let _ = fs::remove_file(hub.folder.join(name));
        }
    }
    assert!(named >= 6, "{named} of 24 were seen");
}
