//! Runs that compare clocks: locked with a burst of queueing, lost and found again, and without hard bounds.

use record::{
    Detail, Manifest, Measurement, Moment, NodeIdentity, Place, ReasonCode, Record, Requested, SyncChange, SyncRun,
    SyncService, SyncState, ToolVersion, Validity,
};
use sync::bound::OffsetBound;
use sync::follow::{About, Followed, Follower, Shown};
use units::{ClockId, Ns, Random, Timestamp, approx_f64, round_u64};

use crate::synthetic::START_REALTIME_NS;

const START: Moment =
    Moment { monotonic: Timestamp::from_ns(86_400_000_000_000), realtime: Timestamp::from_ns(START_REALTIME_NS) };
/// How fast a bound grows between two exchanges (parts per billion).
const MAX_DRIFT_PPB: u32 = 20_000;
const SECOND_NS: u64 = 1_000_000_000;

fn at(ns: u64) -> Moment {
    START.plus(Ns(i64::try_from(ns).unwrap_or(0)))
}

fn whole(ns: f64) -> i64 {
    i64::try_from(round_u64(ns.abs())).unwrap_or(0) * if ns < 0.0 { -1 } else { 1 }
}

/// A random number of a normal distribution, with mean 0 and standard deviation 1.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// How exchanges of a source behave.
struct Path {
    /// Time from one exchange to the next (ns).
    every_ns: u64,
    /// The shortest path delay (ns).
    delay_ns: f64,
    /// Spread of delay and offset (ns).
    jitter_ns: f64,
    /// While this share of the run lasts, messages queue in one direction, by this much on average (ns).
    burst: (f64, f64, f64),
    bounded: bool,
}

/// Takes the exchanges from one moment to another, of a run as long as `duration_ns`.
fn exchange(follower: &mut Follower, path: &Path, (from_ns, to_ns, duration_ns): (u64, u64, u64), random: &mut Random) {
    let mut wander_ns = 0.0;
    let mut before: Option<OffsetBound> = None;
    let mut at_ns = from_ns;
    while at_ns < to_ns {
        let share = approx_f64(at_ns) / approx_f64(duration_ns);
        let queues = share >= path.burst.0 && share < path.burst.1;
        let mean_ns = if queues { path.burst.2 } else { path.jitter_ns * 0.6 };
        // Waiting in queues adds to one direction at a time.
        let [out_ns, back_ns] =
            [1.0, if queues { 0.15 } else { 1.0 }].map(|part| -mean_ns * part * (1.0 - random.unit()).ln());
        wander_ns = wander_ns * 0.97 + 0.2 * path.jitter_ns * normal(random);
        let delay_ns = path.delay_ns + (out_ns + back_ns) / 2.0;
        let offset_ns = wander_ns + (out_ns - back_ns) / 2.0;
        let bound = OffsetBound { lower_ns: whole(offset_ns - delay_ns), upper_ns: whole(offset_ns + delay_ns) };
        // Between two exchanges an earlier bound holds on, wider by what the oscillator can drift.
        if let Some(last) = before.filter(|_| path.bounded) {
            let drift_ns = i64::try_from(path.every_ns * u64::from(MAX_DRIFT_PPB) / SECOND_NS).unwrap_or(0);
            let aged = OffsetBound { lower_ns: last.lower_ns - drift_ns, upper_ns: last.upper_ns + drift_ns };
            follower.bound(at(at_ns - 1_000), aged);
        }
        let shown = Shown { offset_ns: whole(offset_ns), delay_ns: Some(whole(delay_ns)), frequency_ppb: Some(14.0) };
        follower.offset(at(at_ns), shown, path.bounded.then_some(bound));
        follower.own_estimate(whole(offset_ns * 0.4));
        before = Some(bound);
        at_ns += path.every_ns;
    }
}

fn ptp4l(duration_ns: u64) -> Follower {
    let about = About {
        service: SyncService::Linuxptp,
        place: Place::Port { port: "eth0".to_owned(), domain: Some(0) },
        clock: Some(units::ClockName::Phc("ptp0".to_owned())),
        trusts: "no message was received before it was sent (raw time stamps of the exchanges with its parent in domain 0), \
                 and that an uncorrected clock drifts by at most 20 ppm"
            .to_owned(),
        is_judged: true,
        without_bound: "ptp4l passes no raw time stamps on; give it a line such as 'slave_event_monitor \
                        /run/ptp4l-events' in the section [global] of its configuration, and start it again"
            .to_owned(),
    };
    let mut follower = Follower::new(about, START, duration_ns / 60);
    follower.version("4.2".to_owned());
    follower.could_miss("changes of state between two questions, 1 s apart".to_owned());
    follower
}

fn chronyd(duration_ns: u64) -> Follower {
    let about = About {
        service: SyncService::Chrony,
        place: Place::Port { port: "chronyd".to_owned(), domain: None },
        clock: Some(ClockId::Realtime.into()),
        trusts: "the server is right, and that half of the root delay and the root dispersion contain the error"
            .to_owned(),
        is_judged: true,
        without_bound: String::new(),
    };
    let mut follower = Follower::new(about, START, duration_ns / 60);
    follower.version("4.6.1".to_owned());
    follower
}

fn manifest(duration_ns: u64, limit_ns: Option<u64>) -> Manifest {
    Manifest {
        tool: ToolVersion { name: "punctual".to_owned(), version: "0.1.0".to_owned() },
        command: ["punctual", "measure", "sync"].map(str::to_owned).to_vec(),
        node: NodeIdentity {
            hostname: "press-7".to_owned(),
            kernel_release: "6.12.48-rt13".to_owned(),
            kernel_version: "#1 SMP PREEMPT_RT Debian 6.12.48-1 (2026-02-20)".to_owned(),
            machine: "x86_64".to_owned(),
            online_cpus: (0..4).collect(),
            ..NodeIdentity::default()
        },
        started: START,
        ended: at(duration_ns),
        time_zone: Some("Europe/Berlin".to_owned()),
        requested: Requested { duration_ns: Some(duration_ns), deadline_ns: limit_ns, ..Requested::default() },
        load: record::LoadManifest { name: "none".to_owned(), ..record::LoadManifest::default() },
        ..Manifest::default()
    }
}

fn run(followed: Vec<Followed>, duration_ns: u64, limit_ns: Option<u64>, validity: Validity) -> Record {
    let mut sync = SyncRun { max_drift_ppb: MAX_DRIFT_PPB, ..SyncRun::default() };
    let mut series = Vec::new();
    for one in followed {
        for part in one.parts {
            sync.sources.push(part.source);
            series.extend(part.series);
        }
        sync.events.extend(one.events);
    }
    sync.events.sort_by_key(|event| event.at.monotonic);
    let empty =
        Record::empty("2026-03-02T07-00-00Z-sync".to_owned(), Measurement::Sync, manifest(duration_ns, limit_ns));
    let mut record =
        Record { label: "an hour of sync".to_owned(), validity, series, detail: Detail::Sync(sync), ..empty }
            .with_node_named();
    record.verdict = limit_ns.map(|limit_ns| analysis::verdict(&record, limit_ns));
    record
}

/// An hour with ptp4l and chronyd, both locked; for a while messages queue on the way to ptp4l.
pub(crate) fn locked() -> Record {
    let duration_ns = 3_600 * SECOND_NS;
    let mut random = Random::new(21);
    let mut ptp = ptp4l(duration_ns);
    ptp.state(at(0), SyncState::Starting, "");
    ptp.state(at(9 * SECOND_NS), SyncState::Locked, "port SLAVE");
    ptp.reference(at(0), "grand master 0cc47a.fffe.8a1b2c");
    let path = Path {
        every_ns: SECOND_NS / 8,
        delay_ns: 2_100.0,
        jitter_ns: 130.0,
        burst: (0.62, 0.68, 9_000.0),
        bounded: true,
    };
    exchange(&mut ptp, &path, (0, duration_ns, duration_ns), &mut random);
    let mut chrony = chronyd(duration_ns);
    chrony.state(at(0), SyncState::Locked, "");
    chrony.reference(at(0), "server 192.168.1.1");
    chrony.event(
        at(2_000 * SECOND_NS),
        SyncChange::Leap,
        "a leap second is announced for the end of the day".to_owned(),
    );
    let path =
        Path { every_ns: 4 * SECOND_NS, delay_ns: 41_000.0, jitter_ns: 4_000.0, burst: (2.0, 2.0, 0.0), bounded: true };
    exchange(&mut chrony, &path, (0, duration_ns, duration_ns), &mut random);
    let end = at(duration_ns);
    run(vec![ptp.finish(end), chrony.finish(end)], duration_ns, Some(400_000), Validity::default())
}

/// Ten minutes in which the reference is lost and found again, the clock is set, and another grand master takes over.
pub(crate) fn lost() -> Record {
    let second = |second: u64| second * SECOND_NS;
    let duration_ns = second(600);
    let mut random = Random::new(22);
    let mut ptp = ptp4l(duration_ns);
    let path =
        Path { every_ns: SECOND_NS / 8, delay_ns: 2_100.0, jitter_ns: 160.0, burst: (2.0, 2.0, 0.0), bounded: true };
    ptp.state(at(0), SyncState::Locked, "");
    ptp.reference(at(0), "grand master 0cc47a.fffe.8a1b2c");
    exchange(&mut ptp, &path, (0, second(180), duration_ns), &mut random);
    ptp.state(at(second(180)), SyncState::Holdover, "no announcement for 3 s");
    // The bound of the last exchange, until the source is given up.
    for passed in 1..40 {
        let wide_ns = 2_300 + 20_000 * i64::try_from(passed).unwrap_or(0);
        ptp.bound(at(second(180 + passed)), OffsetBound { lower_ns: -wide_ns, upper_ns: wide_ns });
    }
    ptp.state(at(second(220)), SyncState::Lost, "the port is FAULTY");
    for flap in 0..7 {
        ptp.state(at(second(240 + 8 * flap)), SyncState::Starting, "port UNCALIBRATED");
        ptp.state(at(second(244 + 8 * flap)), SyncState::Lost, "the port is FAULTY");
    }
    ptp.state(at(second(300)), SyncState::Starting, "port UNCALIBRATED");
    ptp.reference(at(second(300)), "grand master 44ac85.fffe.01c3de");
    ptp.step(at(second(304)), -312_000);
    ptp.state(at(second(310)), SyncState::Locked, "port SLAVE");
    exchange(&mut ptp, &path, (second(304), duration_ns, duration_ns), &mut random);
    let mut validity = Validity::default();
    validity.add(ReasonCode::SyncLost, "eth0 domain 0: lost for 90 s, noticed 3 min 40 s into the run");
    validity.add(ReasonCode::ClockStepped, "eth0 domain 0: set by -312 us, noticed 5 min 4 s into the run");
    let changed = "eth0 domain 0: grand master 0cc47a.fffe.8a1b2c to grand master 44ac85.fffe.01c3de";
    validity.add(ReasonCode::ReferenceChanged, changed);
    let mut record = run(vec![ptp.finish(at(duration_ns))], duration_ns, Some(50_000), validity);
    "sync".clone_into(&mut record.label);
    record
}

/// Five minutes of a ptp4l that passes no raw time stamps on, and of a kernel that knows no offset.
pub(crate) fn unbounded() -> Record {
    let duration_ns = 300 * SECOND_NS;
    let mut random = Random::new(23);
    let mut ptp = ptp4l(duration_ns);
    ptp.state(at(0), SyncState::Locked, "");
    ptp.reference(at(0), "grand master 0cc47a.fffe.8a1b2c");
    let path =
        Path { every_ns: SECOND_NS / 4, delay_ns: 2_100.0, jitter_ns: 160.0, burst: (2.0, 2.0, 0.0), bounded: false };
    exchange(&mut ptp, &path, (0, duration_ns, duration_ns), &mut random);
    let mut kernel = Follower::new(
        About {
            service: SyncService::Kernel,
            place: Place::Port { port: "kernel".to_owned(), domain: None },
            clock: Some(ClockId::Realtime.into()),
            trusts: String::new(),
            is_judged: false,
            without_bound: "the kernel passes on what a time service stated, and knows no offset of its own".to_owned(),
        },
        START,
        duration_ns / 60,
    );
    kernel.state(at(0), SyncState::Free, "");
    kernel.reference(at(0), "what a time service stated: largest error 16 s, estimated 16 s");
    let end = at(duration_ns);
    let mut record = run(vec![ptp.finish(end), kernel.finish(end)], duration_ns, None, Validity::default());
    "sync".clone_into(&mut record.label);
    let why = "eth0 domain 0: ptp4l passes no raw time stamps on";
    record.validity.add(ReasonCode::NoHardBound, why);
    record
}

/// Ten minutes of offsets about a mean, within a hard bound, once a second and more.
pub(crate) fn about(label: &str, mean_ns: f64, seed: u64) -> Record {
    let duration_ns = 600 * SECOND_NS;
    let mut random = Random::new(seed);
    let mut ptp = ptp4l(duration_ns);
    ptp.state(at(0), SyncState::Locked, "");
    ptp.reference(at(0), "grand master 0cc47a.fffe.8a1b2c");
    for eighth in 0..8 * 600 {
        let offset_ns = whole(mean_ns + 3_000.0 * normal(&mut random));
        let shown = Shown { offset_ns, delay_ns: Some(9_000), frequency_ppb: Some(14.0) };
        let bound = OffsetBound { lower_ns: offset_ns - 9_000, upper_ns: offset_ns + 9_000 };
        ptp.offset(at(eighth * SECOND_NS / 8), shown, Some(bound));
    }
    let mut record = run(vec![ptp.finish(at(duration_ns))], duration_ns, None, Validity::default());
    (record.id, record.label) = (format!("sync-{seed}"), label.to_owned());
    record
}
