//! As much of a record as columns hold.

use ::record::{
    Counters, Direction, Histogram, Manifest, Measurement, NodeIdentity, Place, ReasonCode, Record, Series,
    Uncertainty, Unplaced, Validity,
};

use super::{ColumnRow, ColumnSeries, Columns, RowKind};

impl Columns {
    /// As much of the record as the columns hold; all else is empty, which does not mean that it was so in the run. `None` if the
    /// columns name a kind of measurement that this version does not know.
    pub(crate) fn partial_record(&self) -> Option<Record> {
        let measurement = Measurement::by_name(&self.run.measurement)?;
        let node = NodeIdentity {
            hostname: self.run.node.clone(),
            kernel_release: self.run.kernel_release.clone(),
            kernel_version: self.run.kernel_version.clone(),
            machine: self.run.machine.clone(),
            ..NodeIdentity::default()
        };
        let manifest = Manifest { node, command: self.run.command.clone(), ..Manifest::default() };
        let kind = measurement.kind();
        let is_retold = |name: &str| {
            let by = kind.latency(name).and_then(|latency| latency.retold_by);
            by.is_some_and(|by| self.series.iter().any(|other| other.series == by))
        };
        let retells = |name: &str| kind.latencies.iter().any(|latency| latency.retold_by == Some(name));
        // Our own word is judged where the other one is not of the whole run.
        let is_lost = self.run.reasons.iter().any(|reason| reason.code == ReasonCode::WitnessLost);
        let is_judged = |name: &str| kind.judges(name) && if is_lost { !retells(name) } else { !is_retold(name) };
        Some(Record {
            label: self.run.label.clone(),
            validity: Validity::from_reasons(self.run.reasons.clone()),
            series: self.series.iter().map(|series| series.partial(is_judged(&series.series))).collect(),
            ..Record::empty(self.run.id.clone(), measurement, manifest)
        })
    }
}

impl ColumnSeries {
    fn place(&self) -> Place {
        let direction = match self.direction.as_deref() {
            Some("sent") => Direction::Sent,
            Some("round-trip") => Direction::RoundTrip,
            _ => Direction::Received,
        };
        if let (Some(cpu), Some(waker_cpu)) = (self.cpu, self.waker_cpu) {
            return Place::Pair { cpu, waker_cpu, pair: self.thread.unwrap_or(0) };
        }
        match (self.flow, &self.port) {
            (Some(flow), _) => Place::Flow { flow, direction, queue: self.queue },
            (None, Some(port)) => {
                Place::Port { port: port.clone(), domain: self.domain.and_then(|domain| u8::try_from(domain).ok()) }
            }
            (None, None) => Place::thread(self.thread.unwrap_or(0), self.cpu),
        }
    }

    fn partial(&self, judged: bool) -> Series {
        let side = |kind: RowKind| self.rows.iter().filter(move |row| row.kind == kind);
        let mut histogram = histogram(side(RowKind::Bin));
        for row in side(RowKind::Unplaced) {
            histogram.add_unplaced(Unplaced { count: row.count, from_ns: row.from_ns });
        }
        let below_zero = histogram_of_side(side(RowKind::BelowZero));
        let bounds = self.error_below_ns.zip(self.error_above_ns);
        Series {
            node: self.node.clone(),
            place: self.place(),
            name: self.series.clone(),
            variant: self.variant.clone(),
            judged,
            histogram,
            below_zero,
            uncertainty: bounds.map(|(below_ns, above_ns)| Uncertainty {
                below_ns,
                above_ns,
                spread_ns: self.error_spread_ns,
            }),
            counters: Counters { lost: self.lost, ..Counters::default() },
            ..Series::default()
        }
    }
}

fn histogram_of_side<'a>(rows: impl Iterator<Item = &'a ColumnRow>) -> Option<Histogram> {
    Some(histogram(rows)).filter(|histogram| !histogram.is_empty())
}

/// A histogram with these bins. The first row begins at the exact minimum, and the last one ends at the exact maximum, which is a
/// sample: all others are taken to be at the low end of their bin.
fn histogram<'a>(rows: impl Iterator<Item = &'a ColumnRow>) -> Histogram {
    let mut histogram = Histogram::new();
    let mut rows = rows.peekable();
    while let Some(row) = rows.next() {
        let at_maximum = if rows.peek().is_none() { row.count.min(1) } else { 0 };
        histogram.record_n(row.from_ns, row.count.saturating_sub(at_maximum));
        histogram.record_n(row.to_ns, at_maximum);
    }
    histogram
}
