//! Files that a boot loader reads alone, in which ours stand between the user's own: what they were is kept beside them.

use super::{BootFiles, Refusal, parameters, words_of};

/// Where ours go into a text, and what stands around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Point {
    /// The byte before which they go.
    pub(super) at: usize,
    /// What stands before them.
    pub(super) lead: String,
    /// What stands after them.
    pub(super) trail: &'static str,
}

impl Point {
    /// The text with ours in it.
    pub(super) fn put(&self, text: &str, ours: &[String]) -> String {
        if ours.is_empty() {
            return text.to_owned();
        }
        let (before, after) = text.split_at(self.at);
        [before, &self.lead, &ours.join(" "), self.trail, after].concat()
    }

    /// What of ours stands in `now`; `None` where `now` is not made of that text.
    fn taken(&self, text: &str, now: &str) -> Option<Vec<String>> {
        let (before, after) = text.split_at(self.at);
        let ours = now.strip_prefix(before)?.strip_prefix(self.lead.as_str())?;
        let ours = words_of(ours.strip_suffix(after)?.strip_suffix(self.trail)?);
        // A word that no plan of ours writes is one that the user has added right there.
        let is_ours = ours.iter().all(|word| parameters::can_be_written(word)) && self.put(text, &ours) == now;
        is_ours.then_some(ours)
    }
}

/// A file without what is ours in it, and what that is.
pub(super) struct Base<'a> {
    /// The text as the user left it.
    pub(super) text: &'a str,
    /// The words that this program has added to it.
    pub(super) ours: Vec<String>,
}

/// Finds the user's own text of a file: that of the copy `saved`, where there is one.
pub(super) fn base<'a>(
    files: &'a BootFiles,
    path: &str,
    saved: &str,
    point: &dyn Fn(&str) -> Point,
) -> Result<Base<'a>, Refusal> {
    let now = files.need(path)?;
    if !files.has(saved) {
        return Ok(Base { text: now, ours: Vec::new() });
    }
    let text = files.need(saved)?;
    if text == now {
        return Ok(Base { text, ours: Vec::new() });
    }
    let ours = point(text).taken(text, now).ok_or_else(|| Refusal::changed_since(path))?;
    Ok(Base { text, ours })
}

/// The end of the line that begins at `start`, without what ends it and blanks before that.
pub(super) fn line_end(text: &str, start: usize) -> usize {
    let line = text[start..].split('\n').next().unwrap_or_default();
    start + line.trim_end().len()
}
