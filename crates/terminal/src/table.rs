//! Rows of cells under heads; where the terminal is too narrow for the columns, each row as a block of named cells.

use std::fmt::Write as _;

use crate::wrap;

/// Indentation of a table, and of the cells below the first one of a block.
const INDENT: &str = "  ";
const BLOCK_INDENT: &str = "    ";
/// Between two columns.
const GAP: &str = "  ";

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    /// Numbers, whose last digits stand below each other.
    Right,
    /// Words, which begin below each other.
    Left,
    /// A picture of characters, which means nothing unless it stands at the same place in each row.
    Picture,
}

/// A cell, or a dash if its value is unknown.
pub fn known(cell: Option<&str>) -> String {
    cell.unwrap_or("-").to_owned()
}

/// Columns with their heads, right-aligned but for the first.
pub struct Table {
    head: Vec<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// The heads of a table that has no rows yet, one for each column.
    pub fn new(head: &[&str]) -> Self {
        let columns = (0..head.len()).map(|column| if column == 0 { Column::Left } else { Column::Right });
        Self { head: head.iter().map(|&head| head.to_owned()).collect(), columns: columns.collect(), rows: Vec::new() }
    }

    /// With the words of this column, from 0, aligned to the left.
    pub fn left(self, column: usize) -> Self {
        self.with(column, Column::Left)
    }

    /// With pictures in this column, from 0.
    pub fn picture(self, column: usize) -> Self {
        self.with(column, Column::Picture)
    }

    fn with(mut self, column: usize, kind: Column) -> Self {
        if let Some(set) = self.columns.get_mut(column) {
            *set = kind;
        }
        self
    }

    /// Appends a row. A cell is one line, whatever it names.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(|cell| units::printable::line(&cell).into_owned()).collect());
    }

    /// Aligned text, two spaces between columns, indented by two; as blocks where stdout is a terminal that is too narrow.
    pub fn render(&self) -> String {
        self.render_within(wrap::row_width())
    }

    fn render_within(&self, width: usize) -> String {
        let aligned = self.aligned();
        let fits = aligned.lines().all(|line| line.chars().count() <= width);
        if fits {
            return aligned;
        }
        let name = self.head.first().filter(|head| !head.trim().is_empty());
        let name = name.map_or_else(String::new, |head| wrap::hanging(&format!("{head}:"), INDENT, width));
        self.rows.iter().fold(name, |text, row| text + &self.block(row, width))
    }

    fn aligned(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let columns = lines().map(Vec::len).max().unwrap_or(0);
        let length = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
        let widest = |column| lines().map(|row| length(row, column)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let mut text = String::new();
        for row in lines() {
            let mut line = INDENT.to_owned();
            for (column, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[column] - cell.chars().count());
                let gap = if column == 0 { "" } else { GAP };
                // Writing to a string does not fail.
                let _ = match self.columns.get(column) {
                    Some(Column::Left | Column::Picture) => write!(line, "{gap}{cell}{pad}"),
                    _ => write!(line, "{gap}{pad}{cell}"),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// A row as its first cell, and the others with their heads below it, as many on a line as fit.
    fn block(&self, row: &[String], width: usize) -> String {
        let mut text = String::new();
        if let Some(first) = row.first().filter(|first| !first.trim().is_empty()) {
            let depth = first.chars().take_while(|c| *c == ' ').count();
            text.push_str(&wrap::hanging(first.trim_start(), &format!("{INDENT}{}", " ".repeat(depth)), width));
        }
        let mut used = 0;
        for (column, cell) in row.iter().enumerate().skip(1).filter(|(_, cell)| !cell.trim().is_empty()) {
            let is_picture = self.columns.get(column) == Some(&Column::Picture);
            let named = match self.head.get(column).filter(|head| !head.trim().is_empty() && !is_picture) {
                Some(head) => format!("{head} {cell}"),
                None => cell.trim_end().to_owned(),
            };
            let length = named.chars().count();
            if used > 0 && (is_picture || used + GAP.len() + length > width) {
                text.push('\n');
                used = 0;
            }
            if BLOCK_INDENT.len() + length > width && !is_picture {
                // Longer than a line: it has lines of its own.
                text.push_str(&wrap::hanging(&named, BLOCK_INDENT, width));
                continue;
            }
            let before = if used == 0 { BLOCK_INDENT } else { GAP };
            text.push_str(before);
            text.push_str(&named);
            used += before.len() + length;
            if is_picture {
                text.push('\n');
                used = 0;
            }
        }
        if used > 0 {
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["", "samples", "max", "cause", ""]).left(3).picture(4);
        let row = |cells: [&str; 5]| cells.map(str::to_owned).to_vec();
        table.row(row(["CPU 0", "14 999", "316 us", "thread: x", "  ▓▓    "]));
        table.row(row(["  CPU 10", "9", "5 us", "softirq", "▒       "]));
        table
    }

    #[test]
    fn columns_are_aligned_where_they_fit() {
        let expected = "            samples     max  cause\n  CPU 0      14 999  316 us  thread: x    ▓▓\n    \
                        CPU 10        9    5 us  softirq    ▒\n";
        assert_eq!(table().render_within(46), expected);
        assert_eq!(table().render_within(usize::MAX), expected);
    }

    #[test]
    fn on_a_narrow_terminal_each_row_is_a_block_that_keeps_heads_and_the_place_of_pictures() {
        let expected = "  CPU 0\n    samples 14 999  max 316 us\n    cause thread: x\n      ▓▓\n    CPU 10\n    samples 9  \
                        max 5 us\n    cause softirq\n    ▒\n";
        assert_eq!(table().render_within(32), expected);
        let mut named = Table::new(&["cause", "worst"]);
        named.row(vec!["thread".to_owned(), "5 us".to_owned()]);
        assert_eq!(named.render_within(14), "  cause:\n  thread\n    worst 5 us\n");
        let longest = |width| table().render_within(width).lines().map(|line| line.chars().count()).max();
        assert!(longest(20) <= Some(20), "{}", table().render_within(20));
    }
}
