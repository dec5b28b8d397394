//! A run on a virtual machine that its host stops every 100 ms, and a thread that polls every 41 ms.

use record::{Record, Rhythm, RhythmEnd, RhythmScan};

const MS: u64 = 1_000_000;

/// Adds the result of a scan that found two rhythms.
pub(crate) fn with_rhythms(mut run: Record) -> Record {
    // Late samples that are not part of the rhythm are anywhere in the period.
    let elsewhere = |n: u64, period_ns: u64| (n * 7_919_771 + 13_000) % period_ns;
    let folded = |period_ns: u64, width_ns: u64| -> (Vec<u64>, Vec<u64>) {
        (0..74_u64)
            .map(|n| {
                let is_inside = n % 6 != 5;
                let at_ns = if is_inside {
                    period_ns / 2 - width_ns / 2 + n * 104_729 % width_ns
                } else {
                    elsewhere(n, period_ns)
                };
                (at_ns, 2 * MS + n * n * 1_733 + elsewhere(n, MS))
            })
            .unzip()
    };
    let rhythm = |period_ms: u64, end: RhythmEnd, width_ns: u64, likely: &[&str]| {
        let (folded_ns, folded_latency_ns) = folded(period_ms * MS, width_ns);
        Rhythm {
            period_ns: units::approx_f64(period_ms * MS + 2_100),
            period_uncertainty_ns: 18_000.0,
            end,
            phase_ns: 41 * MS,
            width_ns,
            above_ns: 2 * MS,
            late: 74,
            in_rhythm: 61,
            cycles: 600,
            late_time_share: 0.93,
            median_ns: 4 * MS,
            max_ns: 11 * MS,
            false_alarm: 1e-12,
            cpus: run.manifest().requested.cpus.clone(),
            in_phase: true,
            likely: likely.iter().map(|name| (*name).to_owned()).collect(),
            contradicted: Vec::new(),
            shown: None,
            folded_ns,
            folded_latency_ns,
        }
    };
    let quota = "a CPU bandwidth limit that the host sets for this virtual machine";
    let rhythms = vec![
        rhythm(100, RhythmEnd::Ends, 900_000, &[quota]),
        Rhythm { in_phase: false, late: 205, above_ns: MS, ..rhythm(41, RhythmEnd::Begins, 2 * MS, &[]) },
    ];
    run.late_samples.rhythm = Some(RhythmScan {
        late_samples: 812,
        above_ns: 120_000,
        shortest_period_ns: 500_000,
        longest_period_ns: 20_000 * MS,
        not_scanned: None,
        rhythms,
        hidden: vec![
            "the kernel's tick comes every 4 ms, 20 times the interval of 200 us: the schedule meets it always at the \
             same phases, so that it delays some wake-ups every time or none ever; --jitter shows it"
                .to_owned(),
        ],
    });
    run
}
