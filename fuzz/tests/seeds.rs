//! Every fuzz target over its seeds, without a fuzzer: each compiles, and none of them breaks on what is known.

// Each is a program of its own where a fuzzer runs it.
#![allow(unused_attributes, reason = "`no_main` of the targets, which are modules here")]

// The targets name this crate as the fuzzer's library.
extern crate self as libfuzzer_sys;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub use punctual_fuzz::arbitrary;

/// What a target says of an input, to a fuzzer.
pub enum Corpus {
    /// An input that a fuzzer keeps and changes further.
    Keep,
    /// Not worth keeping.
    Reject,
}

mod as_function {
    /// Makes of a target a function that takes the bytes of an input.
    #[macro_export]
    macro_rules! fuzz_target {
        (|$data:ident: &[u8]| $body:expr) => {
            pub fn target($data: &[u8]) {
                $body
            }
        };
        (|$data:ident: &[u8]| -> Corpus $body:block) => {
            pub fn target(bytes: &[u8]) {
                let take = |$data: &[u8]| -> libfuzzer_sys::Corpus { $body };
                match take(bytes) {
                    libfuzzer_sys::Corpus::Keep | libfuzzer_sys::Corpus::Reject => {}
                }
            }
        };
        (|$data:ident: $type:ty| $body:expr) => {
            pub fn target(bytes: &[u8]) {
                let input = libfuzzer_sys::arbitrary::Unstructured::new(bytes);
                if let Ok($data) = <$type as libfuzzer_sys::arbitrary::Arbitrary>::arbitrary_take_rest(input) {
                    $body
                }
            }
        };
    }
}

macro_rules! targets {
    ($($name:ident $file:tt)*) => {
        $(#[path = $file] mod $name;)*
        const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::target)),*];
    };
}

targets! {
    of_analyzer_log "../fuzz_targets/analyzer_log.rs"
    of_boot "../fuzz_targets/boot.rs"
    of_campaign "../fuzz_targets/campaign.rs"
    of_capture "../fuzz_targets/capture.rs"
    of_chrony "../fuzz_targets/chrony.rs"
    of_clock_logs "../fuzz_targets/clock_logs.rs"
    of_compare "../fuzz_targets/compare.rs"
    of_elf "../fuzz_targets/elf.rs"
    of_farm "../fuzz_targets/farm.rs"
    of_findings_json "../fuzz_targets/findings_json.rs"
    of_flight "../fuzz_targets/flight.rs"
    of_histogram "../fuzz_targets/histogram.rs"
    of_hub "../fuzz_targets/hub.rs"
    of_import "../fuzz_targets/import.rs"
    of_isochron "../fuzz_targets/isochron.rs"
    of_linuxptp "../fuzz_targets/linuxptp.rs"
    of_load_spec "../fuzz_targets/load_spec.rs"
    of_latmon "../fuzz_targets/latmon.rs"
    of_logic "../fuzz_targets/logic.rs"
    of_packet "../fuzz_targets/packet.rs"
    of_packet_halves "../fuzz_targets/packet_halves.rs"
    of_profile_parsers "../fuzz_targets/profile_parsers.rs"
    of_record "../fuzz_targets/record.rs"
    of_report_view "../fuzz_targets/report_view.rs"
    of_request "../fuzz_targets/request.rs"
    of_run_events "../fuzz_targets/run_events.rs"
    of_scenario "../fuzz_targets/scenario.rs"
    of_shared_clocks "../fuzz_targets/shared_clocks.rs"
    of_spool "../fuzz_targets/spool.rs"
    of_stall "../fuzz_targets/stall.rs"
    of_tail "../fuzz_targets/tail.rs"
    of_trace "../fuzz_targets/trace.rs"
    of_tune "../fuzz_targets/tune.rs"
    of_units "../fuzz_targets/units.rs"
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn name(target: &str) -> &str {
    target.trim_start_matches("of_")
}

#[test]
fn no_target_breaks_on_its_seeds_nor_on_nothing() {
    let mut taken = 0;
    for (target, run) in TARGETS {
        run(&[]);
        let Ok(seeds) = fs::read_dir(folder().join("seeds").join(name(target))) else { continue };
        for seed in seeds {
            run(&fs::read(seed.unwrap().path()).unwrap());
            taken += 1;
        }
    }
    assert!(taken > 100, "{taken} seeds");
}

#[test]
fn no_target_is_forgotten_here_or_by_cargo_fuzz() {
    let here: BTreeSet<String> = TARGETS.iter().map(|(target, _)| name(target).to_owned()).collect();
    let files: BTreeSet<String> = fs::read_dir(folder().join("fuzz_targets"))
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    let programs: BTreeSet<String> = manifest
        .split("[[bin]]")
        .skip(1)
        .filter_map(|program| Some(program.split_once("name = \"")?.1.split_once('"')?.0.to_owned()))
        .collect();
    assert_eq!(here, files);
    assert_eq!(programs, files);
}
