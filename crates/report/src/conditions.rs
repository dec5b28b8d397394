//! The conditions of a measurement as they stand at the top of a page: machine, kernel, processor, load, policy, deadline.

use analysis::compare::Comparison;
use record::{LoadManifest, Manifest, Record};
use serde_json::Value;
use summary::{are_delays, are_offsets};
use units::format;

use crate::page::{Page, Results};
use crate::view::ConditionView;

/// What stands in the place of a deadline if there is none.
const NO_LIMIT: &str = "no limit stated";
/// Maximum length of a command line of a load (characters); the manifest has it in full.
const LONGEST_COMMAND: usize = 70;

/// The conditions of the runs of a page; empty if it has none.
pub(crate) fn of_page(page: &Page) -> Vec<ConditionView> {
    match page {
        Page::Runs(results) | Page::Assessment(_, results) | Page::Program(results) => of_results(page, results),
        Page::Together(input) => of_results(page, &input.results),
        Page::Comparison(input) => {
            let runs = || input.a.iter().chain(&input.b);
            let both = |of: &dyn Fn(&Record) -> Option<String>| {
                let sides = [distinct(input.a.iter().map(of)), distinct(input.b.iter().map(of))];
                match sides {
                    [a, b] if a == b => a,
                    [a, b] => Some(format!("A: {}; B: {}", known(a), known(b))),
                }
            };
            if runs().next().is_none() {
                return Vec::new();
            }
            vec![
                condition("machine", both(&machine)),
                condition("kernel", both(&kernel)),
                condition("processor", both(&architecture)),
                condition("load", both(&|run| load(&run.manifest().load))),
                condition("policy", both(&policy)),
                condition(limit_name(&runs().collect::<Vec<_>>()), Some(compared_deadline(&input.comparison))),
            ]
        }
        Page::Campaign(input) => of_runs(page, &main_runs(input.records.values().collect()), None),
        // Its lines name the machine.
        Page::Calibration(_) => Vec::new(),
    }
}

fn of_results(page: &Page, results: &Results) -> Vec<ConditionView> {
    of_runs(page, &main_runs(results.runs.iter().collect()), results.profile.as_ref())
}

/// The runs of wake-ups, which a page is about; all runs if there are none.
fn main_runs(all: Vec<&Record>) -> Vec<&Record> {
    let wakeups: Vec<&Record> =
        all.iter().copied().filter(|run| run.measurement.kind().figure.is_of_latencies()).collect();
    if wakeups.is_empty() { all } else { wakeups }
}

/// What a stated limit of these runs is called.
fn limit_name(runs: &[&Record]) -> &'static str {
    if are_delays(runs) || are_offsets(runs) { "limit" } else { "deadline" }
}

/// The conditions of runs, with what the profile of their machine adds.
fn of_runs(page: &Page, runs: &[&Record], profile: Option<&Value>) -> Vec<ConditionView> {
    if runs.is_empty() {
        return Vec::new();
    }
    let each = |of: &dyn Fn(&Record) -> Option<String>| distinct(runs.iter().map(|run| of(run)));
    let model = profile.and_then(|profile| fact(profile, "/identity/model"));
    let machine = match (each(&machine), model) {
        (Some(name), Some(model)) => Some(format!("{name} ({model})")),
        (name, model) => name.or(model),
    };
    let processor = match (profile.and_then(|profile| fact(profile, "/identity/cpu_model")), each(&cpus_online)) {
        (Some(model), Some(cpus)) => Some(format!("{model}, {cpus}")),
        (Some(model), None) => Some(model),
        (None, _) => each(&architecture),
    };
    let deadlines = distinct(runs.iter().map(|run| page.deadline_ns(run).map(format::span)));
    let limit = Some(deadlines.unwrap_or_else(|| NO_LIMIT.to_owned()));
    let mut conditions = vec![
        condition("machine", machine),
        condition("kernel", each(&kernel)),
        condition("processor", processor),
        condition("load", each(&|run| load(&run.manifest().load))),
    ];
    if are_offsets(runs) {
        // No thread of this program is measured, so none has a policy that matters.
        conditions.push(condition("limit", limit));
    } else {
        conditions.extend([condition("policy", each(&policy)), condition(limit_name(runs), limit)]);
    }
    conditions
}

/// The deadline by which both groups are compared.
fn compared_deadline(comparison: &Comparison) -> String {
    comparison.worst.rate.as_ref().map_or_else(|| NO_LIMIT.to_owned(), |rate| format::span(rate.deadline_ns))
}

fn condition(name: &str, value: Option<String>) -> ConditionView {
    ConditionView { name: name.to_owned(), value }
}

fn known(value: Option<String>) -> String {
    value.unwrap_or_else(|| "not known".to_owned())
}

/// How many different values of a condition are listed; the manifests have all.
const MOST_VALUES: usize = 4;

/// The different values in their order; `None` if none is known.
fn distinct(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for value in values.flatten() {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    let more = all.len().saturating_sub(MOST_VALUES);
    all.truncate(MOST_VALUES);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    (!all.is_empty()).then(|| all.join("; "))
}

/// A text of the profile by its JSON pointer.
fn fact(profile: &Value, pointer: &str) -> Option<String> {
    profile.pointer(pointer)?.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// What each node of a run says: once if they all say the same, else each with its node.
fn of_nodes(run: &Record, of: &dyn Fn(&Manifest) -> Option<String>) -> Option<String> {
    let all: Vec<(&str, Option<String>)> =
        run.nodes.iter().map(|node| (node.name.as_str(), of(&node.manifest))).collect();
    let (_, first) = all.first()?;
    if all.iter().all(|(_, value)| value == first) {
        return match first {
            Some(value) if all.len() > 1 => Some(format!("{value} (each node)")),
            value => value.clone(),
        };
    }
    Some(all.into_iter().map(|(name, value)| format!("{name}: {}", known(value))).collect::<Vec<_>>().join("; "))
}

/// The machine of a run; of several nodes their names in the run, since two of them can be of one machine.
pub(crate) fn machine(run: &Record) -> Option<String> {
    let names: Vec<&str> = run.nodes.iter().map(|node| node.name.as_str()).collect();
    if names.len() > 1 { Some(format::listed(&names)) } else { text(&run.manifest().node.hostname) }
}

/// The release of the kernel of a run's nodes, without its preemption model.
pub(crate) fn kernel_release(run: &Record) -> Option<String> {
    of_nodes(run, &|manifest| text(&manifest.node.kernel_release))
}

fn kernel(run: &Record) -> Option<String> {
    of_nodes(run, &kernel_of)
}

fn kernel_of(manifest: &Manifest) -> Option<String> {
    let node = &manifest.node;
    let release = text(&node.kernel_release)?;
    // The models as `uname -v` names them (init/Makefile: UTS_VERSION).
    let models = ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT"];
    let model = models.into_iter().find(|model| node.kernel_version.split_whitespace().any(|word| word == *model));
    Some(model.map_or(release.clone(), |model| format!("{release}, {model}")))
}

fn cpus_online(run: &Record) -> Option<String> {
    of_nodes(run, &cpus_online_of)
}

fn cpus_online_of(manifest: &Manifest) -> Option<String> {
    match manifest.node.online_cpus.len() {
        0 => None,
        1 => Some("1 CPU".to_owned()),
        cpus => Some(format!("{cpus} CPUs")),
    }
}

fn architecture(run: &Record) -> Option<String> {
    of_nodes(run, &architecture_of)
}

fn architecture_of(manifest: &Manifest) -> Option<String> {
    let parts = [text(&manifest.node.machine), cpus_online_of(manifest)];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// The load with what it does: its parts, or its own command lines; `None` if the source does not say.
fn load(load: &LoadManifest) -> Option<String> {
    let name = text(&load.name)?;
    let ran: Vec<&str> =
        load.parts.iter().filter(|part| part.dropped.is_none()).map(|part| part.name.as_str()).collect();
    let commands: Vec<String> = load.commands.iter().map(|words| shortened(&words.join(" "))).collect();
    Some(match (ran.is_empty(), commands.is_empty()) {
        (false, _) => format!("{name} ({})", ran.join(", ")),
        (true, false) => format!("{name} ({})", commands.join("; ")),
        (true, true) => name,
    })
}

fn shortened(command: &str) -> String {
    if command.chars().count() <= LONGEST_COMMAND {
        return command.to_owned();
    }
    let kept: String = command.chars().take(LONGEST_COMMAND).collect();
    format!("{kept}\u{2026}")
}

/// The policy that the threads were granted, or requested where nothing was read back, with their CPUs and their interval.
fn policy(run: &Record) -> Option<String> {
    of_nodes(run, &policy_of)
}

fn policy_of(manifest: &Manifest) -> Option<String> {
    let requested = &manifest.requested;
    let named = |policy: &str, priority: u32| match (policy, priority) {
        ("", _) => None,
        (policy, 0) => Some(policy.to_uppercase()),
        (policy, priority) => Some(format!("{} {priority}", policy.to_uppercase())),
    };
    let wanted = named(&requested.policy, requested.priority);
    let granted = distinct(manifest.effective.iter().map(|one| named(&one.policy, one.priority)));
    // The first thread has the priority that was asked for, and others may be below it by design.
    let is_as_asked = manifest.effective.iter().any(|one| one.priority == requested.priority)
        && manifest.effective.iter().all(|one| one.policy == requested.policy && one.priority <= requested.priority);
    let policy = match (wanted, granted) {
        (Some(wanted), Some(granted)) if wanted != granted && !is_as_asked => {
            Some(format!("{granted} ({wanted} was requested)"))
        }
        (wanted, granted) => granted.or(wanted),
    }?;
    let interval = requested.interval_ns.map_or_else(String::new, |ns| format!(", every {}", format::span(ns)));
    if requested.cpus.is_empty() {
        return Some(format!("{policy}{interval}"));
    }
    let place = if requested.pinned { "on CPU" } else { "free to move over CPU" };
    Some(format!("{policy} {place} {}{interval}", requested.cpus))
}

#[cfg(test)]
mod tests {
    use record::{Effective, LoadPart, Validity};

    use super::*;

    fn values(page: &Page) -> Vec<(String, Option<String>)> {
        of_page(page).into_iter().map(|condition| (condition.name, condition.value)).collect()
    }

    fn value(page: &Page, name: &str) -> Option<String> {
        values(page).into_iter().find(|(known, _)| known == name).and_then(|(_, value)| value)
    }

    fn run() -> Record {
        let mut run = samples::run_of("1", &[5_000; 10], Validity::default());
        let manifest = run.manifest_mut();
        manifest.node.hostname = "press-7".to_owned();
        manifest.node.kernel_release = "6.12.48".to_owned();
        manifest.node.kernel_version = "#1 SMP PREEMPT_RT Debian".to_owned();
        manifest.node.machine = "x86_64".to_owned();
        manifest.node.online_cpus = (0..4).collect();
        manifest.requested.policy = "fifo".to_owned();
        manifest.requested.priority = 98;
        manifest.requested.pinned = true;
        manifest.requested.cpus = (2..4).collect();
        manifest.load.name = "none".to_owned();
        run
    }

    #[test]
    fn the_conditions_name_kernel_processor_load_policy_and_deadline() {
        let mut loaded = run();
        loaded.manifest_mut().load.name = "hard".to_owned();
        loaded.manifest_mut().load.parts = vec![LoadPart { name: "memory".to_owned(), ..LoadPart::default() }];
        let profile = Some(serde_json::json!({ "identity": { "cpu_model": "Atom x6425E", "model": "Board 3" } }));
        let page = Page::from_results(None, Results { runs: vec![run(), loaded], profile, ..Results::default() });
        let expected = [
            ("machine", "press-7 (Board 3)"),
            ("kernel", "6.12.48, PREEMPT_RT"),
            ("processor", "Atom x6425E, 4 CPUs"),
            ("load", "none; hard (memory)"),
            ("policy", "FIFO 98 on CPU 2-3"),
        ];
        for (name, words) in expected {
            assert_eq!(value(&page, name).as_deref(), Some(words));
        }
        assert_eq!(value(&page, "deadline").as_deref(), Some("no limit stated"));
    }

    #[test]
    fn a_refused_priority_stands_beside_what_was_granted() {
        let mut refused = run();
        refused.manifest_mut().effective = vec![Effective { policy: "other".to_owned(), ..Effective::default() }];
        let page = Page::from_results(None, Results { runs: vec![refused], ..Results::default() });
        assert_eq!(value(&page, "policy").as_deref(), Some("OTHER (FIFO 98 was requested) on CPU 2-3"));
    }

    #[test]
    fn a_thread_that_is_below_another_by_design_was_not_refused() {
        let granted = |priority| Effective { policy: "fifo".to_owned(), priority, ..Effective::default() };
        let policy = |effective: Vec<Effective>| {
            let mut pair = run();
            pair.manifest_mut().effective = effective;
            value(&Page::from_results(None, Results { runs: vec![pair], ..Results::default() }), "policy").unwrap()
        };
        assert_eq!(policy(vec![granted(98), granted(97)]), "FIFO 98; FIFO 97 on CPU 2-3");
        assert_eq!(policy(vec![granted(97)]), "FIFO 97 (FIFO 98 was requested) on CPU 2-3");
        let other = Effective { policy: "other".to_owned(), ..Effective::default() };
        assert_eq!(policy(vec![granted(98), other]), "FIFO 98; OTHER (FIFO 98 was requested) on CPU 2-3");
    }

    #[test]
    fn clocks_have_a_limit_and_no_policy() {
        let mut clocks = samples::offsets(&[5], Some((-9, 9)), Validity::default());
        clocks.manifest_mut().requested.policy = "other".to_owned();
        clocks.manifest_mut().requested.deadline_ns = Some(50_000);
        let page = Page::from_results(None, Results { runs: vec![clocks], ..Results::default() });
        assert_eq!(value(&page, "limit").as_deref(), Some("50.0 us"));
        assert!(values(&page).iter().all(|(name, _)| name != "policy" && name != "deadline"));
    }

    #[test]
    fn the_nodes_of_packets_stand_side_by_side_where_they_differ() {
        let mut run = samples::packets(&[5_000], 100, 0, Validity::default());
        run.manifest_mut().node.machine = "x86_64".to_owned();
        let page = Page::from_results(None, Results { runs: vec![run], ..Results::default() });
        assert_eq!(value(&page, "machine").as_deref(), Some("a and b"));
        assert_eq!(value(&page, "kernel").as_deref(), Some("a: 6.12.48; b: 6.18.2"));
        assert_eq!(value(&page, "processor").as_deref(), Some("a: x86_64; b: not known"));
        assert_eq!(value(&page, "limit").as_deref(), Some("no limit stated"));
    }

    #[test]
    fn what_an_import_does_not_say_is_not_known() {
        let bare = samples::run_of("1", &[5_000], Validity::default());
        let page = Page::from_results(None, Results { runs: vec![bare], ..Results::default() });
        assert_eq!((value(&page, "kernel"), value(&page, "policy")), (None, None));
        assert_eq!(values(&page).len(), 6, "what is not known keeps its place");
    }
}
