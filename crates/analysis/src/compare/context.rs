//! What else differs between two groups than the change that somebody made on purpose.

use record::{Effective, LoadPart, Origin, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::format;

use crate::float;

/// One thing that differs between the groups, or inside one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextDifference {
    /// What differs: `node`, `kernel`, `load`, …
    pub field: String,
    /// Its values in A: several where A's own runs differ, and of `load achieved` each rate that differs.
    pub a: Vec<String>,
    /// Its values in B, as those in A.
    pub b: Vec<String>,
}

type Field = (&'static str, fn(&Record) -> String);

/// What a load achieved differs where one side's mean rate is larger by this factor: below, it is the scatter of runs.
const MOST_UNEQUAL_LOAD: f64 = 1.25;

/// What of the machine and its load can make two runs differ, the gravest first; a new field is one line.
const MACHINE_AND_LOAD: &[Field] = &[
    ("node", |run| run.manifest().node.hostname.clone()),
    ("architecture", |run| run.manifest().node.machine.clone()),
    ("kernel", |run| run.manifest().node.kernel_release.clone()),
    ("kernel build", |run| run.manifest().node.kernel_version.clone()),
    ("load", |run| run.manifest().load.name.clone()),
    ("load commands", |run| {
        run.manifest().load.commands.iter().map(|command| command.join(" ")).collect::<Vec<_>>().join("; ")
    }),
    ("load CPUs", |run| run.manifest().load.cpus.to_string()),
    ("load program", |run| {
        run.manifest().load.program.as_ref().map_or_else(String::new, |tool| format!("{} {}", tool.name, tool.version))
    }),
    ("load share", |run| run.manifest().load.share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0))),
    ("load parts", |run| {
        let is_in_turns = !run.manifest().load.windows.is_empty();
        (if is_in_turns { "one after the other" } else { "" }).to_owned()
    }),
];

/// What of the measurement can make two runs differ, the gravest first; a new field is one line.
const MEASUREMENT: &[Field] = &[
    ("interval", |run| span(run.manifest().requested.interval_ns)),
    ("variant", variants),
    ("priority", priority),
    ("measured CPUs", |run| run.manifest().requested.cpus.to_string()),
    ("online CPUs", |run| run.manifest().node.online_cpus.to_string()),
    ("measuring threads", |run| run.manifest().requested.threads.to_string()),
    ("/dev/cpu_dma_latency held", |run| microseconds(run.manifest().dma_latency.held_us)),
    ("/dev/cpu_dma_latency in effect", |run| microseconds(run.manifest().dma_latency.effective_us)),
    ("clock", |run| {
        let name = serde_json::to_value(run.manifest().requested.clock).ok();
        name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
    }),
    ("clock source", |run| run.manifest().instrument.clocksource.clone().unwrap_or_default()),
    ("threshold", |run| span(run.manifest().requested.threshold_ns)),
    ("duration", |run| span(run.manifest().requested.duration_ns)),
    ("profile", |run| {
        run.manifest().profile_sha256.as_ref().map_or_else(String::new, |hash| hash.chars().take(12).collect())
    }),
    ("tool", |run| format!("{} {}", run.manifest().tool.name, run.manifest().tool.version)),
    ("command", |run| {
        let command = &run.manifest().command;
        // Another program's options have meanings of their own, and so have those that stand in for cyclictest's.
        let is_own =
            matches!(run.manifest().origin, Origin::Punctual) && command.get(1).is_none_or(|word| word != "cyclictest");
        if is_own { without_places(command).join(" ") } else { command.join(" ") }
    }),
];

/// A command line without where its results go and what they are called: that changes none.
fn without_places(command: &[String]) -> Vec<&str> {
    const PLACES: [&str; 4] = ["-o", "--output", "--report", "--label"];
    let mut words = Vec::new();
    let mut all = command.iter().map(String::as_str);
    while let Some(word) = all.next() {
        if PLACES.contains(&word) {
            all.next();
            continue;
        }
        let is_joined = |place: &&str| {
            let rest = word.strip_prefix(*place);
            rest.is_some_and(|rest| !place.starts_with("--") || rest.starts_with('='))
        };
        if !PLACES.iter().any(is_joined) {
            words.push(word);
        }
        // What follows is another program's command line.
        if word == "--" {
            words.extend(all.by_ref());
        }
    }
    words
}

/// Whether a difference of this field alone can make one: all but how long was measured, and by which words.
pub(super) fn is_grave(field: &str) -> bool {
    !["duration", "profile", "tool", "command"].contains(&field)
}

/// By what the latency that runs are compared by was measured, where there are several means.
fn variants(run: &Record) -> String {
    let compared = run.measurement.kind().compared;
    let of_compared = run.series.iter().filter(|series| Some(series.name.as_str()) == compared);
    let all: std::collections::BTreeSet<&str> = of_compared.map(|series| series.variant.as_str()).collect();
    all.into_iter().collect::<Vec<_>>().join(", ")
}

fn priority(run: &Record) -> String {
    let granted = |effective: &Effective| format!("{} {}", effective.policy, effective.priority);
    let mut all: Vec<String> = run.manifest().effective.iter().map(granted).collect();
    if all.is_empty() {
        let requested = &run.manifest().requested;
        // An import may know neither, and then 0 is no priority.
        let is_unknown = run.manifest().is_imported() && requested.policy.is_empty() && requested.priority == 0;
        all.extend((!is_unknown).then(|| format!("{} {}", requested.policy, requested.priority).trim().to_owned()));
    }
    all.sort();
    all.dedup();
    all.join(", ")
}

fn span(ns: Option<u64>) -> String {
    ns.map_or_else(String::new, format::span)
}

fn microseconds(us: Option<u32>) -> String {
    us.map_or_else(|| "not".to_owned(), |us| format!("{us} us"))
}

/// Why groups cannot be held against each other by their loads: no worst case under one says anything of the other. `None`
/// where all runs of both have the same.
pub(super) fn different_loads(a: &[&Record], b: &[&Record]) -> Option<String> {
    let fields = ["load", "load commands", "load share", "load parts"];
    let found = differences(a, b).into_iter().find(|one| fields.contains(&one.field.as_str()))?;
    let shown = |values: &[String]| values.iter().map(|value| format!("'{value}'")).collect::<Vec<_>>().join(", ");
    if found.a == found.b {
        let loads = shown(&found.a);
        return Some(format!("both sides mix runs under several loads ({loads}): compare those of one load at a time"));
    }
    Some(format!(
        "A and B ran under different loads ({} of A, {} of B): whatever differs can come of that",
        shown(&found.a),
        shown(&found.b)
    ))
}

/// Everything that differs between the groups or inside one of them, the gravest first.
pub(super) fn differences(a: &[&Record], b: &[&Record]) -> Vec<ContextDifference> {
    let values = |runs: &[&Record], value: fn(&Record) -> String| {
        let mut values: Vec<String> = runs.iter().map(|run| value(run)).collect();
        values.sort();
        values.dedup();
        values
    };
    let differing = |&(field, value): &Field| {
        let (a, b) = (values(a, value), values(b, value));
        (a != b || a.len() > 1).then(|| ContextDifference { field: field.to_owned(), a, b })
    };
    let of_machine = MACHINE_AND_LOAD.iter().filter_map(differing).chain(unequal_load(a, b));
    of_machine.chain(MEASUREMENT.iter().filter_map(differing)).collect()
}

/// One rate that a load achieved.
struct Achieved {
    what: String,
    value: f64,
    unit: String,
}

impl Achieved {
    fn new(what: String, value: f64, unit: &str) -> Self {
        Self { what, value, unit: unit.to_owned() }
    }
}

/// What the load of a run achieved by itself: rates of the whole machine follow from its settings too.
fn achieved(run: &Record) -> Vec<Achieved> {
    let load = &run.manifest().load;
    let whole = load.achieved.iter().flat_map(|all| {
        let io = all.io_bytes_per_s.map(|bytes_per_s| Achieved::new("files".to_owned(), bytes_per_s, "bytes/s"));
        std::iter::once(Achieved::new("CPU time".to_owned(), all.cpu_used, "CPUs")).chain(io)
    });
    let of_part = |part: &LoadPart| -> Vec<Achieved> {
        let rates = part.achieved.iter();
        rates.map(|one| Achieved::new(format!("{}, {}", part.name, one.metric), one.value, &one.unit)).collect()
    };
    whole.chain(load.parts.iter().flat_map(of_part)).collect()
}

/// What the loads achieved where that differs: the same commands do less on a kernel or a machine that lets them.
fn unequal_load(a: &[&Record], b: &[&Record]) -> Option<ContextDifference> {
    let all = |runs: &[&Record]| runs.iter().flat_map(|run| achieved(run)).collect::<Vec<Achieved>>();
    let (of_a, of_b) = (all(a), all(b));
    let mean = |of: &[Achieved], what: &str| {
        let values: Vec<f64> = of.iter().filter(|one| one.what == what).map(|one| one.value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / float(values.len()))
    };
    let mut differing = ContextDifference { field: "load achieved".to_owned(), a: Vec::new(), b: Vec::new() };
    for (at, one) in of_a.iter().enumerate() {
        let is_known = of_a[..at].iter().any(|other| other.what == one.what);
        let (Some(a), Some(b)) = (mean(&of_a, &one.what), mean(&of_b, &one.what)) else { continue };
        if is_known || a.max(b) <= a.min(b) * MOST_UNEQUAL_LOAD {
            continue;
        }
        let text = |value: f64| format!("{}: {} {}", one.what, rounded(value), one.unit);
        differing.a.push(text(a));
        differing.b.push(text(b));
    }
    (!differing.a.is_empty()).then_some(differing)
}

/// Whole where it is large: digits behind the point say nothing then. Three digits that count where it is small, so that what
/// differs reads differently.
fn rounded(value: f64) -> String {
    match value {
        100.0.. => format::count(units::round_u64(value)),
        1.0.. => format!("{value:.2}"),
        0.1.. => format!("{value:.3}"),
        0.01.. => format!("{value:.4}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use record::Measurement;

    use super::*;
    use samples::record_of;

    #[test]
    fn command_lines_differ_in_what_changes_a_result_and_not_in_where_it_goes() {
        let run = |line: &str| {
            let mut record = record_of(Measurement::Wakeup, &[5_000]);
            record.manifest_mut().command = line.split_whitespace().map(str::to_owned).collect();
            record
        };
        let commands = |a: &[&str], b: &[&str]| {
            let [a, b] = [a, b].map(|lines| lines.iter().map(|line| run(line)).collect::<Vec<_>>());
            let found = differences(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>());
            found.into_iter().find(|one| one.field == "command").map(|one| (one.a, one.b))
        };
        let same = [
            "punctual wakeup --time 5s -o a/1.json",
            "punctual wakeup -oa/2.json --label idle --time 5s",
            "punctual wakeup --time 5s --output=a/3.json",
        ];
        assert_eq!(commands(&same, &["punctual wakeup --time 5s --output b/1.json"]), None);
        let (a, b) = commands(&same[..1], &["punctual wakeup --time 5s --priority 97 -o b"]).unwrap();
        assert_eq!((&a[0][..], &b[0][..]), ("punctual wakeup --time 5s", "punctual wakeup --time 5s --priority 97"));
        assert!(commands(&["punctual app -o x -- prog -o 1"], &["punctual app -o x -- prog -o 2"]).is_some());
        assert!(commands(&["punctual cyclictest -o 1"], &["punctual cyclictest -o 2"]).is_some());
    }

    #[test]
    fn another_machine_is_named_before_another_command() {
        let a = record_of(Measurement::Wakeup, &[1]);
        let mut b = a.clone();
        b.manifest_mut().command = vec!["punctual".to_owned(), "measure".to_owned()];
        b.manifest_mut().node.hostname = "press-7".to_owned();
        b.manifest_mut().dma_latency.held_us = Some(0);
        let found = differences(&[&a], &[&b]);
        let fields: Vec<&str> = found.iter().map(|difference| difference.field.as_str()).collect();
        assert_eq!(fields, ["node", "/dev/cpu_dma_latency held", "command"]);
        assert_eq!((found[1].a.as_slice(), found[1].b.as_slice()), (&["not".to_owned()][..], &["0 us".to_owned()][..]));
        assert_eq!(differences(&[&a], &[&a]), []);
        let inside = differences(&[&a, &b], &[&a, &b]);
        assert_eq!(inside[0].a.len(), 2, "runs of one group that differ are reported too");
    }

    #[test]
    fn a_load_that_achieved_less_on_one_side_is_told() {
        let loaded = |cpu_used: f64, switches: f64| {
            let mut run = record_of(Measurement::Wakeup, &[1]);
            "hard".clone_into(&mut run.manifest_mut().load.name);
            run.manifest_mut().load.achieved =
                Some(record::AchievedLoad { cpu_used, ..record::AchievedLoad::default() });
            let rate =
                record::PartRate { metric: "context switches".to_owned(), value: switches, unit: "1/s".to_owned() };
            run.manifest_mut().load.parts =
                vec![LoadPart { name: "scheduler".to_owned(), achieved: vec![rate], ..LoadPart::default() }];
            run
        };
        let (a, b, c) = (loaded(1.5, 9_000.0), loaded(1.4, 3_000.0), loaded(0.5, 9_100.0));
        let found = differences(&[&a, &a], &[&b, &b]);
        let fields: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
        assert_eq!(fields, ["load achieved"], "a CPU time that is lower by a tenth is scatter");
        assert_eq!(found[0].b, [format!("scheduler, context switches: {} 1/s", format::count(3_000))]);
        assert_eq!(differences(&[&a], &[&c])[0].a, ["CPU time: 1.50 CPUs"]);
        assert!(is_grave("load achieved"));
        assert_eq!(different_loads(&[&a], &[&b]), None, "it is the same load, and a gate still answers");
    }

    #[test]
    fn parts_in_turns_are_another_load_than_all_of_them_together() {
        let a = record_of(Measurement::Wakeup, &[1]);
        let mut b = a.clone();
        b.manifest_mut().load.windows = vec![record::LoadWindow::default()];
        let why = different_loads(&[&a], &[&b]);
        assert!(why.is_some_and(|why| why.contains("different loads ('' of A, 'one after the other' of B)")));
    }

    #[test]
    fn groups_that_are_mixed_alike_are_not_said_to_differ() {
        let idle = record_of(Measurement::Wakeup, &[1]);
        let mut loaded = idle.clone();
        "paper".clone_into(&mut loaded.manifest_mut().load.name);
        let why = different_loads(&[&idle, &loaded], &[&loaded, &idle]).unwrap();
        assert_eq!(why, "both sides mix runs under several loads ('', 'paper'): compare those of one load at a time");
        let why = different_loads(&[&idle, &loaded], &[&loaded]).unwrap();
        assert!(why.starts_with("A and B ran under different loads ('', 'paper' of A, 'paper' of B)"), "{why}");
        assert_eq!(different_loads(&[&idle], &[&idle]), None);
    }
}
