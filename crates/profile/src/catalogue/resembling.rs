//! The names that resemble what somebody typed.

/// The names of `ids` that resemble what somebody typed, closest first, at most three.
#[must_use]
pub fn resembling<'a>(typed: &str, ids: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.trim().to_ascii_lowercase();
    let mut close: Vec<(usize, &str)> = ids
        .filter_map(|id| {
            let distance = edit_distance(&typed, id);
            let shares_a_word = id.split('-').any(|word| word.len() > 2 && typed.split('-').any(|part| part == word));
            // A third of the letters wrong is still a slip of the keyboard.
            (distance * 3 <= id.len() || shares_a_word || (typed.len() > 2 && id.contains(&typed)))
                .then_some((distance, id))
        })
        .collect();
    close.sort_by_key(|(distance, _)| *distance);
    close.into_iter().take(3).map(|(_, id)| id).collect()
}

/// Letters to insert, delete or replace (Levenshtein), in one row of memory.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
