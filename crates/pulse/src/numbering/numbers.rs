//! From what blocks of a grid say to the numbers of its pulses.

use super::decode::{Decoder, Said};
use super::grid::{Grid, Standing, Stretch};
use super::{MOST_FAULTS, NumberedLine, NumberedPulse, NumberingFault, OrderedPulses};
use crate::edges::{Pulse, PulseWidth};
use crate::marks::{MARK_BITS, is_long_at};

/// Marks of a block that is read by itself; the last block of a stretch has up to half as many more.
const BLOCK_MARKS: i64 = 16;
/// A block that cannot be read is halved if it is this many marks long.
const LEAST_HALVED: i64 = 4;
/// A displaced pulse gets a number if of this many pulses on either side of it all but one are near their places.
const AROUND: usize = 4;

/// Pulses of one grid whose numbers are known.
#[derive(Clone, Copy, Debug)]
struct Row {
    from: usize,
    to: usize,
    /// The number at place 0.
    zero: i64,
}

/// What a mark and the orders up to the next one look like.
#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    /// Long pulses where its number has them.
    agreeing: u32,
    /// Pulses of the mark or shortly before the next one that are long and should be short, or short and should be long.
    against: u32,
    /// The first pulse of it that is there.
    first: Option<usize>,
}

impl Cycle {
    const fn is_wrong(&self) -> bool {
        self.against >= 2 && self.against.saturating_mul(2) > self.agreeing
    }
}

/// A number as mark and place behind it, for pulses that come in the order of their numbers: without a division for each.
#[derive(Clone, Copy, Debug)]
struct Counter {
    every: i64,
    mark: i64,
    begin: i64,
}

impl Counter {
    fn new(every: i64, number: i64) -> Self {
        let mark = number.div_euclid(every);
        Self { every, mark, begin: mark.saturating_mul(every) }
    }

    #[inline]
    fn place(&mut self, number: i64) -> i64 {
        let place = number - self.begin;
        if (0..self.every).contains(&place) {
            return place;
        }
        *self = Self::new(self.every, number);
        number - self.begin
    }

    #[inline]
    fn is_long(&self, place: i64) -> bool {
        let [mark, place] = [self.mark, place].map(|number| u64::try_from(number).unwrap_or(u64::MAX));
        is_long_at(mark, place)
    }
}

/// The number at place 0 of each block: what it says itself and what the next ones before and behind it say that say something, where
/// these agree.
fn trusted(zeros: &[Option<i64>]) -> Vec<Option<i64>> {
    let mut said = None;
    let mut behinds: Vec<Option<i64>> = Vec::with_capacity(zeros.len());
    for zero in zeros.iter().rev() {
        behinds.push(said);
        said = zero.or(said);
    }
    let mut before = None;
    let mut trusted = Vec::with_capacity(zeros.len());
    for (zero, behind) in zeros.iter().zip(behinds.into_iter().rev()) {
        let mut all = [before, *zero, behind].into_iter().flatten();
        let first = all.next();
        trusted.push(first.filter(|first| all.all(|other| other == *first)));
        before = zero.or(before);
    }
    trusted
}

/// Numbers the pulses of a line.
pub(super) struct Numbering<'a> {
    pulses: &'a [Pulse],
    ordered: &'a OrderedPulses,
    grid: &'a Grid,
    every: i64,
    said: Vec<Said>,
    line: NumberedLine,
    /// The last order that was seen, whether or not its pulse got a number, and whether a pulse without one came after it.
    before: Option<u64>,
    has_doubt: bool,
    /// Orders since the last number of which no pulse was seen: those that are missing for sure, and those that perhaps are.
    pending: (u64, u64),
}

impl<'a> Numbering<'a> {
    pub(super) fn new(pulses: &'a [Pulse], ordered: &'a OrderedPulses, grid: &'a Grid) -> Self {
        let said = |(pulse, standing): (&Pulse, &Standing)| match (standing, ordered.form.width(pulse.width_ps)) {
            (Standing::Near, PulseWidth::Short) => Said::Short,
            (Standing::Near, PulseWidth::Long) => Said::Long,
            _ => Said::Nothing,
        };
        Self {
            pulses,
            ordered,
            grid,
            every: i64::try_from(ordered.every).unwrap_or(i64::MAX),
            said: pulses.iter().zip(&grid.standings).map(said).collect(),
            line: NumberedLine::default(),
            before: None,
            has_doubt: false,
            pending: (0, 0),
        }
    }

    pub(super) fn finish(mut self) -> NumberedLine {
        let mut decoder = Decoder::new(self.ordered.every, self.ordered.orders);
        let mut rows = Vec::new();
        let stretches = &self.grid.stretches;
        self.line.counts.stretches = u64::try_from(stretches.len()).unwrap_or(u64::MAX);
        for stretch in stretches {
            let count = rows.len();
            self.read(*stretch, &mut decoder, &mut rows);
            self.line.counts.undecided_stretches += u64::from(rows.len() == count);
        }
        let rows = self.in_order(&rows);
        self.line.pulses.reserve(rows.iter().map(|row| row.to - row.from).sum());
        let mut done = 0;
        for row in &rows {
            self.pass(done, row.from);
            self.emit(row);
            done = row.to;
        }
        self.pass(done, self.pulses.len());
        let rank = |fault: &NumberingFault| match fault {
            NumberingFault::Marks { after_ps: at_ps, .. }
            | NumberingFault::Mark { at_ps, .. }
            | NumberingFault::Order { from_ps: at_ps, .. } => *at_ps,
        };
        self.line.faults.sort_by_key(rank);
        self.line
    }

    /// Keeps a fault.
    fn fault(&mut self, fault: NumberingFault) {
        let kind = std::mem::discriminant(&fault);
        if self.line.faults.iter().filter(|one| std::mem::discriminant(*one) == kind).count() < MOST_FAULTS {
            self.line.faults.push(fault);
        }
    }

    /// Reads the blocks of a stretch, and adds the rows that they make: neighboring blocks that agree.
    fn read(&mut self, stretch: Stretch, decoder: &mut Decoder, rows: &mut Vec<Row>) {
        let mut blocks = Vec::new();
        let mut zeros: Vec<Option<i64>> = Vec::new();
        // The next block is the last one here.
        let mut left: Vec<(usize, usize)> = self.blocks(stretch).into_iter().rev().collect();
        while let Some((from, to)) = left.pop() {
            let zero = decoder.read(&self.grid.places[from..to], &self.said[from..to]);
            // Marks that contradict each other say nothing together, but perhaps each half of them does.
            match self.halves((from, to)).filter(|_| zero.is_none()) {
                Some([first, second]) => left.extend([second, first]),
                None => {
                    blocks.push((from, to));
                    zeros.push(zero);
                }
            }
        }
        if blocks.len() > 1 && zeros.iter().all(Option::is_none) {
            // Too much is missing in each of them: perhaps not in all of them together.
            zeros.fill(decoder.read(&self.grid.places[stretch.from..stretch.to], &self.said[stretch.from..stretch.to]));
        }
        let trusted = trusted(&zeros);
        self.report_contradictions(&blocks, &zeros);
        let first_row = rows.len();
        for ((from, to), zero) in blocks.into_iter().zip(trusted) {
            let Some(zero) = zero else { continue };
            match rows.last_mut() {
                Some(row) if row.to == from && row.zero == zero && row.from >= stretch.from => row.to = to,
                _ => rows.push(Row { from, to, zero }),
            }
        }
        let found: Vec<Row> = rows.drain(first_row..).collect();
        for row in found {
            self.split_at_wrong_marks(row, rows);
        }
    }

    /// Keeps a fault for each two neighbors among the blocks that say something which do not say the same.
    fn report_contradictions(&mut self, blocks: &[(usize, usize)], zeros: &[Option<i64>]) {
        let mut before: Option<(usize, i64)> = None;
        for ((begin, end), zero) in blocks.iter().zip(zeros).filter_map(|(block, zero)| Some((*block, (*zero)?))) {
            if let Some((last, other)) = before.filter(|(_, other)| *other != zero) {
                let place = self.grid.places[begin];
                self.fault(NumberingFault::Marks {
                    before_ps: self.pulses[last].start_ps,
                    after_ps: self.pulses[begin].start_ps,
                    expected: other.saturating_add(place),
                    found: zero.saturating_add(place),
                });
            }
            before = Some((end - 1, zero));
        }
    }

    /// The blocks of a stretch, as ranges of its pulses.
    fn blocks(&self, stretch: Stretch) -> Vec<(usize, usize)> {
        let places = &self.grid.places[stretch.from..stretch.to];
        let length = BLOCK_MARKS.saturating_mul(self.every);
        let mut blocks = Vec::new();
        let mut from = 0;
        while let Some(begin) = places.get(from) {
            let end = begin.saturating_add(length);
            let rest = places.last().map_or(0, |last| last - end);
            let to = if rest < length / 2 { places.len() } else { places.partition_point(|place| *place < end) };
            blocks.push((stretch.from + from, stretch.from + to));
            from = to;
        }
        blocks
    }

    /// The two halves of a block, if each is as long as two marks are apart at least.
    fn halves(&self, (from, to): (usize, usize)) -> Option<[(usize, usize); 2]> {
        let places = &self.grid.places[from..to];
        let (first, last) = places.first().zip(places.last())?;
        let length = last - first;
        let middle = from + places.partition_point(|place| place - first < length / 2);
        (length >= LEAST_HALVED.saturating_mul(self.every)).then_some([(from, middle), (middle, to)])
    }

    /// Takes from a row what lies from the mark before one that does not look like its number to the one behind it.
    fn split_at_wrong_marks(&mut self, row: Row, rows: &mut Vec<Row>) {
        let number = |at: usize| self.grid.places[at].saturating_add(row.zero);
        let first = number(row.from).div_euclid(self.every);
        let mut counter = Counter::new(self.every, number(row.from));
        let mut cycles: Vec<Cycle> = Vec::new();
        for at in row.from..row.to {
            let place = counter.place(number(at));
            let Ok(index) = usize::try_from(counter.mark - first) else { continue };
            if index >= cycles.len() {
                cycles.resize(index + 1, Cycle::default());
            }
            let cycle = &mut cycles[index];
            cycle.first.get_or_insert(at);
            let bits = i64::from(MARK_BITS);
            if self.said[at] == Said::Nothing || (place > bits && place < self.every - bits) {
                continue;
            }
            let is_long = self.said[at] == Said::Long;
            if is_long == counter.is_long(place) {
                cycle.agreeing += u32::from(is_long);
            } else {
                cycle.against += 1;
            }
        }
        let mut from = row.from;
        let mut is_doubtful_before = false;
        for (index, cycle) in cycles.iter().enumerate() {
            let is_wrong = cycle.is_wrong();
            let is_doubtful = is_wrong
                || (index > 0 && cycles[index - 1].is_wrong())
                || cycles.get(index + 1).is_some_and(Cycle::is_wrong);
            let begin = cycle.first.unwrap_or(from);
            if is_doubtful && !is_doubtful_before && begin > from {
                rows.push(Row { from, to: begin, ..row });
            }
            if !is_doubtful && is_doubtful_before {
                from = begin;
            }
            is_doubtful_before = is_doubtful;
            self.line.counts.marks += u64::from(!is_wrong && cycle.agreeing > 0);
            if is_wrong {
                self.line.counts.wrong_marks += 1;
                let mark = first.saturating_add(i64::try_from(index).unwrap_or(0));
                let number = u64::try_from(mark.saturating_mul(self.every)).unwrap_or(0);
                self.fault(NumberingFault::Mark { number, at_ps: self.pulses[begin].start_ps });
            }
        }
        if !is_doubtful_before {
            rows.push(Row { from, ..row });
        }
    }

    /// The rows that can follow each other: where one cannot follow the one before it, neither is used.
    fn in_order(&mut self, rows: &[Row]) -> Vec<Row> {
        let mut kept: Vec<Row> = Vec::new();
        for row in rows {
            let number = |row: &Row, at: usize| self.grid.places[at].saturating_add(row.zero);
            let Some(before) = kept.last() else {
                kept.push(*row);
                continue;
            };
            let (last, first) = (before.to - 1, row.from);
            let orders = number(row, first).saturating_sub(number(before, last));
            let passed_ps = self.pulses[first].start_ps.saturating_sub(self.pulses[last].start_ps);
            let [by_number, by_time] =
                [i128::from(orders) * i128::from(self.ordered.interval_ps), i128::from(passed_ps)]
                    .map(units::clamp_i64);
            let allowed_ps = (passed_ps / 40).saturating_add(self.ordered.interval_ps);
            if orders >= 1 && by_number.abs_diff(by_time) <= allowed_ps.unsigned_abs() {
                kept.push(*row);
                continue;
            }
            let found = number(row, first);
            let fault = NumberingFault::Order {
                from_ps: self.pulses[first].start_ps,
                number: u64::try_from(found).unwrap_or(0),
                before: u64::try_from(number(before, last)).unwrap_or(0),
            };
            kept.pop();
            self.fault(fault);
        }
        kept
    }

    /// Counts pulses that get no number.
    fn pass(&mut self, from: usize, to: usize) {
        self.has_doubt |= to > from;
        for standing in &self.grid.standings[from..to] {
            let counts = &mut self.line.counts;
            let count = if *standing == Standing::Nowhere { &mut counts.unplaced } else { &mut counts.undecided };
            *count += 1;
        }
    }

    /// Gives the pulses of a row their numbers.
    fn emit(&mut self, row: &Row) {
        let mut counter = Counter::new(self.every, self.grid.places[row.from].saturating_add(row.zero));
        let end = self.ordered.orders.unwrap_or(u64::MAX);
        for at in row.from..row.to {
            let signed = self.grid.places[at].saturating_add(row.zero);
            let Some(number) = u64::try_from(signed).ok().filter(|number| *number < end) else {
                self.line.counts.between += 1;
                continue;
            };
            match self.grid.standings[at] {
                Standing::Near => {
                    let place = counter.place(signed);
                    let is_as_said = match self.said[at] {
                        Said::Nothing => true,
                        said => counter.is_long(place) == (said == Said::Long),
                    };
                    self.see(number, is_as_said.then_some(at));
                    self.line.counts.wrong_width += u64::from(!is_as_said);
                }
                Standing::Displaced => {
                    let is_sure = self.is_near_around(at, row);
                    self.see(number, is_sure.then_some(at));
                    self.line.counts.displaced += u64::from(!is_sure);
                }
                Standing::Shared => {
                    self.line.counts.unclear_orders += u64::from(self.before != Some(number));
                    self.line.counts.unclear += 1;
                    self.see(number, None);
                }
                Standing::Between | Standing::Nowhere => self.line.counts.between += 1,
            }
        }
    }

    /// An order was seen; its pulse gets its number where that is given.
    #[inline]
    fn see(&mut self, number: u64, pulse: Option<usize>) {
        if let Some(before) = self.before {
            let orders = number.saturating_sub(before).saturating_sub(1);
            *if self.has_doubt { &mut self.pending.1 } else { &mut self.pending.0 } += orders;
        }
        self.before = Some(number);
        self.has_doubt = false;
        let Some(at) = pulse else { return };
        // Before the first number and behind the last one nothing is missing.
        if !self.line.pulses.is_empty() {
            self.line.counts.missing += self.pending.0;
            self.line.counts.maybe_missing += self.pending.1;
        }
        self.pending = (0, 0);
        self.line.pulses.push(NumberedPulse { number, start_ps: self.pulses[at].start_ps });
    }

    /// Whether the pulses around one in its row stand near their places, so that this one alone is off.
    fn is_near_around(&self, at: usize, row: &Row) -> bool {
        let is_near = |range: std::ops::Range<usize>| {
            let standings = &self.grid.standings[range];
            let near = standings.iter().filter(|standing| **standing == Standing::Near).count();
            standings.len() == AROUND && near + 1 >= AROUND
        };
        is_near(at.saturating_sub(AROUND).max(row.from)..at) && is_near(at + 1..(at + 1 + AROUND).min(row.to))
    }
}
