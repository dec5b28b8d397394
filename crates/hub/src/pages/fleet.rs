//! The page of all nodes: which machine to look at.

use std::fmt::Write as _;

use store::FleetRow;
use units::format;

use super::chart::sparkline;
use super::html::{InUrl, Text};
use super::words::{Moment, clock_is_wrong, detail, local, look, zone_note};
use crate::fleet::{Rank, rank, unusual};

/// Rows of the page at most: of ten thousand nodes nobody looks at more at once, and a browser takes seconds to draw them.
const MOST_ROWS: usize = 200;

/// What of the fleet is asked for, in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub(crate) struct Asked {
    /// Only nodes in which all of these words occur.
    #[serde(default)]
    pub(crate) q: String,
    /// How many of them are left out, those that are to be looked at first.
    #[serde(default)]
    pub(crate) skip: u32,
}

impl Asked {
    fn skipped(&self) -> usize {
        usize::try_from(self.skip).unwrap_or(usize::MAX)
    }
}

/// Whether a node is asked for: each word occurs in its name, state, version, place, labels or key.
pub(crate) fn is_wanted(row: &FleetRow, words: &str) -> bool {
    if words.trim().is_empty() {
        return true;
    }
    let node = &row.node;
    let mut text = format!("{}\n{}\n{}\n{}\n", node.name, look(&row.state).word, node.version, node.key);
    if let Some(place) = &node.place {
        let _ = writeln!(text, "{}\n{}", place.rack, place.slot);
    }
    for (key, value) in &node.labels {
        let _ = writeln!(text, "{key}={value}");
    }
    if rank_word(row).is_some() {
        text.push_str("beyond unusual");
    }
    let text = text.to_lowercase();
    words.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

/// What is to be said of a node before anything else.
fn rank_word(row: &FleetRow) -> Option<String> {
    match rank(row) {
        Rank::Beyond(by) => {
            let when = row.beyond.as_ref().map_or(String::new(), |beyond| match beyond.maximum.at {
                _ if beyond.is_latest => " in its latest interval".to_owned(),
                Some(at) => format!(" at {}", local(at.utc_ns)),
                None => String::new(),
            });
            Some(format!("{} beyond its limit{when}", format::latency(by.0)))
        }
        Rank::Unusual(_) => row.against_itself.map(|against| match against.as_large {
            0 => format!("the worst of {} intervals", format::count(against.intervals.saturating_add(1))),
            as_large => format!("only {as_large} of {} intervals were as bad", format::count(against.intervals)),
        }),
        Rank::NotMeasured | Rank::Maximum(_) | Rank::AtRest => None,
    }
}

/// The page, of nodes in the order in which they are to be looked at.
pub(crate) fn fleet(rows: &[FleetRow], asked: &Asked) -> String {
    let wanted: Vec<&FleetRow> = rows.iter().filter(|row| is_wanted(row, &asked.q)).collect();
    let mut main = String::from("<h1>Fleet</h1>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(main, "<p class=\"lead\">{}</p>", Text(&sentence(rows)));
    if rows.is_empty() {
        main.push_str(
            "<p>On this machine, for each node:</p>\n<pre>punctual-hub enrol</pre>\n\
             <p>It prints a token, and the line that enrols the node with it.</p>\n",
        );
        return super::page("Fleet", &main);
    }
    let _ = writeln!(
        main,
        "<form method=\"get\" action=\"/\"><label>Filter <input name=\"q\" type=\"search\" value=\"{}\"></label> \
         <button>Show</button></form>",
        Text(&asked.q),
    );
    if wanted.is_empty() {
        let _ = writeln!(main, "<p>No node has all of these words. <a href=\"/\">Show all {}</a></p>", rows.len());
        return super::page("Fleet", &main);
    }
    main.push_str(
        "<div class=\"wide\"><table class=\"stacked\">\n<thead><tr><th>Node</th><th>State</th><th class=\"number\">Worst of a day</th>\
         <th class=\"number\">Latest</th><th class=\"number aside\">Limit</th><th class=\"number aside\">Worst ever</th><th>That day</th><th>Last seen</th>\
         <th class=\"aside\">Agent</th><th class=\"aside\">Place, labels</th></tr></thead>\n<tbody>\n",
    );
    for row in wanted.iter().skip(asked.skipped()).take(MOST_ROWS) {
        write_row(&mut main, row);
    }
    main.push_str("</tbody></table></div>\n");
    write_others(&mut main, wanted.len(), asked);
    main.push_str(&zone_note());
    super::page(&title(rows), &main)
}

/// Where the nodes are that are not on this page.
fn write_others(main: &mut String, count: usize, asked: &Asked) {
    if count <= MOST_ROWS && asked.skip == 0 {
        return;
    }
    let first = asked.skipped().min(count);
    let last = first.saturating_add(MOST_ROWS).min(count);
    let _ = write!(main, "<p>Nodes {} to {last} of {count}, by what to look at first.", (first + 1).min(last));
    let mut link = |skip: usize, word: &str| {
        let _ = write!(main, " <a href=\"/?q={}&amp;skip={skip}\">{word}</a>", InUrl(&asked.q));
    };
    if first > 0 {
        link(first.saturating_sub(MOST_ROWS), "Those before");
    }
    if last < count {
        link(last, "Those after");
    }
    main.push_str("</p>\n");
}

fn count(rows: &[FleetRow], of: impl Fn(&FleetRow) -> bool) -> usize {
    rows.iter().filter(|row| of(row)).count()
}

fn title(rows: &[FleetRow]) -> String {
    match count(rows, |row| matches!(rank(row), Rank::Beyond(_))) {
        0 => "Fleet".to_owned(),
        beyond => format!("{beyond} beyond their limit \u{b7} Fleet"),
    }
}

/// The answer first.
fn sentence(rows: &[FleetRow]) -> String {
    if rows.is_empty() {
        return "No node is enrolled yet.".to_owned();
    }
    let beyond = count(rows, |row| matches!(rank(row), Rank::Beyond(_)));
    let is_latest = |row: &FleetRow| row.beyond.as_ref().is_some_and(|beyond| beyond.is_latest);
    let still = count(rows, |row| matches!(rank(row), Rank::Beyond(_)) && is_latest(row));
    let not_measured = count(rows, |row| look(&row.state).class == "bad");
    let is_unusual =
        count(rows, |row| row.against_itself.and_then(unusual).is_some() && matches!(rank(row), Rank::Unusual(_)));
    let nodes = |count: usize| if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") };
    let mut parts = Vec::new();
    let within_a_day = match still {
        0 => "beyond the limit in the last day, within it now".to_owned(),
        still if still == beyond => "beyond the limit".to_owned(),
        still => format!("beyond the limit in the last day, {still} of them now"),
    };
    for (count, what) in [
        (beyond, within_a_day.as_str()),
        (is_unusual, "unusual against its own history"),
        (not_measured, "not measured"),
    ] {
        if count > 0 {
            parts.push(format!("{} {what}", nodes(count)));
        }
    }
    let monitoring = count(rows, |row| look(&row.state).class == "good");
    parts.push(format!("{monitoring} of {} monitored", nodes(rows.len())));
    format!("{}.", parts.join(", "))
}

fn write_row(main: &mut String, row: &FleetRow) {
    let (node, look) = (&row.node, look(&row.state));
    let class = match (rank(row), look.class) {
        (Rank::Beyond(_), _) => "beyond",
        (Rank::Unusual(_), _) => "unusual",
        (_, "good") => "",
        _ => "old",
    };
    let _ = write!(
        main,
        "<tr class=\"{class}\"><td><a href=\"/nodes/{}\"><b>{}</b></a>",
        InUrl(&node.key.to_string()),
        Text(&node.name),
    );
    if let Some(word) = rank_word(row) {
        let _ = write!(main, "<br><span class=\"attention\">{}</span>", Text(&word));
    }
    let _ = write!(
        main,
        "</td><td><span class=\"state {}\"><span aria-hidden=\"true\">{}</span> {}</span>",
        look.class, look.sign, look.word,
    );
    // Of a node that is silent it is not known how its clock is now.
    let clock = clock_is_wrong(&row.sources).filter(|_| look.class == "good").unwrap_or_default();
    for said in [detail(&row.state), not_monitored(&row.isolated_and_not_monitored), clock] {
        if !said.is_empty() {
            let _ = write!(main, "<br><span class=\"small\">{}</span>", Text(&said));
        }
    }
    main.push_str("</td><td class=\"number\" data-name=\"Worst of a day\">");
    let was = if look.class == "good" { "" } else { "was " };
    // What was furthest beyond its limit need not be the largest where limits differ.
    let worst = row.beyond.as_ref().map(|beyond| &beyond.maximum).or(row.day.as_ref());
    let limit_ns = row.beyond.as_ref().map(|beyond| beyond.limit_ns).or(row.limit_ns);
    write_maximum(main, was, worst, limit_ns);
    main.push_str("</td><td class=\"number\" data-name=\"Latest\">");
    // When that was says the column of what was last seen, or the state.
    let latest = row.latest.clone().map(|latest| store::Maximum { at: None, ..latest });
    write_maximum(main, was, latest.as_ref(), row.limit_ns);
    let latency = |ns: Option<String>| ns.map_or(String::new(), |text| Text(&text).to_string());
    let _ = write!(
        main,
        "</td><td class=\"number aside\">{}</td><td class=\"number aside\">{}</td><td>{}</td><td data-name=\"Last seen\">",
        latency(row.limit_ns.map(format::latency)),
        latency(row.ever.as_ref().map(|ever| format::latency(ever.maximum_ns))),
        sparkline(&row.half_hours_ns, row.limit_ns),
    );
    if let Some(seen) = node.seen_wall_ns {
        let _ = write!(main, "{}", Moment(seen));
    }
    let _ = write!(main, "</td><td class=\"aside\">{}</td><td class=\"aside\">", Text(&node.version));
    write_place(main, node);
    main.push_str("</td></tr>\n");
}

/// A largest latency with its CPU, what made it, and when it was.
fn write_maximum(main: &mut String, was: &str, maximum: Option<&store::Maximum>, limit_ns: Option<u64>) {
    let Some(maximum) = maximum else { return };
    let is_beyond = limit_ns.is_some_and(|limit_ns| u64::try_from(maximum.maximum_ns).is_ok_and(|ns| ns > limit_ns));
    let _ = write!(
        main,
        "<span class=\"{}\">{was}{}</span><br><span class=\"small\">CPU {}",
        if is_beyond { "maximum over" } else { "maximum" },
        Text(&format::latency(maximum.maximum_ns)),
        maximum.cpu,
    );
    // That nothing was found is told on the node's page.
    if let Some(cause) = maximum.cause.as_ref().filter(|cause| !cause.is_unknown()) {
        let _ = write!(main, ", {}", Text(&cause.what()));
    }
    if let Some(at) = maximum.at {
        let _ = write!(main, "<br>{}", Moment(at.utc_ns));
    }
    main.push_str("</span>");
}

/// Where a node stands, and its labels.
pub(super) fn write_place(main: &mut String, node: &store::Node) {
    if let Some(place) = &node.place {
        let _ = write!(main, "{} / {} ", Text(&place.rack), Text(&place.slot));
    }
    for (key, value) in &node.labels {
        let sign = if value.is_empty() { "" } else { "=" };
        let _ = write!(main, "<span class=\"label\">{}{sign}{}</span> ", Text(key), Text(value));
    }
}

/// CPUs that are isolated and that nobody monitors.
pub(super) fn not_monitored(cpus: &[u32]) -> String {
    if cpus.is_empty() {
        return String::new();
    }
    let cpus: units::CpuSet = cpus.iter().copied().collect();
    format!("isolated and not monitored: CPU {cpus}")
}

#[cfg(test)]
mod tests {
    use farm::monitor::{Cause, NOT_SYNCHRONIZED, SYSTEM_CLOCK, SourceInterval};
    use store::NodeState;

    use super::*;
    use crate::fleet::tests::{beyond_by, row};

    const SCRIPT_NAME: &str = "<script>alert(1)</script>\u{1b}[31m";

    #[test]
    fn a_hostile_name_is_text_wherever_it_stands() {
        let mut hostile = row(SCRIPT_NAME, 5_000, NodeState::Invalid { reasons: vec![SCRIPT_NAME.to_owned()] });
        let node = std::sync::Arc::make_mut(&mut hostile.node);
        node.labels.insert(SCRIPT_NAME.to_owned(), "\"><img src=x>".to_owned());
        node.version = SCRIPT_NAME.to_owned();
        node.place = Some(store::Place { rack: SCRIPT_NAME.to_owned(), slot: SCRIPT_NAME.to_owned() });
        if let Some(latest) = &mut hostile.latest {
            latest.cause =
                Some(Cause { class: SCRIPT_NAME.to_owned(), name: SCRIPT_NAME.to_owned(), ..Cause::default() });
        }
        let page = fleet(&[hostile], &Asked { q: SCRIPT_NAME.replace("\u{1b}[31m", ""), skip: 0 });
        // The page's own is the only one.
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert!(!page.contains("<img") && !page.contains('\u{1b}') && page.contains("&lt;script&gt;alert(1)"));
    }

    #[test]
    fn the_page_says_what_made_the_worst_of_a_day_and_whose_clock_is_not_synchronized() {
        let mut of = row("late", 90_000, NodeState::Monitoring);
        let cause = |class: &str| Cause { class: class.to_owned(), name: "eth0".to_owned(), ..Cause::default() };
        of.day.as_mut().unwrap().cause = Some(cause("interrupt"));
        of.latest.as_mut().unwrap().cause = Some(Cause { name: String::new(), ..cause("unknown") });
        of.sources = vec![SourceInterval {
            source: SYSTEM_CLOCK.to_owned(),
            state: NOT_SYNCHRONIZED.to_owned(),
            ..SourceInterval::default()
        }];
        let page = fleet(&[of, row("calm", 9_000, NodeState::Monitoring)], &Asked::default());
        assert!(page.contains("CPU 1, interrupt: eth0") && !page.contains("unknown"), "{page}");
        assert_eq!(page.matches("its clock is not synchronized").count(), 1);
    }

    #[test]
    fn the_page_says_first_what_is_wrong_and_shows_what_is_asked_for() {
        let beyond = beyond_by(150_000, true, row("far-off", 250_000, NodeState::Monitoring));
        let mut rows = vec![row("calm", 9_000, NodeState::Monitoring), row("mute", 1, NodeState::NoPriority), beyond];
        crate::fleet::sort(&mut rows);
        let page = fleet(&rows, &Asked::default());
        assert!(page.contains("1 node beyond the limit, 1 node not measured, 2 of 3 nodes monitored."), "{page}");
        assert!(page.find("far-off") < page.find("mute") && page.find("mute") < page.find("calm"));
        assert!(page.contains("150 us beyond its limit in its latest interval"));
        assert!(page.contains("no real-time priority"));
        // What is over is told as that, and does not look calm.
        rows.push(beyond_by(9_000, false, row("at-night", 5_000, NodeState::Monitoring)));
        crate::fleet::sort(&mut rows);
        let page = fleet(&rows, &Asked::default());
        assert!(
            page.contains("2 nodes beyond the limit in the last day, 1 of them now, 1 node not measured"),
            "{page}"
        );
        assert!(page.contains("beyond its limit at 20") && page.find("at-night") < page.find("mute"));
        rows.remove(0);
        let page = fleet(&rows, &Asked::default());
        assert!(page.contains("1 node beyond the limit in the last day, within it now, 1 node"), "{page}");
        assert!(page.contains("<title>1 beyond their limit"), "{page}");
        let only = fleet(&rows, &Asked { q: "MUTE priority".to_owned(), skip: 0 });
        assert!(only.contains(">mute<") && !only.contains(">calm<"));
        assert!(fleet(&rows, &Asked { q: "nothing".to_owned(), skip: 0 }).contains("No node has all of these words"));
        assert!(fleet(&[], &Asked::default()).contains("punctual-hub enrol"));
    }

    #[test]
    fn a_large_fleet_is_shown_in_parts_none_of_which_is_left_out() {
        let name = |at: usize| format!("node-{at:03}.");
        let mut rows: Vec<FleetRow> = (0..450).map(|at| row(&name(at), 9_000, NodeState::Monitoring)).collect();
        crate::fleet::sort(&mut rows);
        let mut seen = Vec::new();
        let mut skip = Some(0);
        while let Some(at) = skip {
            let page = fleet(&rows, &Asked { q: "node-".to_owned(), skip: at });
            assert!(page.contains("450 of 450 nodes monitored"));
            let here: Vec<usize> = (0..450).filter(|at| page.contains(&format!("<b>{}</b>", name(*at)))).collect();
            assert!(here.len() <= MOST_ROWS);
            seen.extend(here);
            skip = page
                .split("skip=")
                .skip(1)
                .filter_map(|rest| rest.split('"').next()?.parse().ok())
                .find(|next| *next > at);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..450).collect::<Vec<_>>());
        assert!(fleet(&rows, &Asked { q: String::new(), skip: u32::MAX }).contains("of 450"));
    }
}
