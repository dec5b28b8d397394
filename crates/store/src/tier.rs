//! Hours and days: rows made of rows. Pure.
//!
//! Whatever order rows come in, and whether a day is made of intervals or of hours, the same comes of it: nothing depends on which was
//! stored first.

use std::collections::{BTreeMap, BTreeSet};

use farm::monitor::{Figures, SourceInterval, sources_of_both};

use crate::coding::{Row, RowCpu};

/// Moments are kept to a millisecond.
const MS: i64 = 1_000_000;

/// Rows as one that begins at `start_ns`, and is at least `length_ns` long; `None` where there are none.
pub(crate) fn combined<'a>(rows: impl IntoIterator<Item = &'a Row>, start_ns: i64, length_ns: u64) -> Option<Row> {
    let mut all = Row { start_ns, length_ns, ..Row::default() };
    let mut cpus: BTreeMap<u32, (RowCpu, BTreeSet<String>)> = BTreeMap::new();
    let mut sources: Option<Vec<SourceInterval>> = None;
    let mut is_empty = true;
    for row in rows {
        is_empty = false;
        all.made_of = all.made_of.saturating_add(row.made_of);
        let length_ns = u64::try_from(row.end_ns().saturating_sub(start_ns)).unwrap_or(0);
        all.length_ns = all.length_ns.max(length_ns);
        let by_ns = row.start_ns.saturating_sub(start_ns);
        for cpu in &row.cpus {
            let (all, reasons) = cpus.entry(cpu.cpu).or_default();
            all.cpu = cpu.cpu;
            all.valid = of_both(all.valid.take(), cpu.valid.as_ref(), by_ns);
            all.spoiled = of_both(all.spoiled.take(), cpu.spoiled.as_ref(), by_ns);
            all.monitored_ns = all.monitored_ns.saturating_add(cpu.monitored_ns);
            reasons.extend(cpu.reasons.iter().cloned());
        }
        sources = Some(match sources {
            Some(sources) => sources_of_both(&sources, &row.sources),
            None => row.sources.clone(),
        });
    }
    let cpus = cpus.into_values().map(|(cpu, reasons)| RowCpu { reasons: reasons.into_iter().collect(), ..cpu });
    let mut sources = sources.unwrap_or_default();
    sources.sort_by(|one, other| one.source.cmp(&other.source));
    (!is_empty).then(|| Row { cpus: cpus.collect(), sources, ..all })
}

/// Figures of which the second ones' row begins `by_ns` later. Of equal maxima the earliest counts.
fn of_both(all: Option<Figures>, next: Option<&Figures>, by_ns: i64) -> Option<Figures> {
    let Some(next) = next else { return all };
    let at_ns = i64::try_from(next.maximum_at_ns).unwrap_or(i64::MAX).saturating_add(by_ns);
    let at_ns = u64::try_from(at_ns / MS * MS).unwrap_or(0);
    let next = Figures { maximum_at_ns: at_ns, ..next.clone() };
    let Some(all) = all else { return Some(next) };
    let key = |of: &Figures| (std::cmp::Reverse(of.maximum_ns), of.maximum_at_ns, of.cause.clone());
    let (samples, missed_periods, beyond_limit) = (
        all.samples.saturating_add(next.samples),
        all.missed_periods.saturating_add(next.missed_periods),
        all.beyond_limit.saturating_add(next.beyond_limit),
    );
    let worst = if key(&next) < key(&all) { next } else { all };
    Some(Figures { samples, missed_periods, beyond_limit, ..worst })
}

#[cfg(test)]
mod tests {
    use farm::monitor::Cause;
    use units::Random;

    use super::*;
    use crate::cast::WithSign;

    const HOUR: i64 = 3_600_000 * MS;

    fn row(random: &mut Random, start_ns: i64) -> Row {
        let mut figures = || Figures {
            maximum_ns: i64::try_from(random.below(5)).unwrap(),
            maximum_at_ns: u64::try_from(random.below(300)).unwrap() * 1_000_000_000,
            samples: 300,
            missed_periods: 1,
            beyond_limit: 0,
            cause: [None, Some("a"), Some("b")][random.below(3)].map(|name| Cause {
                class: "thread".to_owned(),
                name: name.to_owned(),
                ..Cause::default()
            }),
        };
        let cpu = |cpu, valid, spoiled| RowCpu {
            cpu,
            monitored_ns: 300 * 1_000_000_000,
            valid,
            spoiled,
            reasons: vec![format!("reason {cpu}")],
        };
        let cpus = vec![cpu(1, Some(figures()), None), cpu(4, Some(figures()), Some(figures()))];
        let mut source = |name: &str| SourceInterval {
            source: name.to_owned(),
            bound_ns: (random.below(9) > 0).then(|| u64::try_from(random.below(50)).unwrap()),
            state: ["locked", "lost", "unknown"][random.below(3)].to_owned(),
            steps: 1,
            largest_step_ns: i64::try_from(random.below(9)).unwrap() - 4,
        };
        let mut sources = vec![source("system clock"), source("chronyd")];
        sources.truncate(random.below(3));
        Row { start_ns, length_ns: 300 * 1_000_000_000, made_of: 1, cut_short: None, cpus, sources }
    }

    #[test]
    fn a_day_of_hours_is_the_day_of_their_intervals_in_any_order() {
        let mut random = Random::new(5);
        let mut rows: Vec<Row> = (0..60).map(|at| row(&mut random, 123_456_789 + at * 300 * 1_000_000_000)).collect();
        let day_ns = 24 * HOUR.unsigned_abs();
        let day = combined(&rows, 0, day_ns).unwrap();
        rows.reverse();
        assert_eq!(combined(&rows, 0, day_ns).unwrap(), day);
        let hour = |number: i64| {
            let of = rows.iter().filter(|row| row.start_ns.div_euclid(HOUR) == number);
            combined(of, number * HOUR, HOUR.unsigned_abs())
        };
        let hours: Vec<Row> = (0..24).filter_map(hour).collect();
        assert_eq!(hours.len(), 5);
        assert_eq!(combined(&hours, 0, day_ns).unwrap(), day);
        let figures = day.cpus[0].valid.as_ref().unwrap();
        assert_eq!((figures.maximum_ns, figures.samples, figures.missed_periods, day.made_of), (4, 18_000, 60, 60));
        let worst = rows.iter().filter(|row| row.cpus[0].valid.as_ref().unwrap().maximum_ns == 4);
        let of = |row: &Row| {
            let figures = row.cpus[0].valid.clone().unwrap();
            ((row.start_ns + figures.maximum_at_ns.with_sign()) / MS * MS, figures.cause)
        };
        // With the cause that the earliest of the worst has, if it has one.
        assert_eq!(Some((figures.maximum_at_ns.with_sign(), figures.cause.clone())), worst.map(of).min());
        assert_eq!(combined(&[], 0, 1), None);
    }
}
