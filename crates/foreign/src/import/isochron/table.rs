//! Reads the rows of a table: each a packet that was sent.

use units::format::count;

use super::RECIPE;
use super::columns::{IsochronColumns, Separator, Variable};
use crate::error::ForeignError;
use crate::import::text::quoted;

/// What isochron's `--summary` prints behind the table begins with one of these.
const SUMMARY: [&str; 6] = [
    "Packets not ",
    "Could not calculate",
    "Summary:",
    "Sender PHC not synchronized",
    "Receiver PHC not synchronized",
    "Sender and receiver not synchronized",
];

/// The rows of a table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: IsochronColumns,
    /// All rows, one after the other.
    values: Vec<i64>,
    /// Packets of whose numbers there is no row between two rows.
    pub(super) gaps: u64,
    /// The first such gap: number of the line behind it, and of the packets around it.
    pub(super) first_gap: Option<(usize, i64, i64)>,
    /// The first line in which the sender's clock is before that of the line above.
    pub(super) stepped: Option<usize>,
    /// The last line has no end: it was not read.
    pub(super) is_cut: bool,
    /// What isochron says of the clocks behind the table.
    pub(super) remarks: Vec<String>,
}

/// One row: a packet that was sent.
#[derive(Clone, Copy)]
pub(super) struct Packet<'a> {
    columns: &'a IsochronColumns,
    values: &'a [i64],
}

impl Packet<'_> {
    /// A value as it stands; `None` if it was not printed.
    pub(super) fn value(self, variable: Variable) -> Option<i64> {
        self.columns.at(variable).and_then(|at| self.values.get(at)).copied()
    }

    /// A moment (ns); `None` if it was not printed, or if isochron did not have it.
    pub(super) fn moment(self, variable: Variable) -> Option<i64> {
        self.value(variable).filter(|ns| *ns != 0)
    }
}

impl Table {
    pub(super) fn packets(&self) -> impl Iterator<Item = Packet<'_>> {
        self.values.chunks_exact(self.columns.len()).map(|values| Packet { columns: &self.columns, values })
    }

    /// Whether a variable was printed.
    pub(super) fn has(&self, variable: Variable) -> bool {
        self.columns.at(variable).is_some()
    }
}

/// Reads a table whose columns the first line names, or else `stated`.
pub(super) fn read(text: &str, stated: Option<IsochronColumns>) -> Result<Table, ForeignError> {
    let mut reading = Reading::default();
    let mut table: Option<Table> = None;
    let mut is_cut = false;
    for (at, with_end) in text.split_inclusive('\n').enumerate() {
        let line = at + 1;
        let row = with_end.trim();
        if row.is_empty() {
            continue;
        }
        let of_line = IsochronColumns::of_words(row).filter(|_| table.is_none());
        if let Some(named) = of_line.filter(|named| !row.starts_with('#') || named.is_ok()) {
            let named = named.map_err(|what| ForeignError::Line { line, what })?;
            table = Some(Table::new(agreed(named, stated, line)?));
            continue;
        }
        if row.starts_with('#') {
            continue;
        }
        if SUMMARY.iter().any(|begin| row.starts_with(begin)) {
            reading.is_behind = true;
        }
        if reading.is_behind {
            if let Some(table) = table.as_mut().filter(|_| row.contains("not synchronized")) {
                table.remarks.push(quoted(row));
            }
            continue;
        }
        if !with_end.ends_with('\n') {
            is_cut = true;
            break;
        }
        let table = match &mut table {
            Some(table) => table,
            None => table.insert(Table::new(stated.ok_or_else(|| unnamed(row, line))?)),
        };
        reading.row(table, row, line)?;
    }
    let Some(mut table) = table.filter(|table| !table.values.is_empty()) else {
        let what = if is_cut { "its only line has no end" } else { "no line of a packet" };
        return Err(ForeignError::NoResult(format!("{what}; {RECIPE}")));
    };
    table.is_cut = is_cut;
    Ok(table)
}

/// The columns that the first line names, unless something else was stated.
fn agreed(
    named: IsochronColumns,
    stated: Option<IsochronColumns>,
    line: usize,
) -> Result<IsochronColumns, ForeignError> {
    match stated.filter(|stated| *stated != named) {
        None => Ok(named),
        Some(stated) => {
            let what = format!(
                "it names the columns {}, and --printf-args says {}: leave the option out, or the line",
                named.letters(),
                stated.letters()
            );
            Err(ForeignError::Line { line, what })
        }
    }
}

fn unnamed(row: &str, line: usize) -> ForeignError {
    let words: Vec<&str> = Separator::of(row).split(row).collect();
    let what = if words.iter().all(|word| value(word).is_ok()) {
        format!(
            "{} columns, and nothing says what they hold: isochron names none. State the letters that its --printf-args was given \
             (punctual import FILE --printf-args qSwTR), or write them as the first line (q,S,w,T,R)",
            words.len()
        )
    } else {
        format!("'{}' is no row of numbers: print a table, with {RECIPE}", quoted(row))
    };
    ForeignError::Line { line, what }
}

#[derive(Default)]
struct Reading {
    separator: Option<Separator>,
    /// The summary has begun.
    is_behind: bool,
    last: Option<i64>,
    last_woke: Option<i64>,
}

impl Table {
    const fn new(columns: IsochronColumns) -> Self {
        Self {
            columns,
            values: Vec::new(),
            gaps: 0,
            first_gap: None,
            stepped: None,
            is_cut: false,
            remarks: Vec::new(),
        }
    }
}

impl Reading {
    fn row(&mut self, table: &mut Table, row: &str, line: usize) -> Result<(), ForeignError> {
        let wrong = |what: String| ForeignError::Line { line, what };
        let separator = *self.separator.get_or_insert_with(|| Separator::of(row));
        let from = table.values.len();
        let columns = table.columns;
        let mut found = 0;
        for (at, word) in separator.split(row).enumerate() {
            found += 1;
            let Some(variable) = columns.variables().get(at) else { continue };
            let letter = variable.letter();
            let ns =
                value(word).map_err(|why| wrong(format!("column {found} ({letter}) is '{}', {why}", quoted(word))))?;
            if ns < 0 && variable.is_moment() {
                return Err(wrong(format!("column {found} ({letter}) is '{}', a time before 1970", quoted(word))));
            }
            table.values.push(ns);
        }
        if found != columns.len() {
            let letters = columns.letters();
            let what = format!(
                "{} columns, but {} are named ({letters}): state those that were printed",
                found,
                columns.len()
            );
            return Err(wrong(what));
        }
        let packet = Packet { columns: &columns, values: &table.values[from..] };
        if let Some(number) = packet.value(Variable::Sequence) {
            if number < 1 {
                return Err(wrong(format!("packet {number}: isochron counts them from 1")));
            }
            let next = self.last.map_or(number, |last| last.saturating_add(1));
            if number < next {
                let what = format!(
                    "packet {number} comes after packet {}: two runs? Put each into its own file",
                    self.last.unwrap_or_default()
                );
                return Err(wrong(what));
            }
            if number > next {
                table.gaps = table.gaps.saturating_add(number.abs_diff(next));
                table.first_gap = table.first_gap.or(Some((line, next - 1, number)));
            }
            self.last = Some(number);
        }
        if let Some(woke) = packet.moment(Variable::Woke) {
            if self.last_woke.is_some_and(|last| woke < last) {
                table.stepped = table.stepped.or(Some(line));
            }
            self.last_woke = Some(woke);
        }
        Ok(())
    }
}

impl Table {
    /// The packets that have no row, in words; `None` if there are none.
    pub(super) fn gap_words(&self) -> Option<String> {
        self.first_gap.map(|(line, before, behind)| {
            format!(
                "{} packets have no line, first between {before} and {behind} (line {line}): what was removed may be what was lost",
                count(self.gaps)
            )
        })
    }
}

/// Whether a word is a moment since 1970 to the nanosecond, as only few programs print it.
pub(super) fn is_stamp(word: &str) -> bool {
    // From September 2001 on.
    value(word).is_ok_and(|ns| ns >= 1_000_000_000_000_000_000)
}

/// Reads a number of nanoseconds (`%d`, `%u`), or of seconds with nine digits behind the point (`%T`).
pub(super) fn value(word: &str) -> Result<i64, &'static str> {
    const NO_NUMBER: &str = "no number: print times with %d, %u or %T";
    const TOO_LARGE: &str = "more than 63 bits hold: print it with %d, as what is below zero looks like this with %u";
    let (is_negative, digits) = word.strip_prefix('-').map_or((false, word), |rest| (true, rest));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let magnitude = if let Some((seconds, fraction)) = digits.split_once('.') {
        if !all_digits(seconds) || !all_digits(fraction) {
            return Err(NO_NUMBER);
        }
        if fraction.len() != 9 {
            return Err("no time as %T prints it: nine digits stand behind its point");
        }
        let parse = |text: &str| text.parse::<i64>().ok();
        let seconds = parse(seconds).and_then(|seconds| seconds.checked_mul(1_000_000_000));
        seconds.zip(parse(fraction)).and_then(|(seconds, ns)| seconds.checked_add(ns)).ok_or(TOO_LARGE)?
    } else if all_digits(digits) {
        digits.parse().map_err(|_| TOO_LARGE)?
    } else if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("hexadecimal: print it with %d, %u or %T");
    } else {
        return Err(NO_NUMBER);
    };
    Ok(if is_negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_isochron_prints_them() {
        for (word, ns) in [
            ("0", 0),
            ("-5", -5),
            ("1795617266250093954", 1_795_617_266_250_093_954),
            ("1795617266.250093954", 1_795_617_266_250_093_954),
            ("0.000000001", 1),
            ("-1.500000000", -1_500_000_000),
            ("9223372036854775807", i64::MAX),
        ] {
            assert_eq!(value(word), Ok(ns), "{word}");
        }
        for (word, part) in [
            ("", "no number"),
            ("-", "no number"),
            ("+5", "no number"),
            ("1.5", "nine digits"),
            ("1.0000000001", "nine digits"),
            ("1.-00000001", "no number"),
            ("9223372036854775808", "63 bits"),
            ("18446744073709551615", "63 bits"),
            ("9223372036.854775808", "63 bits"),
            ("18eb5a", "hexadecimal"),
            ("n/a", "no number"),
        ] {
            assert!(value(word).is_err_and(|why| why.contains(part)), "{word}: {:?}", value(word));
        }
    }

    fn error(text: &str, letters: Option<&str>) -> String {
        let stated = letters.map(|letters| IsochronColumns::parse(letters).unwrap());
        read(text, stated).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_read_names_line_column_and_remedy() {
        for (text, letters, parts) in [
            ("1,2\n", None, ["line 1: 2 columns", "--printf-args"]),
            ("q,T,R\n1,2\n", None, ["line 2: 2 columns", "3 are named (qTR)"]),
            ("q,T,R\n1,2,3,4\n", None, ["line 2: 4 columns", "3 are named (qTR)"]),
            ("q,T\r\n1,2\r\n2,x\r\n", None, ["line 3: column 2 (T) is 'x'", "%d"]),
            ("1,2\n2,18446744073709551615\n", Some("qT"), ["line 2: column 2 (T)", "63 bits"]),
            ("1,2\n2,-7\n", Some("qT"), ["line 2: column 2 (T)", "before 1970"]),
            ("q,T\n2,5\n2,6\n", None, ["line 3: packet 2 comes after packet 2", "own file"]),
            ("q,T\n0,5\n", None, ["line 2: packet 0", "from 1"]),
            ("q,T\n1,2\n", Some("qR"), ["line 1: it names the columns qT", "says qR"]),
            ("q,Z\n1,2\n", None, ["line 1: isochron has no variable 'Z'", "q a R r"]),
            ("", None, ["no line of a packet", "isochron report"]),
            ("q,T\n", None, ["no line of a packet", "isochron report"]),
            ("q,T\n1,2", None, ["only line has no end", "isochron report"]),
            ("seqid 1 scheduled for 5\n", None, ["line 1: 'seqid 1", "isochron report"]),
        ] {
            let error = error(text, letters);
            assert!(parts.iter().all(|part| error.contains(part)), "{text:?}: {error}");
        }
    }

    #[test]
    fn separators_line_ends_comments_and_a_summary_make_no_difference() {
        let plain = read("q,T,R\n1,5,9\n2,6,0\n", None).unwrap();
        for text in [
            "# q,T,R\r\n1,5,9\r\n\r\n2,6,0\r\n",
            "# made on Monday\nq;T;R\n1; 5; 9\n# a pause\n2;6;0\n",
            "q T R\n1 5\t9\n2 6 0\n",
            "q,T,R\n1,5,9\n2,6,0.000000000\nPackets not received: 1 (50.000%)\nSummary:\nPath delay: min 4\n",
        ] {
            let table = read(text, None).unwrap();
            assert_eq!((table.values, table.is_cut), (plain.values.clone(), false), "{text:?}");
        }
        assert!(read("q,T,R\n1,5,9\n2,6", None).unwrap().is_cut);
        let remarks = read("q,T\n1,5\nSender PHC not synchronized (mean 37 s)\n", None).unwrap().remarks;
        assert_eq!(remarks, ["Sender PHC not synchronized (mean 37 s)"]);
    }

    #[test]
    fn missing_lines_and_a_clock_that_goes_back_are_seen() {
        let table = read("q,w\n3,100\n4,200\n8,150\n9,0\n", None).unwrap();
        assert_eq!((table.gaps, table.first_gap, table.stepped), (3, Some((4, 4, 8)), Some(4)));
        assert_eq!(table.packets().last().and_then(|packet| packet.moment(Variable::Woke)), None);
    }
}
