//! What stress-ng says of itself: the stressors that it has, and how many operations each of them did. Pure.

use std::collections::BTreeSet;

/// The names that `stress-ng --stressors` lists.
pub(crate) fn parse_stressors(text: &str) -> BTreeSet<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Operations of each stressor, in the file that `--yaml` asks for.
///
/// ```text
/// metrics:
///     - stressor: stream
///       bogo-ops: 69
/// ```
pub(crate) fn parse_operations(text: &str) -> Vec<(String, u64)> {
    let mut name = None;
    let mut operations = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(stressor) = line.strip_prefix("- stressor:") {
            name = Some(stressor.trim().trim_matches('\'').to_owned());
        } else if let Some(count) = line.strip_prefix("bogo-ops:") {
            if let (Some(name), Ok(count)) = (name.take(), count.trim().parse()) {
                operations.push((name, count));
            }
        }
    }
    operations
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn operations_are_read_with_their_stressors() {
        // stress-ng 0.15.06, shortened.
        let text = "---\nsystem-info:\n      stress-ng-version: 0.15.06\nmetrics:\n    - stressor: udp\n      bogo-ops: 81834\n      \
                    bogo-ops-per-second-usr-sys-time: 27.7\n      wall-clock-time: 3.0\n\n    - stressor: udp-flood\n      bogo-ops: 269440\n...\n";
        assert_eq!(parse_operations(text), [("udp".to_owned(), 81_834), ("udp-flood".to_owned(), 269_440)]);
        assert_eq!(parse_operations("metrics:\n      bogo-ops: 5\n"), [], "of nobody");
        assert!(parse_stressors("access af-alg\nzombie\n").contains("af-alg"));
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in "(?s).{0,200}") {
            let _ = parse_operations(&text);
            let _ = parse_stressors(&text);
        }
    }
}
