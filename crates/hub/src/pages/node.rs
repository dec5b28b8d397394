//! The page of one node: since when, and what changed then.

use std::fmt::Write as _;

use farm::monitor::{ContentKind, Explaining};
use store::{AuditRow, Change, ContentAt, FleetRow, History, SpanHistogram, Tier};
use units::format;

use super::causes::{write_causes, write_spoiled, write_worst};
use super::chart::{HATCH, MOST_POINTS, Scale, over_time};
use super::clocks::write_clocks;
use super::distribution::write_histograms;
use super::fleet::{not_monitored, write_place};
use super::html::{InUrl, Text};
use super::words::{Moment, clock_is_wrong, detail, gap_why, look, source_state, zone_note, zoned};

/// A grid that ends of windows are put on (ns): five minutes, as long as an interval. A page stays the same until one has passed.
const GRID_NS: i64 = 300 * 1_000_000_000;
/// Rows of a table before the rest is left to the document.
const MOST_ROWS: usize = 50;

/// Spans that can be chosen: a word in the URL, and days.
const SPANS: [(&str, &str, i64); 7] = [
    ("1h", "hour", 1),
    ("6h", "6 hours", 6),
    ("1d", "day", 24),
    ("7d", "week", 7 * 24),
    ("30d", "30 days", 30 * 24),
    ("112d", "112 days", 112 * 24),
    ("1y", "year", 366 * 24),
];
const USUAL_SPAN: &str = "1d";
/// The longest span whose histograms stand on the page (ns): 31 days.
const MOST_HISTOGRAMS_NS: i64 = 31 * 86_400 * 1_000_000_000;

/// The stretch of time that a page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// From when (ns since 1970).
    pub(crate) from_utc_ns: i64,
    /// Until when (ns since 1970).
    pub(crate) to_utc_ns: i64,
    /// The span that was chosen, in the words of the URL; empty where a place of its own was asked for.
    pub(crate) span: &'static str,
}

impl Window {
    /// The last so and so long, or what lies between two moments.
    pub(crate) fn new(now_utc_ns: i64, last: Option<&str>, from_to: Option<(i64, i64)>) -> Self {
        if let Some((from_utc_ns, to_utc_ns)) = from_to.filter(|(from, to)| from < to) {
            return Self { from_utc_ns, to_utc_ns, span: "" };
        }
        let chosen = SPANS.iter().find(|(word, ..)| last == Some(*word));
        let (span, _, hours) =
            chosen.or_else(|| SPANS.iter().find(|(word, ..)| *word == USUAL_SPAN)).copied().unwrap_or(SPANS[0]);
        let to_utc_ns = now_utc_ns.saturating_sub(now_utc_ns.rem_euclid(GRID_NS)).saturating_add(GRID_NS);
        let from_utc_ns = to_utc_ns.saturating_sub(hours.saturating_mul(3_600 * 1_000_000_000));
        Self { from_utc_ns, to_utc_ns, span }
    }

    /// Whether it is short enough for its histograms to be added up while somebody waits for the page: thousands of hours are not.
    pub(crate) const fn is_short(&self) -> bool {
        self.to_utc_ns.saturating_sub(self.from_utc_ns) <= MOST_HISTOGRAMS_NS
    }

    /// What a store is asked for it.
    pub(crate) const fn asked(&self) -> store::HistoryAsked {
        store::HistoryAsked { from_utc_ns: self.from_utc_ns, to_utc_ns: self.to_utc_ns, most_points: MOST_POINTS }
    }
}

/// What the page shows.
pub(crate) struct NodePage {
    /// The node, and what it does.
    pub(crate) row: FleetRow,
    /// The stretch of time.
    pub(crate) window: Window,
    /// What was measured in it.
    pub(crate) history: History,
    /// Profiles and conditions, the oldest first.
    pub(crate) contents: Vec<ContentAt>,
    /// The condition of the latest interval, as JSON.
    pub(crate) condition: Option<String>,
    /// Whether causes are sought on it, as it last said.
    pub(crate) explaining: Option<Explaining>,
    /// The wake-ups of the hours that begin in it; absent where it is too long for a page.
    pub(crate) histograms: Option<Vec<SpanHistogram>>,
    /// What was changed about it, the newest first.
    pub(crate) audit: Vec<AuditRow>,
}

/// The page.
pub(crate) fn node(page: &NodePage) -> String {
    let (row, look) = (&page.row, look(&page.row.state));
    let mut main = format!("<p class=\"small\"><a href=\"/\">Fleet</a></p>\n<h1>{}</h1>\n", Text(&row.node.name));
    // Writing to a string cannot fail.
    let _ = write!(
        main,
        "<p class=\"lead\"><span class=\"state {}\"><span aria-hidden=\"true\">{}</span> {}</span>",
        look.class, look.sign, look.word,
    );
    let said = [
        detail(&row.state),
        not_monitored(&row.isolated_and_not_monitored),
        beyond(row),
        clock_is_wrong(&row.sources).filter(|_| look.class == "good").unwrap_or_default(),
    ];
    for said in said.iter().filter(|said| !said.is_empty()) {
        let _ = write!(main, " \u{b7} {}", Text(said));
    }
    main.push_str("</p>\n");
    write_facts(&mut main, page);
    write_spans(&mut main, page);
    write_plots(&mut main, page);
    write_worst(&mut main, &page.history, page.explaining.as_ref());
    write_causes(&mut main, &page.history, page.explaining.as_ref());
    write_spoiled(&mut main, &page.history);
    write_histograms(&mut main, page);
    write_clocks(&mut main, &page.history, (page.window.from_utc_ns, page.window.to_utc_ns));
    write_gaps(&mut main, &page.history);
    write_changes(&mut main, page);
    main.push_str(&zone_note());
    super::page(&format!("{} \u{b7} {}", row.node.name, look.word), &main)
}

fn beyond(row: &FleetRow) -> String {
    let Some(beyond) = &row.beyond else { return String::new() };
    let by = format::latency(beyond.by_ns);
    match beyond.maximum.at {
        _ if beyond.is_latest => format!("{by} beyond its limit in its latest interval"),
        Some(at) => format!("{by} beyond its limit at {}", zoned(at.utc_ns)),
        None => format!("{by} beyond its limit within a day"),
    }
}

fn write_facts(main: &mut String, page: &NodePage) {
    let (row, node) = (&page.row, &page.row.node);
    main.push_str("<dl>");
    let mut fact = |name: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(main, "<dt>{name}</dt><dd>{value}</dd>");
    };
    for (name, maximum) in [("Latest maximum", &row.latest), ("Worst of a day", &row.day), ("Worst ever", &row.ever)] {
        let Some(maximum) = maximum else { continue };
        let cause = maximum.cause.as_ref().map_or(String::new(), |cause| format!(", {}", Text(&cause.in_words())));
        let when = maximum.at.map_or(String::new(), |at| format!(", {}", Moment(at.utc_ns)));
        let latency = Text(&format::latency(maximum.maximum_ns)).to_string();
        fact(name, &format!("{latency}, CPU {}{cause}{when}", maximum.cpu));
    }
    if let Some(limit_ns) = row.limit_ns {
        fact("Limit", &Text(&format::latency(limit_ns)));
    }
    if let Some(seen) = node.seen_wall_ns {
        fact("Last seen", &Moment(seen));
    }
    fact("Enrolled", &Moment(node.enrolled_wall_ns));
    fact("Agent", &Text(&node.version));
    if let Some(condition) = page.condition.as_deref() {
        fact("Measured under", &Text(&conditions(condition)));
    }
    if !row.sources.is_empty() {
        let sources: Vec<String> =
            row.sources.iter().map(|source| format!("{}: {}", source.source, source_state(source))).collect();
        fact("Clocks, latest interval", &Text(&sources.join("; ")));
    }
    if let Some(explaining) = &page.explaining {
        fact("Causes", &Text(&explaining.in_words()));
    }
    fact("Key", &format_args!("<code>{}</code>", node.key));
    if let Some(earlier) = node.replaces {
        fact("Goes on from", &format_args!("<a href=\"/nodes/{earlier}\"><code>{earlier}</code></a>"));
    }
    main.push_str("</dl>\n<p>");
    write_place(main, node);
    main.push_str("</p>\n");
}

/// A condition as words: its fields with their values, nanoseconds as people say them.
fn conditions(json: &str) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(json) else { return json.to_owned() };
    let words = fields.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let name = name.replace(['_', '-'], " ");
        match (name.strip_suffix(" ns").zip(value.as_u64()), value) {
            // As the maxima that it is held against.
            (Some((name @ "limit", ns)), _) => format!("{name} {}", format::latency(ns)),
            (Some((name, ns)), _) => format!("{name} {}", format::span(ns)),
            (None, serde_json::Value::String(text)) => format!("{name} {text}"),
            (None, other) => format!("{name} {other}"),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

fn write_spans(main: &mut String, page: &NodePage) {
    let key = page.row.node.key.to_string();
    main.push_str("<nav aria-label=\"Span of time\">");
    for (word, name, _) in SPANS {
        let _ = if page.window.span == word {
            write!(main, "<b aria-current=\"true\">{name}</b>")
        } else {
            write!(main, "<a href=\"/nodes/{}?last={word}\">{name}</a>", InUrl(&key))
        };
    }
    let _ = writeln!(
        main,
        "</nav>\n<p class=\"small\">{} to {}; each step is the maximum of {}.</p>",
        Moment(page.window.from_utc_ns),
        Moment(page.window.to_utc_ns),
        match page.history.tier {
            Tier::Intervals => "one or more intervals",
            Tier::Hours => "an hour or more",
            Tier::Days => "a day or more",
        },
    );
}

fn write_plots(main: &mut String, page: &NodePage) {
    let history = &page.history;
    if history.not_placed > 0 {
        let _ = writeln!(
            main,
            "<p>{} intervals are kept and not drawn: their time cannot be, or is not known.</p>",
            format::count(history.not_placed)
        );
    }
    let points = history.cpus.iter().flat_map(|cpu| &cpu.points);
    let latencies = points.flat_map(|point| [point.maximum_ns, point.spoiled_ns]).flatten();
    let Window { from_utc_ns, to_utc_ns, .. } = page.window;
    let Some(scale) = Scale::of((from_utc_ns, to_utc_ns), latencies, page.row.limit_ns) else {
        main.push_str("<p>Nothing was measured in this time.</p>\n");
        return;
    };
    main.push_str("<h2>Maxima over time</h2>\n");
    main.push_str(HATCH);
    for cpu in &history.cpus {
        let worst = cpu.points.iter().filter_map(|point| point.maximum_ns).max();
        let worst = worst.map_or("nothing that stands".to_owned(), |worst| format!("worst {}", format::latency(worst)));
        let _ = writeln!(main, "<h3>CPU {} <span class=\"muted\">{}</span></h3>", cpu.cpu, Text(&worst));
        main.push_str(&over_time(cpu, &history.gaps, page.row.limit_ns, scale));
    }
}

fn write_gaps(main: &mut String, history: &History) {
    if history.gaps.is_empty() {
        return;
    }
    main.push_str("<h2>Not monitored</h2>\n<table><thead><tr><th>From</th><th class=\"number\">For</th><th>Why</th><th>CPUs</th></tr></thead><tbody>\n");
    for span in history.gaps.iter().rev().take(MOST_ROWS) {
        let cpus: units::CpuSet = span.cpus.iter().copied().collect();
        let _ = writeln!(
            main,
            "<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td></tr>",
            Moment(span.start_utc_ns),
            Text(&format::span(span.length_ns)),
            Text(gap_why(&span.why)),
            if cpus.is_empty() { "all".to_owned() } else { cpus.to_string() },
        );
    }
    main.push_str("</tbody></table>\n");
    if let Some(more) = history.gaps.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        let _ = writeln!(main, "<p class=\"small\">and {more} earlier ones</p>");
    }
}

/// Profiles, conditions, and what people changed, the newest first.
fn write_changes(main: &mut String, page: &NodePage) {
    if page.contents.is_empty() && page.audit.is_empty() {
        return;
    }
    main.push_str("<h2>Changes</h2>\n<table><thead><tr><th>When</th><th>What</th></tr></thead><tbody>\n");
    let news = news(&page.contents);
    for (at, content) in news.iter().enumerate().rev().take(MOST_ROWS) {
        let is_first = news.iter().take(at).all(|before| before.kind != content.kind);
        let what = match (content.kind, is_first) {
            (ContentKind::Condition, true) => "measured under its first condition",
            (ContentKind::Condition, false) => "measured under another condition",
            (ContentKind::Profile, true) => "its first profile",
            (ContentKind::Profile, false) => "another profile",
            (ContentKind::Explaining, true) => "whether causes are sought was decided",
            (ContentKind::Explaining, false) => "causes are sought, or not, in another way",
        };
        let hash = content.hash.to_string();
        let _ = write!(main, "<tr><td>");
        let _ = match content.since {
            Some(since) => write!(main, "{}", Moment(since.utc_ns)),
            None => write!(main, "{} after a boot", Text(&format::span(content.since_ns.unsigned_abs()))),
        };
        let _ = writeln!(main, "</td><td>{what} <code>{}</code></td></tr>", hash.get(..8).unwrap_or_default());
    }
    for row in page.audit.iter().take(MOST_ROWS) {
        let _ = writeln!(
            main,
            "<tr><td>{}</td><td>{} <span class=\"muted\">by {}</span></td></tr>",
            Moment(row.by.at_wall_ns),
            Text(&change(&row.change)),
            Text(&row.by.who)
        );
    }
    main.push_str("</tbody></table>\n");
}

/// Contents that differ from the one before of their kind: an agent says anew at each start what it measures under.
fn news(contents: &[ContentAt]) -> Vec<&ContentAt> {
    let mut all: Vec<&ContentAt> = Vec::new();
    for content in contents {
        let before = all.iter().rev().find(|before| before.kind == content.kind);
        if before.is_none_or(|before| before.hash != content.hash) {
            all.push(content);
        }
    }
    all
}

/// A change in words.
fn change(change: &Change) -> String {
    match change {
        Change::Epoch { epoch } => format!("the hub was restored: its life {epoch} began"),
        Change::BackedUp { of_wall_ns, .. } => format!("a backup of {} was made", zoned(*of_wall_ns)),
        Change::Restored { of_wall_ns, .. } => format!("the hub was restored from a backup of {}", zoned(*of_wall_ns)),
        Change::TokenMade { token } => format!("token {token} was made"),
        Change::TokenEnded { token } => format!("token {token} was ended"),
        Change::Enrolled { token: Some(token), name } => format!("enrolled as {name}, by token {token}"),
        Change::Enrolled { token: None, name } => format!("enrolled as {name}, by an enrolment of before a restore"),
        Change::Renamed { name } => format!("renamed to {name}"),
        Change::Placed { place: Some(place) } => format!("placed at {} / {}", place.rack, place.slot),
        Change::Placed { place: None } => "placed nowhere".to_owned(),
        Change::Labeled { key, value: Some(value) } => format!("labeled {key}={value}"),
        Change::Labeled { key, value: None } => format!("label {key} was taken off"),
        Change::Retired => "retired".to_owned(),
        Change::Unretired => "no longer retired".to_owned(),
        Change::Revoked => "revoked".to_owned(),
        Change::Noted { text } => format!("note: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use farm::monitor::{BootId, Cause, GapReason, SourceInterval};
    use farm::stream::ContentHash;
    use store::{By, CpuHistory, GapSpan, GapWhy, NodeState, Point, SourceHistory, SourcePoint};

    use super::*;

    const SCRIPT: &str = "<script>alert(1)</script>\u{1b}[2J";

    fn page() -> NodePage {
        let window = Window::new(1_795_000_000_000_000_000, None, None);
        let cause = |(class, name): (&str, &str)| Cause {
            class: class.to_owned(),
            name: name.to_owned(),
            is_shown: true,
            covers_percent: Some(90),
        };
        let point = |start_utc_ns, maximum_ns, of: Option<(&str, &str)>| Point {
            start_utc_ns,
            length_ns: 300_000_000_000,
            placed_error_ns: 0,
            maximum_ns: Some(maximum_ns),
            maximum_utc_ns: Some(start_utc_ns),
            spoiled_ns: None,
            samples: 300_000,
            missed_periods: 1,
            beyond_limit: 2,
            not_monitored_ns: 0,
            condition: ContentHash::of("{}"),
            reasons: vec![SCRIPT.to_owned()],
            cause: of.map(cause),
        };
        let clock = |start_utc_ns, state: &str, bound_ns| SourcePoint {
            start_utc_ns,
            length_ns: 300_000_000_000,
            worst: SourceInterval {
                source: SCRIPT.to_owned(),
                state: state.to_owned(),
                bound_ns,
                ..SourceInterval::default()
            },
        };
        let from = window.from_utc_ns;
        let points = vec![
            point(from, 40_000, Some(("interrupt", "eth0"))),
            point(from + 300_000_000_000, 250_000, Some((SCRIPT, SCRIPT))),
            point(from + 600_000_000_000, 30_000, Some(("unknown", ""))),
            point(from + 900_000_000_000, 9_000, None),
        ];
        NodePage {
            row: crate::fleet::tests::row(SCRIPT, 250_000, NodeState::Monitoring),
            history: History {
                tier: Tier::Intervals,
                cpus: vec![CpuHistory { cpu: 2, points }],
                gaps: vec![GapSpan {
                    start_utc_ns: from + 900_000_000_000,
                    length_ns: 60_000_000_000,
                    why: GapWhy::Said(GapReason::Other(SCRIPT.to_owned())),
                    cpus: Vec::new(),
                }],
                sources: vec![SourceHistory {
                    source: SCRIPT.to_owned(),
                    points: vec![
                        clock(from, "locked", Some(30_000)),
                        clock(from + 300_000_000_000, "locked", Some(90_000)),
                        clock(from + 600_000_000_000, SCRIPT, None),
                    ],
                }],
                not_placed: 3,
            },
            window,
            contents: Vec::new(),
            histograms: Some(Vec::new()),
            explaining: Some(Explaining {
                choice: SCRIPT.to_owned(),
                why_not: SCRIPT.to_owned(),
                ..Explaining::default()
            }),
            condition: Some(format!("{{\"kind\": {}}}", serde_json::to_string(SCRIPT).unwrap())),
            audit: vec![AuditRow {
                id: 1,
                by: By { who: SCRIPT.to_owned(), at_wall_ns: 0 },
                node: None,
                change: Change::Noted { text: SCRIPT.to_owned() },
            }],
        }
    }

    #[test]
    fn whatever_a_node_says_is_text() {
        let html = node(&page());
        assert_eq!(html.matches("<script").count(), 1, "{html}");
        assert!(!html.contains('\u{1b}'));
    }

    #[test]
    fn a_node_s_page_says_its_worst_its_causes_and_when_nobody_measured() {
        let html = node(&page());
        for words in [
            "worst 250 us",
            "interrupt: eth0 (shown, 90 % of the time)",
            "<td>interrupt</td>",
            "unknown, though sought",
            ">not sought<",
            "Not monitored",
            "60 s",
            "3 intervals are kept and not drawn",
            "90.0 us</td>",
            ">none</td>",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }

    #[test]
    fn what_a_node_says_first_is_not_called_another() {
        let at = |kind, text: &str| ContentAt {
            kind,
            hash: ContentHash::of(text),
            boot: BootId(String::new()),
            since_ns: 0,
            since: None,
        };
        let contents = [("a", "p"), ("a", "p"), ("b", "p")].into_iter().flat_map(|(condition, profile)| {
            [at(ContentKind::Condition, condition), at(ContentKind::Profile, profile)]
        });
        let html = node(&NodePage { contents: contents.collect(), ..page() });
        let count = |words: &str| html.matches(words).count();
        assert_eq!((count("its first condition"), count("another condition")), (1, 1), "{html}");
        assert_eq!((count("its first profile"), count("another profile")), (1, 0), "{html}");
    }

    #[test]
    fn a_condition_is_said_in_words() {
        let json = r#"{"kind": "wakeup", "interval_ns": 1000000, "limit-ns": null, "priority": 98, "cpus": [0, 1]}"#;
        assert_eq!(conditions(json), "cpus [0,1], interval 1 ms, kind wakeup, priority 98");
        assert_eq!(conditions(r#"{"limit-ns": 1500000}"#), format!("limit {}", format::latency(1_500_000)));
        assert_eq!(conditions("no JSON"), "no JSON");
    }

    #[test]
    fn a_window_ends_on_the_grid_and_a_wrong_one_is_the_usual_one() {
        let now = 1_795_000_000_000_000_123;
        let window = Window::new(now, Some("7d"), None);
        assert!(window.to_utc_ns > now && window.to_utc_ns - now <= GRID_NS && window.to_utc_ns % GRID_NS == 0);
        assert_eq!(window.to_utc_ns - window.from_utc_ns, 7 * 86_400 * 1_000_000_000);
        assert_eq!(Window::new(now, Some("../"), Some((5, 5))), Window::new(now, Some(USUAL_SPAN), None));
        assert_eq!(Window::new(now, None, Some((5, 9))), Window { from_utc_ns: 5, to_utc_ns: 9, span: "" });
    }
}
