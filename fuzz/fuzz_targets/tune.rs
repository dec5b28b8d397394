//! Intents, plans and journals: refused or taken; what is taken reads back, what an intent wants is planned without a
//! panic, and each change of a journal has an answer to how it is taken back.
#![no_main]

use knobs::journal;
use knobs::tuned::{self, Tuned, TunedProfile};
use knobs::{Cgroup1, Demand, Intent, Place, Plan, Reading, Site, Value, boot::BootFiles};
use libfuzzer_sys::fuzz_target;
use profile::Profile;
use profile::net::Nic;
use profile::power::IdleState;

/// A machine with four CPUs.
fn site(has_cgroup: bool) -> Site {
    let mut profile = Profile::default();
    profile.cpus.online = "0-3".parse().ok();
    profile.net.interfaces =
        vec![Nic { name: "eth0".to_owned(), rx_queue_count: 2, tx_queue_count: 1, ..Nic::default() }];
    let state = |index: u32, name: &str| IdleState { index, name: name.to_owned(), ..IdleState::default() };
    profile.power.add_idle(2, vec![state(0, "POLL"), state(1, "C1"), state(2, "C6")]);
    let mut boot = BootFiles::default();
    let grub = ["/etc/default/grub", "/usr/sbin/update-grub", "/boot/vmlinuz-6.1", "/lib/modules/6.1"];
    grub.into_iter().for_each(|path| boot.add(path));
    Site {
        profile,
        cgroup2_cpuset: has_cgroup.then(|| "/sys/fs/cgroup".to_owned()),
        cgroup1_cpuset: Some(Cgroup1 { path: "/sys/fs/cgroup/cpuset".to_owned(), mems: "0".to_owned() }),
        tuned: Some(Tuned { profiles: vec![(TunedProfile::CpuPartitioning, "isolated_cores=1\n".to_owned())] }),
        boot,
        time: Default::default(),
    }
}

fn look(place: &Place) -> Reading {
    match place {
        Place::File { .. } | Place::EfiString { .. } | Place::Folder { .. } | Place::Word { .. } => {
            Reading::Is(Value::Absent)
        }
        Place::HeldOpen { .. } | Place::TunedProfile => Reading::Is(Value::Absent),
        Place::Service { .. } => Reading::Is(Value::text("active")),
        Place::TaiOffset => Reading::Is(Value::text("0")),
        Place::Attribute { path } if path.len() % 5 == 0 => Reading::Missing,
        Place::Attribute { path } => Reading::Is(Value::text(path.len().to_string())),
        Place::Ethtool { field, .. } => Reading::Is(Value::text(field.len().to_string())),
        Place::Scheduling { .. } | Place::Affinity { .. } | Place::Tasks { .. } => Reading::Missing,
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok((transactions, whole)) = journal::read(bytes) {
        assert!(whole <= bytes.len());
        for transaction in &transactions {
            let text: String = transaction.lines().iter().map(journal::Line::text).collect();
            let (again, _) = journal::read(text.as_bytes()).expect("what was written is read");
            assert_eq!(&again[0], transaction);
            for number in 0..transaction.taken.len() {
                let before = Reading::Is(transaction.taken[number].step.before.clone());
                let nothing = transaction.undo(number, &before, &transaction.boot_id, false);
                // Or it ended with what it belonged to.
                let is_nothing = matches!(nothing, journal::Undo::AsBefore | journal::Undo::Gone(_));
                assert!(is_nothing, "it is as before: {nothing:?}");
                let _ = transaction.undo(number, &Reading::Missing, "another", true);
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let cpus = "1-2".parse().expect("a list of CPUs");
        assert_eq!(tuned::cores(&tuned::with_cores(text, &cpus)), Some(cpus));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(mut plan) = Plan::from_json(text) {
        plan.look_again(&mut look);
    }
    if let Ok(intent) = Intent::from_toml(text) {
        assert_eq!(Intent::from_toml(&intent.to_toml()).expect("what was written is read"), intent);
        for has_cgroup in [false, true] {
            let plan = Plan::from_demand(Demand::from_intent(&intent, &site(has_cgroup)), &mut look);
            // Two changes of one place would make what stood there before unknown.
            let mut places: Vec<&Place> = plan.steps.iter().map(|step| &step.place).collect();
            places.sort();
            places.dedup();
            assert_eq!(places.len(), plan.steps.len());
            for step in &plan.steps {
                assert!(step.place.is_known(), "{}", step.place);
            }
        }
    }
});
