//! The delays of many packets one after the other, which nearly always lie between the same comparisons and exchanges: these are
//! looked up once, and not for each packet.

use super::{Between, Delay, Known, Relation};
use crate::header::unsigned;
use crate::scale::{LONGEST_NS, Share, Stretch, Uncorrected};

/// Computes delays of packets in about the order in which they came.
#[derive(Debug)]
pub struct DelayReader<'a> {
    relation: &'a Relation,
    near: Option<Near<'a>>,
}

/// Between which comparisons and exchanges the last packet lay.
#[derive(Clone, Copy, Debug)]
struct Near<'a> {
    partner: &'a Stretch,
    own: &'a Stretch,
    between: &'a Between,
    max_drift: Share,
}

impl<'a> DelayReader<'a> {
    /// Of packets that came from the partner; the first is expected where the last delay was found.
    #[must_use]
    pub fn new(relation: &'a Relation) -> Self {
        Self { relation, near: relation.near() }
    }

    /// As [`Relation::delay`], of a packet that the programs sent and received at two times, and the kernels at two times between
    /// them, if they stamped it.
    pub fn delays(&mut self, programs: (i64, i64), kernels: Option<(i64, i64)>) -> (Option<Delay>, Option<Delay>) {
        if let Some((whole, between)) = kernels.and_then(|kernels| self.near_delays(programs, kernels)) {
            return (Some(whole), between);
        }
        let whole = self.search(programs);
        // Now it lies there. What was looked for is at most as large as a signed number, so that no sum below overflows.
        let near = whole.as_ref().zip(self.near.as_ref());
        let part = |kernels| near.and_then(|(whole, near)| near.part(whole, programs, kernels));
        let between = kernels.and_then(|kernels| part(kernels).or_else(|| self.between_kernels(kernels)));
        (whole, between)
    }

    /// The same where the whole need not be looked for: nearly always. The second delay nearly always follows from the first: what
    /// the kernels took of it passed on one clock each.
    #[inline(always)]
    pub(crate) fn near_delays(&self, programs: (i64, i64), kernels: (i64, i64)) -> Option<(Delay, Option<Delay>)> {
        let near = self.near.as_ref()?;
        let whole = near.delay(programs)?;
        Some((whole, near.part(&whole, programs, kernels).or_else(|| self.between_kernels(kernels))))
    }

    #[cold]
    #[inline(never)]
    fn between_kernels(&self, (sent_ns, received_ns): (i64, i64)) -> Option<Delay> {
        self.relation.delay(sent_ns, received_ns)
    }

    /// Wherever the packet lies; the next ones are expected there too.
    #[cold]
    #[inline(never)]
    fn search(&mut self, (sent_ns, received_ns): (i64, i64)) -> Option<Delay> {
        let delay = self.relation.delay(sent_ns, received_ns);
        self.near = self.relation.near();
        delay
    }
}

impl Relation {
    /// Where the last delay was found.
    fn near(&self) -> Option<Near<'_>> {
        Some(Near {
            partner: self.partner.near()?,
            own: self.own.near()?,
            between: self.between.get(self.near.get())?,
            max_drift: self.max_drift,
        })
    }
}

impl Near<'_> {
    /// The delay of a packet that lies there; `None` of others, and where the bounds contradict each other. All but the two times is prepared so that no sum overflows.
    #[inline(always)]
    fn delay(&self, (sent_ns, received_ns): (i64, i64)) -> Option<Delay> {
        let (sent, came) = (self.partner.at(sent_ns)?, self.own.at(received_ns)?);
        let Known { bound, likely } = self.between.at(came.ns, self.max_drift)?;
        if bound.is_contradiction() {
            return None;
        }
        let middle_ns = likely.offset_ns.clamp(bound.lower_ns, bound.upper_ns);
        let ns = came.ns.wrapping_sub(sent.ns).wrapping_sub(middle_ns);
        let reading_error_ns = sent.error_ns + came.error_ns;
        // As in [`Relation::delay_between`].
        let longest_ns = ns.saturating_add(middle_ns - bound.lower_ns + reading_error_ns).clamp(0, LONGEST_NS);
        let error_ns = reading_error_ns + self.max_drift.of_short_ns(longest_ns) + 1;
        Some(Delay {
            ns,
            below_ns: unsigned(bound.upper_ns - middle_ns + error_ns),
            above_ns: unsigned(middle_ns - bound.lower_ns + error_ns),
            spread_ns: likely.spread_ns,
            reading_error_ns: unsigned(reading_error_ns),
        })
    }

    /// The part of a delay between two times that are close to its ends; `None` where they are not.
    #[inline(always)]
    fn part(&self, whole: &Delay, (sent_ns, received_ns): (i64, i64), (left_ns, came_ns): (i64, i64)) -> Option<Delay> {
        let before = self.partner.passed(sent_ns, left_ns)?;
        let Uncorrected { ns: after_ns, error_ns: after_error_ns } = self.own.passed(came_ns, received_ns)?;
        let reading_error_ns = unsigned(before.error_ns + after_error_ns);
        // The offset is known for the end of the whole.
        let error_ns = reading_error_ns + unsigned(self.max_drift.of_short_ns(after_ns)) + 1;
        Some(Delay {
            ns: whole.ns.wrapping_sub(before.ns + after_ns),
            below_ns: whole.below_ns + error_ns,
            above_ns: whole.above_ns + error_ns,
            spread_ns: whole.spread_ns,
            reading_error_ns: whole.reading_error_ns + reading_error_ns,
        })
    }
}
