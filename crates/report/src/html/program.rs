//! The threads of a followed program, for readers without scripts.

use std::fmt::Write as _;

use record::Record;
use summary::label;
use summary::program::{ProgramSummary, summary};
use units::format;

use super::escape;

/// Writes the followed programs; nothing if no run followed one.
pub(super) fn plain_programs(page: &mut String, runs: &[Record]) {
    let programs: Vec<(&Record, ProgramSummary)> = runs.iter().filter_map(|run| Some((run, summary(run)?))).collect();
    if programs.is_empty() {
        return;
    }
    page.push_str("<section><h2>The program's threads</h2>\n");
    for (run, program) in programs {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}: {}</h3>", escape(label(run)), escape(&program.followed));
        threads(page, &program);
        preemptions(page, &program);
        if let Some(left_out) = &program.left_out {
            let _ = writeln!(page, "<p>{left_out}.</p>");
        }
        for sentence in &program.audit {
            let _ = writeln!(page, "<p>Audit: {}.</p>", escape(sentence));
        }
        let _ = writeln!(page, "<p>Cost of following: {}.</p>", program.cost.join(", "));
    }
    page.push_str("</section>\n");
}

fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| "\u{2013}".to_owned(), format::latency)
}

fn threads(page: &mut String, program: &ProgramSummary) {
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>thread</th><th>waits by</th><th class=\"number\">period</th>\
         <th class=\"number\">shortest</th><th class=\"number\">longest</th><th class=\"number\">missed</th>\
         <th class=\"number\">preempted</th><th class=\"number\">in all</th></tr></thead><tbody>\n",
    );
    for thread in &program.threads {
        let missed = thread.missed_periods.map_or_else(|| "\u{2013}".to_owned(), format::count);
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{missed}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td></tr>",
            escape(&thread.thread),
            escape(&thread.waits_by),
            latency(thread.period_ns),
            latency(thread.shortest_ns),
            latency(thread.longest_ns),
            format::count(thread.preempted),
            thread.preempted_for,
        );
    }
    page.push_str("</tbody></table></div>\n");
}

fn preemptions(page: &mut String, program: &ProgramSummary) {
    if program.threads.iter().all(|thread| thread.preempted_by.is_empty()) {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>thread</th><th>preempted by</th><th class=\"number\">times</th>\
         <th class=\"number\">in all</th><th class=\"number\">longest</th></tr></thead><tbody>\n",
    );
    for thread in &program.threads {
        for by in &thread.preempted_by {
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td></tr>",
                escape(&thread.thread),
                escape(&by.name),
                format::count(by.times),
                by.total,
                latency(Some(by.longest_ns)),
            );
        }
    }
    page.push_str("</tbody></table></div>\n");
}
