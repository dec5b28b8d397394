//! How long ago what was acknowledged was acknowledged: by that age alone it is removed, for a hub that is restored from a backup.
//!
//! The age of an entry itself would not do: what waited for a hub that was away for nine days is acknowledged today, and a backup of
//! yesterday lacks it.

use serde::{Deserialize, Serialize};

use super::StreamId;

/// How long a node keeps what was acknowledged, where its room allows it (s of its running time): seven days. A hub that is restored
/// from a backup that is younger gets all again that it lacks.
pub const KEEP_ACKNOWLEDGED_S: u64 = 7 * 86_400;

/// Moments that are kept of the time for which acknowledged entries are kept: what is between two of them stays until the later one.
const MOMENTS: u64 = 28;

/// A moment at which a stream was acknowledged up to a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Acknowledgment {
    /// The stream.
    pub stream: StreamId,
    /// All up to this sequence was acknowledged then, at the latest.
    pub sequence: u64,
    /// When (s of the node's running time).
    pub age_s: u64,
}

/// When what was acknowledged by the hub's present life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgments {
    /// Of each stream in the order of time.
    known: Vec<Acknowledgment>,
}

impl Acknowledgments {
    /// Those that were kept.
    #[must_use]
    pub fn restore(known: Vec<Acknowledgment>) -> Self {
        Self { known }
    }

    /// All that is known.
    #[must_use]
    pub fn known(&self) -> &[Acknowledgment] {
        &self.known
    }

    /// Takes notice of how far a stream is acknowledged now. Whether something is known that was not. `keep_s`: how long what was
    /// acknowledged is kept (s).
    pub fn take(&mut self, stream: StreamId, sequence: u64, now_s: u64, keep_s: u64) -> bool {
        // A hub that holds less than it did acknowledges the rest anew.
        self.known.retain(|known| known.stream != stream || known.sequence <= sequence);
        let last = self.known.iter().rev().find(|known| known.stream == stream);
        let is_news =
            last.is_none_or(|last| last.sequence < sequence && now_s.saturating_sub(last.age_s) >= keep_s / MOMENTS);
        if is_news {
            self.known.push(Acknowledgment { stream, sequence, age_s: now_s });
        }
        is_news
    }

    /// A later life of the hub has been seen: nothing is known of what it holds.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Up to where each stream was acknowledged longer ago than `keep_s` (s); of that no more is known than its end from now on.
    pub fn long_ago(&mut self, now_s: u64, keep_s: u64) -> Vec<(StreamId, u64)> {
        let until_s = now_s.saturating_sub(keep_s);
        let mut last: Vec<(StreamId, u64)> = Vec::new();
        for known in self.known.iter().filter(|known| known.age_s < until_s) {
            last.retain(|(stream, _)| *stream != known.stream);
            last.push((known.stream, known.sequence));
        }
        let is_last = |known: &Acknowledgment| last.contains(&(known.stream, known.sequence));
        self.known.retain(|known| known.age_s >= until_s || is_last(known));
        last
    }

    /// Leaves out streams that are kept no more.
    pub fn retain(&mut self, is_kept: impl Fn(StreamId) -> bool) {
        self.known.retain(|known| is_kept(known.stream));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: u64 = 86_400;

    fn stream(start: u64) -> StreamId {
        StreamId { start, random: start }
    }

    #[test]
    fn what_was_acknowledged_late_is_kept_from_then_on() {
        let mut all = Acknowledgments::default();
        // Nine days without a hub, then all of it at once, and an interval each hour.
        all.take(stream(1), 900, 9 * DAY_S, KEEP_ACKNOWLEDGED_S);
        for hour in 1..=24 * 8 {
            all.take(stream(1), 900 + hour, 9 * DAY_S + hour * 3_600, KEEP_ACKNOWLEDGED_S);
        }
        all.take(stream(2), 5, 10 * DAY_S, KEEP_ACKNOWLEDGED_S);
        assert_eq!(all.long_ago(10 * DAY_S, KEEP_ACKNOWLEDGED_S), []);
        assert_eq!(all.long_ago(16 * DAY_S + 1, KEEP_ACKNOWLEDGED_S), [(stream(1), 900)]);
        let at_s = 17 * DAY_S + 1;
        let long_ago = all.long_ago(at_s, KEEP_ACKNOWLEDGED_S);
        let (of, through) = long_ago[0];
        // At most six hours of what could go stays.
        assert!(of == stream(1) && (918..=924).contains(&through), "{long_ago:?}");
        assert_eq!(long_ago[1], (stream(2), 5));
        assert!(all.known().len() <= 31, "{}", all.known().len());
        assert_eq!(Acknowledgments::restore(all.known().to_vec()), all);
    }

    #[test]
    fn what_a_hub_acknowledges_anew_is_kept_anew() {
        let mut all = Acknowledgments::default();
        all.take(stream(1), 50, 0, KEEP_ACKNOWLEDGED_S);
        // The same life holds less: its store was set back without a word.
        all.take(stream(1), 20, 9 * DAY_S, KEEP_ACKNOWLEDGED_S);
        all.take(stream(1), 50, 9 * DAY_S + DAY_S, KEEP_ACKNOWLEDGED_S);
        assert_eq!(all.long_ago(10 * DAY_S, KEEP_ACKNOWLEDGED_S), []);
        assert_eq!(all.long_ago(16 * DAY_S + 1, KEEP_ACKNOWLEDGED_S), [(stream(1), 20)]);
        all.forget();
        assert_eq!(all.long_ago(99 * DAY_S, KEEP_ACKNOWLEDGED_S), []);
    }
}
