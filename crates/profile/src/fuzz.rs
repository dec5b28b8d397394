//! One entry per parser of foreign text, for fuzzing: none may panic, whatever comes.

/// A parser's name and a call of it that throws the result away.
pub type Entry = (&'static str, fn(&str));

/// Every parser of foreign text.
pub const ENTRIES: &[Entry] = &[
    ("cmdline", |text| {
        let _ = crate::cmdline::parse(text);
        let _ = crate::cmdline::reduce(text);
    }),
    ("cpu-file", |text| drop(crate::isolation::parse_cpu_file(text))),
    ("cpu-folder", |text| {
        let _ = crate::cpu::parse_folder(text, "cpu");
    }),
    ("cpu-list", |text| drop(crate::cmdline::parse_cpu_list(text, Some(7)))),
    ("cpu-mask", |text| drop(units::CpuSet::from_mask(text))),
    ("cpuinfo", |text| {
        let _ = crate::identity::parse_cpuinfo(text);
        let _ = crate::identity::reduce_cpuinfo(text);
    }),
    ("clock-name", |text| drop((crate::net::reduce_clock_name(text), crate::net::is_named_by_address(text)))),
    ("ethtool", |text| drop(crate::net::parse_ethtool(text))),
    ("interrupts", |text| {
        let interrupts = crate::irq::parse_interrupts(text);
        let _ = crate::irq::arrivals_between(&interrupts, &interrupts);
    }),
    ("irqbalance", |text| {
        drop((crate::services::parse_irqbalance(text), crate::services::reduce_irqbalance(text)));
    }),
    ("irq-thread", |text| {
        let _ = crate::irq::parse_thread_name(text);
    }),
    ("isolcpus", |text| drop(crate::cmdline::parse_isolcpus(text, Some(7)))),
    ("kconfig", |text| drop((crate::kconfig::parse(text), crate::kconfig::reduce(text)))),
    ("meminfo", |text| crate::memory::Memory::default().add_meminfo(text)),
    ("mounts", |text| {
        let _ = crate::cpuset::parse_mounts(text);
        let _ = crate::cpuset::reduce_mounts(text);
    }),
    ("os-release", |text| {
        drop((crate::identity::parse_os_release(text), crate::identity::reduce_os_release(text)));
    }),
    ("partition", |text| drop(crate::cpuset::parse_partition(text))),
    ("profile", |text| drop(serde_json::from_str::<crate::Profile>(text))),
    ("release", |text| {
        let _ = crate::kernel::parse_release(text);
    }),
    ("spaced-cpus", |text| drop(crate::power::parse_spaced_cpus(text))),
    ("stat", |text| {
        let _ = crate::virt::parse_steal_ms(text);
        let _ = crate::virt::reduce_stat(text);
    }),
    ("status", |text| drop(crate::process::parse_status_affinity(text))),
    ("task-stat", |text| {
        let _ = (crate::process::parse_stat(text), crate::process::reduce_stat(text));
    }),
    ("time-programs", |text| {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        for name in ["ptp4l", "phc2sys", "ts2phc"] {
            drop(crate::time_program::linuxptp(name, &arguments, Some(text)));
        }
        let mut read = crate::time_config::chrony::Configuration::default();
        read.take(text);
        let arguments = crate::time_config::chrony::Arguments::parse(&arguments);
        drop(crate::time_program::Chronyd::from_configuration(&arguments, &read));
        let _ = (crate::time_program::Ntpd::from_file(text), crate::time_program::may_set_system_clock(text, text));
        drop((crate::time_program::parse(text), crate::time::parse_discipline(text)));
    }),
    ("words", |text| {
        let _ = (crate::text::line(text), crate::text::number(text), crate::text::signed(text));
        let _ = (crate::text::switch(text), crate::text::chosen(text), crate::text::words(text));
    }),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ENTRIES;

    /// Pieces of the real texts, so that random mixtures reach deep into each parser.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("CPU0 CPU1\n".to_owned()),
            Just(" 24: 1 0 GICv2 29 Level x, y\n".to_owned()),
            Just("LOC:".to_owned()),
            Just("isolcpus=".to_owned()),
            Just("managed_irq,".to_owned()),
            Just("0-3,N,all".to_owned()),
            Just("1 (a b) S ".to_owned()),
            Just("18446744073709551615 ".to_owned()),
            Just("cpu  ".to_owned()),
            Just("CONFIG_X=\"".to_owned()),
            Just("# CONFIG_Y is not set\n".to_owned()),
            Just("isolated invalid (".to_owned()),
            Just("IRQBALANCE_BANNED_CPUS=".to_owned()),
            Just("MemTotal: ".to_owned()),
            Just(" -- ".to_owned()),
            Just("[]()".to_owned()),
            Just("[global]\nstep_threshold 1e300\nclock_type ".to_owned()),
            Just("refclock PHC /dev/ptp0:extpps offset ".to_owned()),
            Just("makestep -1 ".to_owned()),
            Just("-Sf -i eth0 --step_threshold=-1 ".to_owned()),
            Just("CapEff:\tffffffffffffffff\n".to_owned()),
            "\\PC{0,8}",
            "[0-9,:/ \\-]{0,12}",
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_parser_panics(text in pieces()) {
            for (_, entry) in ENTRIES {
                entry(&text);
            }
        }

        #[test]
        fn no_parser_panics_on_noise(text in any::<String>()) {
            for (_, entry) in ENTRIES {
                entry(&text);
            }
        }
    }
}
