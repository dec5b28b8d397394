//! The part of a node's page that says what made its worst wake-ups late: a table of the worst, and the classes of causes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use farm::monitor::{Cause, Explaining};
use store::{History, Point};
use units::format;

use super::html::Text;
use super::words::Moment;

/// Rows of the table of the worst.
const MOST_WORST: usize = 10;
/// Classes and reasons before the rest is left to the document.
const MOST_ROWS: usize = 50;
/// Names of a class that are listed.
const MOST_NAMES: usize = 5;

/// The worst spans of all CPUs.
pub(super) fn write_worst(main: &mut String, history: &History, explaining: Option<&Explaining>) {
    let mut worst: Vec<(u32, i64, &Point)> = history
        .cpus
        .iter()
        .flat_map(|cpu| cpu.points.iter().filter_map(|point| Some((cpu.cpu, point.maximum_ns?, point))))
        .collect();
    worst.sort_by_key(|(cpu, maximum_ns, point)| (Reverse(*maximum_ns), *cpu, point.start_utc_ns));
    worst.truncate(MOST_WORST);
    if worst.is_empty() {
        return;
    }
    // A column of causes that nobody looked for would say that they were sought.
    let is_sought = explaining.is_some_and(|explaining| explaining.source.is_some());
    let has_causes = is_sought || worst.iter().any(|(.., point)| point.cause.is_some());
    let head = if has_causes { "<th>Cause</th>" } else { "" };
    let _ = writeln!(
        main,
        "<h2>Worst</h2>\n<div class=\"wide\"><table class=\"stacked\"><thead><tr><th class=\"number\">Maximum</th><th>CPU</th><th>When</th>\
         {head}<th class=\"number aside\">Beyond the limit</th><th class=\"number aside\">Missed periods</th></tr></thead><tbody>",
    );
    for (cpu, maximum_ns, point) in worst {
        let cause = match &point.cause {
            _ if !has_causes => String::new(),
            Some(cause) => format!("<td data-name=\"Cause\">{}</td>", Text(&cause.in_words())),
            None => "<td class=\"muted\" data-name=\"Cause\">not sought</td>".to_owned(),
        };
        let _ = writeln!(
            main,
            "<tr><td class=\"number\" data-name=\"Maximum\">{}</td><td data-name=\"CPU\">{cpu}</td><td data-name=\"When\">{}</td>{cause}<td class=\"number aside\">{}</td>\
             <td class=\"number aside\">{}</td></tr>",
            Text(&format::latency(maximum_ns)),
            Moment(point.maximum_utc_ns.unwrap_or(point.start_utc_ns)),
            Text(&format::count(point.beyond_limit)),
            Text(&format::count(point.missed_periods)),
        );
    }
    main.push_str("</tbody></table></div>\n");
}

/// What was counted of a class of causes.
#[derive(Default)]
struct Class<'a> {
    steps: u64,
    shown: u64,
    worst_ns: i64,
    names: BTreeMap<&'a str, u64>,
}

impl<'a> Class<'a> {
    fn add(&mut self, maximum_ns: i64, cause: Option<&'a Cause>) {
        self.worst_ns = if self.steps == 0 { maximum_ns } else { self.worst_ns.max(maximum_ns) };
        self.steps += 1;
        let Some(cause) = cause else { return };
        self.shown += u64::from(cause.is_shown);
        if !cause.name.is_empty() {
            *self.names.entry(&cause.name).or_default() += 1;
        }
    }

    /// The names, those of the most steps first.
    fn names_in_words(&self) -> String {
        let mut names: Vec<(&str, u64)> = self.names.iter().map(|(name, count)| (*name, *count)).collect();
        names.sort_by_key(|(name, count)| (Reverse(*count), *name));
        let more = names.len().saturating_sub(MOST_NAMES);
        let mut words: Vec<String> =
            names.into_iter().take(MOST_NAMES).map(|(name, count)| format!("{name} ({count})")).collect();
        if more > 0 {
            words.push(format!("and {more} more"));
        }
        words.join(", ")
    }

    fn write(&self, main: &mut String, class: &str, is_muted: bool) {
        let muted = if is_muted { " class=\"muted\"" } else { "" };
        let _ = writeln!(
            main,
            "<tr{muted}><td>{}</td><td class=\"number\" data-name=\"Steps\">{}</td><td class=\"number\" data-name=\"Of these shown\">{}</td>\
             <td class=\"number\" data-name=\"Worst\">{}</td><td data-name=\"Which\">{}</td></tr>",
            Text(class),
            Text(&format::count(self.steps)),
            Text(&format::count(self.shown)),
            Text(&format::latency(self.worst_ns)),
            Text(&self.names_in_words()),
        );
    }
}

/// The causes of the worst of each step by their classes, those that were sought and not found, and those that were not sought.
pub(super) fn write_causes(main: &mut String, history: &History, explaining: Option<&Explaining>) {
    let mut classes: BTreeMap<&str, Class<'_>> = BTreeMap::new();
    let (mut unknown, mut not_sought) = (Class::default(), Class::default());
    for point in history.cpus.iter().flat_map(|cpu| &cpu.points) {
        let Some(maximum_ns) = point.maximum_ns else { continue };
        match &point.cause {
            None => not_sought.add(maximum_ns, None),
            Some(cause) if cause.is_unknown() => unknown.add(maximum_ns, None),
            Some(cause) => classes.entry(cause.class_words()).or_default().add(maximum_ns, Some(cause)),
        }
    }
    let are_any = !classes.is_empty() || unknown.steps > 0;
    if !are_any && explaining.is_none() {
        return;
    }
    main.push_str("<h2>Causes</h2>\n");
    if let Some(explaining) = explaining {
        let _ = writeln!(main, "<p class=\"small\">Now {}.</p>", Text(&explaining.in_words()));
    }
    if !are_any {
        return;
    }
    main.push_str(
        "<div class=\"wide\"><table class=\"stacked\"><thead><tr><th>Cause</th><th class=\"number\">Steps</th><th class=\"number\">Of these shown</th>\
         <th class=\"number\">Worst</th><th>Which</th></tr></thead><tbody>\n",
    );
    let mut classes: Vec<(&str, Class<'_>)> = classes.into_iter().collect();
    classes.sort_by_key(|(_, class)| Reverse((class.worst_ns, class.steps)));
    for (name, class) in classes.iter().take(MOST_ROWS) {
        class.write(main, name, false);
    }
    if unknown.steps > 0 {
        unknown.write(main, "unknown, though sought", true);
    }
    if not_sought.steps > 0 {
        not_sought.write(main, "not sought", true);
    }
    main.push_str("</tbody></table></div>\n");
}

/// What spoiled intervals, by reasons.
pub(super) fn write_spoiled(main: &mut String, history: &History) {
    let mut spoiled: BTreeMap<&str, u64> = BTreeMap::new();
    for reason in history.cpus.iter().flat_map(|cpu| &cpu.points).flat_map(|point| &point.reasons) {
        *spoiled.entry(reason).or_default() += 1;
    }
    if !spoiled.is_empty() {
        main.push_str("<h2>What spoiled others</h2>\n<ul>\n");
        for (reason, count) in spoiled.into_iter().take(MOST_ROWS) {
            let _ = writeln!(main, "<li>{}: {count} steps</li>", Text(reason));
        }
        main.push_str("</ul>\n");
    }
}
