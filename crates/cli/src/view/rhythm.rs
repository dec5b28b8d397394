//! Periods among the late wake-ups, on a terminal: a line each.

use record::Record;

use terminal::wrap;

/// What was found, and which known periods the sampling hides; nothing where there is neither.
pub(crate) fn text(record: &Record) -> String {
    let speaks = |scan: &&record::RhythmScan| !scan.rhythms.is_empty() || !scan.hidden.is_empty();
    let Some(scan) = record.rhythm().filter(speaks) else { return String::new() };
    let mut text = String::from("\n");
    for rhythm in &scan.rhythms {
        let line = format!("Rhythm: {}", analyse::rhythm::sentence(rhythm));
        text.push_str(&wrap::paragraph(&line, "  ", wrap::width()));
    }
    for hidden in &scan.hidden {
        text.push_str(&wrap::paragraph(&format!("Hidden: {hidden}"), "  ", wrap::width()));
    }
    text
}
