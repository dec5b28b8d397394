//! The hub's side: what it holds of a stream, and what becomes of what a node sends.
//!
//! What is held of a stream is whole from its first sequence to its end, and each piece of it follows in the chain on the one before:
//! so the end, with its place in the chain, is all that a node has to be told. Whatever order messages arrive in, and how often, the
//! pieces that are shown never overlap, so nothing is counted twice.
//!
//! - What follows on the end is taken.
//! - What was merged replaces pieces that are not all there; these stay aside, and return when the last of them comes.
//! - All of the finer pieces win over what they were merged into, whichever comes first.
//! - What does not fit the chain is of another history of the node (its disk was set back, its key was copied): nothing of it is
//!   taken, and the node is told.

use super::{Base, Body, Head, Item, Place, Says, Span};

/// Pieces of one stream that are set aside, at most; of more the ones that come are left out.
pub const MOST_ASIDE: usize = 4_096;

/// Stretches that a mark names as gone, at most: the latest ones.
pub const MOST_LACKING: usize = 64;

/// What is held of one stream. A store implements it; the rules are [`take`]'s.
pub trait Held {
    /// What is kept of entries.
    type Entry;
    /// What can go wrong with a store.
    type Error;

    /// The last sequence that is held, and the place in the chain after it; those of its [`Base`](super::Base) where nothing is.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn end(&self) -> Result<(u64, Place), Self::Error>;

    /// The shown pieces that have a sequence in common with a span, in their order.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn shown(&self, over: Span) -> Result<Vec<Head>, Self::Error>;

    /// The pieces aside that lie in a span, in any order.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn aside(&self, within: Span) -> Result<Vec<Head>, Self::Error>;

    /// The shown pieces that are gone, the latest [`MOST_LACKING`] of them.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn gone(&self) -> Result<Vec<Span>, Self::Error>;

    /// Shows a piece.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn show(&mut self, item: Item<Self::Entry>) -> Result<(), Self::Error>;

    /// Sets a piece aside that was not there.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn put_aside(&mut self, item: Item<Self::Entry>) -> Result<(), Self::Error>;

    /// Sets a shown piece aside.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn hide(&mut self, shown: &Head) -> Result<(), Self::Error>;

    /// Shows a piece that was aside.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn return_aside(&mut self, aside: &Head) -> Result<(), Self::Error>;

    /// Replaces a shown piece that says less than all of it by what is left of it: one or two parts, which say the same.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn cut(&mut self, shown: &Head, left: &[Head]) -> Result<(), Self::Error>;

    /// Removes a shown piece.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn remove(&mut self, shown: &Head) -> Result<(), Self::Error>;
}

/// What became of what a node sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// All of it is held, or something better.
    All,
    /// It begins after the end of what is held: the node goes on from there.
    NotConnected,
    /// It is of another history than what is held.
    Diverged,
}

/// Takes what a node sent of a stream, in its order, each piece following on the one before it. What is held by then is [`Held::end`].
///
/// # Errors
/// Where the store cannot be read or written; nothing of it may stay then.
pub fn take<H: Held>(held: &mut H, items: impl IntoIterator<Item = Item<H::Entry>>) -> Result<Taken, H::Error> {
    for item in items {
        let taken = take_one(held, item)?;
        if taken != Taken::All {
            return Ok(taken);
        }
    }
    Ok(Taken::All)
}

/// Whether a hub that holds `of` begins a branch of it here, with `next` the place after its first sequence: only where it holds another
/// history from there on. A node's message may be older than the restore of a hub, which then holds nothing that the branch parts from:
/// the node goes on in the stream itself.
///
/// # Errors
/// Where the store cannot be read.
pub fn may_branch<H: Held>(of: &H, base: &Base, next: &Place) -> Result<bool, H::Error> {
    let (end, _) = of.end()?;
    if end <= base.sequence {
        return Ok(false);
    }
    let first = of.shown(Span::one(base.sequence + 1))?;
    Ok(first.first().and_then(|shown| shown.place(base.sequence + 1)).is_none_or(|place| place != *next))
}

/// What a node's history and what is held of it have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// The last sequence of it; 0 for none.
    pub sequence: u64,
    /// The last sequence that is held.
    pub end: u64,
    /// The question that was answered, [`Place::of_places`].
    pub of: Place,
}

/// The longest history that a node's places in a chain and what is held of it have in common.
///
/// # Errors
/// Where the store cannot be read.
pub fn common<H: Held>(held: &H, places: &[(u64, Place)]) -> Result<Common, H::Error> {
    let mut longest = 0;
    for (sequence, place) in places {
        let Some(span) = Span::new(*sequence, *sequence).filter(|_| *sequence > longest) else { continue };
        if held.shown(span)?.iter().any(|shown| shown.place(*sequence) == Some(*place)) {
            longest = *sequence;
        }
    }
    Ok(Common { sequence: longest, end: held.end()?.0, of: Place::of_places(places) })
}

fn take_one<H: Held>(held: &mut H, item: Item<H::Entry>) -> Result<Taken, H::Error> {
    let (end, end_hash) = held.end()?;
    let span = item.span;
    if span.before() > end {
        return Ok(Taken::NotConnected);
    }
    if span.before() == end {
        if item.before != end_hash {
            return Ok(Taken::Diverged);
        }
        held.show(item)?;
        return Ok(Taken::All);
    }
    let over = held.shown(span)?;
    let (Some(first), Some(last)) = (over.first(), over.last()) else {
        return Ok(Taken::NotConnected);
    };
    let head = item.head();
    if !over.iter().all(|shown| shown.agrees_with(&head)) {
        return Ok(Taken::Diverged);
    }
    match (&over[..], span.last() > end) {
        ([same], false) if same.span == span => {
            if same.says < item.body.says() {
                held.remove(same)?;
                held.show(item)?;
            }
            Ok(Taken::All)
        }
        ([coarser], false) if coarser.span.contains(span) => take_piece(held, coarser, item),
        (_, true) if item.body.says() < Says::Full => {
            // What is held says more: only the rest of it counts.
            let Some(rest) = Span::new(end + 1, span.last()) else { return Ok(Taken::All) };
            held.show(Item { span: rest, before: end_hash, within: Vec::new(), ..item })?;
            Ok(Taken::All)
        }
        (_, false) if item.body.says() < Says::Full => Ok(Taken::All),
        // Pieces of the tree that overlap lie in each other; of what says less than all of it the rest gives way.
        _ if first.span.first() < span.first() && first.says == Says::Full => Ok(Taken::NotConnected),
        _ if last.span.last() > span.last() && last.says == Says::Full => Ok(Taken::NotConnected),
        (_, is_beyond) => {
            if is_beyond || over.iter().any(|piece| piece.says == Says::Gone) {
                replace(held, &over, item)?;
            }
            Ok(Taken::All)
        }
    }
}

/// Shows an item in the place of finer pieces, which stay aside.
fn replace<H: Held>(held: &mut H, over: &[Head], item: Item<H::Entry>) -> Result<(), H::Error> {
    let mut room = MOST_ASIDE.saturating_sub(held.aside(item.span)?.len());
    let head = item.head();
    for piece in over {
        if !head.span.contains(piece.span) {
            let left: Vec<Head> = piece.around(&head).into_iter().flatten().collect();
            held.cut(piece, &left)?;
        } else if piece.says == Says::Gone || room == 0 {
            held.remove(piece)?;
        } else {
            held.hide(piece)?;
            room -= 1;
        }
    }
    held.show(item)
}

/// A piece of what is shown merged: it waits for the others.
fn take_piece<H: Held>(held: &mut H, coarser: &Head, item: Item<H::Entry>) -> Result<Taken, H::Error> {
    let head = item.head();
    let aside = held.aside(coarser.span)?;
    if head.says == Says::Gone || aside.contains(&head) || aside.len() >= MOST_ASIDE {
        return Ok(Taken::All);
    }
    held.put_aside(item)?;
    if coarser.says == Says::Gone {
        fill(held, coarser)?;
    } else {
        refine(held, coarser)?;
    }
    Ok(Taken::All)
}

/// Shows the pieces aside that fit to a place that is known of what was said to be gone, as long as there are any.
fn fill<H: Held>(held: &mut H, gone: &Head) -> Result<(), H::Error> {
    let fits = |piece: &&Head| {
        let (before, after) = (gone.place(piece.span.before()), gone.place(piece.span.last()));
        before == Some(piece.before) || after == Some(piece.after)
    };
    // The longest says it all.
    let aside = held.aside(gone.span)?;
    let Some(piece) = aside.iter().filter(fits).max_by_key(|piece| piece.span.count()) else { return Ok(()) };
    let left: Vec<Head> = gone.around(piece).into_iter().flatten().collect();
    held.cut(gone, &left)?;
    held.return_aside(piece)?;
    refine(held, piece)?;
    left.iter().try_for_each(|gone| fill(held, gone))
}

/// Shows the finer pieces in the place of a coarser one, where all of them are there, and theirs in turn.
fn refine<H: Held>(held: &mut H, coarser: &Head) -> Result<(), H::Error> {
    let aside = held.aside(coarser.span)?;
    let Some(path) = path(&aside, coarser) else { return Ok(()) };
    held.remove(coarser)?;
    for piece in &path {
        held.return_aside(piece)?;
    }
    for piece in path {
        refine(held, &piece)?;
    }
    Ok(())
}

/// Pieces that follow on each other from one end of a coarser one to its other end, and say as much.
fn path(aside: &[Head], coarser: &Head) -> Option<Vec<Head>> {
    let mut found: Vec<Head> = Vec::new();
    let (mut first, mut before) = (coarser.span.first(), coarser.before);
    while first <= coarser.span.last() {
        // Of several the longest: its own pieces are looked for afterwards. They are of one history, so any of them will do.
        let follows =
            |piece: &&Head| piece.span.first() == first && piece.before == before && piece.span != coarser.span;
        let next = aside.iter().filter(follows).max_by_key(|piece| (piece.span.count(), piece.says))?;
        (first, before) = (next.span.last() + 1, next.after);
        found.push(next.clone());
    }
    (before == coarser.after && says_as_much(&found, coarser)).then_some(found)
}

/// Whether pieces say what the coarser one says: something of its worst case, where it does.
fn says_as_much(pieces: &[Head], coarser: &Head) -> bool {
    coarser.says < Says::Full || pieces.iter().any(|piece| piece.says == Says::Full)
}

impl<B> Body<B> {
    /// What it says, where it says something.
    #[must_use]
    pub const fn full(&self) -> Option<&B> {
        match self {
            Self::Full(entry) => Some(entry),
            Self::Emptied | Self::Gone(_) => None,
        }
    }
}
