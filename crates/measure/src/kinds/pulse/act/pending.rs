//! Orders that wait for their time.

/// How many orders can wait at once.
pub(crate) const MOST_PENDING: usize = 64;

/// An order that waits for its time, on the server's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// The number of its schedule.
    pub(crate) sequence: u64,
    /// When the output is to become active (ns, CLOCK_REALTIME of the server).
    pub(crate) act_at_ns: i64,
    /// When it is to be at its safe level again (ns, CLOCK_REALTIME of the server).
    pub(crate) until_ns: i64,
    /// When the node's thread waited for nothing more than its time (ns, CLOCK_REALTIME of the node).
    pub(crate) armed_ns: i64,
}

/// Where an order belongs among those that wait: how many are before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

/// Orders that wait, the earliest first. None of them moves when the first one is taken, which is on the way to an act.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// The first one is at `first`, the others follow, and behind the last place comes the place 0.
    waiting: [Waiting; MOST_PENDING],
    first: usize,
    count: usize,
}

impl Default for Pending {
    fn default() -> Self {
        Self { waiting: [Waiting::default(); MOST_PENDING], first: 0, count: 0 }
    }
}

impl Pending {
    /// The next one.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<&Waiting> {
        self.at(0)
    }

    /// Where one of those that wait stands, or the one that would be next.
    #[inline(always)]
    const fn slot(&self, number: usize) -> usize {
        (self.first + number) % MOST_PENDING
    }

    #[inline(always)]
    fn at(&self, number: usize) -> Option<&Waiting> {
        if number < self.count { self.waiting.get(self.slot(number)) } else { None }
    }

    /// Whether there is no room for another one.
    #[inline(always)]
    pub(crate) const fn is_full(&self) -> bool {
        self.count == MOST_PENDING
    }

    /// Where an order for a time belongs.
    #[inline(always)]
    pub(crate) fn place_of(&self, act_at_ns: i64) -> Place {
        let mut number = self.count;
        // Nearly always all are before it.
        while let Some(before) = number.checked_sub(1) {
            if self.waiting[self.slot(before)].act_at_ns <= act_at_ns {
                break;
            }
            number = before;
        }
        Place(number)
    }

    /// The one before and the one behind an order that belongs there.
    #[inline(always)]
    pub(crate) fn around(&self, Place(number): Place) -> (Option<&Waiting>, Option<&Waiting>) {
        (number.checked_sub(1).and_then(|before| self.at(before)), self.at(number))
    }

    /// Puts one in its place, as it is now. One that finds no room is left out: see [`Self::is_full`].
    #[inline(always)]
    pub(crate) fn put(&mut self, Place(number): Place, order: Waiting) {
        if self.is_full() {
            return;
        }
        // Nearly always it is the last.
        for behind in (number..self.count).rev() {
            self.waiting[self.slot(behind + 1)] = self.waiting[self.slot(behind)];
        }
        self.waiting[self.slot(number)] = order;
        self.count += 1;
    }

    /// Takes the next one out.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<Waiting> {
        let first = *self.first()?;
        self.first = self.slot(1);
        self.count -= 1;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn orders_come_out_in_the_order_of_their_times(turns in prop::collection::vec(prop::option::of(-50_i64..50), 0..300)) {
            let (mut pending, mut model) = (Pending::default(), Vec::<Waiting>::new());
            for (sequence, turn) in (0..).zip(turns) {
                match turn {
                    Some(act_at_ns) => {
                        let order = Waiting { sequence, act_at_ns, ..Waiting::default() };
                        let place = pending.place_of(act_at_ns);
                        let (before, behind) = pending.around(place);
                        prop_assert_eq!(before, model.iter().rfind(|one| one.act_at_ns <= act_at_ns));
                        prop_assert_eq!(behind, model.iter().find(|one| one.act_at_ns > act_at_ns));
                        prop_assert_eq!(pending.is_full(), model.len() == MOST_PENDING);
                        pending.put(place, order);
                        if model.len() < MOST_PENDING {
                            let place = model.partition_point(|one| one.act_at_ns <= act_at_ns);
                            model.insert(place, order);
                        }
                    }
                    None => {
                        let expected = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(pending.take(), expected);
                    }
                }
                prop_assert_eq!(pending.first(), model.first());
                prop_assert_eq!(pending.is_full(), model.len() == MOST_PENDING);
            }
        }
    }
}
