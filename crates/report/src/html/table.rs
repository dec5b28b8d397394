//! A table of the plain page.

use std::fmt::Write as _;

use super::escape;

/// Shown in place of a value that is unknown.
pub(super) const UNKNOWN: &str = "-";

/// A column of a table.
pub(super) enum Column<'a> {
    /// Words, which begin below each other.
    Words(&'a str),
    /// Figures, whose last digits stand below each other.
    Figures(&'a str),
}

/// Writes a table; a cell of `None` is unknown.
pub(super) fn plain(page: &mut String, columns: &[Column<'_>], rows: impl IntoIterator<Item = Vec<Option<String>>>) {
    page.push_str("<div class=\"scroll\"><table><thead><tr>");
    for column in columns {
        let _ = match column {
            Column::Words(head) => write!(page, "<th>{}</th>", escape(head)),
            Column::Figures(head) => write!(page, "<th class=\"number\">{}</th>", escape(head)),
        };
    }
    page.push_str("</tr></thead><tbody>\n");
    for row in rows {
        page.push_str("<tr>");
        for (column, cell) in columns.iter().zip(row) {
            let class = if matches!(column, Column::Figures(_)) { " class=\"number\"" } else { "" };
            let _ = write!(page, "<td{class}>{}</td>", escape(cell.as_deref().unwrap_or(UNKNOWN)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}
