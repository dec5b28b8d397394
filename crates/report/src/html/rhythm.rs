//! Rhythms among late samples, for readers without scripts.

use std::fmt::Write as _;

use record::Record;
use summary::label;
use summary::rhythm::summary;

use super::escape;

/// Writes the scans for rhythms; nothing if no run has one.
pub(super) fn plain_rhythms(page: &mut String, runs: &[Record]) {
    if runs.iter().all(|run| run.rhythm().is_none()) {
        return;
    }
    page.push_str("<section><h2>Rhythm</h2>\n");
    for run in runs {
        let Some(said) = summary(run) else { continue };
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}</h3>", escape(label(run)));
        for rhythm in &said.rhythms {
            let _ = writeln!(page, "<p>{}.</p>", escape(rhythm));
        }
        let _ = writeln!(page, "<p>{}</p>", escape(&said.scanned));
        for hidden in &said.hidden {
            let _ = writeln!(page, "<p>Hidden: {}.</p>", escape(hidden));
        }
    }
    page.push_str("</section>\n");
}
