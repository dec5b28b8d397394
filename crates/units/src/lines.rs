//! The lines of a file that is written line by line, and may end in half a one.

/// The lines that are there as a whole, each with its number from 1 and without its line feed, and how many bytes they take
/// together. Empty lines are passed over.
///
/// What follows the last line feed is what a kill or a power cut leaves of a line, and counts as not written.
pub fn whole_lines(text: &[u8]) -> (impl Iterator<Item = (usize, &[u8])>, usize) {
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = text[..whole].split(|byte| *byte == b'\n');
    ((1..).zip(lines).filter(|(_, line)| !line.is_empty()), whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_at_the_end_is_none() {
        let check = |text: &str, expected: &[(usize, &str)], expected_bytes: usize| {
            let (lines, bytes) = whole_lines(text.as_bytes());
            let lines: Vec<_> = lines.map(|(number, line)| (number, std::str::from_utf8(line).unwrap())).collect();
            assert_eq!((lines.as_slice(), bytes), (expected, expected_bytes), "{text:?}");
        };
        check("one\ntwo\nth", &[(1, "one"), (2, "two")], 8);
        check("one\n\nthree\n", &[(1, "one"), (3, "three")], 11);
        check("on", &[], 0);
        check("", &[], 0);
    }
}
