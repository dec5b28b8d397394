//! Pulses of a line: from the edges that a capture has of it.
//!
//! The rule for a line that bounces, fixed before any capture was read: edges that each follow the one before them by less than a
//! hold-off belong together. If the line's level after them is another one than before them, they are one edge, and its moment is that
//! of the first of them; the others are counted as bounces. If its level is the same as before, they are no edge, and counted as one
//! glitch.
//!
//! A pulse goes from an edge to the active level up to the next edge to the level of rest. A pulse whose beginning or end the capture
//! does not show, because it begins, ends or has a gap there, is not used, and counted. So is one with an edge that is closer than the
//! hold-off to such a place: edges that belong to it may lie beyond.

use codecs::logic::{LogicChannel, LogicSpan};

/// The level that a line has during a pulse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActiveLevel {
    /// It is low at rest.
    #[default]
    High,
    /// It is high at rest.
    Low,
}

/// What pulses look like that nodes were told to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PulseForm {
    /// The level of the line during a pulse.
    pub active: ActiveLevel,
    /// How wide a short pulse is (ps); a long one is twice as wide.
    pub width_ps: i64,
    /// Edges that are closer together than this belong to one edge (ps); 0 where the line does not bounce.
    pub hold_off_ps: i64,
}

impl PulseForm {
    /// Pulses of this width, with a hold-off of a quarter of it, which is what a line may bounce for.
    #[must_use]
    pub const fn new(active: ActiveLevel, width_ps: i64) -> Self {
        Self { active, width_ps, hold_off_ps: width_ps / 4 }
    }

    /// What a pulse of this width is. A width that is off by up to 3/8 of a short pulse's is still told; between a short and a long one
    /// a quarter is left that is neither.
    #[must_use]
    pub fn width(&self, width_ps: i64) -> PulseWidth {
        let tolerance_ps = self.width_ps / 8 * 3;
        let is_near = |off_ps: i64| off_ps.saturating_abs() <= tolerance_ps;
        if is_near(width_ps.saturating_sub(self.width_ps)) {
            PulseWidth::Short
        } else if is_near(width_ps.saturating_sub(self.width_ps.saturating_mul(2))) {
            PulseWidth::Long
        } else {
            PulseWidth::Odd
        }
    }
}

/// How wide a pulse is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PulseWidth {
    /// As wide as a pulse usually is: a 0.
    Short,
    /// Twice as wide: a mark, or a 1.
    Long,
    /// Neither: it says nothing.
    Odd,
}

/// A pulse of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// When it begins (ps, on the capture's clock).
    pub start_ps: i64,
    /// How long it lasts (ps).
    pub width_ps: i64,
}

/// What a line shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinePulses {
    /// Its pulses, in the order of time.
    pub pulses: Vec<Pulse>,
    /// Edges that were taken as part of the edge before them.
    pub bounces: u64,
    /// Groups of edges shorter than the hold-off that left the level as it was.
    pub glitches: u64,
    /// Pairs of edges among these bounces and glitches. A pulse that is shorter than the hold-off looks so, as one whose beginning was
    /// late by nearly its width.
    pub short_pairs: u64,
    /// Pulses that are not used, since the capture does not show both of their edges.
    pub cut: u64,
    /// Pulses that are neither short nor long. They are among the pulses.
    pub odd: u64,
}

impl LinePulses {
    /// Finds the pulses of a line.
    #[must_use]
    pub fn of_channel(channel: &LogicChannel, form: &PulseForm) -> Self {
        let edges: usize = channel.spans.iter().map(|span| span.edges_ps.len()).sum();
        let mut found = Self { pulses: Vec::with_capacity(edges / 2 + 1), ..Self::default() };
        for span in &channel.spans {
            found.take_span(span, form);
        }
        found
    }

    fn take_span(&mut self, span: &LogicSpan, form: &PulseForm) {
        let hold_off_ps = form.hold_off_ps.max(0);
        let is_active = |is_high: bool| is_high == (form.active == ActiveLevel::High);
        let mut level = is_active(span.begins_high);
        // Where the pulse that goes on now began; `None` inside where that is not known.
        let mut open = level.then_some(None);
        let mut edges = span.edges_ps.iter().copied().peekable();
        while let Some(first_ps) = edges.next() {
            let (mut last_ps, mut count) = (first_ps, 1_u64);
            while let Some(more_ps) = edges.next_if(|at_ps| at_ps.saturating_sub(last_ps) < hold_off_ps) {
                (last_ps, count) = (more_ps, count + 1);
            }
            let is_whole = first_ps.saturating_sub(span.from_ps) >= hold_off_ps
                && span.until_ps.saturating_sub(last_ps) >= hold_off_ps;
            self.short_pairs += count / 2;
            if count % 2 == 0 {
                self.glitches += 1;
                continue;
            }
            self.bounces += count - 1;
            level = !level;
            if level {
                open = Some(is_whole.then_some(first_ps));
            } else if let Some(start) = open.take() {
                self.close(start.filter(|_| is_whole), first_ps, form);
            }
        }
        self.cut += u64::from(open.is_some());
    }

    #[inline]
    fn close(&mut self, start_ps: Option<i64>, end_ps: i64, form: &PulseForm) {
        let Some(start_ps) = start_ps else {
            self.cut += 1;
            return;
        };
        let width_ps = end_ps.saturating_sub(start_ps);
        self.odd += u64::from(form.width(width_ps) == PulseWidth::Odd);
        self.pulses.push(Pulse { start_ps, width_ps });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORM: PulseForm = PulseForm { active: ActiveLevel::High, width_ps: 100, hold_off_ps: 10 };

    fn line(spans: &[(i64, i64, bool, &[i64])]) -> LogicChannel {
        let span = |(from_ps, until_ps, begins_high, edges): &(i64, i64, bool, &[i64])| LogicSpan {
            from_ps: *from_ps,
            until_ps: *until_ps,
            begins_high: *begins_high,
            edges_ps: edges.to_vec(),
        };
        LogicChannel { name: "D0".to_owned(), spans: spans.iter().map(span).collect() }
    }

    fn pulses(found: &LinePulses) -> Vec<(i64, i64)> {
        found.pulses.iter().map(|pulse| (pulse.start_ps, pulse.width_ps)).collect()
    }

    #[test]
    fn bounces_belong_to_the_first_edge_and_glitches_are_none() {
        // Up with two bounces; a glitch within; down with two bounces; a glitch at rest; a clean pulse of odd width.
        let edges = [100, 104, 109, 150, 155, 200, 203, 206, 400, 409, 600, 750];
        let found = LinePulses::of_channel(&line(&[(0, 1_000, false, &edges)]), &FORM);
        assert_eq!(pulses(&found), [(100, 100), (600, 150)]);
        assert_eq!((found.bounces, found.glitches, found.cut, found.odd), (4, 2, 0, 1));
        assert_eq!(found.short_pairs, 4);
    }

    #[test]
    fn a_hold_off_apart_is_two_edges() {
        let found = LinePulses::of_channel(&line(&[(0, 1_000, false, &[100, 110])]), &FORM);
        assert_eq!((pulses(&found), found.odd), (vec![(100, 10)], 1));
        let found = LinePulses::of_channel(&line(&[(0, 1_000, false, &[100, 109])]), &FORM);
        assert_eq!((found.pulses.len(), found.glitches), (0, 1));
    }

    #[test]
    fn what_a_gap_or_the_end_cuts_is_counted_and_not_used() {
        // Begins within a pulse; ends within one, after which a gap; an edge right after the gap; the last one ends too late.
        let spans: [(i64, i64, bool, &[i64]); 3] = [
            (0, 500, true, &[50, 200, 300, 450]),
            (600, 1_000, false, &[605, 700, 800, 900]),
            (1_000, 1_300, false, &[1_195, 1_295]),
        ];
        let found = LinePulses::of_channel(&line(&spans), &FORM);
        assert_eq!(pulses(&found), [(200, 100), (800, 100)]);
        assert_eq!(found.cut, 4);
    }

    #[test]
    fn a_line_that_is_high_at_rest_has_pulses_that_go_down() {
        let low = PulseForm { active: ActiveLevel::Low, ..FORM };
        let found = LinePulses::of_channel(&line(&[(0, 1_000, true, &[100, 200, 400, 600])]), &low);
        assert_eq!(pulses(&found), [(100, 100), (400, 200)]);
        let other = LinePulses::of_channel(&line(&[(0, 1_000, true, &[100, 200, 400, 600])]), &FORM);
        assert_eq!((pulses(&other), other.cut), (vec![(200, 200)], 2));
    }

    #[test]
    fn widths_are_short_long_or_neither() {
        let widths = [63, 64, 100, 136, 137, 150, 163, 164, 200, 236, 237, -5, i64::MAX, i64::MIN];
        let said: String = widths
            .iter()
            .map(|width_ps| match FORM.width(*width_ps) {
                PulseWidth::Short => 's',
                PulseWidth::Long => 'l',
                PulseWidth::Odd => '-',
            })
            .collect();
        assert_eq!(said, "-sss---lll----");
    }

    proptest! {
        /// Whatever edges there are, each is part of a pulse, a bounce, a glitch, or of a pulse that was cut.
        #[test]
        fn every_edge_is_accounted_for(
            gaps in prop::collection::vec(1..60_i64, 0..40),
            begins_high in any::<bool>(),
            tail in 0..30_i64,
        ) {
            let mut now = 0;
            let edges: Vec<i64> = gaps.iter().map(|gap| { now += gap; now }).collect();
            let found = LinePulses::of_channel(&line(&[(0, now + tail, begins_high, &edges)]), &FORM);
            // A model that looks at groups: where the level differs after a group from before it, there is an edge.
            let mut groups: Vec<Vec<i64>> = Vec::new();
            for at in edges {
                match groups.last_mut() {
                    Some(group) if at - group.last().unwrap() < 10 => group.push(at),
                    _ => groups.push(vec![at]),
                }
            }
            let is_whole = |group: &Vec<i64>| group[0] >= 10 && now + tail - group.last().unwrap() >= 10;
            let (odd, even): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.len() % 2 == 1);
            prop_assert_eq!(found.glitches, even.len() as u64);
            prop_assert_eq!(found.bounces, odd.iter().map(|group| group.len() as u64 - 1).sum::<u64>());
            let ups: Vec<_> = odd.iter().skip(usize::from(begins_high)).step_by(2).collect();
            let downs: Vec<_> = odd.iter().skip(usize::from(!begins_high)).step_by(2).collect();
            let downs_of_ups = downs.iter().skip(usize::from(begins_high));
            let whole: Vec<(i64, i64)> = ups.iter().zip(downs_of_ups).filter(|(up, down)| is_whole(up) && is_whole(down))
                .map(|(up, down)| (up[0], down[0] - up[0])).collect();
            prop_assert_eq!(pulses(&found), whole);
            let all = ups.len() as u64 + u64::from(begins_high);
            prop_assert_eq!(found.cut + found.pulses.len() as u64, all);
        }
    }
}
