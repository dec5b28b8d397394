//! The lines by which two texts differ.

/// The most comparisons of lines; beyond it, all lines of both are printed.
const MOST: usize = 4_000_000;

/// One line, and how it is marked: `-` where it goes, `+` where it comes, a blank where it stays.
pub(super) type Marked<'a> = (char, &'a str);

/// The lines that go and come, each with the ones right before and after it that stay; `…` stands for more of these.
pub(super) fn lines<'a>(before: &'a str, after: &'a str) -> Vec<Marked<'a>> {
    let all = all(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let is_near = |at: usize| {
        let from = at.saturating_sub(1);
        all[from..all.len().min(at + 2)].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut near: Vec<Marked<'a>> = Vec::new();
    for (at, &line) in all.iter().enumerate() {
        if is_near(at) {
            near.push(line);
        } else if near.last() != Some(&(' ', "…")) {
            near.push((' ', "…"));
        }
    }
    near
}

/// All lines: the longest common ones stay.
fn all<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Marked<'a>> {
    let (rows, columns) = (before.len(), after.len());
    let mut marked = Vec::with_capacity(rows + columns);
    if rows.saturating_mul(columns) > MOST {
        marked.extend(before.iter().map(|&line| ('-', line)));
        marked.extend(after.iter().map(|&line| ('+', line)));
        return marked;
    }
    // How many lines of what follows are common.
    let mut common = vec![vec![0_u32; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            common[row][column] = if before[row] == after[column] {
                common[row + 1][column + 1] + 1
            } else {
                common[row + 1][column].max(common[row][column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < rows || column < columns {
        if row < rows && column < columns && before[row] == after[column] {
            marked.push((' ', before[row]));
            (row, column) = (row + 1, column + 1);
        } else if column == columns || (row < rows && common[row + 1][column] >= common[row][column + 1]) {
            marked.push(('-', before[row]));
            row += 1;
        } else {
            marked.push(('+', after[column]));
            column += 1;
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_told_with_its_neighbors() {
        assert_eq!(
            lines("a\nb\nc\nd\ne\n", "a\nb\nC\nd\ne\nf\n"),
            [(' ', "…"), (' ', "b"), ('-', "c"), ('+', "C"), (' ', "d"), (' ', "e"), ('+', "f"),]
        );
        assert_eq!(lines("", "x\ny\n"), [('+', "x"), ('+', "y")]);
        assert_eq!(lines("x\n", ""), [('-', "x")]);
        let long = "x\n".repeat(3000);
        assert_eq!(lines(&long, &(long.clone() + "y\n")).len(), 6001);
    }
}
