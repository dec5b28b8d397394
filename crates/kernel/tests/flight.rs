//! The programs, checked by this machine's kernel and run at its trace points.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::Ordering;

use flight::btf::Btf;
use flight::programs::{ALL, Context, PARTS};
use flight::ring::Kind;
use kernel::bpf::{FlightMemory, attach};

/// The rights and the kernel that it takes; without them there is nothing to be seen here.
fn types() -> Option<Vec<u8>> {
    // The kernel's trace counts threads as the first name space does (PROC_PID_INIT_INO, include/linux/proc_ns.h).
    if std::fs::read_link("/proc/self/ns/pid").ok()?.as_os_str() != "pid:[4026531836]" {
        return None;
    }
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
        wakings: true,
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
    // Not the thread that was named as the measuring one, so its switches are recorded.
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
    // Its timer is this CPU's, or one that an idle CPU has handed to another.
    let woken = slots.iter().filter(|slot| slot.kind == Kind::Woken && slot.a == tid).count();
    assert!(woken > 0, "{slots:?}");
    assert!(slots.windows(2).all(|two| two[0].time_ns <= two[1].time_ns));
    let written = memory.copy(0).unwrap().written();
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(memory.copy(0).unwrap().written(), written, "disarmed, nothing is written");
}

#[test]
fn the_moments_of_a_wake_up_stand_in_the_order_of_time() {
    let Some(bytes) = types() else {
        eprintln!("not shown: no right to load programs here, or a kernel without them");
        return;
    };
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap();
    let address =
        |line: &str| line.ends_with(" hrtimer_wakeup").then(|| u64::from_str_radix(&line[..16], 16).unwrap_or(0));
    let Some(wakeup_function) = symbols.lines().find_map(address).filter(|&address| address != 0) else {
        eprintln!("not shown: the kernel hides where its functions stand");
        return;
    };
    let btf = Btf::parse(&bytes).unwrap();
    let memory = FlightMemory::new(1, 64).unwrap();
    let context = Context {
        btf: &btf,
        map: memory.file(),
        slots: 64,
        wakeup_function,
        process: std::process::id(),
        // Of ordinary threads too.
        own_prio_below: 140,
        late_from_ns: 5_000,
        may_move: false,
        wakings: false,
        clock_offset_ns: 0,
    };
    let _attached: Vec<_> = PARTS
        .iter()
        .map(|point| attach(&point.program(&context).unwrap()).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let moments = || memory.wake_up(0).map(|at| at.load(Ordering::Acquire));
    let sleep_on_cpu_0 = |is_measuring: bool| {
        kernel::sched::set_affinity(0, &"0".parse().unwrap()).unwrap();
        if is_measuring {
            memory.thread(0).store(kernel::sched::thread_id(), Ordering::Release);
        }
        let clock = kernel::clock::KernelClock::from(units::ClockId::Monotonic);
        let before_ns = kernel::clock::now_ns(clock);
        std::thread::sleep(std::time::Duration::from_millis(5));
        (before_ns, moments())
    };
    let (before_ns, [timer_ns, runnable_ns, running_ns]) =
        std::thread::scope(|scope| scope.spawn(|| sleep_on_cpu_0(true)).join()).unwrap();
    let in_order = before_ns + 5_000_000 <= timer_ns && timer_ns <= runnable_ns && runnable_ns <= running_ns;
    assert!(in_order, "{before_ns} {timer_ns} {runnable_ns} {running_ns}");

    // Another thread of the same process and priority leaves no moments there. Nor does the first one while it ends.
    memory.thread(0).store(u32::MAX, Ordering::Release);
    let of_first = moments();
    std::thread::scope(|scope| scope.spawn(|| sleep_on_cpu_0(false)).join()).unwrap();
    assert_eq!(moments(), of_first);
}
