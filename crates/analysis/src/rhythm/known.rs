//! What is known to come back with a period, and what would contradict each.

use record::{Rhythm, RhythmEnd};
use units::format;

use super::ScanInput;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// What a machine is known to have that comes back; what could not be read is absent and names nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The period of the kernel's tick (ns), by CONFIG_HZ.
    pub tick_ns: Option<u64>,
    /// Whether this is a guest of a hypervisor.
    pub is_virtual: Option<bool>,
    /// The period of the CPU bandwidth limit of the program's own control group (ns), where it has one.
    pub own_quota_ns: Option<u64>,
    /// Period and runtime of the real-time throttle (ns), where it is on.
    pub throttle_ns: Option<(u64, u64)>,
    /// Whether this kernel serves starved ordinary threads from above the real-time ones: 6.12 and newer.
    pub has_fair_server: Option<bool>,
    /// Whether the measuring threads ran at real-time priority.
    pub is_real_time: bool,
    /// The setting `vm.stat_interval` (ns).
    pub statistics_ns: Option<u64>,
    /// How often the soft-lockup watchdog runs on each CPU (ns), where it is on.
    pub watchdog_ns: Option<u64>,
    /// `vm.dirty_writeback_centisecs` (ns), where it is on.
    pub writeback_ns: Option<u64>,
    /// The sampling periods of the governors that run (ns).
    pub governors_ns: Vec<u64>,
    /// Whether a management controller of the board is there (`/dev/ipmi*`).
    pub has_bmc: bool,
    /// System management interrupts that were counted during the run.
    pub smi: u64,
}

/// How far a known period may lie from the one that was found, as a share: clocks of host and guest differ.
const CLOCKS_DIFFER: f64 = 5e-4;

/// One known rhythm: its name, its period on this machine (ns), whether the rhythm found does not contradict it, and what
/// does where it is contradicted. The last is absent where nothing shows that this machine has it at all.
type Known = (&'static str, fn(&Surroundings) -> Vec<u64>, fn(&Rhythm, &ScanInput<'_>) -> bool, Option<&'static str>);

/// One line each.
#[rustfmt::skip]
const KNOWN: &[Known] = &[
    ("the CPU bandwidth limit of this program's control group (cpu.max)", |s| list(s.own_quota_ns), |r, _| r.max_ns < whole(r), Some("a delay is longer than the whole period")),
    ("a CPU bandwidth limit that the host sets for this virtual machine", |s| when(s.is_virtual == Some(true), 100 * MS), |r, i| r.max_ns < whole(r) && r.median_ns > 4 * i.body_ns && is_wherever_it_runs(r), None),
    ("the throttle of real-time threads (sched_rt_runtime_us)", |s| list(s.throttle_ns.map(|(period_ns, _)| period_ns)), |r, i| i.surroundings.throttle_ns.is_some_and(|(period_ns, runtime_ns)| is_stop_of(r, period_ns.saturating_sub(runtime_ns), i)), Some("these are no stops of real-time threads of its length")),
    ("the fair server of ordinary threads (50 ms in each second)", |s| when(s.has_fair_server == Some(true), S), |r, i| is_stop_of(r, 50 * MS, i), Some("these are no stops of real-time threads of its length")),
    ("the kernel's statistics (vmstat_update, vm.stat_interval)", |s| list(s.statistics_ns), |r, _| r.median_ns < 2 * MS, Some("half of the delays are longer than 2 ms")),
    ("the soft-lockup watchdog (kernel.watchdog_thresh)", |s| list(s.watchdog_ns), |r, _| r.median_ns < 2 * MS, Some("half of the delays are longer than 2 ms")),
    ("writing back of dirty pages (vm.dirty_writeback_centisecs)", |s| list(s.writeback_ns), |r, _| r.median_ns < 20 * MS, Some("half of the delays are longer than 20 ms")),
    ("the kernel's tick (CONFIG_HZ)", |s| list(s.tick_ns), |r, _| r.median_ns < MS, Some("half of the delays are longer than 1 ms")),
    ("a timer of the kernel's that fires every few ticks (CONFIG_HZ)", |s| list(s.tick_ns).iter().flat_map(|ns| (2..=8).map(move |n| n * ns)).collect(), |r, _| r.median_ns < MS, None),
    ("the governor's sampling (scaling_governor)", |s| s.governors_ns.clone(), |r, _| r.median_ns < MS, Some("half of the delays are longer than 1 ms")),
    ("a job of cron or a timer of systemd, at the full minute", |_| (1..=60).map(|minutes| minutes * 60 * S).collect(), is_at_full_minute, None),
    ("the board's management controller (SMIs were counted)", |s| if s.has_bmc && s.smi > 0 { (1..=60).map(|n| n * S).collect() } else { Vec::new() }, |r, i| i.surroundings.smi >= r.in_rhythm / 2, None),
];

fn list(ns: Option<u64>) -> Vec<u64> {
    ns.into_iter().filter(|ns| *ns > 0).collect()
}

fn when(holds: bool, ns: u64) -> Vec<u64> {
    if holds { vec![ns] } else { Vec::new() }
}

fn whole(rhythm: &Rhythm) -> u64 {
    units::round_u64(rhythm.period_ns)
}

/// A host that stops a virtual machine stops all of its CPUs: not where several CPUs each have a phase of their own.
fn is_wherever_it_runs(rhythm: &Rhythm) -> bool {
    rhythm.cpus.len() < 2 || rhythm.in_phase
}

/// Stops of real-time threads alone, of that length.
fn is_stop_of(rhythm: &Rhythm, length_ns: u64, input: &ScanInput<'_>) -> bool {
    // A wake-up falls anywhere into a stop, so that the worst has its length and none is longer.
    let is_as_long = rhythm.max_ns >= length_ns / 10 * 7 && rhythm.max_ns <= length_ns / 10 * 13;
    input.surroundings.is_real_time && is_as_long
}

/// Cron begins its jobs at the start of a minute of the wall's time.
fn is_at_full_minute(rhythm: &Rhythm, input: &ScanInput<'_>) -> bool {
    let minute_ns = 60 * 1_000_000_000_i64;
    let began_ns = match rhythm.end {
        RhythmEnd::Begins => 0,
        RhythmEnd::Ends => i64::try_from(rhythm.median_ns).unwrap_or(i64::MAX),
    };
    let phase_ns = i64::try_from(rhythm.phase_ns).unwrap_or(i64::MAX).saturating_sub(began_ns);
    let at_ns = phase_ns.saturating_add(input.started_ns);
    let into_minute_ns = at_ns.saturating_add(input.realtime_offset_ns).rem_euclid(minute_ns);
    into_minute_ns < 2_000_000_000
}

/// What has the period of a rhythm here and is not contradicted.
pub(super) fn names(rhythm: &Rhythm, input: &ScanInput<'_>) -> Vec<String> {
    let mut names: Vec<String> = with_period_of(rhythm, input)
        .filter(|(_, _, fits, _)| fits(rhythm, input))
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    names.extend(beat(rhythm, input));
    names
}

/// What this machine certainly has with the period of a rhythm, although the samples speak against it, each with what does.
pub(super) fn contradicted(rhythm: &Rhythm, input: &ScanInput<'_>) -> Vec<String> {
    with_period_of(rhythm, input)
        .filter(|(_, _, fits, _)| !fits(rhythm, input))
        .filter_map(|(name, _, _, why)| why.map(|why| format!("{name} has this period, but {why}")))
        .collect()
}

/// What is known here with the period of a rhythm.
fn with_period_of<'a>(rhythm: &'a Rhythm, input: &'a ScanInput<'_>) -> impl Iterator<Item = &'static Known> + 'a {
    let is_period = |ns: &u64| {
        let ns = units::approx_f64(*ns);
        let slack_ns = f64::max(rhythm.period_uncertainty_ns, CLOCKS_DIFFER * ns);
        (rhythm.period_ns - ns).abs() <= slack_ns && rhythm.period_uncertainty_ns < 0.01 * ns
    };
    KNOWN.iter().filter(move |(_, periods, ..)| periods(input.surroundings).iter().any(is_period))
}

/// The kernel's tick, where schedules at equal distances meet it only now and then.
///
/// Ticks every P and schedules every I are at the same distance again after the least common multiple of the two, and what is
/// late has this period or a whole part of it. A coincidence of numbers alone names nothing: the late wake-ups have to lie
/// at one phase of the tick, too.
fn beat(rhythm: &Rhythm, input: &ScanInput<'_>) -> Option<String> {
    /// A whole part of the common period has to be known this well.
    const MOST_DOUBT: f64 = 0.05;
    let interval_ns = input.threads.first().map(|thread| thread.interval_ns)?;
    let tick_ns = input.surroundings.tick_ns.filter(|ns| *ns > 0 && interval_ns > 0)?;
    let is_even = !input.jittered && input.threads.iter().all(|thread| thread.interval_ns == interval_ns);
    let common_ns = units::approx_f64(common_multiple(tick_ns, interval_ns)?);
    let parts = common_ns / rhythm.period_ns;
    let doubt = parts * (rhythm.period_uncertainty_ns / rhythm.period_ns).max(CLOCKS_DIFFER);
    let is_part = parts.round() >= 1.0 && doubt <= MOST_DOUBT && (parts - parts.round()).abs() <= doubt;
    // A rhythm of whole ticks is the tick's own, or nobody knows whose.
    let is_longer = rhythm.period_ns > units::approx_f64(tick_ns.max(interval_ns)) * 1.01;
    (is_even && is_part && is_longer && rhythm.median_ns < MS && are_at_one_phase(rhythm, input, tick_ns)).then(|| {
        format!(
            "the kernel's tick (CONFIG_HZ), every {}, which schedules every {} meet only now and then",
            format::span(tick_ns),
            format::span(interval_ns)
        )
    })
}

/// `None` beyond what an interval and a tick can sensibly have in common.
fn common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor.max(1)).checked_mul(b)
}

/// Whether nine of ten wake-ups as late as those of the rhythm lie within a tenth of `period_ns`.
fn are_at_one_phase(rhythm: &Rhythm, input: &ScanInput<'_>, period_ns: u64) -> bool {
    let late = input.threads.iter().filter(|thread| thread.cpu.is_none_or(|cpu| rhythm.cpus.contains(cpu)));
    let late = late.flat_map(|thread| &thread.wakeups).filter(|wakeup| wakeup.latency_ns > rhythm.above_ns);
    let period_ns = i64::try_from(period_ns).unwrap_or(i64::MAX);
    let mut phases: Vec<i64> = late.map(|wakeup| wakeup.scheduled_ns.rem_euclid(period_ns)).collect();
    phases.sort_unstable();
    let wanted = (phases.len() * 9).div_ceil(10);
    // Around the end of the period too.
    let around = phases.iter().copied().chain(phases.iter().map(|phase| phase.saturating_add(period_ns)));
    let around: Vec<i64> = around.collect();
    wanted > 1 && around.windows(wanted).any(|of| of[wanted - 1] - of[0] <= period_ns / 10)
}

/// Periods of this machine that a schedule on a grid of `interval_ns` always meets at the same phases.
pub(super) fn hidden(surroundings: &Surroundings, interval_ns: u64) -> Vec<String> {
    if interval_ns == 0 {
        return Vec::new();
    }
    let mut hidden = Vec::new();
    let periods = surroundings.tick_ns.map(|ns| ("the kernel's tick", ns)).into_iter();
    for (name, period_ns) in periods.chain(surroundings.governors_ns.iter().map(|ns| ("the governor's sampling", *ns)))
    {
        let (times, of) = if period_ns >= interval_ns {
            (period_ns / interval_ns, period_ns % interval_ns == 0)
        } else {
            (interval_ns / period_ns.max(1), interval_ns % period_ns.max(1) == 0)
        };
        if of && period_ns > 0 {
            let relation = match (times, period_ns >= interval_ns) {
                (1, _) => "the interval itself".to_owned(),
                (_, true) => format!("{times} times the interval of {}", format::span(interval_ns)),
                (_, false) => format!("{times} times in the interval of {}", format::span(interval_ns)),
            };
            hidden.push(format!(
                "{name} comes every {}, {relation}: the schedule meets it always at the same phases, so that it delays \
                 some wake-ups every time or none ever; --jitter shows it",
                format::span(period_ns)
            ));
        }
    }
    hidden
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{LateThread, LateWakeup};
    use super::*;

    pub(in crate::rhythm) fn rhythm(period_ns: u64, median_ns: u64, max_ns: u64) -> Rhythm {
        Rhythm {
            period_ns: units::approx_f64(period_ns),
            period_uncertainty_ns: 20_000.0,
            end: RhythmEnd::Ends,
            phase_ns: 0,
            width_ns: 1_000,
            above_ns: 1_000,
            late: 70,
            in_rhythm: 60,
            cycles: 100,
            late_time_share: 0.9,
            median_ns,
            max_ns,
            false_alarm: 1e-9,
            cpus: [0].into_iter().collect(),
            in_phase: false,
            likely: Vec::new(),
            contradicted: Vec::new(),
            shown: None,
            folded_ns: Vec::new(),
            folded_latency_ns: Vec::new(),
        }
    }

    fn named(rhythm: &Rhythm, surroundings: &Surroundings) -> String {
        let input = ScanInput {
            threads: &[],
            started_ns: 0,
            ended_ns: 0,
            realtime_offset_ns: 0,
            body_ns: 20_000,
            deadline_ns: None,
            jittered: false,
            surroundings,
        };
        names(rhythm, &input).join(" | ")
    }

    #[test]
    fn a_name_needs_what_it_names() {
        let quota = rhythm(100 * MS, 3 * MS, 9 * MS);
        assert_eq!(named(&quota, &Surroundings::default()), "", "on metal nobody sets such a limit");
        let guest = Surroundings { is_virtual: Some(true), ..Surroundings::default() };
        assert!(named(&quota, &guest).contains("host sets"));
        assert_eq!(named(&rhythm(101 * MS, 3 * MS, 9 * MS), &guest), "");
        assert_eq!(named(&Rhythm { cpus: [0, 1].into_iter().collect(), ..quota.clone() }, &guest), "", "out of phase");
        let together = Rhythm { cpus: [0, 1].into_iter().collect(), in_phase: true, ..quota.clone() };
        assert!(named(&together, &guest).contains("host sets"));
        let own = Surroundings { own_quota_ns: Some(100 * MS), ..Surroundings::default() };
        assert!(named(&quota, &own).contains("cpu.max"));
    }

    #[test]
    fn the_tick_that_is_named_as_hidden_is_not_unknown_to_the_sentence() {
        let surroundings = Surroundings { tick_ns: Some(4 * MS), ..Surroundings::default() };
        let words = |median_ns: u64| {
            let mut found = rhythm(4 * MS, median_ns, 5 * MS);
            found.period_uncertainty_ns = 100.0;
            let input = ScanInput {
                threads: &[],
                started_ns: 0,
                ended_ns: 0,
                realtime_offset_ns: 0,
                body_ns: 20_000,
                deadline_ns: None,
                jittered: false,
                surroundings: &surroundings,
            };
            found.likely = names(&found, &input);
            found.contradicted = contradicted(&found, &input);
            super::super::sentence(&found)
        };
        assert!(hidden(&surroundings, 200_000)[0].contains("the kernel's tick comes every 4 ms"));
        assert!(words(300_000).contains("likely the kernel's tick (CONFIG_HZ)"), "{}", words(300_000));
        let long = words(2 * MS);
        assert!(
            long.contains(
                "unknown: the kernel's tick (CONFIG_HZ) has this period, but half of the delays are longer than 1 ms"
            ),
            "{long}"
        );
        assert!(!long.contains("nothing that is known"), "{long}");
    }

    #[test]
    fn throttle_and_server_stop_real_time_threads_for_their_length() {
        let on = Surroundings {
            throttle_ns: Some((S, 950 * MS)),
            has_fair_server: Some(true),
            is_real_time: true,
            statistics_ns: Some(S),
            ..Surroundings::default()
        };
        let stop = named(&rhythm(S, 30 * MS, 49 * MS), &on);
        assert!(stop.contains("throttle") && stop.contains("fair server") && !stop.contains("statistics"), "{stop}");
        assert_eq!(named(&rhythm(S, 30_000, 60_000), &on), KNOWN[4].0);
        let ordinary = Surroundings { is_real_time: false, ..on.clone() };
        assert_eq!(named(&rhythm(S, 30 * MS, 49 * MS), &ordinary), "");
        let off = Surroundings { throttle_ns: None, has_fair_server: Some(false), ..on };
        assert_eq!(named(&rhythm(S, 30 * MS, 49 * MS), &off), "");
    }

    #[test]
    fn a_tick_has_the_period_of_this_kernel_and_cron_the_minute_of_the_wall() {
        let hz250 = Surroundings { tick_ns: Some(4 * MS), ..Surroundings::default() };
        let tick = |ns: u64| Rhythm { period_uncertainty_ns: 10.0, ..rhythm(ns, 15_000, 20_000) };
        assert!(named(&tick(4 * MS), &hz250).contains("tick"));
        assert!(named(&tick(8 * MS), &hz250).contains("every few ticks"));
        assert_eq!(named(&tick(10 * MS), &hz250), "");
        let minute = Rhythm { end: RhythmEnd::Begins, phase_ns: 300 * MS, ..rhythm(60 * S, 3 * MS, 9 * MS) };
        assert!(named(&minute, &hz250).contains("cron"));
        assert_eq!(named(&Rhythm { phase_ns: 30 * S, ..minute }, &hz250), "");
    }

    #[test]
    fn a_beat_of_tick_and_interval_is_the_tick_s() {
        // 2,000 schedules of 466 us are 233 ticks of 4 ms: what the tick delays comes back after 932 ms, or 39 times in it.
        let wakeups = |phase_of: fn(i64) -> i64| -> Vec<LateWakeup> {
            let late = (0..9_000).filter(|n| phase_of(n * 466_000) < 4_000);
            late.map(|n| LateWakeup { scheduled_ns: n * 466_000, latency_ns: 13_000 }).collect()
        };
        let beats = |period_ns: f64, interval_ns: u64, jittered: bool, wakeups: Vec<LateWakeup>| {
            let surroundings = Surroundings { tick_ns: Some(4 * MS), ..Surroundings::default() };
            let threads = [LateThread { cpu: Some(0), interval_ns, wakeups }];
            let found = Rhythm { period_ns, period_uncertainty_ns: 1_590.0, ..rhythm(MS, 12_758, 14_650) };
            let input = ScanInput {
                threads: &threads,
                started_ns: 0,
                ended_ns: 4_194_000_000,
                realtime_offset_ns: 0,
                body_ns: 12_000,
                deadline_ns: None,
                jittered,
                surroundings: &surroundings,
            };
            names(&found, &input)
        };
        let of_tick = || wakeups(|at| at.rem_euclid(4_000_000));
        assert!(of_tick().len() > 8);
        for period_ns in [932_000_000.0 / 39.0, 932_000_000.0] {
            let found = beats(period_ns, 466_000, false, of_tick());
            assert!(
                found.len() == 1 && found[0].contains("schedules every 466 us meet only now and then"),
                "{found:?}"
            );
        }
        assert_eq!(beats(24_100_000.0, 466_000, false, of_tick()), Vec::<String>::new(), "no whole part of 932 ms");
        assert_eq!(
            beats(932_000_000.0, 466_000, true, of_tick()),
            Vec::<String>::new(),
            "random schedules have no beat"
        );
        let elsewhere = wakeups(|at| at.rem_euclid(3_100_000));
        assert_eq!(beats(932_000_000.0, 466_000, false, elsewhere), Vec::<String>::new(), "at all phases of the tick");
    }

    #[test]
    fn a_board_s_controller_is_named_where_firmware_ran() {
        let board = Surroundings { has_bmc: true, smi: 40, ..Surroundings::default() };
        assert!(named(&rhythm(10 * S, 3 * MS, 9 * MS), &board).contains("SMIs"));
        assert_eq!(named(&rhythm(10 * S, 3 * MS, 9 * MS), &Surroundings { smi: 0, ..board }), "");
    }

    #[test]
    fn a_whole_multiple_of_the_interval_hides() {
        let hz = |tick_ns| Surroundings { tick_ns: Some(tick_ns), ..Surroundings::default() };
        assert!(hidden(&hz(4 * MS), 200_000)[0].contains("every 4 ms, 20 times the interval of 200 us"));
        assert!(hidden(&hz(MS), MS)[0].contains("the interval itself"));
        assert!(hidden(&hz(MS), 10 * MS)[0].contains("10 times in the interval of 10 ms"));
        assert_eq!(hidden(&hz(4 * MS), 333_000), Vec::<String>::new());
    }
}
