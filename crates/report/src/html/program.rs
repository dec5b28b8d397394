//! The threads of a followed program, for readers without scripts.

use std::fmt::Write as _;

use record::{AppRun, AppThread, Record};
use units::{approx_f64, format, round_u64};

use super::escape;
use summary::program::{missed_periods, what};

/// Writes the followed programs; nothing if no run followed one.
pub(super) fn plain_programs(page: &mut String, runs: &[Record]) {
    let programs: Vec<(&Record, &AppRun)> = runs.iter().filter_map(|run| Some((run, run.app()?))).collect();
    if programs.is_empty() {
        return;
    }
    page.push_str("<section><h2>The program's threads</h2>\n");
    for (run, program) in programs {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}: {}</h3>", escape(&run.label), escape(&what(program)));
        threads(page, program, run);
        preemptions(page, program);
        for sentence in program.looked_for() {
            let _ = writeln!(page, "<p>Audit: {}.</p>", escape(&sentence));
        }
        cost(page, program);
    }
    page.push_str("</section>\n");
}

fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| "\u{2013}".to_owned(), format::latency)
}

fn named(thread: &AppThread) -> String {
    let priority = if thread.priority > 0 { format!(" {}", thread.priority) } else { String::new() };
    format!("{} ({}, {}{priority})", escape(&thread.name), thread.tid, escape(&thread.policy))
}

fn threads(page: &mut String, program: &AppRun, run: &Record) {
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>thread</th><th>waits by</th><th class=\"number\">period</th>\
         <th class=\"number\">shortest</th><th class=\"number\">longest</th><th class=\"number\">missed</th>\
         <th class=\"number\">preempted</th></tr></thead><tbody>\n",
    );
    for thread in &program.threads {
        let missed = missed_periods(thread, run).map_or_else(|| "\u{2013}".to_owned(), format::count);
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{missed}</td><td class=\"number\">{}</td></tr>",
            named(thread),
            escape(thread.waits_by.as_deref().unwrap_or("no loop recognized")),
            latency(thread.period_ns),
            latency(thread.periods.min_ns()),
            latency(thread.periods.max_ns()),
            format::count(thread.preempted),
        );
    }
    page.push_str("</tbody></table></div>\n");
}

fn preemptions(page: &mut String, program: &AppRun) {
    if program.threads.iter().all(|thread| thread.preempted_by.is_empty()) {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>thread</th><th>preempted by</th><th class=\"number\">times</th>\
         <th class=\"number\">total</th><th class=\"number\">longest</th></tr></thead><tbody>\n",
    );
    for thread in &program.threads {
        for by in &thread.preempted_by {
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td></tr>",
                named(thread),
                escape(&by.name),
                format::count(by.times),
                latency(Some(by.total_ns)),
                latency(Some(by.longest_ns)),
            );
        }
    }
    page.push_str("</tbody></table></div>\n");
}

fn cost(page: &mut String, program: &AppRun) {
    let cost = &program.tracing;
    let mut parts = vec![format!("{} events, {} lost", format::count(cost.events), format::count(cost.lost_events))];
    if let (Some(event_ns), Some(events)) = (cost.event_ns, cost.events_per_activation) {
        let each_ns = round_u64(approx_f64(event_ns) * events);
        parts.push(format!("about {} per activation", latency(Some(each_ns))));
    }
    parts.push(format!("{:.1} % of one CPU for reading them", cost.own_cpu * 100.0));
    let _ = writeln!(page, "<p>Cost of tracing: {}.</p>", parts.join(", "));
}
