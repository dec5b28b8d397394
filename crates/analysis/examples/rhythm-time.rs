//! How long a scan for rhythms over 10,000 late samples takes:
//! `cargo run --release -p punctual-analysis --example rhythm-time`.

#![forbid(unsafe_code)]

use std::time::Instant;

use analysis::rhythm::{LateThread, LateWakeup, ScanInput, Surroundings, scan};

const INTERVAL_NS: u64 = 200_000;
const RUN_NS: i64 = 60_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut state = 1_u64;
    let mut share = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (units::approx_f64(state >> 33) + 1.0) / 2_147_483_649.0
    };
    // Every 17th ends a stall of up to 8 ms at one phase of a period of 100 ms; each scheduled time is late only once.
    let mut wakeups: Vec<LateWakeup> = (0..10_000_i64)
        .map(|n| {
            let long = n % 17 == 0;
            let period_ns = 100_000_000;
            let woke_ns = if long { n / 17 * period_ns % RUN_NS + period_ns } else { n * (RUN_NS / 10_000) };
            let latency_ns = units::round_u64(if long { 8e6 * share() } else { 50_000.0 - 150_000.0 * share().ln() });
            let scheduled_ns = woke_ns - i64::try_from(latency_ns).unwrap_or(0);
            let scattered_ns = if long { 0 } else { i64::try_from(units::round_u64(6e6 * share())).unwrap_or(0) };
            let at = (scheduled_ns + scattered_ns) / 200_000 * 200_000;
            LateWakeup {
                scheduled_ns: at,
                latency_ns: latency_ns.saturating_add_signed(scheduled_ns + scattered_ns - at),
            }
        })
        .collect();
    wakeups.sort_unstable_by_key(|one| one.scheduled_ns);
    wakeups.dedup_by_key(|one| one.scheduled_ns);
    let threads = [LateThread { cpu: Some(0), interval_ns: INTERVAL_NS, wakeups }];
    let begun = Instant::now();
    let found = scan(&ScanInput {
        threads: &threads,
        started_ns: 0,
        ended_ns: RUN_NS,
        realtime_offset_ns: 0,
        body_ns: 40_000,
        deadline_ns: Some(100_000),
        jittered: false,
        surroundings: &Surroundings::default(),
    });
    let took_ms = begun.elapsed().as_millis();
    println!("a scan of {} late samples: {took_ms} ms", found.late_samples);
    for rhythm in &found.rhythms {
        println!("{}", analysis::rhythm::sentence(rhythm));
    }
    Ok(())
}
