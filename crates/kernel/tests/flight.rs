//! The programs, checked by this machine's kernel and run at its trace points.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::Ordering;

use flight::btf::Btf;
use flight::programs::{ALL, Context};
use flight::ring::Kind;
use kernel::bpf::{FlightMemory, attach};

/// The rights and the kernel that it takes; without them there is nothing to be seen here.
fn types() -> Option<Vec<u8>> {
    let types = std::fs::read("/sys/kernel/btf/vmlinux").ok()?;
    FlightMemory::new(1, 64).ok().map(|_| types)
}

#[test]
fn each_program_is_taken_and_a_wake_up_is_seen() {
    let Some(bytes) = types() else {
        eprintln!("not shown: no right to load programs here, or a kernel without them");
        return;
    };
    let btf = Btf::parse(&bytes).unwrap();
    assert!(btf.member("task_struct", "comm").is_some());
    let memory = FlightMemory::new(1, 4_096).unwrap();
    let context = Context {
        btf: &btf,
        map: memory.file(),
        slots: 4_096,
        wakeup_function: 0x1234_5678_9abc,
        process: std::process::id(),
        own_prio_below: 100,
        late_from_ns: 5_000,
        may_move: true,
        clock_offset_ns: 7,
    };
    let mut attached = Vec::new();
    for point in ALL {
        let Some(program) = point.program(&context) else {
            eprintln!("{}: not of this kernel", point.name);
            continue;
        };
        attached.push(attach(&program).unwrap_or_else(|error| panic!("{error}")));
    }
    // Another thread than the one that is told as the measuring one: its switches are written down.
    let sleeper = std::thread::spawn(|| {
        kernel::sched::set_affinity(0, &"0".parse().unwrap()).unwrap();
        (0..20).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
        kernel::sched::thread_id()
    });
    memory.armed(0).store(1, Ordering::Release);
    let tid = sleeper.join().unwrap();
    memory.armed(0).store(0, Ordering::Release);
    let (slots, _) = memory.copy(0).unwrap().read();
    let switched_to = slots.iter().filter(|slot| slot.kind == Kind::Switch && slot.b & 0xffff_ffff == u64::from(tid));
    assert!(switched_to.count() >= 10, "{slots:?}");
    assert!(slots.iter().any(|slot| slot.kind == Kind::TimerEntry));
    assert!(slots.windows(2).all(|two| two[0].time_ns <= two[1].time_ns));
    let written = memory.copy(0).unwrap().written();
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(memory.copy(0).unwrap().written(), written, "disarmed, nothing is written");
}
