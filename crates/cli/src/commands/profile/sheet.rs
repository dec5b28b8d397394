//! A page of sections, named values and small tables, aligned and wrapped for a terminal.

use units::printable;

use terminal::output::paint;
use terminal::wrap;

/// Where values begin: two blanks, then the longest name.
const VALUE_COLUMN: usize = 22;
/// Values are wrapped here; a terminal of 100 columns shows them whole.
const WIDTH: usize = 100;

/// How much further in the rest of a wrapped value stands, so that it is not taken for a value of its own.
const CONTINUED: usize = 2;

/// The lines of the profile as printed.
pub(crate) struct Sheet {
    text: String,
    color: bool,
}

impl Sheet {
    pub(crate) const fn new(color: bool) -> Self {
        Self { text: String::new(), color }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn section(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&paint(self.color, "1", title));
        self.text.push('\n');
    }

    /// One named value; an unknown one is printed as such.
    pub(crate) fn row(&mut self, name: &str, value: Option<impl AsRef<str>>) {
        match value {
            Some(value) => self.known(name, value.as_ref()),
            None => {
                let unknown = paint(self.color, "2", "unknown");
                self.text.push_str(&format!("  {name:<width$}{unknown}\n", width = VALUE_COLUMN - 2));
            }
        }
    }

    fn known(&mut self, name: &str, value: &str) {
        let value = printable::line(value);
        let mut lead = format!("  {name:<width$}", width = VALUE_COLUMN - 2);
        for line in wrap::lines(&value, WIDTH - VALUE_COLUMN - CONTINUED) {
            self.text.push_str(format!("{lead}{line}").trim_end());
            self.text.push('\n');
            lead = " ".repeat(VALUE_COLUMN + CONTINUED);
        }
    }

    /// Several values under one name, one a line.
    pub(crate) fn rows(&mut self, name: &str, values: &[String], none: &str) {
        let mut name = name;
        for value in values {
            self.row(name, Some(value));
            name = "";
        }
        if values.is_empty() {
            self.row(name, Some(none));
        }
    }

    /// A table; its last column is not padded.
    pub(crate) fn table(&mut self, head: &[&str], lines: &[Vec<String>]) {
        let lines: Vec<Vec<String>> =
            lines.iter().map(|line| line.iter().map(|cell| printable::line(cell).into_owned()).collect()).collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count());
            cells.chain(head.get(column).map(|name| name.chars().count())).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let padded: Vec<String> = cells.zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
            format!("  {}", padded.join("  ")).trim_end().to_owned()
        };
        let title = line(&mut head.iter().copied());
        self.text.push_str(&paint(self.color, "2", &title));
        self.text.push('\n');
        for cells in &lines {
            self.text.push_str(&line(&mut cells.iter().map(String::as_str)));
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_said() {
        let mut sheet = Sheet::new(false);
        sheet.section("Kernel");
        sheet.row("release", None::<String>);
        sheet.row("odd", Some("a\u{1b}[31mb"));
        let text = sheet.into_text();
        assert_eq!(text, "Kernel\n  release             unknown\n  odd                 a\\u001b[31mb\n");
    }
}
