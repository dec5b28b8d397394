//! What was changed about a node: on the machine, and by people. What lies in the time that is shown is marked in the plots.

use std::fmt::Write as _;

use farm::monitor::ContentKind;
use store::{AuditRow, Change, ContentAt};
use units::format;

use super::chart::Mark;
use super::html::Text;
use super::window::Window;
use super::words::{Moment, zoned};

/// Rows of a table before the rest is left to the document.
const MOST_ROWS: usize = 50;
/// Marks in a plot: more would hide it. The latest have one.
const MOST_MARKS: usize = 26;

/// A change, as a row of the table.
struct Row {
    /// When (ns since 1970); absent where it cannot be placed.
    utc_ns: Option<i64>,
    when: String,
    what: String,
    /// In plots: what the machine or people did, as far as it may change what is measured.
    is_marked: bool,
}

/// The contents of a kind that differ from the one before: an agent says anew at each start what it measures under.
pub(super) fn news(contents: &[ContentAt], kind: ContentKind) -> Vec<&ContentAt> {
    let mut all: Vec<&ContentAt> = Vec::new();
    for content in contents.iter().filter(|content| content.kind == kind) {
        if all.last().is_none_or(|before| before.hash != content.hash) {
            all.push(content);
        }
    }
    all
}

/// All of them, the newest first; those that cannot be placed last.
fn rows(contents: &[ContentAt], audit: &[AuditRow]) -> Vec<Row> {
    let mut all = Vec::new();
    for kind in [ContentKind::Condition, ContentKind::Profile, ContentKind::Explaining] {
        let what = match kind {
            ContentKind::Condition => "measured under another condition",
            ContentKind::Profile => "another profile",
            ContentKind::Explaining => "causes are sought, or not, in another way",
        };
        // The first of each is no change.
        for content in news(contents, kind).into_iter().skip(1) {
            let hash = content.hash.to_string();
            let when = match content.since {
                Some(since) => Moment(since.utc_ns).to_string(),
                None => format!("{} after a boot", Text(&format::span(content.since_ns.unsigned_abs()))),
            };
            let what = format!("{what} <code>{}</code>", hash.get(..8).unwrap_or_default());
            let utc_ns = content.since.map(|since| since.utc_ns);
            all.push(Row { utc_ns, when, what, is_marked: true });
        }
    }
    for row in audit {
        let what = format!("{} <span class=\"muted\">by {}</span>", Text(&in_words(&row.change)), Text(&row.by.who));
        let (utc_ns, when) = (Some(row.by.at_wall_ns), Moment(row.by.at_wall_ns).to_string());
        all.push(Row { utc_ns, when, what, is_marked: matches!(row.change, Change::Noted { .. }) });
    }
    all.sort_by_key(|row| std::cmp::Reverse(row.utc_ns));
    all
}

/// The letter of a mark: the latest in the time that is shown is "a".
fn letter(at: usize) -> Option<char> {
    (b'a'..=b'z').nth(at).map(char::from)
}

/// Rows with the letters of those that are marked.
fn lettered(rows: &[Row], window: &Window) -> Vec<Option<char>> {
    let mut next = 0;
    let letter_of = |row: &Row| {
        let is_inside = row.utc_ns.is_some_and(|ns| (window.from_utc_ns..window.to_utc_ns).contains(&ns));
        if !row.is_marked || !is_inside || next >= MOST_MARKS {
            return None;
        }
        next += 1;
        letter(next - 1)
    };
    rows.iter().map(letter_of).collect()
}

/// What is marked in the plots.
pub(super) fn marks(contents: &[ContentAt], audit: &[AuditRow], window: &Window) -> Vec<Mark> {
    let rows = rows(contents, audit);
    let mark = |(row, letter): (&Row, Option<char>)| Some(Mark { utc_ns: row.utc_ns?, letter: letter? });
    rows.iter().zip(lettered(&rows, window)).filter_map(mark).collect()
}

/// Since when the latest condition, with its limit, holds (ns since 1970); `None` where that is not known.
pub(super) fn limit_since(contents: &[ContentAt]) -> Option<i64> {
    news(contents, ContentKind::Condition).last().and_then(|latest| latest.since).map(|since| since.utc_ns)
}

/// The table, the newest first.
pub(super) fn write_changes(main: &mut String, contents: &[ContentAt], audit: &[AuditRow], window: &Window) {
    let rows = rows(contents, audit);
    if rows.is_empty() {
        return;
    }
    main.push_str("<h2>Changes</h2>\n<table><thead><tr><th>When</th><th>Mark</th><th>What</th></tr></thead><tbody>\n");
    for (row, letter) in rows.iter().zip(lettered(&rows, window)).take(MOST_ROWS) {
        let letter = letter.map(String::from).unwrap_or_default();
        let _ = writeln!(main, "<tr><td>{}</td><td>{letter}</td><td>{}</td></tr>", row.when, row.what);
    }
    main.push_str("</tbody></table>\n");
    if let Some(more) = rows.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        let _ = writeln!(main, "<p class=\"small\">and {more} earlier ones</p>");
    }
}

/// A change in words.
fn in_words(change: &Change) -> String {
    match change {
        Change::Epoch { epoch } => format!("the hub was restored: its life {epoch} began"),
        Change::BackedUp { of_wall_ns, .. } => format!("a backup of {} was made", zoned(*of_wall_ns)),
        Change::CertificateChanged { present, .. } => {
            format!("the certificate of the agents' port was changed to {present}")
        }
        Change::Announced { addresses } if addresses.is_empty() => {
            "no address of the hub is announced any more".to_owned()
        }
        Change::Announced { addresses } => format!("nodes are told that they find the hub at {}", addresses.join(", ")),
        Change::Restored { of_wall_ns, .. } => format!("the hub was restored from a backup of {}", zoned(*of_wall_ns)),
        Change::TokenMade { token } => format!("token {token} was made"),
        Change::TokenEnded { token } => format!("token {token} was ended"),
        Change::Enrolled { token: Some(token), name } => format!("enrolled as {name}, by token {token}"),
        Change::Enrolled { token: None, name } => format!("enrolled as {name}, by an enrolment of before a restore"),
        Change::Renamed { name } => format!("renamed to {name}"),
        Change::Placed { place: Some(place) } => format!("placed at {} / {}", place.rack, place.slot),
        Change::Placed { place: None } => "placed nowhere".to_owned(),
        Change::Labeled { key, value: Some(value) } => format!("labeled {key}={value}"),
        Change::Labeled { key, value: None } => format!("label {key} was taken off"),
        Change::Retired => "retired".to_owned(),
        Change::Unretired => "no longer retired".to_owned(),
        Change::Revoked => "revoked".to_owned(),
        Change::Noted { text } => format!("note: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use farm::monitor::BootId;
    use farm::stream::ContentHash;
    use store::{By, Placed, PlacedBy};

    use super::*;

    fn content(kind: ContentKind, text: &str, at: Option<i64>) -> ContentAt {
        let since = at.map(|utc_ns| Placed { utc_ns, error_ns: 0, by: PlacedBy::OwnClock });
        ContentAt { kind, hash: ContentHash::of(text), boot: BootId(String::new()), since_ns: 5, since }
    }

    fn changed(change: Change, at_wall_ns: i64) -> AuditRow {
        AuditRow { id: at_wall_ns, by: By { who: "anna".to_owned(), at_wall_ns }, node: None, change }
    }

    #[test]
    fn what_changed_in_the_time_that_is_shown_is_marked_and_what_was_said_again_is_no_change() {
        use ContentKind::{Condition, Profile};
        let contents = [
            content(Profile, "one", Some(10)),
            content(Condition, "fast", Some(10)),
            content(Profile, "one", Some(20)),
            content(Profile, "two", Some(30)),
            content(Condition, "fast", Some(40)),
            content(Condition, "slow", Some(50)),
            content(Profile, "three", None),
        ];
        let audit = [
            changed(Change::Noted { text: "a new fan".to_owned() }, 60),
            changed(Change::Renamed { name: "press".to_owned() }, 55),
            changed(Change::Noted { text: "long ago".to_owned() }, 3),
        ];
        let window = Window { from_utc_ns: 25, to_utc_ns: 100, span: "" };
        let found: Vec<_> =
            marks(&contents, &audit, &window).into_iter().map(|mark| (mark.utc_ns, mark.letter)).collect();
        assert_eq!(found, [(60, 'a'), (50, 'b'), (30, 'c')]);
        assert_eq!(limit_since(&contents), Some(50));
        let mut html = String::new();
        write_changes(&mut html, &contents, &audit, &window);
        assert_eq!(html.matches("<tr><td>").count(), 6, "{html}");
        let row = html.lines().find(|line| line.contains("a new fan")).unwrap();
        assert!(row.contains("<td>a</td>"), "{row}");
        assert!(html.lines().any(|line| line.contains("renamed to press") && line.contains("<td></td>")));
    }

    #[test]
    fn a_plot_has_no_more_marks_than_letters() {
        let audit: Vec<_> = (0..40).map(|at| changed(Change::Noted { text: at.to_string() }, at)).collect();
        let found = marks(&[], &audit, &Window { from_utc_ns: 0, to_utc_ns: 100, span: "" });
        assert_eq!((found.len(), found[0].utc_ns, found[25].letter), (26, 39, 'z'));
    }
}
