//! Explanations for the worst samples of a synthetic run, with one sample of each kind that the page must draw well.

use record::{
    Activity, CauseClass, CauseTotal, Certainty, DelayPart, ExplainedSample, ExplainingCost, Explanation, Histogram,
    PartHistogram, Record, TimelineSegment, WakeupParts, WorstSample,
};

/// The kind of cause of a late sample.
#[derive(Clone, Copy)]
enum Kind {
    Steal,
    Thread,
    InterruptsOff,
    Softirq,
    Interrupt,
    TimerFunction,
    Unknown,
}

/// The kinds of the worst samples, worst first.
const KINDS: [Kind; 12] = [
    Kind::Steal,
    Kind::Thread,
    Kind::InterruptsOff,
    Kind::Softirq,
    Kind::Interrupt,
    Kind::TimerFunction,
    Kind::Unknown,
    Kind::Interrupt,
    Kind::Interrupt,
    Kind::Interrupt,
    Kind::Softirq,
    Kind::Interrupt,
];

/// Adds an explanation of the worst samples; `lost` more samples came while another one was being read.
pub(crate) fn explained(mut run: Record, lost: u64) -> Record {
    let samples: Vec<ExplainedSample> = run.worst.iter().zip(KINDS).map(|(worst, kind)| explain(worst, kind)).collect();
    let explained = samples.len() as u64;
    run.late_samples.explanation = Some(Explanation {
        sources: vec!["programs in the kernel: scheduler, interrupts, softirqs, timers".to_owned()],
        missing: vec!["SMIs are not counted: the module msr is not loaded (modprobe msr)".to_owned()],
        above_ns: None,
        cost: Some(ExplainingCost {
            median_without_ns: 4_180,
            median_with_ns: 4_410,
            mean_without_ns: 4_260.4,
            mean_with_ns: 4_530.9,
            mean_differs_ns: 31.0,
            samples: 4_000,
        }),
        outliers: explained + lost,
        explained,
        not_recorded: lost,
        causes: sum(&samples),
        samples,
        parts: Some(parts()),
    });
    run
}

/// The parts of wake-ups; the first and the third part have a long tail.
fn parts() -> WakeupParts {
    let specs = [
        ("scheduled_to_timer", 900, 40),
        ("timer_to_runnable", 350, 2),
        ("runnable_to_running", 1_600, 25),
        ("running_to_woke", 1_300, 3),
    ];
    let part = |(name, typical_ns, worst_times): (&str, u64, u64)| {
        let mut histogram = Histogram::new();
        (0..1_000).for_each(|at| histogram.record_n(typical_ns + at * typical_ns / 2_000, 300));
        (0..400).for_each(|at| histogram.record_n(typical_ns * 2 + at * typical_ns * worst_times / 400, 1));
        PartHistogram { name: name.to_owned(), thread: 0, cpu: 2, histogram }
    };
    WakeupParts { seen: 300_400, not_seen: 12, histograms: specs.into_iter().map(part).collect() }
}

/// Adds an explanation without evidence, as from a machine where no source was available.
pub(crate) fn blind(mut run: Record) -> Record {
    run.late_samples.explanation = Some(Explanation {
        missing: vec![
            "the kernel is built without BPF programs: this needs CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF"
                .to_owned(),
            "no permission to use the kernel's tracers: this needs root, or CAP_BPF and CAP_PERFMON".to_owned(),
        ],
        outliers: 37,
        ..Explanation::default()
    });
    run
}

/// One stretch: activity, name, start (ns), end (ns), depth.
type Stretch<'a> = (Activity, &'a str, i64, i64, u32);

fn explain(worst: &WorstSample, kind: Kind) -> ExplainedSample {
    let late_ns = worst.latency_ns;
    let own = "idle, or punctual-w2";
    let (class, name, certainty, evidence, stretches): (_, &str, _, _, Vec<Stretch<'_>>) = match kind {
        Kind::Steal => (
            CauseClass::Steal,
            "",
            Certainty::Likely,
            "the timer's interrupt came late while the CPU was idle, and nothing of this kernel ran: the hypervisor \
             counts 24 ms of steal",
            vec![
                (Activity::Idle, own, -50_000, late_ns, 0),
                (Activity::Interrupt, "local timer", late_ns - 9_000, late_ns - 5_200, 1),
            ],
        ),
        Kind::Thread => {
            let tick =
                |ms: i64| (Activity::Interrupt, "local timer", ms * 1_000_000 + 3_000, ms * 1_000_000 + 6_100, 1);
            let mut all = vec![
                (Activity::Thread, "irq/126-eth0 (thread 412, fifo 99)", -31_000, late_ns - 4_000, 0),
                (Activity::Idle, own, late_ns - 4_000, late_ns, 0),
            ];
            all.extend((0..late_ns / 1_000_000).map(tick));
            if late_ns > 4_000_000 {
                all.push((Activity::TimerFunction, "tick_nohz_handler", 3_003_600, 3_005_000, 2));
            }
            (
                CauseClass::Thread,
                "irq/126-eth0 (thread 412, fifo 99)",
                Certainty::Shown,
                "irq/126-eth0 had the CPU: it outranks the measuring thread (fifo 98), or is its equal",
                all,
            )
        }
        Kind::InterruptsOff => (
            CauseClass::InterruptsOff,
            "modprobe (thread 811, other)",
            Certainty::Shown,
            "the timer's interrupt was taken late, at last in text_poke_bp_batch, while modprobe had the CPU",
            vec![
                (Activity::Thread, "modprobe (thread 811, other)", -50_000, late_ns - 6_100, 0),
                (Activity::Interrupt, "local timer", late_ns - 14_000, late_ns - 9_400, 1),
                (Activity::Nmi, "perf_event_nmi_handler", late_ns / 2, late_ns / 2 + 2_900, 1),
                (Activity::Idle, own, late_ns - 6_100, late_ns, 0),
            ],
        ),
        Kind::Softirq => (
            CauseClass::Softirq,
            "softirq NET_RX",
            Certainty::Shown,
            "softirq NET_RX took most of it, interrupted by eth0 twice",
            vec![
                (Activity::Thread, "iperf3 (thread 902, other)", -42_000, late_ns - 3_700, 0),
                (Activity::Interrupt, "eth0 (interrupt 126)", -9_000, -4_100, 1),
                (Activity::Softirq, "softirq NET_RX", -4_100, late_ns - 9_000, 1),
                (Activity::Interrupt, "eth0 (interrupt 126)", late_ns / 3, late_ns / 3 + 4_200, 2),
                (Activity::Interrupt, "eth0 (interrupt 126)", late_ns / 2, late_ns / 2 + 3_100, 2),
                (Activity::Idle, own, late_ns - 3_700, late_ns, 0),
            ],
        ),
        Kind::Interrupt => (
            CauseClass::Interrupt,
            "eth0 (interrupt 126)",
            Certainty::Shown,
            "eth0 (interrupt 126) took most of it",
            vec![
                (Activity::Idle, own, -20_000, late_ns, 0),
                (Activity::Interrupt, "eth0 (interrupt 126)", -2_500, late_ns * 9 / 10, 1),
            ],
        ),
        Kind::TimerFunction => (
            CauseClass::TimerFunction,
            "tick_nohz_handler",
            Certainty::Shown,
            "tick_nohz_handler ran in the timer's interrupt",
            vec![
                (Activity::Idle, own, -20_000, late_ns, 0),
                (Activity::Interrupt, "local timer", 900, late_ns - 5_000, 1),
                (Activity::TimerFunction, "tick_nohz_handler", 1_800, late_ns - 6_000, 2),
            ],
        ),
        Kind::Unknown => (
            CauseClass::Unknown,
            "",
            Certainty::Unknown,
            "what was recorded begins 21.0 us after the schedule: so much happened that the rest was overwritten",
            vec![(Activity::Idle, own, 21_000.min(late_ns / 2), late_ns, 0)],
        ),
    };
    let timeline = segments(&stretches);
    // What precedes the schedule is drawn, but is not part of the latency.
    let late: Vec<Stretch<'_>> =
        stretches.iter().map(|one| (one.0, one.1, one.2.max(0), one.3, one.4)).filter(|one| one.3 > one.2).collect();
    let late = segments(&late);
    let net_ns = match kind {
        Kind::Steal => u64::try_from(late_ns - 9_000).unwrap_or(0),
        _ => late.iter().filter(|one| one.name == name).map(|one| one.net_ns).sum(),
    };
    let others = late.iter().filter(|one| one.depth > 0 && one.name != name && one.from_ns > 0);
    let mut parts = vec![DelayPart { class, name: name.to_owned(), net_ns }];
    for other in others {
        let class = if other.activity == Activity::Nmi { CauseClass::Nmi } else { CauseClass::Interrupt };
        match parts.iter_mut().find(|part| part.name == other.name) {
            Some(part) => part.net_ns += other.net_ns,
            None => parts.push(DelayPart { class, name: other.name.clone(), net_ns: other.net_ns }),
        }
    }
    parts.retain(|part| part.net_ns > 0);
    let stack = match kind {
        Kind::InterruptsOff => [
            "text_poke_bp_batch",
            "arch_jump_label_transform_apply",
            "static_key_enable",
            "do_init_module",
            "entry_SYSCALL_64_after_hwframe",
        ]
        .map(str::to_owned)
        .to_vec(),
        _ => Vec::new(),
    };
    ExplainedSample {
        thread: worst.place.thread_number().unwrap_or(0),
        cpu: worst.place.cpu().unwrap_or(0),
        latency_ns: late_ns,
        scheduled: worst.from.at,
        woke: worst.to.at,
        class,
        name: name.to_owned(),
        certainty,
        owner: record::Owner::Other,
        evidence: evidence.to_owned(),
        parts,
        timeline,
        stack,
        parts_left_out: 0,
        stretches_left_out: if matches!(kind, Kind::InterruptsOff) { 34 } else { 0 },
    }
}

fn segments(stretches: &[Stretch<'_>]) -> Vec<TimelineSegment> {
    let mut segments: Vec<TimelineSegment> = stretches
        .iter()
        .map(|&(activity, name, from_ns, to_ns, depth)| {
            let within = |other: &&Stretch<'_>| other.4 == depth + 1 && other.2 >= from_ns && other.3 <= to_ns;
            let interrupted: i64 = stretches.iter().filter(within).map(|other| other.3 - other.2).sum();
            let net_ns = u64::try_from(to_ns - from_ns - interrupted).unwrap_or(0);
            TimelineSegment { activity, name: name.to_owned(), from_ns, to_ns, depth, net_ns }
        })
        .collect();
    segments.sort_by_key(|segment| (segment.from_ns, segment.depth));
    segments
}

fn sum(samples: &[ExplainedSample]) -> Vec<CauseTotal> {
    let mut causes: Vec<CauseTotal> = Vec::new();
    for sample in samples {
        let took_ns = sample.parts.first().map_or(u64::try_from(sample.latency_ns).unwrap_or(0), |part| part.net_ns);
        if let Some(cause) = causes.iter_mut().find(|one| one.class == sample.class && one.name == sample.name) {
            cause.samples += 1;
            cause.took_ns += took_ns;
            cause.latencies.record_n(u64::try_from(sample.latency_ns).unwrap_or(0), 1);
            continue;
        }
        let (remedy, finding) = match sample.class {
            CauseClass::Interrupt => (
                "move that interrupt to another CPU: 'punctual tune plan' with [irqs]",
                Some("interrupts-on-isolated-cpu"),
            ),
            CauseClass::Steal => {
                ("measure on bare metal, or give the virtual CPUs physical ones of their own", Some("host-takes-time"))
            }
            CauseClass::Unknown => ("look at the timeline; a longer run may catch it with more evidence", None),
            _ => ("keep that off the measured CPUs: 'punctual tune plan' with [irqs] and [thread]", None),
        };
        let mut latencies = Histogram::new();
        latencies.record_n(u64::try_from(sample.latency_ns).unwrap_or(0), 1);
        causes.push(CauseTotal {
            latencies,
            class: sample.class,
            name: sample.name.clone(),
            certainty: sample.certainty,
            samples: 1,
            worst_ns: sample.latency_ns,
            took_ns,
            beyond_deadline: None,
            owner: record::Owner::Other,
            remedy: remedy.to_owned(),
            finding: finding.map(str::to_owned),
        });
    }
    causes.sort_by_key(|cause| (std::cmp::Reverse(cause.samples), std::cmp::Reverse(cause.worst_ns)));
    causes
}
