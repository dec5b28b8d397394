//! Whether a wait of a real-time thread was a stop by one of the kernel's limits. Pure.
//!
//! No counter of the kernel says so: the throttle's line in the kernel's log comes once a boot and names no CPU, and a
//! fair server leaves no line at all. What can be observed each time: the thread was ready to run for as long as it
//! was late (the kernel counts that), no thread that outranks it ran for that long, and real-time threads had used the
//! CPU for as long as the limit lets them. Where one of these is not known, or something else may explain the wait as well, it is
//! likely at most.

use super::limits::Limit;

/// The part of a wait that the kernel has to have counted as ready and waiting (1 / this is the tolerance).
const WAITED_TOLERANCE: u64 = 5;
/// A stop this much shorter or longer than the longest one has its length (1 / this).
const LENGTH_TOLERANCE: u64 = 4;
/// Real-time threads have used a CPU up where they had this much less than the limit allows (1 / this).
const USE_TOLERANCE: u64 = 10;
/// How much later than it was used the kernel's account of a thread's time can move, at both ends of a window: two ticks (ns).
const ACCOUNT_NS: u64 = 20_000_000;
/// Windows longer than so many half periods say nothing of one period.
const MOST_HALF_PERIODS: u64 = 5;
/// Windows shorter than this much of a period (1 / this less) do not show that the limit was reached.
const WINDOW_TOLERANCE: u64 = 16;

/// A wait of a real-time thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// From when it was to run until it ran (ns).
    pub(crate) length_ns: u64,
    /// How long the kernel counted it as ready and waiting around that (ns); absent where the kernel does not count.
    pub(crate) waited_ns: Option<u64>,
}

/// Who used a CPU around a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuUse {
    /// The time that this covers, up to right after the wait (ns).
    pub(crate) window_ns: u64,
    /// Real-time threads of any priority, the measuring one too (ns).
    pub(crate) real_time_ns: u64,
    /// Of that, the measuring thread itself (ns).
    pub(crate) own_ns: u64,
    /// Of that, threads that run before the measuring one, or take turns with it (ns).
    pub(crate) outranking_ns: u64,
    /// The same with those that may have run on another CPU (ns): as much as can have been here.
    pub(crate) may_outrank_ns: u64,
    /// Whether other threads that outrank it may be hidden from this program.
    pub(crate) is_partial: bool,
    /// Whether one that outranks it may have come and ended, or have ended, between the two looks.
    pub(crate) may_have_ended: bool,
    /// Everything that is neither idle nor stolen (ns), in ticks of 10 ms.
    pub(crate) busy_ns: Option<u64>,
    /// Time that the hypervisor took (ns), in ticks of 10 ms.
    pub(crate) stolen_ns: Option<u64>,
    /// The real-time thread that used most, described, where it was not the measuring one.
    pub(crate) most: Option<String>,
}

/// What a wait was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Judgment {
    /// Something else, or nobody knows.
    Other,
    /// It can have been one, and that cannot be shown: some of the evidence is missing, or speaks for something else as well.
    Likely,
    /// All of the evidence is there.
    Shown,
}

fn is_nearly(length_ns: u64, stop_ns: u64) -> bool {
    length_ns.abs_diff(stop_ns) <= stop_ns / LENGTH_TOLERANCE
}

/// Judges one wait by one limit.
pub(crate) fn judge(wait: Wait, limit: &Limit, cpu_use: Option<&CpuUse>) -> Judgment {
    let Wait { length_ns, waited_ns } = wait;
    if length_ns > limit.longest_stop_ns + limit.longest_stop_ns / LENGTH_TOLERANCE {
        return Judgment::Other;
    }
    // A thread whose timer came late, or whose whole CPU was stopped, was not ready meanwhile.
    if waited_ns.is_some_and(|ns| ns < length_ns - length_ns / WAITED_TOLERANCE) {
        return Judgment::Other;
    }
    let by_length = if is_nearly(length_ns, limit.longest_stop_ns) { Judgment::Likely } else { Judgment::Other };
    let is_vague = |cpu_use: &CpuUse| cpu_use.window_ns > MOST_HALF_PERIODS * limit.period_ns / 2;
    let Some(cpu_use) = cpu_use.filter(|cpu_use| !is_vague(cpu_use)) else { return by_length };
    // Stolen somewhere in the window, which may have been here.
    let may_be_stolen = cpu_use.stolen_ns.is_some_and(|ns| ns >= length_ns);
    // What the limit lets pass within the window: the same time within a longer one would have left some of it over.
    let passes_ns =
        u128::from(cpu_use.window_ns) * u128::from(limit.acts_after_ns()) / u128::from(limit.period_ns.max(1));
    let passes_ns = u64::try_from(passes_ns).unwrap_or(u64::MAX);
    let nearly = |ns: u64| ns - ns / USE_TOLERANCE;
    let needed_ns = nearly(passes_ns);
    let others_ns = cpu_use.real_time_ns.saturating_sub(cpu_use.own_ns);
    let by_others = limit.is_of_all && others_ns >= needed_ns;
    // A thread that never sleeps leaves nothing but the stops, of which a window holds the ends of one more, and what was stolen.
    let left_ns = cpu_use.window_ns.saturating_sub(cpu_use.real_time_ns).saturating_sub(cpu_use.stolen_ns.unwrap_or(0));
    let stops = cpu_use.window_ns / limit.period_ns.max(1) + 1;
    let is_all_used = left_ns <= stops.saturating_mul(limit.longest_stop_ns).saturating_add(ACCOUNT_NS);
    let is_used_up = by_others || (cpu_use.real_time_ns >= needed_ns && is_all_used);
    let is_excluded = cpu_use.outranking_ns >= length_ns / 4 || waited_ns.is_none() || may_be_stolen;
    let may_be_another = cpu_use.is_partial || cpu_use.may_outrank_ns >= length_ns / 4;
    let is_short = cpu_use.window_ns < limit.period_ns - limit.period_ns / WINDOW_TOLERANCE;
    // Ordinary threads get the CPU in the time that is left over, and may keep preemption off in it for any time: that is
    // excluded where nothing is left but stops, and the wait has the length of one.
    let is_whole = is_all_used && !is_short && by_length == Judgment::Likely;
    // That a thread which never sleeps has used its CPU up says nothing of one wait, and of a group's budget nobody knows who
    // uses it.
    let is_alone = !by_others && cpu_use.may_have_ended;
    let is_sure = is_whole && !is_alone && !limit.is_presumed && !may_be_another;
    match (is_used_up, cpu_use.outranking_ns) {
        (true, _) if is_excluded => by_length,
        (true, _) if is_sure => Judgment::Shown,
        (true, _) => Judgment::Likely,
        // Somebody who outranks the thread ran for as long: no limit is needed to explain the wait.
        (false, outranking_ns) if outranking_ns >= length_ns / 2 => Judgment::Other,
        // The thread that used the CPU up can have ended before it was looked for, or have begun within the window.
        (false, _) if cpu_use.busy_ns.is_none_or(|ns| ns >= nearly(passes_ns.min(limit.acts_after_ns()))) => by_length,
        (false, _) => Judgment::Other,
    }
}

/// Judges one wait by every limit that is in force; of equal judgments the earlier limit's stands.
pub(crate) fn judge_all<'a>(
    wait: Wait,
    limits: &'a [Limit],
    cpu_use: Option<&CpuUse>,
) -> Option<(Judgment, Vec<&'a Limit>)> {
    let judged: Vec<(Judgment, &Limit)> =
        limits.iter().map(|limit| (judge(wait, limit, cpu_use), limit)).filter(|(j, _)| *j > Judgment::Other).collect();
    let best = judged.iter().map(|(judgment, _)| *judgment).max()?;
    Some((best, judged.iter().filter(|(judgment, _)| *judgment == best).map(|(_, limit)| *limit).collect()))
}

#[cfg(test)]
mod tests {
    use super::super::limits::{LimitKind, Settings, parse_release};
    use super::*;

    const MS: u64 = 1_000_000;

    fn limits(release: &str, runtime_us: i64) -> Vec<Limit> {
        let settings = Settings {
            release: parse_release(release),
            runtime_us: Some(runtime_us),
            period_us: Some(1_000_000),
            ..Settings::default()
        };
        let with_server = settings.release >= Some((6, 12));
        let fair_servers = with_server.then_some((1, (50 * MS, 1_000 * MS))).into_iter().collect();
        Settings { fair_servers, ..settings }.limits(1)
    }

    fn wait(length_ms: u64, waited_ms: u64) -> Wait {
        Wait { length_ns: length_ms * MS, waited_ns: Some(waited_ms * MS) }
    }

    /// Over the 1,050 ms up to a wait.
    fn used(real_time_ms: u64, outranking_ms: u64) -> CpuUse {
        CpuUse {
            window_ns: 1_050 * MS,
            real_time_ns: real_time_ms * MS,
            outranking_ns: outranking_ms * MS,
            may_outrank_ns: outranking_ms * MS,
            own_ns: 0,
            is_partial: false,
            may_have_ended: false,
            busy_ns: Some(real_time_ms * MS),
            stolen_ns: Some(0),
            most: None,
        }
    }

    fn check(release: &str, wait: Wait, cpu_use: Option<&CpuUse>, expected: Judgment) {
        let limits = limits(release, 950_000);
        let judged = judge_all(wait, &limits, cpu_use).map_or(Judgment::Other, |(judgment, _)| judgment);
        assert_eq!(judged, expected, "{release}: {wait:?}, {cpu_use:?}");
    }

    #[test]
    fn a_stop_below_a_hog_is_shown_on_old_and_new_kernels() {
        for release in ["5.10.0-33-rt-amd64", "6.1.0-31-rt-amd64", "6.12.9", "6.18.44"] {
            check(release, wait(50, 50), Some(&used(950, 0)), Judgment::Shown);
            // A schedule in the middle of a stop, or ordinary threads that had less to do: or preemption off within what is left.
            check(release, wait(6, 6), Some(&used(950, 0)), Judgment::Likely);
        }
        let names = |release| {
            let limits = limits(release, -1);
            limits.into_iter().map(|limit| limit.kind).collect::<Vec<_>>()
        };
        assert_eq!(names("6.1.0"), [], "-1 lifts the throttle");
        assert_eq!(names("6.12.9"), [LimitKind::FairServer], "and not the fair server");
    }

    #[test]
    fn stops_that_were_seen_on_linux_6_18_are_recognized() {
        // A FIFO 10 hog beside an ordinary busy thread, a FIFO 80 thread at 1 ms: length, and what the kernel counted.
        for (length_ns, waited_ns) in [(53_160_000, 53_138_091), (51_970_000, 51_965_572), (37_840_000, 37_798_533)] {
            let wait = Wait { length_ns, waited_ns: Some(waited_ns) };
            check("6.18.44", wait, Some(&used(950, 0)), Judgment::Shown);
        }
        let partly = Wait { length_ns: 6_120_000, waited_ns: Some(7_554_059) };
        check("6.18.44", partly, Some(&used(950, 0)), Judgment::Likely);
    }

    #[test]
    fn real_time_threads_that_leave_time_over_are_stopped_by_no_limit() {
        // One of 60 %, and an ordinary thread that keeps preemption off.
        for (window_ms, whole) in [
            (970, Judgment::Other),
            (1_050, Judgment::Other),
            // It may as well have begun a second ago, and used that up.
            (1_460, Judgment::Likely),
            (2_400, Judgment::Likely),
        ] {
            let busy = CpuUse { window_ns: window_ms * MS, ..used(window_ms * 6 / 10, 0) };
            check("6.1.0", wait(20, 20), Some(&busy), Judgment::Other);
            check("6.1.0", wait(50, 50), Some(&busy), whole);
        }
        // One of 87 %, which the limit lets pass too, is near enough to it for a doubt.
        for window_ms in [970, 1_050, 1_460] {
            let busy = CpuUse { window_ns: window_ms * MS, ..used(window_ms * 87 / 100, 0) };
            check("6.1.0", wait(20, 20), Some(&busy), Judgment::Likely);
            check("6.1.0", wait(50, 50), Some(&busy), Judgment::Likely);
        }
    }

    #[test]
    fn a_window_that_is_shorter_than_a_period_shows_nothing_and_excludes_nothing() {
        // A hog that is older than the run, and a stop 600 ms after its beginning.
        let short = |real_time_ms| CpuUse { window_ns: 600 * MS, ..used(real_time_ms, 0) };
        check("6.1.0", wait(50, 50), Some(&short(550)), Judgment::Likely);
        check("6.1.0", wait(6, 6), Some(&short(550)), Judgment::Likely);
        check("6.1.0", wait(50, 50), Some(&short(300)), Judgment::Other);
    }

    #[test]
    fn what_may_have_come_and_ended_may_have_been_as_long_as_a_stop() {
        let own = CpuUse { own_ns: 1_000 * MS, may_have_ended: true, ..used(1_000, 0) };
        check("6.12.9", wait(50, 50), Some(&own), Judgment::Likely);
        // Below a hog the limit acts in any case.
        let hog = CpuUse { may_have_ended: true, ..used(950, 0) };
        check("6.12.9", wait(50, 50), Some(&hog), Judgment::Shown);
    }

    #[test]
    fn a_small_budget_of_a_group_is_used_up_soon() {
        let limit = Limit {
            kind: LimitKind::Group("/rt".to_owned()),
            longest_stop_ns: 900 * MS,
            period_ns: 1_000 * MS,
            is_presumed: false,
            is_of_all: false,
        };
        assert_eq!(judge(wait(900, 900), &limit, Some(&used(100, 0))), Judgment::Shown);
        assert_eq!(judge(wait(900, 900), &limit, Some(&used(20, 0))), Judgment::Other);
        let of_all = Limit { is_of_all: true, ..limit.clone() };
        assert_eq!(judge(wait(900, 900), &of_all, Some(&used(100, 0))), Judgment::Shown);
        assert_eq!(judge(wait(300, 300), &of_all, Some(&used(100, 0))), Judgment::Likely);
        // Whether those who used it are of the group nobody asked.
        assert_eq!(judge(wait(300, 300), &limit, Some(&used(100, 0))), Judgment::Likely);
        // The same use over two periods left half of the budget over.
        let longer = CpuUse { window_ns: 1_990 * MS, ..used(91, 0) };
        for limit in [&limit, &of_all] {
            assert_eq!(judge(wait(900, 900), limit, Some(&longer)), Judgment::Likely);
            assert_eq!(judge(wait(300, 300), limit, Some(&longer)), Judgment::Other);
        }
    }

    #[test]
    fn what_was_no_wait_is_no_stop() {
        // A timer or a host that was late: the thread was not ready.
        check("6.1.0", wait(50, 0), Some(&used(950, 0)), Judgment::Other);
        check("6.18.44", wait(50, 30), Some(&used(950, 0)), Judgment::Other);
        let stolen = CpuUse { stolen_ns: Some(60 * MS), ..used(950, 0) };
        check("6.18.44", wait(50, 50), Some(&stolen), Judgment::Likely);
        check("6.18.44", wait(20, 20), Some(&stolen), Judgment::Other);
    }

    #[test]
    fn a_thread_that_outranks_is_no_limit() {
        // A cyclic thread of 50 ms in each second has the shape of the throttle.
        check("6.1.0", wait(50, 50), Some(&used(52, 50)), Judgment::Other);
        // Beside a hog it cannot be decided which of them it was.
        check("6.1.0", wait(50, 50), Some(&used(950, 50)), Judgment::Likely);
        check("6.1.0", wait(20, 20), Some(&used(950, 50)), Judgment::Other);
    }

    #[test]
    fn a_thread_that_uses_its_cpu_up_itself_was_stopped_for_that_where_a_wait_is_as_long_as_a_stop() {
        let own = |real_time_ms, others_ms| CpuUse { own_ns: (real_time_ms - others_ms) * MS, ..used(real_time_ms, 0) };
        for release in ["6.1.0", "6.12.9"] {
            check(release, wait(50, 50), Some(&own(1_000, 0)), Judgment::Shown);
            // A thread of the highest priority that came and has ended took as long.
            check(release, wait(5, 5), Some(&own(1_000, 0)), Judgment::Likely);
            // The end of an earlier stop lies in the window too.
            check(release, wait(50, 50), Some(&own(950, 0)), Judgment::Shown);
            // The hypervisor took some, which the kernel does not count as used, and ticks move the account.
            let stolen = CpuUse { stolen_ns: Some(20 * MS), window_ns: 1_000 * MS, ..own(912, 0) };
            check(release, wait(50, 50), Some(&stolen), Judgment::Shown);
            // One that rests leaves ordinary threads more than the limit would take for them.
            check(release, wait(50, 50), Some(&own(913, 0)), Judgment::Likely);
            check(release, wait(5, 5), Some(&own(913, 0)), Judgment::Other);
            let longer = CpuUse { window_ns: 1_990 * MS, ..own(1_730, 0) };
            check(release, wait(5, 5), Some(&longer), Judgment::Other);
            // It does not where others use what it leaves.
            check(release, wait(50, 50), Some(&own(960, 60)), Judgment::Shown);
        }
    }

    #[test]
    fn what_may_be_hidden_or_elsewhere_or_presumed_is_not_shown() {
        let partial = CpuUse { is_partial: true, ..used(950, 0) };
        check("6.1.0", wait(20, 20), Some(&partial), Judgment::Likely);
        let elsewhere = CpuUse { may_outrank_ns: 50 * MS, ..used(950, 0) };
        check("6.1.0", wait(50, 50), Some(&elsewhere), Judgment::Likely);
        check("6.1.0", wait(20, 20), Some(&elsewhere), Judgment::Likely);
        let presumed = Limit { is_presumed: true, ..limits("6.1.0", 950_000).remove(0) };
        assert_eq!(judge(wait(50, 50), &presumed, Some(&used(950, 0))), Judgment::Likely);
    }

    #[test]
    fn a_hog_elsewhere_is_no_hog_here() {
        check("6.1.0", wait(50, 50), Some(&used(0, 0)), Judgment::Other);
        check("6.1.0", wait(400, 400), Some(&used(950, 0)), Judgment::Other);
    }

    #[test]
    fn with_less_evidence_it_is_likely_and_only_at_the_full_length() {
        check("6.1.0", wait(50, 50), None, Judgment::Likely);
        check("6.1.0", wait(20, 20), None, Judgment::Other);
        let uncounted = Wait { length_ns: 50 * MS, waited_ns: None };
        check("6.1.0", uncounted, Some(&used(950, 0)), Judgment::Likely);
        // The first stop after an hour: what was used meanwhile says nothing of one second.
        let long = CpuUse { window_ns: 3_600_000 * MS, ..used(5_000, 0) };
        check("6.1.0", wait(50, 50), Some(&long), Judgment::Likely);
        // The CPU was busy with a thread that has ended.
        let ended = CpuUse { busy_ns: Some(980 * MS), ..used(0, 0) };
        check("6.1.0", wait(50, 50), Some(&ended), Judgment::Likely);
    }
}
