//! Periods among the late wake-ups, on a terminal: a line each.

use record::Record;

use super::wrap;

/// Nothing where no rhythm was found.
pub(crate) fn text(record: &Record) -> String {
    let Some(scan) = record.rhythm.as_ref().filter(|scan| !scan.rhythms.is_empty()) else { return String::new() };
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
