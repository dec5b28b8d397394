//! The part of a node's page that says how its clocks did: the bound of each source's error over time, and its states.

use std::fmt::Write as _;

use store::{History, SourcePoint};
use units::format;

use super::chart::{Scale, bound_over_time, follows};
use super::html::Text;
use super::words::{Moment, source_state};

/// Rows of a table of states, the latest first, before the rest is left to the document.
const MOST_ROWS: usize = 20;

/// A stretch in which a source had one state.
struct Stretch<'a> {
    start_utc_ns: i64,
    end_utc_ns: i64,
    state: &'a str,
    /// The worst bound; absent where there was none at some moment.
    bound_ns: Option<u64>,
    steps: u64,
    largest_step_ns: i64,
}

/// Steps of one state that follow on each other as one.
fn stretches(points: &[SourcePoint]) -> Vec<Stretch<'_>> {
    let mut all: Vec<Stretch<'_>> = Vec::new();
    for point in points {
        let end_utc_ns = point.start_utc_ns.saturating_add_unsigned(point.length_ns);
        let worst = &point.worst;
        let goes_on = |last: &&mut Stretch<'_>| {
            follows(last.end_utc_ns, point.start_utc_ns, point.length_ns) && last.state == worst.state.as_str()
        };
        match all.last_mut().filter(goes_on) {
            Some(last) => {
                last.end_utc_ns = last.end_utc_ns.max(end_utc_ns);
                last.bound_ns = last.bound_ns.zip(worst.bound_ns).map(|(one, other)| one.max(other));
                last.steps = last.steps.saturating_add(worst.steps);
                if worst.largest_step_ns.unsigned_abs() > last.largest_step_ns.unsigned_abs() {
                    last.largest_step_ns = worst.largest_step_ns;
                }
            }
            None => all.push(Stretch {
                start_utc_ns: point.start_utc_ns,
                end_utc_ns,
                state: &worst.state,
                bound_ns: worst.bound_ns,
                steps: worst.steps,
                largest_step_ns: worst.largest_step_ns,
            }),
        }
    }
    all
}

/// Writes what is known of the node's sources of time.
pub(super) fn write_clocks(main: &mut String, history: &History, (from_utc_ns, to_utc_ns): (i64, i64)) {
    if history.sources.is_empty() {
        return;
    }
    main.push_str("<h2>Clocks</h2>\n");
    for source in &history.sources {
        let now = source.points.last().map_or(String::new(), |point| source_state(&point.worst));
        let _ = writeln!(main, "<h3>{} <span class=\"muted\">{}</span></h3>", Text(&source.source), Text(&now));
        let bounds = source.points.iter().filter_map(|point| i64::try_from(point.worst.bound_ns?).ok());
        if let Some(scale) = Scale::of((from_utc_ns, to_utc_ns), bounds, None) {
            main.push_str(&bound_over_time(source, &history.gaps, scale));
        }
        write_states(main, &stretches(&source.points));
    }
}

fn write_states(main: &mut String, all: &[Stretch<'_>]) {
    main.push_str(
        "<div class=\"wide\"><table class=\"stacked\"><thead><tr><th>From</th><th class=\"number\">For</th><th>State</th>\
         <th class=\"number\">Worst bound</th><th>Set</th></tr></thead><tbody>\n",
    );
    for of in all.iter().rev().take(MOST_ROWS) {
        let bound = of.bound_ns.map_or_else(|| "none".to_owned(), format::latency);
        let length_ns = u64::try_from(of.end_utc_ns.saturating_sub(of.start_utc_ns)).unwrap_or(0);
        let set = match (of.steps, of.largest_step_ns) {
            (0, 0) => String::new(),
            (0 | 1, by_ns) => format!("by {}", format::span(by_ns)),
            (steps, by_ns) => format!("{} times, by up to {}", format::count(steps), format::span(by_ns)),
        };
        let _ = writeln!(
            main,
            "<tr><td>{}</td><td class=\"number\" data-name=\"For\">{}</td><td data-name=\"State\">{}</td>\
             <td class=\"number\" data-name=\"Worst bound\">{}</td><td data-name=\"Set\">{}</td></tr>",
            Moment(of.start_utc_ns),
            Text(&format::span(length_ns)),
            Text(of.state),
            Text(&bound),
            Text(&set),
        );
    }
    main.push_str("</tbody></table></div>\n");
    if let Some(more) = all.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        let _ = writeln!(main, "<p class=\"small\">and {more} earlier ones</p>");
    }
}
