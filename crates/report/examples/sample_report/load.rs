//! A run under a load whose parts took turns: one of them makes the wake-ups late, and one could not run.

use record::{DroppedPart, LoadPart, LoadWindow, PartRate, Record};

const RUNNING: [&str; 4] = ["memory", "scheduler", "file-system", "network"];

/// Adds the turns of the load.
pub(crate) fn rotated(mut run: Record) -> Record {
    let started_ns = run.manifest().started.monotonic.as_ns();
    let turn_ns = (run.manifest().ended.monotonic.as_ns() - started_ns) / 5;
    let window = |turn: i64, parts: &[&str]| LoadWindow {
        parts: parts.iter().map(|&part| part.to_owned()).collect(),
        start_monotonic_ns: started_ns + turn * turn_ns,
        end_monotonic_ns: started_ns + (turn + 1) * turn_ns,
        ..LoadWindow::default()
    };
    let part = |name: &str, metric: &str, value: f64, unit: &str| LoadPart {
        name: name.to_owned(),
        cpu_used: Some(0.74),
        achieved: vec![PartRate { metric: metric.to_owned(), value, unit: unit.to_owned() }],
        ..LoadPart::default()
    };
    let load = &mut run.manifest_mut().load;
    "hard".clone_into(&mut load.name);
    load.share = Some(0.75);
    load.windows = (0..).zip(RUNNING).map(|(turn, name)| window(turn, &[name])).collect();
    load.windows.push(window(4, &RUNNING));
    load.parts = vec![
        part("memory", "stream", 412.0, "operations/s"),
        LoadPart {
            name: "reclaim".to_owned(),
            dropped: Some(DroppedPart::Machine {
                why: "no memory control group can be created here: this needs root".to_owned(),
            }),
            ..LoadPart::default()
        },
        part("scheduler", "context switches", 182_340.0, "1/s"),
        part("file-system", "bytes read and written", 73_400_320.0, "bytes/s"),
        part("network", "packets received", 61_493.0, "1/s"),
    ];
    run
}
