//! From late wake-ups to the events that a scan looks at.

/// One late wake-up of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateWakeup {
    /// When the thread should have woken (ns on CLOCK_MONOTONIC).
    pub scheduled_ns: i64,
    /// How much later it did (ns).
    pub latency_ns: u64,
}

/// Late wake-ups that follow each other directly, as one event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    /// The schedule of the first of them, from the start of the run (ns).
    pub(super) begins_ns: f64,
    /// When the latest of them woke, from the start of the run (ns).
    pub(super) ends_ns: f64,
    /// The worst latency among them (ns).
    pub(super) latency_ns: u64,
    /// The sum of their latencies (ns).
    pub(super) time_ns: u64,
}

/// Fewer events than these show no rhythm, however regular.
pub(super) const LEAST_EVENTS: usize = 8;
/// More late wake-ups than these are not scanned: the threshold rises until as many are left.
pub(super) const MOST_WAKEUPS: usize = 10_000;
/// Thresholds that are tried, the deadline among them.
const MOST_LEVELS: usize = 5;

/// The events among `wakeups` (in the order of time) above `above_ns`.
pub(super) fn events(wakeups: &[LateWakeup], above_ns: u64, start_ns: i64, interval_ns: u64) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    // The end of the worst wake-up of the last event, and of its last one.
    let mut last_woke_ns = i64::MIN;
    for wakeup in wakeups.iter().filter(|wakeup| wakeup.latency_ns > above_ns) {
        let woke_ns = wakeup.scheduled_ns.saturating_add_unsigned(wakeup.latency_ns);
        let offset = |ns: i64| units::approx_f64_i64(ns.saturating_sub(start_ns));
        match events.last_mut() {
            Some(last) if wakeup.scheduled_ns <= last_woke_ns.saturating_add_unsigned(2 * interval_ns) => {
                if wakeup.latency_ns > last.latency_ns {
                    (last.latency_ns, last.ends_ns) = (wakeup.latency_ns, offset(woke_ns));
                }
                last.time_ns = last.time_ns.saturating_add(wakeup.latency_ns);
            }
            _ => events.push(Event {
                begins_ns: offset(wakeup.scheduled_ns),
                ends_ns: offset(woke_ns),
                latency_ns: wakeup.latency_ns,
                time_ns: wakeup.latency_ns,
            }),
        }
        last_woke_ns = last_woke_ns.max(woke_ns);
    }
    events
}

/// The thresholds (ns) to look above, ascending: the end of the body, the deadline, and round numbers above them that
/// leave out a good part of what the one before leaves.
pub(super) fn levels(wakeups: &[LateWakeup], body_ns: u64, deadline_ns: Option<u64>) -> Vec<u64> {
    let mut latencies: Vec<u64> = wakeups.iter().map(|wakeup| wakeup.latency_ns).collect();
    latencies.sort_unstable_by(|a, b| b.cmp(a));
    let count_above = |limit_ns: u64| latencies.partition_point(|latency_ns| *latency_ns > limit_ns);
    let bounded = latencies.get(MOST_WAKEUPS).copied().unwrap_or(0);
    let base_ns = rounded_up(body_ns.max(bounded));
    let is_of_use = |level_ns: &u64| *level_ns >= bounded && count_above(*level_ns) >= LEAST_EVENTS;
    let mut ladder: Vec<u64> = [base_ns].into_iter().filter(is_of_use).collect();
    let mut kept = count_above(base_ns);
    for level_ns in round_numbers().skip_while(|level_ns| *level_ns <= base_ns) {
        let count = count_above(level_ns);
        if count < LEAST_EVENTS {
            break;
        }
        if 4 * count <= 3 * kept {
            kept = count;
            ladder.push(level_ns);
        }
    }
    let wanted = MOST_LEVELS - usize::from(deadline_ns.is_some());
    let mut levels: Vec<u64> = if ladder.len() <= wanted {
        ladder
    } else {
        (0..wanted).map(|i| ladder[i * (ladder.len() - 1) / (wanted - 1)]).collect()
    };
    levels.extend(deadline_ns.filter(is_of_use));
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// 1, 2, 5, 10, 20, 50 us and so on.
fn round_numbers() -> impl Iterator<Item = u64> {
    (3..16_u32).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)))
}

/// To two digits: a threshold that people can read.
fn rounded_up(ns: u64) -> u64 {
    let mut unit = 1;
    while ns / unit >= 100 {
        unit *= 10;
    }
    ns.div_ceil(unit).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(scheduled_us: i64, latency_us: u64) -> LateWakeup {
        LateWakeup { scheduled_ns: scheduled_us * 1_000, latency_ns: latency_us * 1_000 }
    }

    #[test]
    fn what_follows_directly_is_one_event_with_the_end_of_its_worst() {
        let wakeups = [late(1_000, 50), late(2_000, 900), late(5_000, 120), late(5_400, 60), late(9_000, 70)];
        let found = events(&wakeups, 55_000, 1_000_000, 200_000);
        assert_eq!(found.len(), 3);
        assert!((found[0].begins_ns - 1_000_000.0).abs() < 0.5 && (found[0].ends_ns - 1_900_000.0).abs() < 0.5);
        // 120 us at 5.0 ms and 60 us at 5.4 ms belong together.
        assert_eq!((found[1].latency_ns, found[1].time_ns), (120_000, 180_000));
        assert_eq!(found[2].latency_ns, 70_000);
    }

    #[test]
    fn levels_are_round_and_leave_events() {
        let wakeups: Vec<LateWakeup> =
            (0..2_000_u64).map(|n| late(i64::try_from(n).unwrap() * 10_000, 20 + 4_000 / (n + 1))).collect();
        let found = levels(&wakeups, 23_412, None);
        assert_eq!(found.first(), Some(&24_000));
        assert!(found.len() <= MOST_LEVELS && found.is_sorted());
        assert!(found.iter().all(|level| wakeups.iter().filter(|one| one.latency_ns > *level).count() >= LEAST_EVENTS));
        assert!(levels(&wakeups, 23_412, Some(333_000)).contains(&333_000));
        assert!(!levels(&wakeups, 23_412, Some(3_000_000)).contains(&3_000_000), "too few lie beyond it");
        assert_eq!(levels(&[], 1, Some(5)), Vec::<u64>::new());
    }

    #[test]
    fn no_more_are_scanned_than_the_bound() {
        let wakeups: Vec<LateWakeup> = (0..30_000).map(|n| late(n * 1_000, 100 + u64::try_from(n).unwrap())).collect();
        let least = levels(&wakeups, 1_000, Some(2_000))[0];
        assert!(wakeups.iter().filter(|one| one.latency_ns > least).count() <= MOST_WAKEUPS);
    }
}
