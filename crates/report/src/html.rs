//! The page: a plain summary for readers without scripts, the data, and the viewer.

mod answer;
mod campaign;
mod comparison;
mod contents;
mod explanation;
mod load;
mod overview;
mod packet;
mod program;
mod pulse;
mod rhythm;
mod sync;
mod table;
mod tail;
mod together;
mod top;

use std::fmt::Write as _;

use record::{Origin, Record};
use summary::label;
use summary::run::SeriesSummary;
use units::format;

use crate::page::{Page, ReportInput};
use crate::view::{OverviewView, PageView, ResultsView, TailView, View};

/// The viewer, built by `web/build.sh`.
const VIEWER_JS: &str = include_str!("../viewer/viewer.js");
const VIEWER_CSS: &str = include_str!("../viewer/viewer.css");

/// The page may load nothing from the network; its inline scripts may run. Saved pictures of charts use `blob:` and `data:`.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                                       img-src data: blob:; base-uri 'none'; form-action 'none'";

/// Writes the report as one HTML page that needs no network.
///
/// # Panics
/// Never: every part of the view has a JSON form.
#[must_use]
pub fn render_html(input: &ReportInput) -> String {
    let view = View::new(input);
    let data = serde_json::to_string(&view).expect("every part of the view has a JSON form");
    let mut page = String::with_capacity(data.len() + VIEWER_JS.len() + VIEWER_CSS.len() + 16_384);
    // A title that says the answer can be read in a list of tabs or of bookmarks.
    let title = escape(&format!("{} \u{b7} {}", view.headline.word, input.title));
    page.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let _ = writeln!(
        page,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"{}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>",
        escape(&view.generated.tool),
    );
    page.push_str("<style>");
    page.push_str(VIEWER_CSS);
    page.push_str("</style>\n</head>\n<body>\n<div id=\"viewer\">\n");
    plain_summary(&mut page, input, &view);
    page.push_str("</div>\n<script type=\"application/json\" id=\"data\">");
    page.push_str(&inert(&data));
    page.push_str("</script>\n<script>");
    page.push_str(VIEWER_JS);
    page.push_str("</script>\n</body>\n</html>\n");
    page
}

/// Escapes characters of a JSON text that could be read as markup. `<` occurs only in strings, where its escape is
/// equivalent. What turns the direction of text or cannot be seen is shown by its number.
fn inert(json: &str) -> String {
    units::printable::json_lines(json).replace('<', "\\u003c")
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in units::printable::lines(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Writes what readers without scripts see, in the order of the page with scripts: the answer, its conditions and sums, what
/// makes it late, the recommended changes, tables. The viewer replaces it.
fn plain_summary(page: &mut String, input: &ReportInput, view: &View) {
    let has_overview = view.page.results().is_some_and(|results| results.overview.is_some());
    let width = if has_overview { " of-many" } else { "" };
    let _ = writeln!(page, "<main class=\"page plain{width}\"><header><h1>{}</h1></header>", escape(&input.title));
    top::plain_top(page, view);
    if let Some(assessment) = input.page.assessment().filter(|assessment| !assessment.changes.is_empty()) {
        let _ = writeln!(page, "<section><h2>{}</h2><ol>", assessment.changes_heading());
        for change in &assessment.changes {
            let _ = writeln!(page, "<li><b>{}</b>: {}", escape(&change.title), escape(&change.why));
            for how in &change.how {
                let _ = write!(page, "<pre>{}</pre>", escape(how));
            }
            page.push_str("</li>\n");
        }
        page.push_str("</ol></section>\n");
    }
    let mut sections = String::new();
    if let Page::Comparison(compared) = &input.page {
        comparison::plain_comparison(&mut sections, &compared.comparison);
    }
    if let Page::Campaign(input) = &input.page {
        campaign::plain_campaign(&mut sections, &input.result);
    }
    if let PageView::Together { together, .. } = &view.page {
        together::plain_together(&mut sections, together);
    }
    let runs = input.page.runs();
    if let Some(results) = view.page.results().filter(|_| !runs.is_empty()) {
        match &results.overview {
            Some(overview) => {
                overview::plain_overview(&mut sections, overview);
                plain_details(&mut sections, runs, results, overview);
            }
            None => plain_runs(&mut sections, runs, &results.tails.iter().collect::<Vec<_>>()),
        }
    }
    let (sections, links) = contents::with_identifiers(&sections);
    page.push_str(&links);
    page.push_str(&sections);
    page.push_str("</main>\n");
}

/// Writes all that is shown of some runs, and of their predicted worst cases.
fn plain_runs(page: &mut String, runs: &[Record], tails: &[&TailView]) {
    pulse::plain_pulses(page, runs);
    packet::plain_packets(page, runs);
    sync::plain_clocks(page, runs);
    plain_table(page, runs);
    answer::plain_answers(page, runs);
    top::plain_bursts(page, runs);
    top::plain_spoiled(page, runs);
    program::plain_programs(page, runs);
    explanation::plain_explanations(page, runs);
    rhythm::plain_rhythms(page, runs);
    load::plain_loads(page, runs);
    tail::plain_tails(page, tails);
}

/// Writes all that is shown of each run, folded, in the order of the overview.
fn plain_details(page: &mut String, runs: &[Record], results: &ResultsView, overview: &OverviewView) {
    page.push_str("<section><h2>Each run</h2>\n");
    for row in &overview.rows {
        let Ok(at) = usize::try_from(row.run) else { continue };
        let Some(run) = runs.get(at) else { continue };
        let mut sections = String::new();
        let tails: Vec<&TailView> = results.tails.iter().filter(|tail| tail.run == run.id).collect();
        plain_runs(&mut sections, std::slice::from_ref(run), &tails);
        let _ = writeln!(
            page,
            "<details><summary id=\"{}\">{}</summary>\n{}</details>",
            overview::anchor(row),
            escape(&run.label),
            contents::one_level_deeper(&sections)
        );
    }
    page.push_str("</section>\n");
}

fn plain_table(page: &mut String, runs: &[Record]) {
    page.push_str(
        "<section><h2>Runs</h2><div class=\"scroll\"><table><thead><tr><th>run</th><th>validity</th><th>series</th>\
         <th class=\"number\">samples</th><th class=\"number\">min</th><th class=\"number\">mean</th>\
         <th class=\"number\">max</th><th class=\"number\">missed periods</th></tr></thead><tbody>\n",
    );
    for run in runs {
        let (label, validity) = (escape(label(run)), summary::run::validity(run));
        for series in summary::run::series(run) {
            plain_row(page, &label, validity.state.word(), &series);
        }
        let rows = validity
            .reasons
            .iter()
            .map(|reason| (reason.state.word(), format!("{} {}", reason.meaning, reason.detail)));
        let not = validity.not_observable.iter().map(|detail| ("not observable", detail.clone()));
        for (word, text) in rows.chain(not) {
            let text = escape(&text);
            let _ = writeln!(page, "<tr><td>{label}</td><td>{word}</td><td colspan=\"6\">{text}</td></tr>");
        }
    }
    page.push_str("</tbody></table></div>\n");
    for run in runs {
        plain_gaps(page, run);
        plain_lacks(page, run);
    }
    page.push_str("</section>\n");
}

/// Writes which share of its time each thread of a run lost to gaps; nothing for other kinds.
fn plain_gaps(page: &mut String, run: &Record) {
    for series in summary::run::series(run) {
        let Some(gaps) = series.gaps else { continue };
        let rate = gaps.per_second.map(|number| format!("{number} gaps a second"));
        let stolen = gaps.stolen.map(|share| format!("{share} of the time taken from the thread"));
        let words: Vec<String> = rate.into_iter().chain(stolen).collect();
        if !words.is_empty() {
            let lane = escape(&series.lane);
            let _ = writeln!(page, "<p>{}, {lane}: {}.</p>", escape(label(run)), words.join(", "));
        }
    }
}

/// Writes what the source of an imported run lacks.
fn plain_lacks(page: &mut String, run: &Record) {
    let Origin::Imported { format, lacks } = &run.manifest().origin else { return };
    let _ = writeln!(
        page,
        "<h3>{}: read from {} of {}, which does not contain</h3>\n<ul>",
        escape(label(run)),
        escape(format),
        escape(&run.manifest().tool.name)
    );
    for lack in lacks {
        let _ = writeln!(page, "<li>{}</li>", escape(lack));
    }
    page.push_str("</ul>\n");
}

fn plain_row(page: &mut String, label: &str, validity: &str, series: &SeriesSummary) {
    let latency = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), format::latency);
    let _ = writeln!(
        page,
        "<tr class=\"{validity}\"><td>{label}</td><td>{validity}</td><td>{}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
        escape(&series.title),
        format::count(series.figures.samples),
        latency(series.figures.lowest_ns),
        latency(series.figures.mean_whole_ns()),
        latency(series.figures.highest_ns),
        series.missed_periods.map_or_else(|| "-".to_owned(), format::count)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_data_cannot_leave_its_element() {
        let json = serde_json::json!({ "label": "</script><script>alert(1)</script><!--" }).to_string();
        let safe = inert(&json);
        assert!(!safe.contains('<'), "{safe}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&safe).unwrap(),
            serde_json::from_str::<serde_json::Value>(&json).unwrap()
        );
    }

    #[test]
    fn markup_in_text_is_escaped() {
        assert_eq!(escape("<b a='1'>&\"</b>"), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;&lt;/b&gt;");
    }

    #[test]
    fn what_could_not_be_observed_stands_on_the_page_with_and_without_scripts() {
        let mut run = samples::run_of("1", &[5_000], record::Validity::default());
        run.validity.add_not_observable(record::Unobservable::FirmwareInterruptions, "no counter <of> them");
        let mut plain = String::new();
        plain_table(&mut plain, std::slice::from_ref(&run));
        assert!(plain.contains("not observable</td><td colspan=\"6\">no counter &lt;of&gt; them"), "{plain}");
        assert_eq!(crate::run::run(&run).not_observable, ["no counter <of> them"]);
    }

    #[test]
    fn the_plain_table_of_signed_samples_has_their_signs() {
        let run = samples::offsets(&[-11_753, -81, 105, 887], Some((-37_347, 15_223)), record::Validity::default());
        let mut plain = String::new();
        plain_table(&mut plain, std::slice::from_ref(&run));
        let cells = ["4", "-11.8 us", "-2.7 us", "887 ns", "-"].map(|cell| format!("<td class=\"number\">{cell}</td>"));
        assert!(plain.replace("\n", "").contains(&cells.concat()), "{plain}");
    }

    #[test]
    fn a_pair_of_threads_has_both_latencies_both_cpus_and_its_means() {
        let run = samples::hand_overs(&[4_000, 6_000], record::Validity::default());
        let mut plain = String::new();
        plain_table(&mut plain, std::slice::from_ref(&run));
        for part in
            ["handed_to_woke, CPU 1 to 2, futex-pi", "handed_to_returned, CPU 1 to 2, futex-pi", ">5.0 us<", ">2.0 us<"]
        {
            assert!(plain.contains(part), "{part}: {plain}");
        }
        let lanes: Vec<String> = crate::run::run(&run).series.into_iter().map(|series| series.lane).collect();
        assert_eq!(lanes, ["CPU 1 to 2, futex-pi, handed to woke", "CPU 1 to 2, futex-pi, handed to returned"]);
    }

    #[test]
    fn the_viewer_itself_cannot_end_its_element() {
        assert!(!VIEWER_JS.to_ascii_lowercase().contains("</script"));
        assert!(!VIEWER_CSS.to_ascii_lowercase().contains("</style"));
    }
}
