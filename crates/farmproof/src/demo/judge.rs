//! What the hub says of the farm, held against what was done to it. Pure.

use anyhow::Context as _;
use lab::injection::Delay;
use serde_json::Value;
use units::format;

use super::guests::{Machine, PERIOD_MS};

const NS_PER_MS: u64 = 1_000_000;

/// A node as the hub lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) state: String,
    /// Its largest latency of a day (ns).
    pub(crate) day_ns: Option<u64>,
    /// By how much an interval was beyond its limit (ns).
    pub(crate) beyond_ns: Option<u64>,
    /// The limit that the hub knows (ns).
    pub(crate) limit_ns: Option<u64>,
    /// What made the largest latency of the day.
    pub(crate) cause: Option<String>,
}

/// The nodes in the order of the hub's list.
pub(crate) fn seen(document: &[u8]) -> anyhow::Result<Vec<Seen>> {
    let document: Value = serde_json::from_slice(document)?;
    let nodes = document.get("nodes").and_then(Value::as_array).context("the hub's document has no nodes")?;
    nodes.iter().map(node).collect()
}

fn node(node: &Value) -> anyhow::Result<Seen> {
    let text = |name: &str| node.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |pointer: &str| node.pointer(pointer).and_then(Value::as_u64);
    let cause = |word: &str| node.pointer(&format!("/day/cause/{word}")).and_then(Value::as_str);
    Ok(Seen {
        name: text("name").context("a node has no name")?,
        state: text("state").context("a node has no state")?,
        day_ns: number("/day/maximum-ns"),
        beyond_ns: number("/beyond/by-ns"),
        limit_ns: number("/limit-ns"),
        cause: cause("class").map(|class| match cause("name") {
            Some(name) if !name.is_empty() => format!("{class}: {name}"),
            _ => class.to_owned(),
        }),
    })
}

/// Whether each machine is monitored, and has sent an interval.
pub(crate) fn all_measure(nodes: &[Seen], machines: &[Machine]) -> bool {
    machines.iter().all(|machine| {
        nodes.iter().any(|node| node.name == machine.name && node.state == "monitoring" && node.day_ns.is_some())
    })
}

/// Nodes that are beyond their limit, with by how much.
pub(crate) fn beyond(nodes: &[Seen]) -> Vec<String> {
    let beyond = nodes.iter().filter_map(|node| Some((node, node.beyond_ns?)));
    beyond.map(|(node, by_ns)| format!("{} by {}", node.name, format::latency(by_ns))).collect()
}

/// A delay that was planted, with the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planted {
    pub(crate) machine: Machine,
    pub(crate) truth: Delay,
}

impl Planted {
    /// The least latency that the agent has to have read (ns): the first wake-up that was held up was due a period after the delay's
    /// beginning at the latest.
    pub(crate) fn least_ns(&self) -> u64 {
        let length_ns = self.truth.true_end_ns.saturating_sub(self.truth.true_start_ns);
        u64::try_from(length_ns).unwrap_or(0).saturating_sub(u64::from(PERIOD_MS) * NS_PER_MS)
    }

    /// The least excess that the hub has to state (ns).
    fn least_excess_ns(&self) -> u64 {
        self.least_ns().saturating_sub(u64::from(self.machine.limit_ms) * NS_PER_MS)
    }

    /// Whether the hub has this delay.
    fn has_arrived(&self, nodes: &[Seen]) -> bool {
        let node = nodes.iter().find(|node| node.name == self.machine.name);
        node.and_then(|node| node.day_ns).is_some_and(|day_ns| day_ns >= self.least_ns())
    }
}

/// What holds of a farm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Not all that was planted has arrived.
    Waits,
    /// The machine is first, with its excess (ns).
    First(u64),
    /// This host held another guest up for so long that its own reading puts it first: nothing is shown.
    Disturbed(String),
    /// The hub's page says something that is not what was planted.
    Wrong(String),
}

/// Holds the hub's list against the truth: the machine of `late` has to be first, with an excess that its delay explains, and that of
/// `longer` has a longer delay, which its limit allows. `own_ms` is how late a guest may be by itself (ms).
pub(crate) fn judge(nodes: &[Seen], late: &Planted, longer: &Planted, own_ms: u32) -> Verdict {
    if !late.has_arrived(nodes) || !longer.has_arrived(nodes) {
        return Verdict::Waits;
    }
    let Some(first) = nodes.first() else { return Verdict::Waits };
    if first.name != late.machine.name {
        let by_ns = nodes.iter().find(|node| node.name == late.machine.name).and_then(|node| node.beyond_ns);
        let what = format!(
            "{} is first and not {}; beyond their limits are {}",
            first.name,
            late.machine.name,
            beyond(nodes).join(", ")
        );
        return if first.beyond_ns > by_ns { Verdict::Disturbed(what) } else { Verdict::Wrong(what) };
    }
    let Some(by_ns) = first.beyond_ns else {
        return Verdict::Wrong(format!("{} is first, and not beyond its limit", first.name));
    };
    let least_ns = late.least_excess_ns();
    let most_ns = least_ns.saturating_add(u64::from(PERIOD_MS + own_ms) * NS_PER_MS);
    if !(least_ns..=most_ns).contains(&by_ns) {
        return Verdict::Wrong(format!(
            "{} is said to be {} beyond its limit: {} to {} are what was planted",
            first.name,
            format::latency(by_ns),
            format::latency(least_ns),
            format::latency(most_ns)
        ));
    }
    Verdict::First(by_ns)
}

#[cfg(test)]
mod tests {
    use lab::injection::Kind;

    use super::*;

    const LATE: Machine = Machine { name: "late", limit_ms: 400, planted_ms: Some(550) };
    const LENIENT: Machine = Machine { name: "lenient", limit_ms: 900, planted_ms: Some(700) };
    const MS: i64 = 1_000_000;

    fn planted(machine: Machine) -> Planted {
        let length_ns = i64::from(machine.planted_ms.unwrap()) * MS;
        let truth = Delay {
            kind: Kind::Hog,
            cpu: 0,
            priority: 99,
            asked_start_ns: 0,
            asked_length_ns: length_ns,
            true_start_ns: 5,
            true_end_ns: 5 + length_ns,
        };
        Planted { machine, truth }
    }

    fn seen_as(name: &str, day_ms: u64, beyond_ms: Option<u64>) -> Seen {
        let beyond_ns = beyond_ms.map(|ms| ms * NS_PER_MS);
        let (state, day_ns) = ("monitoring".to_owned(), Some(day_ms * NS_PER_MS));
        Seen { name: name.to_owned(), state, day_ns, beyond_ns, limit_ns: None, cause: None }
    }

    fn judged(nodes: &[Seen]) -> Verdict {
        judge(nodes, &planted(LATE), &planted(LENIENT), 100)
    }

    #[test]
    fn the_planted_one_has_to_be_first_with_what_was_planted() {
        let (lenient, calm) = (seen_as("lenient", 701, None), seen_as("calm", 30, None));
        let all = |late: Seen| [late, lenient.clone(), calm.clone()];
        assert_eq!(judged(&all(seen_as("late", 552, Some(152)))), Verdict::First(152 * NS_PER_MS));
        // What was read of a delay of 550 ms is at least 545 ms, with wake-ups 5 ms apart.
        assert_eq!(judged(&all(seen_as("late", 545, Some(145)))), Verdict::First(145 * NS_PER_MS));
        assert_eq!(judged(&all(seen_as("late", 544, Some(144)))), Verdict::Waits);
        let wrong = |nodes: &[Seen], part: &str| match judged(nodes) {
            Verdict::Wrong(why) => assert!(why.contains(part), "{why}"),
            other => panic!("{other:?}"),
        };
        wrong(&all(seen_as("late", 552, Some(100))), "beyond its limit: 145");
        wrong(&all(seen_as("late", 700, Some(300))), "beyond its limit: 145");
        wrong(&all(seen_as("late", 552, None)), "not beyond its limit");
        let calm_first = |by_ms| [seen_as("calm", 500, Some(by_ms)), seen_as("late", 552, Some(152)), lenient.clone()];
        wrong(&calm_first(100), "calm is first and not late; beyond their limits are calm by 100");
        wrong(&[lenient.clone(), seen_as("late", 552, Some(152)), calm.clone()], "lenient is first");
        // The hub is right there, and the host is to blame.
        assert!(matches!(judged(&calm_first(200)), Verdict::Disturbed(_)));
        // The longer one has not been heard of: that it is not first shows nothing yet.
        assert_eq!(
            judged(&[seen_as("late", 552, Some(152)), seen_as("lenient", 20, None), calm.clone()]),
            Verdict::Waits
        );
        assert_eq!(judged(&[]), Verdict::Waits);
    }

    #[test]
    fn the_hub_s_document_is_read() {
        let document = serde_json::json!({ "hub": "00", "nodes": [
            { "name": "late", "state": "monitoring", "limit-ns": 400, "beyond": { "by-ns": 150 },
              "day": { "maximum-ns": 550, "cpu": 0, "cause": { "class": "thread", "name": "hog" } } },
            { "name": "calm", "state": "waiting" },
        ]});
        let nodes = seen(document.to_string().as_bytes()).unwrap();
        assert_eq!((nodes[0].day_ns, nodes[0].beyond_ns, nodes[0].limit_ns), (Some(550), Some(150), Some(400)));
        assert_eq!(nodes[0].cause.as_deref(), Some("thread: hog"));
        assert_eq!((nodes[1].day_ns, nodes[1].beyond_ns), (None, None));
        let machine = |name| Machine { name, limit_ms: 1, planted_ms: None };
        assert!(all_measure(&nodes, &[machine("late")]));
        assert!(!all_measure(&nodes, &[machine("late"), machine("calm")]) && !all_measure(&nodes, &[machine("none")]));
        let silent = Seen { state: "silent".to_owned(), ..nodes[0].clone() };
        assert!(!all_measure(&[silent], &[machine("late")]));
        assert!(seen(b"{}").is_err());
    }
}
