//! What a stream is made of: entries, and what they became where room was short.

use serde::{Deserialize, Serialize};

use super::{Place, Span};

/// Why sequences of a stream have no entry any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GoneReason {
    /// The node's file of them is damaged.
    Damaged,
    /// The node had removed them: they were acknowledged long ago, by a hub that was restored to before it.
    Removed,
}

/// What is left of a stretch of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body<B> {
    /// The entry, or what entries of several sequences were merged into.
    Full(B),
    /// What was here said nothing of a worst case (a histogram) and made room for what does.
    Emptied,
    /// Nothing.
    Gone(GoneReason),
}

/// How much a body says: of two for the same stretch the greater one stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Says {
    /// Nothing.
    Gone,
    /// That nothing of a worst case is missing.
    Emptied,
    /// All of it.
    Full,
}

impl<B> Body<B> {
    /// How much it says.
    #[must_use]
    pub const fn says(&self) -> Says {
        match self {
            Self::Full(_) => Says::Full,
            Self::Emptied => Says::Emptied,
            Self::Gone(_) => Says::Gone,
        }
    }
}

/// A stretch of a stream, with the places in the chain at its two ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item<B> {
    /// Its sequences.
    pub span: Span,
    /// The place before the first.
    pub before: Place,
    /// The place after the last.
    pub after: Place,
    /// The place after each sequence but the last, where several were merged: two histories that part within it are told apart. Empty
    /// where they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Place>,
    /// What is left of them.
    pub body: Body<B>,
}

/// Where an item stands, without what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its sequences.
    pub span: Span,
    /// The place before the first.
    pub before: Place,
    /// The place after the last.
    pub after: Place,
    /// As in [`Item`].
    pub within: Vec<Place>,
    /// How much its body says.
    pub says: Says,
}

impl<B> Item<B> {
    /// Where it stands.
    #[must_use]
    pub fn head(&self) -> Head {
        let Self { span, before, after, .. } = *self;
        Head { span, before, after, within: self.within.clone(), says: self.body.says() }
    }
}

impl Head {
    /// The place after a sequence, as far as it is known here: from the one before the first to the last.
    #[must_use]
    pub fn place(&self, sequence: u64) -> Option<Place> {
        if sequence == self.span.before() {
            return Some(self.before);
        }
        if sequence == self.span.last() {
            return Some(self.after);
        }
        let at = usize::try_from(sequence.checked_sub(self.span.first())?).ok()?;
        self.within.get(at).copied()
    }

    /// All places that are known here, each with its sequence.
    pub fn places(&self) -> impl Iterator<Item = (u64, Place)> {
        let within = (self.span.first()..).zip(self.within.iter().copied());
        std::iter::once((self.span.before(), self.before))
            .chain(within)
            .chain(std::iter::once((self.span.last(), self.after)))
    }

    /// What is left of it before and after another one that it overlaps.
    #[must_use]
    pub fn around(&self, other: &Self) -> [Option<Self>; 2] {
        let part = |span: Span, before, after| {
            let within: Vec<Place> = (span.first()..span.last()).filter_map(|sequence| self.place(sequence)).collect();
            let within = if within.len() as u64 == span.count() - 1 { within } else { Vec::new() };
            Self { span, before, after, within, says: self.says }
        };
        let earlier = Span::new(self.span.first(), other.span.before());
        let later = Span::new(other.span.last().saturating_add(1), self.span.last());
        [
            earlier.map(|span| part(span, self.before, other.before)),
            later.map(|span| part(span, other.after, self.after)),
        ]
    }

    /// Whether both can be of one history: no place that both know differs.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.places().all(|(sequence, place)| other.place(sequence).is_none_or(|theirs| theirs == place))
    }
}

/// What entries say, as far as it matters to a stream.
pub trait Entry: Sized {
    /// Both as one, of the time of both; `None` where that would mix what must not be: another condition, a gap between them,
    /// another kind.
    fn merged(&self, later: &Self) -> Option<Self>;

    /// Whether it says nothing of a worst case, and goes first where room is short.
    fn may_be_emptied(&self) -> bool;

    /// The same without anything that is counted: what is the largest stays, how often it was goes. For entries whose part somebody
    /// may count elsewhere.
    #[must_use]
    fn without_counts(&self) -> Self;

    /// What stands for it in the chain of a stream.
    fn bytes(&self) -> Vec<u8>;
}
