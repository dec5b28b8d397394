//! Rhythms among late samples, for readers without scripts.

use std::fmt::Write as _;

use super::escape;
use crate::{RunView, StateView};

/// Writes the scans for rhythms; nothing if no run has one.
pub(super) fn plain_rhythms(page: &mut String, runs: &[RunView]) {
    if runs.iter().all(|run| run.rhythm.is_none()) {
        return;
    }
    page.push_str("<section><h2>Rhythm</h2>\n");
    for run in runs {
        let Some(scan) = &run.rhythm else { continue };
        let doubt = if run.state == StateView::Invalid { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}</h3>", escape(&run.label));
        for rhythm in &scan.rhythms {
            let _ = writeln!(page, "<p>{}.</p>", escape(&rhythm.sentence));
        }
        let _ = writeln!(page, "<p>{}</p>", escape(&scan.sentence));
        for hidden in &scan.hidden {
            let _ = writeln!(page, "<p>Hidden: {}.</p>", escape(hidden));
        }
    }
    page.push_str("</section>\n");
}
