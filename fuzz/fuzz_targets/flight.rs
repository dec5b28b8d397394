//! What the flight recorder reads: a description of the kernel's types, the memory of a CPU, and a timeline of whatever
//! stands in it. Nothing panics, no program is written whose jumps lead nowhere, and parts never exceed the window.
#![no_main]

use std::collections::BTreeMap;
use units::Timestamp;

use analysis::cause::{
    Around, BelowKernel, Event, Evidence, Frame, Late, Receiver, Thread, What, explain, explain_arrival,
};
use flight::btf::Btf;
use flight::programs::{ALL, Context};
use flight::ring::{Copy, Kind, Slot, ring_bytes};
use libfuzzer_sys::fuzz_target;
use record::{Moment, ReceiveMode};

const SLOTS: usize = 16;

fn event(slot: &Slot) -> Event {
    let frame = || Frame::Irq(slot.a % 4, "device".to_owned());
    let what = match slot.kind {
        Kind::Switch => What::Switch {
            from: slot.a % 4,
            from_prio: 120,
            to: Thread {
                tid: u32::try_from(slot.b % 4).unwrap_or(0),
                name: slot.name(),
                prio: i32::try_from(slot.c % 140).unwrap_or(0),
                policy: 1,
                owner: record::Owner::Other,
            },
        },
        Kind::IrqEntry | Kind::VectorEntry | Kind::TimerEntry | Kind::SoftirqEntry => What::Enter(frame()),
        Kind::IrqExit | Kind::VectorExit | Kind::TimerExit | Kind::SoftirqExit => What::Leave(frame()),
        Kind::LateTimer => What::LateTimer {
            expires_ns: i64::from_ne_bytes(slot.c.to_ne_bytes()) % 3 + 500,
            stack: vec!["asm_sysvec_x".to_owned(); usize::try_from(slot.a % 3).unwrap_or(0)],
            followed_for_ns: slot.followed_ns(),
        },
        Kind::IdleEntry => What::IdleEntry { state: "C1".to_owned(), exit_latency_ns: Some(slot.b) },
        Kind::IdleExit => What::IdleExit,
        Kind::PageFault => What::PageFault { address: slot.b, at: String::new() },
        Kind::Nmi => What::Nmi { handler: String::new(), length_ns: slot.c },
        Kind::Frequency => What::Frequency(slot.a),
        Kind::Untold => What::Untold,
        Kind::Woken => What::Woken { tid: slot.a % 4 },
        Kind::Moved => What::Moved { tid: slot.a % 4, from: slot.a / 4 % 4, to: 0 },
    };
    Event { time_ns: slot.time_ns % 2_000, what }
}

fuzz_target!(|data: &[u8]| {
    if let Ok(btf) = Btf::parse(data) {
        let context = Context {
            btf: &btf,
            map: 3,
            slots: SLOTS,
            wakeup_function: 7,
            process: 1,
            own_prio_below: 100,
            late_from_ns: 5_000,
            may_move: true,
            wakings: true,
            clock_offset_ns: 0,
        };
        for point in ALL {
            let _ = point.program(&context);
        }
    }
    let mut bytes = data.to_vec();
    bytes.resize(ring_bytes(SLOTS), 0);
    let Some(copy) = Copy::new(bytes, SLOTS) else { return };
    let (slots, overwritten) = copy.read();
    let mut events: Vec<Event> = slots.iter().map(event).collect();
    events.sort_by_key(|event| event.time_ns);
    let moment = |ns| Moment { monotonic: Timestamp::from_ns(ns), realtime: Timestamp::from_ns(ns) };
    let late = Late {
        thread: 0,
        cpu: 0,
        scheduled: moment(500),
        woke: moment(1_500),
        scheduled_ns: 500,
        latency_ns: 1_000,
        typical_ns: 10,
        interval_ns: Some(1_000),
        own: Thread { tid: 1, name: "own".to_owned(), prio: 1, policy: 1, owner: record::Owner::Other },
    };
    let place = BelowKernel {
        is_virtual: overwritten,
        has_smis: true,
        steal_ns: Some(Around { count: 0, window_ns: 20_000_000, chance: 1.0 }),
        smi: None,
        heat: None,
    };
    // Once as a pinned thread's, and once with the same events spread over CPUs that it may have been on.
    let mut by_cpu: BTreeMap<u32, Evidence> = BTreeMap::new();
    for (cpu, event) in (0..3).cycle().zip(&events) {
        let empty = Evidence { overwritten, late_timers: true, own_switches: true, ..Evidence::default() };
        let of_cpu = by_cpu.entry(cpu).or_insert(empty);
        of_cpu.events.push(event.clone());
    }
    let pinned = Evidence { events, overwritten, late_timers: true, ..Evidence::default() };
    // As a packet's, of which nothing assumes a timer.
    let arrivals = [ReceiveMode::Block, ReceiveMode::Poll, ReceiveMode::Schedule].map(|mode| {
        let receiver = Receiver { mode, is_pinned: !overwritten, wakings: true };
        explain_arrival(&late, receiver, by_cpu.clone(), place)
    });
    let wakeups = [pinned, Evidence::along_path(&late, by_cpu)].map(|evidence| explain(&late, &evidence, place));
    for sample in wakeups.into_iter().chain(arrivals) {
        assert!(sample.timeline.iter().all(|segment| segment.from_ns < segment.to_ns && segment.to_ns <= 1_000));
        assert!(sample.timeline.iter().all(|segment| segment.net_ns <= segment.from_ns.abs_diff(segment.to_ns)));
    }
});
