//! Which cause `assess` has to name and which it must not: rivals, limits on real-time threads, the host, rhythms,
//! stops.
//!
//! Each case knows what took the CPU. It simulates the events that this leaves; the program's own rules explain them.

use analysis::cause::{Surroundings, Thread};
use analysis::rhythm::{self, FALSE_ALARM};
use profile::Profile;
use profile::kernel::Preemption;
use record::{CauseClass, Certainty, Owner, ReasonCode, Record};
use summary::{Answer, Assessment, AssessmentInput, Change, Part, assess};
use units::Random;

use super::Case;
use super::assess::{
    DEADLINE_NS, all_text, idle_plan, judge, judge_first_advice, judge_never, judge_not_advised, load_plan,
};
use crate::draw::run;
use crate::outcome::{Concluded, Fault, Judgment};
use crate::stops::{Stop, Taker, at_random, deadline, fifo, find_rhythms, ordinary, periodic, stopped};
use crate::truth::{Process, SECOND_NS};

const MS: u64 = 1_000_000;
/// The measured CPUs.
const CPUS: [u32; 2] = [2, 3];
/// Bounds of the lengths of stops that exceed the deadline (ns).
const LENGTHS: (u64, u64) = (1_200_000, 2_500_000);

/// A bare-metal machine whose kernel has this preemption model.
fn machine_with(preemption: Preemption) -> Profile {
    let mut profile = Profile::default();
    profile.kernel.preemption = preemption;
    profile.virt.guest = Some(false);
    profile
}

/// A virtual machine.
fn guest() -> Profile {
    let mut profile = machine_with(Preemption::Voluntary);
    profile.virt.guest = Some(true);
    profile
}

fn surroundings(machine: &Profile) -> Surroundings {
    Surroundings::from_profile(machine, &CPUS.into_iter().collect())
}

/// Draws a run under load with these stops.
fn loaded(machine: &Profile, stops: Vec<Stop>, random: &mut Random) -> Record {
    let mut loaded = stopped(&load_plan(), stops, &surroundings(machine), random);
    loaded.manifest_mut().load.commands = vec![vec!["/usr/bin/stress-ng".to_owned(), "--iomix".to_owned()]];
    loaded
}

/// Assesses a run under load together with a quiet idle run.
fn assessed(machine: &Profile, loaded: &Record, random: &mut Random) -> Assessment {
    let idle = run(&Process::quiet(), &idle_plan(), random);
    assess(&AssessmentInput {
        deadline_ns: DEADLINE_NS,
        idle: Part::Measured(&idle),
        loaded: Part::Measured(loaded),
        // As in a list that was made for another kernel.
        changes: vec![Change {
            title: "Take a PREEMPT_RT kernel".to_owned(),
            finding: Some("kernel-not-realtime".to_owned()),
            ..Change::default()
        }],
        surroundings: surroundings(machine),
        ..AssessmentInput::default()
    })
}

/// Stops of both CPUs at independent moments, a few times a second.
fn on_each(taker: &Taker, random: &mut Random) -> Vec<Stop> {
    CPUS.into_iter().flat_map(|cpu| at_random(cpu, &load_plan(), 2.0, LENGTHS, taker, random)).collect()
}

/// The first wrong conclusion, otherwise the first refusal, otherwise the first of all.
fn all<const N: usize>(each: [Concluded; N]) -> Concluded {
    let mut each: Vec<Concluded> = each.into_iter().collect();
    let first = |is_wanted: &dyn Fn(&Judgment) -> bool| each.iter().position(|one| is_wanted(&one.judgment));
    let at = first(&|judgment| matches!(judgment, Judgment::Wrong(_)))
        .or_else(|| first(&|judgment| *judgment == Judgment::Refused))
        .unwrap_or(0);
    each.swap_remove(at)
}

/// Wrong if the assessment does not contain these words.
fn judge_says(assessment: &Assessment, words: &str) -> Concluded {
    let all_text = all_text(assessment);
    let line = all_text.lines().find(|line| line.contains(words));
    let judgment = if line.is_some() { Judgment::Right } else { Judgment::Wrong(Fault::WrongAdvice) };
    Concluded::new(judgment, line.map_or_else(|| format!("missing in the text: {words}"), str::to_owned))
}

/// `taker` takes the CPUs. The first advice must contain `name`; the text must contain `remedy` and must not contain
/// `never`.
fn blamed(
    machine: fn() -> Profile,
    taker: fn() -> Taker,
    name: &'static str,
    remedy: &'static str,
    never: &'static str,
) -> impl Fn(&mut Random) -> Concluded {
    move |random| {
        let machine = machine();
        let loaded = loaded(&machine, on_each(&taker(), random), random);
        let assessment = assessed(&machine, &loaded, random);
        all([
            judge(&assessment, Answer::DoesNotHold),
            judge_first_advice(&assessment, name),
            judge_says(&assessment, remedy),
            judge_never(&assessment, never),
        ])
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = rivals();
    cases.extend(kernels());
    cases.extend(host());
    cases.extend(rhythms());
    cases.extend(limits_and_stops());
    cases
}

const LOWER: &str = "give that thread a lower priority than yours";
const REALTIME_KERNEL: &str = "take a preempt_rt kernel";

fn bare() -> Profile {
    machine_with(Preemption::Voluntary)
}

fn rivals() -> Vec<Case> {
    vec![
        Case::answerable(
            "a rival of a higher priority that comes and goes",
            blamed(bare, || Taker::Thread(fifo("hog", 99)), "hog (fifo 99)", LOWER, REALTIME_KERNEL),
        ),
        Case::answerable(
            "a rival of the same priority that comes and goes",
            blamed(bare, || Taker::Thread(fifo("hog", 98)), "hog (fifo 98)", LOWER, REALTIME_KERNEL),
        ),
        Case::answerable(
            "a rival of SCHED_DEADLINE, which outranks every priority",
            blamed(bare, || Taker::Thread(deadline("hog")), "hog (deadline)", "give it other cpus", LOWER),
        ),
        Case::answerable(
            "a thread of the kernel's stop class, which no priority exceeds",
            blamed(bare, || Taker::Thread(fifo("migration/2", 99)), "migration/2", "no priority exceeds it", LOWER),
        ),
        Case::answerable(
            "a rival that belongs to the load",
            blamed(
                bare,
                || Taker::Thread(Thread { owner: Owner::Load, ..fifo("stress-ng", 99) }),
                "stress-ng",
                "the load itself ran at a priority",
                LOWER,
            ),
        ),
        Case::answerable(
            "a rival that only counters show",
            blamed(bare, || Taker::CountedThread(fifo("hog", 99)), "is the cause (likely)", LOWER, REALTIME_KERNEL),
        ),
        Case::answerable("a rival that ran on another CPU while something unseen made the wake-ups late", |random| {
            let elsewhere = on_each(&Taker::UnseenBeside(fifo("hog", 99)), random);
            let loaded = loaded(&bare(), elsewhere, random);
            let assessment = assessed(&bare(), &loaded, random);
            all([
                judge(&assessment, Answer::DoesNotHold),
                judge_not_advised(&assessment, "hog"),
                judge_never(&assessment, "hog"),
                judge_says(&assessment, "unknown"),
            ])
        }),
        Case::answerable("a rival was allowed on a CPU, and nothing was late", |random| {
            let mut loaded = run(&Process::quiet(), &load_plan(), random);
            loaded.validity.add(ReasonCode::RivalRealtime, "hog (fifo 99) on CPU 2");
            let assessment = assessed(&bare(), &loaded, random);
            all([judge(&assessment, Answer::Holds), judge_says(&assessment, "that outranks a measuring thread")])
        }),
    ]
}

fn kernels() -> Vec<Case> {
    vec![
        Case::answerable(
            "a thread of lower priority keeps preemption off, no PREEMPT_RT kernel",
            blamed(bare, || Taker::Thread(ordinary("cups")), "cups (other)", REALTIME_KERNEL, LOWER),
        ),
        Case::answerable(
            "a thread of lower priority keeps preemption off, on PREEMPT_RT",
            blamed(
                || machine_with(Preemption::Realtime),
                || Taker::Thread(ordinary("cups")),
                "cups (other)",
                "preempt_rt leaves few such sections",
                REALTIME_KERNEL,
            ),
        ),
        Case::answerable(
            "interrupts off in a driver, on PREEMPT_RT",
            blamed(
                || machine_with(Preemption::Realtime),
                || Taker::InterruptsOff(ordinary("kworker/2:1"), "iwl_trans_write"),
                "kworker/2:1",
                "report it with the functions",
                REALTIME_KERNEL,
            ),
        ),
        Case::answerable(
            "a softirq, on PREEMPT_RT",
            blamed(
                || machine_with(Preemption::Realtime),
                || Taker::Softirq("NET_RX"),
                "net_rx",
                "softirqs run in threads here",
                REALTIME_KERNEL,
            ),
        ),
        Case::answerable("unknown causes, on PREEMPT_RT", |random| {
            let machine = machine_with(Preemption::Realtime);
            let unseen = on_each(&Taker::Host { stopped: None, is_counted: false }, random);
            let loaded = loaded(&machine, unseen, random);
            let assessment = assessed(&machine, &loaded, random);
            all([judge(&assessment, Answer::DoesNotHold), judge_never(&assessment, REALTIME_KERNEL)])
        }),
    ]
}

/// Stops of both CPUs at the same moments: on the first CPU a thread was in the kernel, the second CPU was idle.
fn stop_both(is_counted: bool, random: &mut Random) -> Vec<Stop> {
    let busy = Taker::Host { stopped: Some((ordinary("stress-ng-iomix"), "iowrite16")), is_counted: false };
    let idle = Taker::Host { stopped: None, is_counted };
    let of_first = at_random(CPUS[0], &load_plan(), 2.0, (3 * MS, 9 * MS), &busy, random);
    let of_second: Vec<Stop> =
        of_first.iter().map(|stop| Stop { cpu: CPUS[1], taker: idle.clone(), ..stop.clone() }).collect();
    [of_first, of_second].concat()
}

/// The number of explained samples of a class.
fn samples_of_class(record: &Record, class: CauseClass) -> u64 {
    let causes = record.explanation().into_iter().flat_map(|known| &known.causes);
    units::total(causes.filter(|cause| cause.class == class).map(|cause| cause.samples))
}

fn host() -> Vec<Case> {
    vec![
        Case::answerable("the host stops two CPUs at the same moment, and the steal time of one shows it", |random| {
            let loaded = loaded(&guest(), stop_both(true, random), random);
            let assessment = assessed(&guest(), &loaded, random);
            all([
                judge(&assessment, Answer::DoesNotHold),
                judge_first_advice(&assessment, "hypervisor"),
                judge_never(&assessment, "stress-ng-iomix"),
            ])
        }),
        Case::answerable("two CPUs stop at the same moment, no counter shows it, and one was idle", |random| {
            let loaded = loaded(&bare(), stop_both(false, random), random);
            let assessment = assessed(&bare(), &loaded, random);
            all([
                judge(&assessment, Answer::DoesNotHold),
                judge_never(&assessment, "stress-ng-iomix"),
                judge_says(&assessment, "unknown"),
            ])
        }),
        Case::answerable("the host stops one CPU, and a thread keeps interrupts off on the other", |random| {
            let thread = Taker::InterruptsOff(ordinary("cups"), "parport_write");
            let mut stops = at_random(CPUS[0], &load_plan(), 2.0, (3 * MS, 9 * MS), &thread, random);
            let of_thread = stops.len() as u64;
            let counted = Taker::Host { stopped: None, is_counted: true };
            stops.extend(at_random(CPUS[1], &load_plan(), 2.0, (3 * MS, 9 * MS), &counted, random));
            let of_host = stops.len() as u64 - of_thread;
            let loaded = loaded(&guest(), stops, random);
            let assessment = assessed(&guest(), &loaded, random);
            // A few of them coincide by accident.
            let is_most = |found: u64, truly: u64| 10 * found > 7 * truly;
            let are_distinguished = is_most(samples_of_class(&loaded, CauseClass::InterruptsOff), of_thread)
                && is_most(samples_of_class(&loaded, CauseClass::Steal), of_host);
            let judgment = if are_distinguished { Judgment::Right } else { Judgment::Wrong(Fault::WrongAdvice) };
            all([
                judge(&assessment, Answer::DoesNotHold),
                judge_says(&assessment, "act on what made wake-ups late: interrupts off: cups (other)"),
                judge_says(&assessment, "act on what made wake-ups late: hypervisor"),
                Concluded::new(judgment, &assessment.sentence),
            ])
        }),
    ]
}

/// Stops with a period.
struct Beat {
    /// The period on the machine's clock (ns); the clock of whatever causes the stops differs by a few parts per
    /// million.
    period_ns: f64,
    stops: Vec<Stop>,
}

impl Beat {
    /// Periodic stops of one CPU, with a few random stops added.
    fn new(period_ns: f64, lengths: (u64, u64), taker: &Taker, random: &mut Random) -> Self {
        let period_ns = period_ns * (1.0 + 4e-5 * (random.unit() - 0.5));
        let phase_ns = random.unit() * period_ns;
        let mut stops = periodic(CPUS[0], &load_plan(), (period_ns, phase_ns), lengths, taker, random);
        stops.extend(at_random(CPUS[0], &load_plan(), 0.3, (150_000, 500_000), &UNSEEN, random));
        Self { period_ns, stops }
    }

    /// Adds the same stops on the other CPU, later by this share of the period (0 to 1).
    fn with_other_cpu(mut self, later: f64) -> Self {
        let shift_ns = units::round_u64(later * self.period_ns);
        let other: Vec<Stop> = self
            .stops
            .iter()
            .map(|stop| Stop { cpu: CPUS[1], from_ns: stop.from_ns + shift_ns, ..stop.clone() })
            .filter(|stop| stop.from_ns + stop.length_ns < load_plan().took_ns)
            .collect();
        self.stops.extend(other);
        self
    }

    /// Searches for rhythms and compares the result with the truth.
    fn found(&self, machine: &Profile, known: &rhythm::Surroundings, random: &mut Random) -> (Assessment, Concluded) {
        let mut loaded = loaded(machine, self.stops.clone(), random);
        find_rhythms(&mut loaded, &load_plan(), &self.stops, known);
        let assessment = assessed(machine, &loaded, random);
        let rhythms = loaded.rhythm().map(|found| found.rhythms.clone()).unwrap_or_default();
        let is_right = |one: &record::Rhythm| {
            let off_ns = (one.period_ns - self.period_ns).abs();
            off_ns < 2.0 * one.period_uncertainty_ns && off_ns < 0.002 * self.period_ns
        };
        let (judgment, sentence) = match rhythms.first() {
            None => (Judgment::Refused, "no rhythm".to_owned()),
            Some(first) if rhythms.iter().all(is_right) => (Judgment::Right, rhythm::sentence(first)),
            Some(first) => (Judgment::Wrong(Fault::WrongAdvice), rhythm::sentence(first)),
        };
        (assessment, Concluded::new(judgment, sentence))
    }
}

/// A stop without any evidence of its cause.
const UNSEEN: Taker = Taker::Host { stopped: None, is_counted: false };

const QUOTA: &str = "likely a cpu bandwidth limit that the host sets";

/// The last 2 to 9 ms of each 100 ms, as a CPU quota of the host takes them.
fn quota(random: &mut Random) -> Beat {
    Beat::new(1e8, (2 * MS, 9 * MS), &UNSEEN, random)
}

/// 50 ms of each second, as the kernel's throttle of real-time threads takes them.
fn throttling(taker: &Taker, random: &mut Random) -> Beat {
    Beat::new(1e9, (50 * MS, 50 * MS), taker, random)
}

/// A machine on which the kernel's throttle of real-time threads is on or off, and nothing else limits them.
fn throttled_machine(is_on: bool) -> rhythm::Surroundings {
    rhythm::Surroundings {
        throttle_ns: is_on.then_some((SECOND_NS, 950 * MS)),
        has_fair_server: Some(false),
        is_virtual: Some(false),
        is_real_time: true,
        ..rhythm::Surroundings::default()
    }
}

fn rhythms() -> Vec<Case> {
    let virtual_machine = || rhythm::Surroundings { is_virtual: Some(true), ..rhythm::Surroundings::default() };
    vec![
        Case::answerable("a quota of the host stops both CPUs every 100 ms", move |random| {
            let (assessment, found) = quota(random).with_other_cpu(0.0).found(&guest(), &virtual_machine(), random);
            all([found, judge_says(&assessment, QUOTA), judge_never(&assessment, "shown for most of them")])
        }),
        Case::answerable(
            "the same period on each CPU at different phases, which a host does not cause",
            move |random| {
                let later = 0.2 + 0.6 * random.unit();
                let (assessment, found) =
                    quota(random).with_other_cpu(later).found(&guest(), &virtual_machine(), random);
                all([found, judge_never(&assessment, "that the host sets")])
            },
        ),
        Case::answerable("every 100 ms on bare metal, where nothing known has that period", |random| {
            let known = rhythm::Surroundings { is_virtual: Some(false), ..rhythm::Surroundings::default() };
            let (assessment, found) = quota(random).with_other_cpu(0.0).found(&bare(), &known, random);
            all([found, judge_says(&assessment, "nothing that is known here has this period")])
        }),
        Case::answerable("a rival every 41 ms, which was recorded", |random| {
            let beat = Beat::new(4.1e7, (2 * MS, 3 * MS), &Taker::Thread(fifo("poller", 99)), random);
            let (assessment, found) = beat.found(&bare(), &rhythm::Surroundings::default(), random);
            let shown = judge_says(&assessment, "shown for most of them: thread: poller (fifo 99)");
            all([found, shown, judge_first_advice(&assessment, "poller (fifo 99)")])
        }),
        Case::answerable("50 ms of each second, where the throttle of real-time threads is on", |random| {
            let beat = throttling(&UNSEEN, random);
            let (assessment, found) = beat.found(&bare(), &throttled_machine(true), random);
            all([found, judge_says(&assessment, "likely the throttle of real-time threads")])
        }),
        Case::answerable("50 ms of each second, where nothing limits real-time threads", |random| {
            let beat = throttling(&UNSEEN, random);
            let (assessment, found) = beat.found(&bare(), &throttled_machine(false), random);
            all([found, judge_never(&assessment, "throttle"), judge_never(&assessment, "fair server")])
        }),
        Case::answerable("stops at random have no rhythm", move |random| {
            let mut stops = on_each(&UNSEEN, random);
            let each_second = 1.0 + 20.0 * random.unit();
            stops.extend(at_random(CPUS[0], &load_plan(), each_second, (MS, 6 * MS), &UNSEEN, random));
            let (assessment, found) = Beat { period_ns: 0.0, stops }.found(&guest(), &virtual_machine(), random);
            let is_quiet = found.judgment == Judgment::Refused && !all_text(&assessment).contains("late wake-ups (>");
            let judgment = if is_quiet { Judgment::Right } else { Judgment::Wrong(Fault::FalseAlarm) };
            Concluded { judgment, ..found }
        })
        .at_level(FALSE_ALARM),
    ]
}

/// Adds the validity that `measure` gives a run whose recording shows a throttled thread: the run is invalid.
fn with_validity(mut loaded: Record) -> Record {
    let mut causes = loaded.explanation().into_iter().flat_map(|known| &known.causes);
    if causes.any(|cause| cause.class == CauseClass::Throttle && cause.certainty == Certainty::Shown) {
        loaded.validity.add(ReasonCode::RtThrottled, "CPU 2");
    }
    loaded
}

/// Both CPUs are unavailable for half a second.
fn half_a_second(taker: &Taker, random: &mut Random) -> Vec<Stop> {
    let from_ns = SECOND_NS + units::round_u64(random.unit() * 25e9);
    CPUS.into_iter().map(|cpu| Stop { cpu, from_ns, length_ns: 501 * MS, taker: taker.clone() }).collect()
}

/// A machine with the fair server: of the real-time throttle only the limit of groups is left.
fn with_fair_server() -> Profile {
    let mut profile = guest();
    profile.kernel.release = Some("6.12.9".to_owned());
    profile.kernel.config.insert("CONFIG_SMP".to_owned(), "y".to_owned());
    profile.sched.rt_runtime_us = Some(950_000);
    CPUS.into_iter().for_each(|cpu| profile.sched.add_fair_server(cpu, 50 * MS, SECOND_NS));
    profile
}

fn limits_and_stops() -> Vec<Case> {
    vec![
        Case::open("the kernel's limit on real-time threads stops the run, as the recording shows", |random| {
            let loaded = with_validity(loaded(&bare(), throttling(&Taker::Limit, random).stops, random));
            let assessment = assessed(&bare(), &loaded, random);
            all([judge(&assessment, Answer::CannotBeTold), judge_not_advised(&assessment, "sshd")])
        }),
        Case::answerable("the fair server stops it, where sched_rt_runtime_us stops nothing", |random| {
            let machine = with_fair_server();
            let mut loaded = loaded(&machine, throttling(&Taker::Limit, random).stops, random);
            // Time that the host took meanwhile makes the cause only likely, so that the run stays valid.
            for cause in loaded.late_samples.explanation.iter_mut().flat_map(|known| &mut known.causes) {
                cause.certainty = Certainty::Likely;
            }
            let assessment = assessed(&machine, &with_validity(loaded), random);
            all([
                judge(&assessment, Answer::DoesNotHold),
                judge_says(&assessment, "fair server's runtime to 0"),
                judge_never(&assessment, "sched_rt_runtime_us to -1"),
            ])
        }),
        Case::open("stopped for half a second by SIGSTOP", |random| {
            let mut loaded = loaded(&bare(), half_a_second(&UNSEEN, random), random);
            loaded.validity.add(ReasonCode::Stopped, "501 ms");
            let assessment = assessed(&bare(), &loaded, random);
            all([judge(&assessment, Answer::CannotBeTold), judge_never(&assessment, "act on what made")])
        }),
        Case::answerable("half a second that a rival takes is no stop", |random| {
            let rival = Taker::Thread(fifo("hog", 99));
            let loaded = loaded(&bare(), half_a_second(&rival, random), random);
            let assessment = assessed(&bare(), &loaded, random);
            all([
                judge(&assessment, Answer::DoesNotHold),
                judge_says(&assessment, "periods missed"),
                judge_first_advice(&assessment, "hog (fifo 99)"),
            ])
        }),
    ]
}
