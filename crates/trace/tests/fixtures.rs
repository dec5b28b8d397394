//! Real sub-buffers with the descriptions of the kernel that wrote them.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use trace::{Abi, Body, Call, Decoder, Endian, Event, Format, PageLayout, WANTED_FIELDS};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/trace/x86_64-6.18")
}

fn events(page: &str) -> Vec<Event> {
    let text = |name: &str| std::fs::read_to_string(folder().join(name)).unwrap();
    let layout = PageLayout::parse(&text("header_page"), Endian::Little).unwrap();
    assert_eq!(layout.page_bytes(), 4096);
    let mut decoder = Decoder::new(Endian::Little);
    for (kind, place, _) in WANTED_FIELDS {
        let name = place.rsplit('/').next().unwrap();
        decoder.learn(kind, &Format::parse(&text(&format!("{name}.format"))).unwrap()).unwrap();
    }
    let bytes = std::fs::read(folder().join(page)).unwrap();
    let mut records = layout.records(&bytes).unwrap();
    let mut events = Vec::new();
    while let Some(record) = records.next_record().unwrap() {
        events.push(decoder.decode(&record).unwrap());
    }
    assert!(events.is_sorted_by_key(|event| event.time_ns));
    events
}

fn kinds(events: &[Event]) -> BTreeMap<&'static str, usize> {
    events.iter().fold(BTreeMap::new(), |mut kinds, event| {
        let name = match event.body {
            Body::Switch { .. } => "switch",
            Body::Waking { .. } => "waking",
            Body::Enter { .. } => "enter",
            Body::Exit { .. } => "exit",
            Body::TimerStart { .. } => "timer",
            Body::TimerExpire { .. } => "expire",
            Body::TimerDone { .. } => "done",
            Body::Fault { .. } => "fault",
            Body::New { .. } => "new",
            Body::Rename { .. } => "rename",
            Body::End { .. } => "end",
            Body::Exec { .. } => "exec",
        };
        *kinds.entry(name).or_default() += 1;
        kinds
    })
}

#[test]
fn a_program_s_start_is_read() {
    let events = events("start.page");
    let kinds = kinds(&events);
    println!("{kinds:?}");
    assert!(kinds["exec"] >= 1 && kinds["rename"] >= 1 && kinds["fault"] > 5, "{kinds:?}");
    let renamed = events.iter().find_map(|event| match event.body {
        Body::Rename { name, .. } => Some(name.text()),
        _ => None,
    });
    assert_eq!(renamed.as_deref(), Some("periodic-good"));
}

#[test]
fn a_loop_of_a_thousand_hertz_is_read() {
    let events = events("loop.page");
    let table = Abi::X86_64.table();
    println!("{:?}", kinds(&events));
    // Each turn asks for a moment a millisecond after the one before, and the timer was started for that moment.
    let asked: Vec<i64> = events
        .iter()
        .filter_map(|event| match event.body {
            Body::TimerStart { expires_ns, .. } if !event.level.is_interrupt() => Some(expires_ns),
            _ => None,
        })
        .collect();
    let in_turn = asked.windows(2).filter(|two| two[1] - two[0] == 1_000_000).count();
    assert!(in_turn >= 5, "{asked:?}");
    let sleeps = events.iter().filter(|event| match event.body {
        Body::Enter { number, arguments } => {
            Call::from_number(number, &table) == Call::ClockNanosleep && arguments[..2] == [1, 1]
        }
        _ => false,
    });
    assert!(sleeps.count() >= 5);
    // It runs at FIFO 80, which the kernel counts as 19, and leaves its CPU to sleep.
    let left = events.iter().find_map(|event| match event.body {
        Body::Switch { from_priority: 19, runnable, .. } => Some(runnable),
        _ => None,
    });
    assert_eq!(left, Some(false));
    let came = events.iter().find_map(|event| match event.body {
        Body::Switch { to_priority: 19, to_name, .. } => Some(to_name.text()),
        _ => None,
    });
    assert_eq!(came.as_deref(), Some("control"));
}
