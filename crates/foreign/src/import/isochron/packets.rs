//! What the rows say of the packets: their delays between the points of which isochron has stamps, and what was lost.
//!
//! isochron subtracts nothing for the clocks of the two nodes, nor for those of an interface and its system: it trusts ptp4l and
//! phc2sys, and states no error. So every delay between two such clocks has an error of which nothing is known. Where one is
//! below zero, nothing can have arrived before it was sent: the clocks were further apart than the delay is long.

use record::{Counters, Direction, Histogram, Interval, PacketFlow, PacketRun, Place, ReasonCode, Series, Uncertainty};
use units::ClockId;
use units::format::{count, latency, span};

use super::columns::Variable::{
    self, Advance, Arrived, Cycle, HwArrived, HwTransmitted, Queued, Received, Scheduled, Transmitted, Woke,
};
use super::table::{Packet, Table};
use crate::error::ForeignError;
use crate::import::source::Imported;

/// Names of the nodes, which isochron does not print.
const NODES: [&str; 2] = ["sender", "receiver"];
/// As runs of this program are cut: into sixty intervals of at most five minutes.
const INTERVALS: i64 = 60;
const LONGEST_INTERVAL_NS: i64 = 300_000_000_000;
/// The highest latency of a record (ns), as for other imports.
const HIGHEST_NS: u64 = u64::MAX / 4;
/// Clocks that are a second apart are not on one scale; isochron warns of the same.
const NO_ONE_SCALE_NS: i64 = 1_000_000_000;

/// Which clocks the two points of a latency were read from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clocks {
    /// One: a delay below zero contradicts itself.
    One,
    /// The schedule and an interface's clock: a packet may well leave before the time that was meant.
    Schedule,
    /// Two, which somebody has to keep together.
    Two,
}

/// A latency, by the variables of its two points.
struct Way {
    name: &'static str,
    from: Variable,
    to: Variable,
    clocks: Clocks,
    direction: Direction,
}

const fn way(name: &'static str, from: Variable, to: Variable, clocks: Clocks, direction: Direction) -> Way {
    Way { name, from, to, clocks, direction }
}

/// All latencies, as the table of kinds defines them.
const WAYS: [Way; 9] = [
    way("scheduled_to_woke", Scheduled, Woke, Clocks::One, Direction::Sent),
    way("woke_to_transmitted", Woke, Transmitted, Clocks::One, Direction::Sent),
    way("queued_to_transmitted", Queued, Transmitted, Clocks::One, Direction::Sent),
    way("scheduled_to_hw_transmitted", Scheduled, HwTransmitted, Clocks::Schedule, Direction::Sent),
    way("woke_to_received", Woke, Received, Clocks::Two, Direction::Received),
    way("hw_transmitted_to_hw_arrived", HwTransmitted, HwArrived, Clocks::Two, Direction::Received),
    way("transmitted_to_arrived", Transmitted, Arrived, Clocks::Two, Direction::Received),
    way("hw_arrived_to_received", HwArrived, Received, Clocks::Two, Direction::Received),
    way("arrived_to_received", Arrived, Received, Clocks::One, Direction::Received),
];

/// The longest way between the nodes that was printed is the one that a limit applies to.
const WHOLE_WAYS: [&str; 3] = ["woke_to_received", "hw_transmitted_to_hw_arrived", "transmitted_to_arrived"];

/// Moments of a packet in the order in which one of them stands for its place in time.
const MOMENTS: [Variable; 8] = [Woke, Scheduled, Queued, Transmitted, HwTransmitted, Received, Arrived, HwArrived];

pub(super) fn imported(table: &Table) -> Result<Imported, ForeignError> {
    let times = Times::of(table);
    let flow = flow(table);
    let mut reasons = Vec::new();
    let mut series = Vec::new();
    for way in &WAYS {
        if let Some(one) = series_of(way, table, &times, &mut reasons)? {
            series.push(one);
        }
    }
    let judged = WHOLE_WAYS.into_iter().find(|name| series.iter().any(|one| one.name == *name));
    for one in series.iter_mut().filter(|one| Some(one.name.as_str()) == judged) {
        (one.judged, one.counters.lost) = (true, flow.lost);
    }
    if series.is_empty() {
        reasons.push((ReasonCode::NoSamples, nothing(table)));
    } else if flow.arrived == Some(0) && flow.lost.is_some() {
        reasons.push((ReasonCode::NoSamples, "not one packet arrived".to_owned()));
    }
    let is_between_clocks = series.iter().any(|one| one.uncertainty.is_some());
    let mut imported =
        Imported::from_packets("isochron", PacketRun { flows: vec![flow], ..PacketRun::default() }, series);
    if is_between_clocks {
        let why = "isochron subtracts times of two clocks as if they were one, and states no error";
        imported.reason(ReasonCode::NoHardBound, why);
    }
    judge_table(table, &mut imported);
    for (code, detail) in reasons {
        imported.reason(code, detail);
    }
    lacks(table, &mut imported);
    let requested = imported.requested();
    (requested.interval_ns, requested.clock) = (interval_ns(table), Some(ClockId::Tai));
    if let Some(duration_ns) = times.length_ns() {
        imported.lasted(duration_ns);
    }
    Ok(imported)
}

fn nothing(table: &Table) -> String {
    format!("the columns {} hold no two points of a way", table.columns.letters())
}

/// The delay of a packet (ns); `None` if one of the points is missing.
fn delay_ns(way: &Way, packet: Packet<'_>) -> Result<Option<i64>, ForeignError> {
    let Some((from, to)) = packet.moment(way.from).zip(packet.moment(way.to)) else { return Ok(None) };
    let from = if way.name == "scheduled_to_woke" {
        // The sender asked to be woken that much earlier.
        let Some(advance) = packet.value(Advance) else { return Ok(None) };
        from.checked_sub(advance)
    } else {
        Some(from)
    };
    let delay = from.and_then(|from| to.checked_sub(from)).filter(|ns| ns.unsigned_abs() <= HIGHEST_NS);
    delay.map(Some).ok_or_else(|| ForeignError::TooLarge {
        place: NODES.join(" and "),
        what: format!("the time from {} to {} of a packet", way.from.letter(), way.to.letter()),
    })
}

fn series_of(
    way: &Way,
    table: &Table,
    times: &Times,
    reasons: &mut Vec<(ReasonCode, String)>,
) -> Result<Option<Series>, ForeignError> {
    let mut series = Series {
        node: NODES[usize::from(way.direction == Direction::Received)].to_owned(),
        place: Place::Flow { flow: 0, direction: way.direction, queue: None },
        name: way.name.to_owned(),
        judged: false,
        uncertainty: (way.clocks != Clocks::One).then_some(Uncertainty::UNKNOWN),
        interval_ns: interval_ns(table),
        ..Series::default()
    };
    let mut sum_ns: u64 = 0;
    for (packet, offset_ns) in table.packets().zip(&times.offsets_ns) {
        let Some(ns) = delay_ns(way, packet)? else { continue };
        sum_ns = sum_ns.checked_add(ns.unsigned_abs()).filter(|sum| *sum <= HIGHEST_NS).ok_or_else(|| {
            ForeignError::TooLarge { place: NODES.join(" and "), what: format!("the sum of all {}", way.name) }
        })?;
        record_signed(&mut series.histogram, &mut series.below_zero, ns);
        if let Some((start_offset_ns, length_ns)) = times.interval_of(*offset_ns) {
            if series.intervals.last().is_none_or(|last| last.start_offset_ns != start_offset_ns) {
                series.intervals.push(Interval { start_offset_ns, length_ns, ..Interval::default() });
            }
            if let Some(last) = series.intervals.last_mut() {
                record_signed(&mut last.histogram, &mut last.below_zero, ns);
            }
        }
    }
    let taken = series.taken();
    if taken == 0 {
        return Ok(None);
    }
    series.counters = Counters { samples: taken, ..Counters::default() };
    judge_way(way, &series, reasons);
    Ok(Some(series))
}

fn record_signed(above: &mut Histogram, below: &mut Option<Histogram>, ns: i64) {
    let histogram = if ns < 0 { below.get_or_insert_default() } else { above };
    histogram.record_n(ns.unsigned_abs(), 1);
}

/// What the values of a way say against the clocks.
fn judge_way(way: &Way, series: &Series, reasons: &mut Vec<(ReasonCode, String)>) {
    let words = format!("{} to {} ({})", way.from.letter(), way.to.letter(), way.name);
    if let Some(below) = series.below_zero.as_ref().filter(|_| way.clocks != Clocks::Schedule) {
        let by = latency(below.max_ns().unwrap_or(0));
        let (number, all) = (count(below.count()), count(series.taken()));
        reasons.push(match way.clocks {
            Clocks::One => (
                ReasonCode::SourceContradicts,
                format!("{number} of {all} end before they begin, by up to {by}: {words}"),
            ),
            Clocks::Two | Clocks::Schedule => (
                ReasonCode::SyncLost,
                format!(
                    "{number} of {all} end before they begin, so that the clocks were at least {by} apart: {words}"
                ),
            ),
        });
    }
    // The sender's wake-up is early on purpose, by whatever --advance-time says.
    let median_ns = series.quantile_ns(0.5).filter(|_| way.clocks != Clocks::One && way.from != Woke);
    if let Some(ns) = median_ns.filter(|ns| ns.unsigned_abs() >= NO_ONE_SCALE_NS.unsigned_abs()) {
        reasons.push((
            ReasonCode::SyncLost,
            format!(
                "{words} has a median of {}: the clocks are not on one scale; TAI and UTC are 37 s apart",
                span(ns)
            ),
        ));
    }
}

fn judge_table(table: &Table, imported: &mut Imported) {
    if let Some(words) = table.gap_words() {
        imported.reason(ReasonCode::SamplesDropped, words);
    }
    if let Some(line) = table.stepped {
        let what = format!("the sender's clock was set back: in line {line} it woke before it did in the line above");
        imported.reason(ReasonCode::ClockStepped, what);
    }
    if table.is_cut {
        imported.reason(ReasonCode::InterruptedEarly, "the last line has no end: it was not read");
    }
    for remark in &table.remarks {
        imported.reason(ReasonCode::SyncLost, format!("isochron says: {remark}"));
    }
}

/// What this table lacks.
fn lacks(table: &Table, imported: &mut Imported) {
    imported.lacks("the version of isochron, its command line, and how large the packets were");
    imported.lacks("the date in UTC: its times are TAI, as far as the kernels knew what that is");
    if table.has(Woke) && !table.has(Advance) {
        imported.lacks("how late the sender woke: that takes A, S and w");
    }
    if !table.has(Variable::Sequence) {
        imported.lacks("the numbers of the packets (q): lines that are missing are not noticed");
    } else if let Some(first) =
        table.packets().next().and_then(|packet| packet.value(Variable::Sequence)).filter(|n| *n > 1)
    {
        imported.lacks(format!("the packets before {first}: the table begins with that one"));
    }
    if lost(table).is_none() {
        imported
            .lacks("how many packets were lost: R is 0 of those too that only have no stamp; print r or a beside it");
    }
    if !table.has(HwTransmitted) || !table.has(HwArrived) {
        imported.lacks("the path from interface to interface: that takes T and R");
    }
}

/// Packets that arrived, as far as a stamp of the receiving side shows it; `None` if none of these was printed.
fn arrived(table: &Table) -> Option<u64> {
    let columns = [Received, Arrived, HwArrived];
    let is_there = |packet: &Packet<'_>| columns.iter().any(|one| packet.moment(*one).is_some());
    columns.iter().any(|one| table.has(*one)).then(|| table.packets().filter(is_there).count() as u64)
}

/// Packets that were lost; `None` if what was printed does not show it.
fn lost(table: &Table) -> Option<u64> {
    let all = table.packets().count() as u64;
    // An interface may leave packets without a stamp; program and kernel always have one.
    let is_shown = table.has(Received) || table.has(Arrived);
    arrived(table).filter(|_| is_shown && table.gaps == 0).map(|arrived| all - arrived)
}

fn flow(table: &Table) -> PacketFlow {
    let [from, to] = NODES.map(str::to_owned);
    let without = |variable: Variable| {
        let is_arrived =
            |packet: &Packet<'_>| [Received, Arrived, HwArrived].iter().any(|one| packet.moment(*one).is_some());
        let lacks = |packet: &Packet<'_>| table.has(variable) && packet.moment(variable).is_none();
        table.packets().filter(|packet| is_arrived(packet) && lacks(packet)).count() as u64
    };
    PacketFlow {
        from,
        to,
        interval_ns: interval_ns(table).unwrap_or(0),
        sent: Some(table.packets().count() as u64).filter(|_| table.gaps == 0),
        arrived: arrived(table),
        lost: lost(table),
        without_transmitted: without(Transmitted),
        without_arrived: without(Arrived),
        ..PacketFlow::default()
    }
}

/// From one packet to the next (ns): the stated cycle, or else what all schedules are apart; `None` if neither is known.
fn interval_ns(table: &Table) -> Option<u64> {
    let positive = |ns: i64| u64::try_from(ns).ok().filter(|ns| *ns > 0);
    if let Some(cycle) = table.packets().next().and_then(|packet| packet.value(Cycle)) {
        return positive(cycle);
    }
    let mut schedules = table.packets().map(|packet| packet.moment(Scheduled));
    let (first, second) = (schedules.next()??, schedules.next()??);
    let apart = second.checked_sub(first)?;
    let mut last = second;
    for schedule in schedules {
        let schedule = schedule?;
        if schedule.checked_sub(last)? != apart {
            return None;
        }
        last = schedule;
    }
    positive(apart).filter(|_| table.gaps == 0)
}

/// When each packet was sent, counted from the first.
struct Times {
    offsets_ns: Vec<i64>,
}

impl Times {
    fn of(table: &Table) -> Self {
        let is_known = |variable: &&Variable| table.packets().any(|packet| packet.moment(**variable).is_some());
        let Some(variable) = MOMENTS.iter().find(is_known) else {
            return Self { offsets_ns: vec![0; table.packets().count()] };
        };
        let first = table.packets().find_map(|packet| packet.moment(*variable)).unwrap_or(0);
        let mut highest = 0;
        let offset = |packet: Packet<'_>| {
            // A packet without the stamp is beside the one before it, and time goes on even where a clock was set back.
            if let Some(ns) = packet.moment(*variable) {
                highest = highest.max(ns.saturating_sub(first));
            }
            highest
        };
        Self { offsets_ns: table.packets().map(offset).collect() }
    }

    /// From the first to the last packet (ns); `None` if that is not known.
    fn length_ns(&self) -> Option<i64> {
        self.offsets_ns.last().copied().filter(|ns| *ns > 0)
    }

    /// Start and length of the interval (ns) that an offset lies in; `None` if nothing is known of time.
    fn interval_of(&self, offset_ns: i64) -> Option<(u64, u64)> {
        let length_ns = self.length_ns()?;
        // The last packet lies in the last interval.
        let each_ns = (length_ns / INTERVALS).saturating_add(1).min(LONGEST_INTERVAL_NS);
        let start_ns = offset_ns / each_ns * each_ns;
        Some((u64::try_from(start_ns).ok()?, u64::try_from(each_ns.min(length_ns - start_ns).max(1)).ok()?))
    }
}
