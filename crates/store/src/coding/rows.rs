//! Rows: an interval, an hour or a day, with all CPUs in it; one, or a sequence of them in which each is written by its difference to
//! the one before.
//!
//! Everything is exact but the moments of maxima, which are kept to a millisecond, the bounds of time sources, which are rounded up to a
//! microsecond, and the shares that causes cover, which are rounded down to ten percent.

use farm::monitor::{Cause, CpuInterval, Figures, GapReason, Interval, SourceInterval};

use super::bits::{BitReader, BitWriter, Damaged, length, put_varint, take_bytes, take_varint};
use super::words::{Words, put_words, take_words, word};
use crate::cast::{WithSign, WithoutSign};

const FORM: u8 = 1;
const MS: u64 = 1_000_000;
const US: u64 = 1_000;
/// A cause covers all of a latency at most.
const MOST_PERCENT: u8 = 100;
/// The share that it covers is kept in steps of these (percent).
const PERCENT_STEP: u8 = 10;
/// The most rows of a sequence: a damaged length must not fill the memory.
const MOST_ROWS: u64 = 1 << 16;
const MOST_CPUS: u64 = 1 << 16;

/// A CPU in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowCpu {
    pub(crate) cpu: u32,
    pub(crate) valid: Option<Figures>,
    pub(crate) spoiled: Option<Figures>,
    pub(crate) reasons: Vec<String>,
    /// How long it was monitored in the row, and it stands (ns).
    pub(crate) monitored_ns: u64,
}

/// An interval, an hour or a day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// When it begins (ns, CLOCK_BOOTTIME).
    pub(crate) start_ns: i64,
    pub(crate) length_ns: u64,
    /// Intervals that it is made of.
    pub(crate) made_of: u64,
    pub(crate) cut_short: Option<GapReason>,
    /// By their numbers.
    pub(crate) cpus: Vec<RowCpu>,
    pub(crate) sources: Vec<SourceInterval>,
}

impl Row {
    /// Of an interval.
    pub(crate) fn of(interval: &Interval) -> Self {
        let length_ns = interval.times.length_ns;
        let cpu = |cpu: &CpuInterval| RowCpu {
            cpu: cpu.cpu,
            valid: cpu.valid.clone(),
            spoiled: cpu.spoiled.clone(),
            reasons: cpu.reasons.clone(),
            monitored_ns: if cpu.valid.is_some() { length_ns } else { 0 },
        };
        Self {
            start_ns: interval.times.start_ns,
            length_ns,
            made_of: interval.made_of,
            cut_short: interval.cut_short.clone(),
            cpus: interval.cpus.iter().map(cpu).collect(),
            sources: interval.sources.clone(),
        }
    }

    /// When it ends (ns, CLOCK_BOOTTIME).
    pub(crate) fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.length_ns)
    }

    /// The largest latency that stands, and its CPU's place in the row; of equal ones the first.
    pub(crate) fn worst(&self) -> Option<(&RowCpu, &Figures)> {
        let valid = self.cpus.iter().filter_map(|cpu| cpu.valid.as_ref().map(|figures| (cpu, figures)));
        valid.reduce(|worst, next| if next.1.maximum_ns > worst.1.maximum_ns { next } else { worst })
    }

    /// What is the same in one as in two rows of which all but one monitored whole CPUs.
    fn is_monitored_throughout(&self) -> bool {
        self.cpus.iter().all(|cpu| cpu.monitored_ns == if cpu.valid.is_some() { self.length_ns } else { 0 })
    }
}

/// What of the row before helps to write the next one.
struct Before {
    end_ns: i64,
    length_ns: u64,
    made_of: u64,
    sources: u64,
    bound_length: u32,
    cpus: Vec<CpuBefore>,
}

impl Before {
    /// Of no row: intervals are five minutes long, as a rule.
    const fn new() -> Self {
        Self { end_ns: 0, length_ns: 300_000 * MS, made_of: 1, sources: 0, bound_length: 10, cpus: Vec::new() }
    }
}

#[derive(Clone, Copy)]
struct CpuBefore {
    cpu: u32,
    maximum_length: u32,
    /// Its samples; of a CPU that nothing is known of those of the one before it in its row.
    samples: Option<u64>,
    difference_length: u32,
    /// The place of its last cause among the words.
    cause: Option<u64>,
}

impl CpuBefore {
    /// Of a CPU that nothing is known of: latencies of tens of microseconds.
    const fn new(cpu: u32) -> Self {
        Self { cpu, maximum_length: 15, samples: None, difference_length: 0, cause: None }
    }
}

/// Writes rows.
pub(crate) fn rows_to_bytes(rows: &[Row]) -> Vec<u8> {
    let mut words = Words::default();
    let mut bits = BitWriter::default();
    let mut before = Before::new();
    for row in rows {
        put_row(&mut bits, &mut words, &mut before, row);
    }
    let mut bytes = vec![FORM];
    put_varint(&mut bytes, u64::try_from(rows.len()).unwrap_or(u64::MAX));
    put_words(&mut bytes, &words);
    bytes.extend(bits.finish());
    bytes
}

/// Reads rows.
pub(crate) fn rows_from_bytes(mut bytes: &[u8]) -> Result<Vec<Row>, Damaged> {
    if take_bytes(&mut bytes, 1)? != [FORM] {
        return Err(Damaged);
    }
    let count = take_varint(&mut bytes)?;
    if count > MOST_ROWS {
        return Err(Damaged);
    }
    let words = take_words(&mut bytes)?;
    let mut bits = BitReader::new(bytes);
    let mut before = Before::new();
    (0..count).map(|_| take_row(&mut bits, &words, &mut before)).collect()
}

/// The form of a reason in words.
fn reason_to_word(reason: &GapReason) -> String {
    serde_json::to_string(reason).unwrap_or_default()
}

fn put_row(bits: &mut BitWriter, words: &mut Words, before: &mut Before, row: &Row) {
    bits.signed(row.start_ns.wrapping_sub(before.end_ns), 0);
    bits.signed(row.length_ns.wrapping_sub(before.length_ns).with_sign(), 0);
    bits.number(row.made_of, length(before.made_of));
    bits.bit(row.cut_short.is_some());
    if let Some(reason) = &row.cut_short {
        bits.number(words.place(&reason_to_word(reason)), 3);
    }
    let sources = u64::try_from(row.sources.len()).unwrap_or(u64::MAX);
    bits.number(sources, length(before.sources));
    for source in &row.sources {
        bits.number(words.place(&source.source), 0);
        bits.number(words.place(&source.state), 1);
        bits.bit(source.bound_ns.is_some());
        if let Some(bound_ns) = source.bound_ns {
            let bound_us = bound_ns.div_ceil(US);
            bits.number(bound_us, before.bound_length);
            before.bound_length = length(bound_us);
        }
        let is_set = source.steps > 0 || source.largest_step_ns != 0;
        bits.bit(is_set);
        if is_set {
            bits.number(source.steps, 1);
            bits.signed(source.largest_step_ns, 20);
        }
    }
    let are_same = before.cpus.iter().map(|cpu| cpu.cpu).eq(row.cpus.iter().map(|cpu| cpu.cpu));
    bits.bit(are_same);
    if !are_same {
        bits.number(u64::try_from(row.cpus.len()).unwrap_or(u64::MAX), 4);
        let mut next = 0_i64;
        for cpu in &row.cpus {
            bits.signed(i64::from(cpu.cpu) - next, 0);
            next = i64::from(cpu.cpu) + 1;
        }
        before.cpus = row.cpus.iter().map(|cpu| CpuBefore::new(cpu.cpu)).collect();
    }
    let form = Form::of(row);
    bits.bit(form.has_negative);
    bits.bit(form.are_moments_within);
    bits.bit(form.is_monitored_throughout);
    let mut neighbor = Neighbor::of(&form);
    for (cpu, before) in row.cpus.iter().zip(&mut before.cpus) {
        put_cpu(bits, words, before, cpu, &mut neighbor);
    }
    put_causes(bits, words, before, row);
    before.end_ns = row.end_ns();
    before.length_ns = row.length_ns;
    before.made_of = row.made_of;
    before.sources = sources;
}

fn take_row(bits: &mut BitReader<'_>, words: &[String], before: &mut Before) -> Result<Row, Damaged> {
    let start_ns = before.end_ns.wrapping_add(bits.signed(0)?);
    let length_ns = before.length_ns.wrapping_add(bits.signed(0)?.without_sign());
    let made_of = bits.number(length(before.made_of))?;
    let cut_short = if bits.bit()? {
        let word = word(words, bits.number(3)?)?;
        Some(serde_json::from_str(word).map_err(|_| Damaged)?)
    } else {
        None
    };
    let sources = bits.number(length(before.sources))?;
    if sources > MOST_CPUS {
        return Err(Damaged);
    }
    before.sources = sources;
    let source = |_| {
        let (source, state) = (word(words, bits.number(0)?)?.to_owned(), word(words, bits.number(1)?)?.to_owned());
        let bound_ns = if bits.bit()? {
            let bound_us = bits.number(before.bound_length)?;
            before.bound_length = length(bound_us);
            Some(bound_us.saturating_mul(US))
        } else {
            None
        };
        let (steps, largest_step_ns) = if bits.bit()? { (bits.number(1)?, bits.signed(20)?) } else { (0, 0) };
        Ok(SourceInterval { source, bound_ns, state, steps, largest_step_ns })
    };
    let sources = (0..sources).map(source).collect::<Result<_, _>>()?;
    if !bits.bit()? {
        let count = bits.number(4)?;
        if count > MOST_CPUS {
            return Err(Damaged);
        }
        let mut next = 0_i64;
        let cpu = |_| {
            let cpu = bits.signed(0)?.checked_add(next).and_then(|cpu| u32::try_from(cpu).ok()).ok_or(Damaged)?;
            next = i64::from(cpu) + 1;
            Ok(CpuBefore::new(cpu))
        };
        before.cpus = (0..count).map(cpu).collect::<Result<_, _>>()?;
    }
    let (has_negative, are_moments_within) = (bits.bit()?, bits.bit()?);
    let form = Form { has_negative, are_moments_within, is_monitored_throughout: bits.bit()?, length_ns };
    let mut neighbor = Neighbor::of(&form);
    let cpu = |before| take_cpu(bits, words, before, &mut neighbor);
    let mut cpus = before.cpus.iter_mut().map(cpu).collect::<Result<Vec<_>, _>>()?;
    take_causes(bits, words, before, &mut cpus)?;
    let row = Row { start_ns, length_ns, made_of, cut_short, cpus, sources };
    before.end_ns = row.end_ns();
    before.length_ns = length_ns;
    before.made_of = made_of;
    Ok(row)
}

/// What holds of all CPUs of a row, so that it is written once.
struct Form {
    has_negative: bool,
    /// Whether no maximum is after the row's end.
    are_moments_within: bool,
    is_monitored_throughout: bool,
    length_ns: u64,
}

impl Form {
    fn of(row: &Row) -> Self {
        let figures = || row.cpus.iter().flat_map(|cpu| cpu.valid.iter().chain(&cpu.spoiled));
        Self {
            has_negative: figures().any(|figures| figures.maximum_ns < 0),
            are_moments_within: figures().all(|figures| figures.maximum_at_ns <= row.length_ns),
            is_monitored_throughout: row.is_monitored_throughout(),
            length_ns: row.length_ns,
        }
    }
}

/// What of the CPU before it in a row helps to write the next one.
struct Neighbor<'a> {
    form: &'a Form,
    samples: u64,
    monitored_ns: u64,
}

impl<'a> Neighbor<'a> {
    const fn of(form: &'a Form) -> Self {
        // A sample each millisecond, as a rule.
        Self { form, samples: form.length_ns / MS, monitored_ns: form.length_ns }
    }
}

/// Whether nothing but a maximum and a number of samples is to be said of it.
fn is_plain(cpu: &RowCpu) -> bool {
    let is_plain = |figures: &Figures| figures.missed_periods == 0 && figures.beyond_limit == 0;
    cpu.valid.as_ref().is_some_and(is_plain) && cpu.spoiled.is_none() && cpu.reasons.is_empty()
}

fn put_cpu(bits: &mut BitWriter, words: &mut Words, before: &mut CpuBefore, cpu: &RowCpu, neighbor: &mut Neighbor<'_>) {
    let is_plain = is_plain(cpu);
    bits.bit(is_plain);
    if !is_plain {
        bits.bit(cpu.valid.is_some());
        bits.bit(cpu.spoiled.is_some());
        bits.number(u64::try_from(cpu.reasons.len()).unwrap_or(u64::MAX), 0);
        for reason in &cpu.reasons {
            bits.number(words.place(reason), 2);
        }
    }
    if !neighbor.form.is_monitored_throughout {
        bits.signed(cpu.monitored_ns.wrapping_sub(neighbor.monitored_ns).with_sign(), 0);
        neighbor.monitored_ns = cpu.monitored_ns;
    }
    if let Some(figures) = &cpu.valid {
        put_figures(bits, before, figures, neighbor, is_plain);
    }
    if let Some(figures) = &cpu.spoiled {
        put_figures(bits, &mut CpuBefore::new(cpu.cpu), figures, neighbor, false);
    }
}

fn take_cpu(
    bits: &mut BitReader<'_>,
    words: &[String],
    before: &mut CpuBefore,
    neighbor: &mut Neighbor<'_>,
) -> Result<RowCpu, Damaged> {
    let form = neighbor.form;
    let is_plain = bits.bit()?;
    let (mut has_valid, mut has_spoiled, mut reasons) = (true, false, Vec::new());
    if !is_plain {
        (has_valid, has_spoiled) = (bits.bit()?, bits.bit()?);
        let count = bits.number(0)?;
        if count > MOST_CPUS {
            return Err(Damaged);
        }
        reasons = (0..count).map(|_| Ok(word(words, bits.number(2)?)?.to_owned())).collect::<Result<_, Damaged>>()?;
    }
    let monitored_ns = if form.is_monitored_throughout {
        if has_valid { form.length_ns } else { 0 }
    } else {
        neighbor.monitored_ns = neighbor.monitored_ns.wrapping_add(bits.signed(0)?.without_sign());
        neighbor.monitored_ns
    };
    let cpu = before.cpu;
    let valid = if has_valid { Some(take_figures(bits, before, neighbor, is_plain)?) } else { None };
    let spoiled = if has_spoiled { Some(take_figures(bits, &mut CpuBefore::new(cpu), neighbor, false)?) } else { None };
    Ok(RowCpu { cpu, valid, spoiled, reasons, monitored_ns })
}

fn put_figures(
    bits: &mut BitWriter,
    before: &mut CpuBefore,
    figures: &Figures,
    neighbor: &mut Neighbor<'_>,
    is_plain: bool,
) {
    let form = neighbor.form;
    let maximum =
        if form.has_negative { super::bits::folded(figures.maximum_ns) } else { figures.maximum_ns.without_sign() };
    bits.number(maximum, before.maximum_length);
    before.maximum_length = length(maximum);
    let moment = figures.maximum_at_ns / MS;
    if form.are_moments_within {
        bits.at_most(moment, form.length_ns / MS);
    } else {
        bits.number(moment, length(form.length_ns / MS));
    }
    let expected = before.samples.unwrap_or(neighbor.samples);
    let difference = figures.samples.wrapping_sub(expected).with_sign();
    bits.signed(difference, before.difference_length);
    (before.samples, neighbor.samples) = (Some(figures.samples), figures.samples);
    // After one that is far from the others the next ones are near each other.
    before.difference_length = length(super::bits::folded(difference)).min(8);
    if !is_plain {
        bits.number(figures.missed_periods, 0);
        bits.number(figures.beyond_limit, 0);
    }
}

/// The causes of a row: behind its numbers, since most rows have none, and then most have those that the one before had.
fn put_causes(bits: &mut BitWriter, words: &mut Words, before: &mut Before, row: &Row) {
    let figures = |cpu: &RowCpu| [cpu.valid.clone(), cpu.spoiled.clone()].into_iter().flatten();
    let has_causes = row.cpus.iter().flat_map(figures).any(|figures| figures.cause.is_some());
    bits.bit(has_causes);
    if !has_causes {
        return;
    }
    for (cpu, before) in row.cpus.iter().zip(&mut before.cpus) {
        for figures in figures(cpu) {
            bits.bit(figures.cause.is_some());
            let Some(cause) = figures.cause else { continue };
            let place = words.place(&cause_to_word(&cause));
            bits.bit(before.cause == Some(place));
            if before.cause != Some(place) {
                bits.number(place, 3);
                before.cause = Some(place);
            }
            bits.bit(cause.covers_percent.is_some());
            if let Some(percent) = cause.covers_percent {
                bits.at_most((percent.min(MOST_PERCENT) / PERCENT_STEP).into(), (MOST_PERCENT / PERCENT_STEP).into());
            }
        }
    }
}

fn take_causes(
    bits: &mut BitReader<'_>,
    words: &[String],
    before: &mut Before,
    cpus: &mut [RowCpu],
) -> Result<(), Damaged> {
    if !bits.bit()? {
        return Ok(());
    }
    for (cpu, before) in cpus.iter_mut().zip(&mut before.cpus) {
        for figures in cpu.valid.iter_mut().chain(&mut cpu.spoiled) {
            if !bits.bit()? {
                continue;
            }
            let place = match (bits.bit()?, before.cause) {
                (true, Some(place)) => place,
                (true, None) => return Err(Damaged),
                (false, _) => bits.number(3)?,
            };
            before.cause = Some(place);
            let mut cause = cause_from_word(word(words, place)?)?;
            if bits.bit()? {
                let steps = bits.at_most((MOST_PERCENT / PERCENT_STEP).into())?;
                cause.covers_percent = Some(u8::try_from(steps).map_err(|_| Damaged)? * PERCENT_STEP);
            }
            figures.cause = Some(cause);
        }
    }
    Ok(())
}

/// The form of a cause in words, without the share that it covers.
fn cause_to_word(cause: &Cause) -> String {
    serde_json::to_string(&(&cause.class, &cause.name, u8::from(cause.is_shown))).unwrap_or_default()
}

fn cause_from_word(word: &str) -> Result<Cause, Damaged> {
    let (class, name, is_shown): (String, String, u8) = serde_json::from_str(word).map_err(|_| Damaged)?;
    Ok(Cause { class, name, is_shown: is_shown == 1, covers_percent: None })
}

fn take_figures(
    bits: &mut BitReader<'_>,
    before: &mut CpuBefore,
    neighbor: &mut Neighbor<'_>,
    is_plain: bool,
) -> Result<Figures, Damaged> {
    let form = neighbor.form;
    let maximum = bits.number(before.maximum_length)?;
    before.maximum_length = length(maximum);
    let maximum_ns = if form.has_negative { super::bits::unfolded(maximum) } else { maximum.with_sign() };
    let moment = if form.are_moments_within {
        bits.at_most(form.length_ns / MS)?
    } else {
        bits.number(length(form.length_ns / MS))?
    };
    let difference = bits.signed(before.difference_length)?;
    let samples = before.samples.unwrap_or(neighbor.samples).wrapping_add(difference.without_sign());
    (before.samples, neighbor.samples) = (Some(samples), samples);
    before.difference_length = length(super::bits::folded(difference)).min(8);
    let mut figures =
        Figures { maximum_ns, maximum_at_ns: moment.checked_mul(MS).ok_or(Damaged)?, samples, ..Figures::default() };
    if !is_plain {
        figures.missed_periods = bits.number(0)?;
        figures.beyond_limit = bits.number(0)?;
    }
    Ok(figures)
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
