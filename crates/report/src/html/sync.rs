//! How far clocks are apart, for readers without scripts.

use std::fmt::Write as _;

use record::{Record, SyncChange, SyncEvent, SyncRun, SyncSource};
use units::format;

use super::escape;
use summary::sync::{bound_of, bound_sentence, name_at, own_estimate_sentence, reference};

/// Events that are listed; the data of the page has all.
const SHOWN_EVENTS: usize = 12;

/// Writes the sources of time; nothing if no run followed any.
pub(super) fn plain_clocks(page: &mut String, runs: &[Record]) {
    let runs: Vec<(&Record, &SyncRun)> = runs.iter().filter_map(|run| Some((run, run.sync()?))).collect();
    if runs.is_empty() {
        return;
    }
    page.push_str("<section><h2>Clocks</h2>\n");
    for (run, sync) in runs {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}</h3>", escape(&run.label));
        table(page, run, sync);
        for source in &sync.sources {
            about(page, source);
        }
        events(page, run, sync);
    }
    page.push_str("</section>\n");
}

fn table(page: &mut String, run: &Record, sync: &SyncRun) {
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>source</th><th>clock</th><th>against</th><th>state at the end</th>\
         <th class=\"number\">offsets</th><th class=\"number\">lowest</th><th class=\"number\">median</th>\
         <th class=\"number\">highest</th><th class=\"number\">hard bound from</th><th class=\"number\">to</th></tr></thead>\
         <tbody>\n",
    );
    for source in &sync.sources {
        let spread = source.spread.as_ref();
        let bound = bound_of(source);
        let _ = write!(
            page,
            "<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td>",
            run.validity.state().word(),
            escape(&source.name()),
            escape(&source.clock_words()),
            escape(reference(source)),
            source.states.last().map_or("\u{2013}", |last| last.state.word()),
            spread.map_or_else(|| "\u{2013}".to_owned(), |spread| format::count(spread.count)),
        );
        let cells = [
            spread.map(|spread| spread.lowest_ns),
            spread.map(|spread| spread.median_ns),
            spread.map(|spread| spread.highest_ns),
            bound.map(|(lowest_ns, _)| lowest_ns),
            bound.map(|(_, highest_ns)| highest_ns),
        ];
        for ns in cells {
            let text = ns.map_or_else(|| "\u{2013}".to_owned(), format::latency);
            let _ = write!(page, "<td class=\"number\">{text}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn about(page: &mut String, source: &SyncSource) {
    let _ = write!(page, "<p><b>{}</b>: {}.", escape(&source.name()), escape(&bound_sentence(source)));
    if let Some(growth) = source.growth_in_words() {
        let _ = write!(page, " Without corrections: {}.", escape(&growth));
    }
    if let Some(own) = own_estimate_sentence(source) {
        let _ = write!(page, " The service itself says: {}.", escape(&own));
    }
    for missed in &source.could_be_missed {
        let _ = write!(page, " Could be missed: {}.", escape(missed));
    }
    page.push_str("</p>\n");
}

/// The events to list, in the order of time: where there are too many, changes of state give way to all others.
fn shown(events: &[SyncEvent]) -> Vec<&SyncEvent> {
    let is_state = |event: &&(usize, &SyncEvent)| event.1.what == SyncChange::State;
    let all: Vec<(usize, &SyncEvent)> = events.iter().enumerate().collect();
    let others = all.iter().filter(|one| !is_state(one));
    let mut kept: Vec<_> = others.chain(all.iter().filter(is_state)).take(SHOWN_EVENTS).collect();
    kept.sort_by_key(|(number, _)| *number);
    kept.into_iter().map(|(_, event)| *event).collect()
}

fn events(page: &mut String, run: &Record, sync: &SyncRun) {
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
    for event in shown(&sync.events) {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            format::span(event.at.monotonic.since(started).0),
            escape(&name_at(sync, &event.place)),
            event.what.word(),
            escape(&event.detail)
        );
    }
    page.push_str("</tbody></table></div>\n");
    let left_out = sync.events.len().saturating_sub(SHOWN_EVENTS) as u64 + sync.events_left_out;
    if left_out > 0 {
        let _ = writeln!(page, "<p>And {} more.</p>", format::count(left_out));
    }
}

#[cfg(test)]
mod tests {
    use record::Validity;

    use super::*;
    use samples::offsets;

    #[test]
    fn a_step_is_listed_however_often_the_state_changed_before() {
        let run = offsets(&[5], Some((-9, 9)), Validity::default());
        let mut all = vec![run.sync().unwrap().events[0].clone(); 21];
        all.iter_mut().for_each(|event| event.what = SyncChange::State);
        all[20].what = SyncChange::Step;
        let listed: Vec<_> = shown(&all).into_iter().map(|event| event.what).collect();
        assert_eq!((listed.len(), listed[11], listed[10]), (12, SyncChange::Step, SyncChange::State));
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
