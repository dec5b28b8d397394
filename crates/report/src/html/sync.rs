//! How far clocks are apart, for readers without scripts.

use std::fmt::Write as _;

use record::Record;
use summary::label;
use summary::sync::{SourceSummary, SyncSummary, summary};
use units::format;

use super::escape;

/// Events that are listed; the data of the page has all.
const SHOWN_EVENTS: usize = 12;

/// The dash of a value that does not exist.
const NONE: &str = "\u{2013}";

/// Writes the sources of time; nothing if no run followed any.
pub(super) fn plain_clocks(page: &mut String, runs: &[Record]) {
    let runs: Vec<(&Record, SyncSummary)> = runs.iter().filter_map(|run| Some((run, summary(run)?))).collect();
    if runs.is_empty() {
        return;
    }
    page.push_str("<section><h2>Clocks</h2>\n");
    for (run, sync) in runs {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}</h3>", escape(label(run)));
        table(page, run, &sync);
        for source in &sync.sources {
            about(page, source);
        }
        events(page, run, &sync);
    }
    page.push_str("</section>\n");
}

fn table(page: &mut String, run: &Record, sync: &SyncSummary) {
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>source</th><th>clock</th><th>against</th><th>state at the end</th>\
         <th class=\"number\">offsets</th><th class=\"number\">lowest</th><th class=\"number\">median</th>\
         <th class=\"number\">highest</th><th class=\"number\">hard bound from</th><th class=\"number\">to</th>\
         <th class=\"number\">longest delay</th></tr></thead><tbody>\n",
    );
    for source in &sync.sources {
        let _ = write!(
            page,
            "<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td>",
            run.validity.state().word(),
            escape(&source.name),
            escape(&source.clock),
            escape(&source.reference),
            source.state.unwrap_or(NONE),
            source.offsets.map_or_else(|| NONE.to_owned(), format::count),
        );
        let offsets = [source.lowest_ns, source.median_ns, source.highest_ns];
        let bound =
            [source.bound_ns.map(|(lowest_ns, _)| lowest_ns), source.bound_ns.map(|(_, highest_ns)| highest_ns)];
        let cells = offsets.into_iter().chain(bound).map(|ns| ns.map(format::latency));
        for text in cells.chain([source.delay_ns.map(format::latency)]) {
            let _ = write!(page, "<td class=\"number\">{}</td>", text.as_deref().unwrap_or(NONE));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn about(page: &mut String, source: &SourceSummary) {
    let _ = write!(page, "<p><b>{}</b>: {}.", escape(&source.name), escape(&source.bound));
    if let Some(growth) = &source.growth {
        let _ = write!(page, " Without corrections: {}.", escape(growth));
    }
    if let Some(own) = &source.own_estimate {
        let _ = write!(page, " The service itself says: {}.", escape(own));
    }
    for missed in &source.could_be_missed {
        let _ = write!(page, " Could be missed: {}.", escape(missed));
    }
    page.push_str("</p>\n");
}

fn events(page: &mut String, run: &Record, sync: &SyncSummary) {
    for why in &sync.not_followed {
        let _ = writeln!(page, "<p>Not followed: {}.</p>", escape(why));
    }
    if sync.events.is_empty() {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>into the run</th><th>source</th><th>what</th><th>detail</th></tr></thead>\
         <tbody>\n",
    );
    let started = run.manifest().started.monotonic;
    for event in sync.shown_events(SHOWN_EVENTS) {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            format::span(event.at.monotonic.since(started).0),
            escape(&event.source),
            event.what,
            escape(&event.detail)
        );
    }
    page.push_str("</tbody></table></div>\n");
    let left_out = sync.events_not_shown(SHOWN_EVENTS);
    if left_out > 0 {
        let _ = writeln!(page, "<p>And {} more.</p>", format::count(left_out));
    }
}

#[cfg(test)]
mod tests {
    use record::{SyncChange, Validity};

    use super::*;
    use samples::offsets;

    #[test]
    fn a_step_is_listed_however_often_the_state_changed_before() {
        let run = offsets(&[5], Some((-9, 9)), Validity::default());
        let mut all = vec![run.sync().unwrap().events[0].clone(); 21];
        all.iter_mut().for_each(|event| event.what = SyncChange::State);
        all[20].what = SyncChange::Step;
        let mut run = run;
        let record::Detail::Sync(sync) = &mut run.detail else { panic!("no clocks") };
        sync.events = all;
        let said = summary(&run).unwrap();
        let listed: Vec<_> = said.shown_events(12).into_iter().map(|event| event.what).collect();
        assert_eq!((listed.len(), listed[11], listed[10]), (12, SyncChange::Step.word(), SyncChange::State.word()));
        assert_eq!(said.events_not_shown(12), 9);
    }

    #[test]
    fn clocks_can_be_read_without_scripts() {
        let mut run = offsets(&[-11_753, 886], Some((-37_347, 15_223)), Validity::default());
        let record::Detail::Sync(sync) = &mut run.detail else { panic!("no clocks") };
        sync.sources[0].reference = "<b>a</b>".to_owned();
        sync.events = vec![sync.events[0].clone(); 14];
        let mut page = String::new();
        plain_clocks(&mut page, &[run]);
        assert!(page.contains("<td>ptp4l eth0 domain 0</td><td>realtime</td><td>&lt;b&gt;a&lt;/b&gt;</td>"), "{page}");
        assert!(page.contains("<td class=\"number\">-37.3 us</td><td class=\"number\">15.2 us</td>"), "{page}");
        assert!(page.contains("trusts that the stamps are right."), "{page}");
        assert!(page.contains("<td>leap second</td><td>announced</td>") && page.contains("And 2 more."), "{page}");
        let mut none = String::new();
        plain_clocks(&mut none, &[samples::run(Validity::default())]);
        assert!(none.is_empty());
    }
}
