//! Stalls: whatever the latencies and the rules, each schedule is either taken or missed, and no sum overflows.
#![no_main]

use std::num::NonZeroU64;

use analysis::{KEPT_ROWS, StallRules, StallTotals, StallTracker};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    interval_ns: NonZeroU64,
    deadline_ns: u64,
    recovered_within_ns: u64,
    /// By how many bits the rules are cut, so that rules of every magnitude are equally likely.
    shift: u8,
    samples: Samples,
}

#[derive(Arbitrary, Debug)]
enum Samples {
    /// Of a thread that sleeps until the next schedule that still lies ahead.
    InOrder { start_ns: i64, latencies_ns: Vec<(i64, u8)> },
    /// Of a clock that goes mad.
    Mad(Vec<(i64, i64)>),
}

fuzz_target!(|input: Input| {
    let cut = |ns: u64| ns >> (input.shift % 64);
    let rules = StallRules {
        interval_ns: cut(input.interval_ns.get()).max(1),
        deadline_ns: cut(input.deadline_ns),
        recovered_within_ns: cut(input.recovered_within_ns),
    };
    match input.samples {
        Samples::InOrder { start_ns, latencies_ns } => in_order(rules, start_ns, &latencies_ns),
        Samples::Mad(samples) => {
            let (mut tracker, mut in_parts) = (StallTracker::new(rules), StallTracker::new(rules));
            let mut sum = StallTotals::default();
            for (scheduled_ns, woke_ns) in samples {
                let missed = tracker.sample(scheduled_ns, woke_ns);
                assert_eq!(in_parts.sample(scheduled_ns, woke_ns), missed);
                let (part, _) = in_parts.take();
                assert!(missed <= part.missed_periods);
                sum.add(&part);
            }
            let (totals, rows) = tracker.finish();
            sum.add(&in_parts.finish().0);
            assert_eq!(sum, totals);
            assert!(rows.len() <= KEPT_ROWS && u64::try_from(rows.len()).expect("few") <= totals.rows);
        }
    }
});

fn in_order(rules: StallRules, start_ns: i64, latencies_ns: &[(i64, u8)]) {
    let mut tracker = StallTracker::new(rules);
    let (mut scheduled_ns, mut taken, mut late) = (start_ns, 0_u64, 0_u64);
    for &(latency_ns, shift) in latencies_ns {
        let latency_ns = latency_ns >> (shift % 63);
        let Some(woke_ns) = scheduled_ns.checked_add(latency_ns) else { break };
        let missed = tracker.sample(scheduled_ns, woke_ns);
        taken += 1;
        late += u64::from(u64::try_from(latency_ns).is_ok_and(|latency_ns| latency_ns > rules.deadline_ns));
        let next = i128::from(scheduled_ns) + (i128::from(missed) + 1) * i128::from(rules.interval_ns);
        // The next schedule is the first that lies ahead.
        assert!(next > i128::from(woke_ns));
        assert!(missed == 0 || next - i128::from(rules.interval_ns) <= i128::from(woke_ns));
        let Ok(next) = i64::try_from(next) else { break };
        scheduled_ns = next;
    }
    let (totals, rows) = tracker.finish();
    assert_eq!(totals.late_samples, late);
    let passed = (i128::from(scheduled_ns) - i128::from(start_ns)) / i128::from(rules.interval_ns);
    let counted = i128::from(taken) + i128::from(totals.missed_periods);
    // The last one counts also where no schedule can follow it.
    assert!(counted >= passed, "{passed} schedules passed, {counted} were counted");
    assert!(rows.len() <= KEPT_ROWS);
    assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse((row.periods, row.worst_ns))));
    assert_eq!(totals.longest_row_periods, rows.first().map_or(0, |row| row.periods));
    if totals.rows <= 64 {
        assert_eq!(
            rows.iter().map(|row| u128::from(row.periods)).sum::<u128>(),
            u128::from(totals.missed_periods) + u128::from(late)
        );
    }
}
