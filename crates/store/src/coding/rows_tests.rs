use proptest::prelude::*;

use super::*;

fn figures() -> impl Strategy<Value = Figures> {
    let maximum_ns = prop_oneof![1_000..80_000_i64, any::<i64>()];
    let at_ms = prop_oneof![0..300_000_u64, 0..u64::MAX / MS];
    let samples = prop_oneof![299_000..300_001_u64, any::<u64>()];
    let count = || prop_oneof![Just(0), 0..5_u64, any::<u64>()];
    let cause = (
        "[a-c]{1,3}",
        prop_oneof!["[a-c]{0,3}", any::<String>()],
        any::<bool>(),
        proptest::option::of((0..=10_u8).prop_map(|tens| tens * 10)),
    );
    let cause =
        cause.prop_map(|(class, name, is_shown, covers_percent)| Cause { class, name, is_shown, covers_percent });
    let cause = proptest::option::weighted(0.2, cause);
    (maximum_ns, at_ms, samples, count(), count(), cause).prop_map(
        |(maximum_ns, at_ms, samples, missed_periods, beyond_limit, cause)| Figures {
            maximum_ns,
            maximum_at_ns: at_ms * MS,
            samples,
            missed_periods,
            beyond_limit,
            cause,
        },
    )
}

fn cpu() -> impl Strategy<Value = RowCpu> {
    let of = proptest::option::weighted(0.8, figures());
    let spoiled = proptest::option::weighted(0.2, figures());
    let reasons = proptest::collection::vec("[a-z]{0,9}", 0..3);
    let monitored_ns = prop_oneof![Just(300_000_000_000), any::<u64>()];
    (0..9_u32, of, spoiled, reasons, monitored_ns).prop_map(|(cpu, valid, spoiled, reasons, monitored_ns)| RowCpu {
        cpu,
        valid,
        spoiled,
        reasons,
        monitored_ns,
    })
}

fn row() -> impl Strategy<Value = Row> {
    let cpus = prop_oneof![
        proptest::collection::vec(cpu(), 4..5).prop_map(|mut cpus| {
            (0..).zip(&mut cpus).for_each(|(number, cpu)| cpu.cpu = number);
            cpus
        }),
        proptest::collection::vec(cpu(), 0..6),
    ];
    let steps = prop_oneof![Just((0, 0)), (any::<u64>(), any::<i64>())];
    let source = ("[a-z]{0,4}", proptest::option::of(0..u64::MAX / 1_000), "[ -~]{0,80}", steps).prop_map(
        |(source, bound_ns, state, (steps, largest_step_ns))| SourceInterval {
            source,
            bound_ns: bound_ns.map(|us: u64| us * 1_000),
            state,
            steps,
            largest_step_ns,
        },
    );
    let cut_short = proptest::option::of(prop_oneof![
        Just(GapReason::Killed),
        "[a-z]{1,9}".prop_map(|word| GapReason::Other(format!("by {word}"))),
    ]);
    let length_ns = prop_oneof![Just(300_000_000_000), any::<u64>()];
    (any::<i64>(), length_ns, any::<u64>(), cut_short, cpus, proptest::collection::vec(source, 0..3)).prop_map(
        |(start_ns, length_ns, made_of, cut_short, cpus, sources)| Row {
            start_ns,
            length_ns,
            made_of,
            cut_short,
            cpus,
            sources,
        },
    )
}

proptest! {
    #[test]
    fn rows_read_back(rows in proptest::collection::vec(row(), 0..6)) {
        let bytes = rows_to_bytes(&rows);
        prop_assert_eq!(rows_from_bytes(&bytes), Ok(rows));
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        rows in proptest::collection::vec(row(), 0..4),
        at in any::<prop::sample::Index>(),
        change in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = rows_to_bytes(&rows);
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        let _ = rows_from_bytes(&bytes);
        let _ = rows_from_bytes(&bytes[..cut.index(bytes.len())]);
    }
}

/// 48 intervals of a pack's 576 with eight CPUs; `cause` draws the cause of each.
fn drawn_rows(random: &mut units::Random, cause: impl Fn(&mut units::Random) -> Option<Cause>) -> Vec<Row> {
    let figures = |random: &mut units::Random| Figures {
        maximum_ns: 12_000 + i64::try_from(random.below(30_000)).unwrap(),
        maximum_at_ns: u64::try_from(random.below(300_000)).unwrap() * MS,
        samples: 300_000 - u64::try_from(random.below(3)).unwrap(),
        cause: cause(random),
        ..Figures::default()
    };
    let cpu = |cpu, random: &mut units::Random| RowCpu {
        cpu,
        valid: Some(figures(random)),
        monitored_ns: 300_000_000_000,
        ..RowCpu::default()
    };
    let mut row = |number: i64| Row {
        start_ns: 7 + 300_000_000_000 * number,
        length_ns: 300_000_000_000,
        made_of: 1,
        cut_short: None,
        cpus: (0..8).map(|number| cpu(number, random)).collect(),
        sources: Vec::new(),
    };
    (0..288).map(&mut row).collect()
}

/// Bytes of a day of eight CPUs, which reads back, for each interval and CPU (thousandths).
fn thousandths_of_bytes(rows: &[Row]) -> usize {
    let bytes = rows_to_bytes(rows);
    assert_eq!(rows_from_bytes(&bytes).as_deref(), Ok(rows));
    bytes.len() * 1_000 / (288 * 8)
}

#[test]
fn a_day_of_eight_cpus_takes_less_than_five_and_a_half_bytes_for_each_interval_and_cpu() {
    let rows = drawn_rows(&mut units::Random::new(3), |_| None);
    let taken = thousandths_of_bytes(&rows);
    assert!(taken < 5_500, "{taken}");
}

#[test]
fn causes_of_each_interval_and_cpu_take_less_than_two_bytes_more() {
    let few = |random: &mut units::Random| {
        let (class, name) = [
            ("interrupt", "eth0 (interrupt 126)"),
            ("thread", "kworker/3:1"),
            ("idle-exit", "C6"),
            ("thread", "<script>alert(1)</script>"),
        ][[0, 0, 0, 0, 0, 0, 1, 1, 2, 3][random.below(10)]];
        Some(Cause {
            class: class.to_owned(),
            name: name.to_owned(),
            is_shown: true,
            covers_percent: Some(u8::try_from(50 + 10 * random.below(6)).unwrap()),
        })
    };
    let (none, all) = (drawn_rows(&mut units::Random::new(3), |_| None), drawn_rows(&mut units::Random::new(3), few));
    let (none, all) = (thousandths_of_bytes(&none), thousandths_of_bytes(&all));
    assert!(all < 7_300 && all - none < 2_000, "{none} without, {all} with");
    // A name of its own for each, as long as any may be: no more than these texts compressed.
    let hostile = |random: &mut units::Random| {
        let name = format!("{:0128}", random.below(usize::MAX >> 1));
        Some(Cause { class: "thread".to_owned(), name, ..Cause::default() })
    };
    let hostile = thousandths_of_bytes(&drawn_rows(&mut units::Random::new(3), hostile));
    assert!(hostile < 40_000, "{hostile}");
}
