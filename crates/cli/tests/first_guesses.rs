//! What people type first who know cyclictest, rtla, tuned and stress-ng, and what has to come of it.
//!
//! Each line is run by a shell as it would be typed. A guess that is not understood is answered with what to type instead, and
//! never with advice that would do something else.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::{code, run, said, stdout};

/// A command line, the exit codes that are right for it, and what has to be said.
type Guess = (&'static str, &'static [i32], &'static [&'static str]);

/// A run is made: 0, or 3 on a machine so busy, or so foreign, that it is invalid.
const MEASURED: &[i32] = &[0, 3];
const REFUSED: &[i32] = &[2];

const CYCLICTEST: &[Guess] = &[
    ("cyclictest -q -a 0 -t 1 -i 1000 -l 50", &[0], &["T: 0", "Min:", "Max:"]),
    ("cyclictest --help", &[0], &["--histogram", "Exit codes:", "the kernel did not let it begin"]),
    ("help cyclictest", &[0], &["--histogram", "--secaligned"]),
    ("wakeup --cpus 0 --time 200ms --anyway", MEASURED, &["wakeup latency", "CPU 0"]),
    ("wakeup --affinity 0 --prio 80 --period 1ms --loops 50 --anyway", MEASURED, &["wakeup latency, every 1 ms"]),
    ("measure wakeup --cpu 0 --duration 200ms --policy other", MEASURED, &["wakeup latency", "CPU 0"]),
    ("measure wakeup -a 0 -p 98 -i 200 -D 1", REFUSED, &["-a is --cpus LIST", "punctual cyclictest"]),
    ("measure wakeup -i 200", REFUSED, &["-i is --interval D"]),
    ("wakeup -D 10", REFUSED, &["-D is --duration D"]),
    ("wakeup --time 0", REFUSED, &["--time", "60s", "unlimited"]),
    ("wakeup --duration 0s", REFUSED, &["--duration", "60s", "unlimited"]),
    ("app --time 0 -- true", REFUSED, &["--time", "60s", "unlimited"]),
    ("noise --time 0", REFUSED, &["--time", "60s", "unlimited"]),
    ("noise --time 1ms", REFUSED, &["between 10ms and 24h"]),
    ("assess --duration 0", REFUSED, &["between 5s and"]),
    ("wakeup --samples 0", REFUSED, &["at least 2"]),
    ("wakeup --time 5", REFUSED, &["for '--time <D>'", "no unit"]),
    ("wakeup --time 1s --loops 5", REFUSED, &["'--time <D>' cannot be used with '--loops <N>'", "punctual wakeup --"]),
    ("wakeup --time 1us", REFUSED, &["lengthen --time"]),
    ("wakeup --interval 200", REFUSED, &["no unit", "200us"]),
    ("wakeup --histogram 400", REFUSED, &["punctual report FILE"]),
    ("wakeup --mlockall", REFUSED, &["memory is always locked"]),
    ("latency", REFUSED, &["punctual wakeup"]),
    ("measure", REFUSED, &["wakeup", "clock", "noise", "punctual measure wakeup"]),
    ("measure --cpus 1", REFUSED, &["wakeup", "clock", "noise", "punctual measure wakeup --cpus 1"]),
    ("measure --cpus 0 --time 1s noise", REFUSED, &["punctual measure noise --cpus 0 --time 1s"]),
    ("measure wakup", REFUSED, &["'wakeup'"]),
    ("measure cyclictest", REFUSED, &["'punctual cyclictest'"]),
];

const RTLA: &[Guess] = &[
    ("timerlat hist -c 0 -d 1s", REFUSED, &["punctual wakeup", "--explain"]),
    ("osnoise top", REFUSED, &["punctual noise"]),
    ("hwnoise", REFUSED, &["punctual noise"]),
    ("oslat", REFUSED, &["punctual noise"]),
    ("ptsematest -a -t -p 80 -i 1000", REFUSED, &["event --kind futex-pi"]),
    ("signaltest -t 2 -p 80", REFUSED, &["event --kind signal"]),
    ("sigwaittest -a -p 80", REFUSED, &["event --kind signal"]),
    ("pmqtest -S -p 80", REFUSED, &["event --kind mqueue"]),
    ("svsematest -S", REFUSED, &["event --kind futex"]),
    ("event -a 1 --kind pipe", REFUSED, &["--cpus LIST"]),
    ("event -S", REFUSED, &["punctual cyclictest"]),
    ("event --smp", REFUSED, &["is the default"]),
    ("event --kind mutex", REFUSED, &["--kind futex-pi"]),
    ("event --across 0,0 --policy other --time 50ms --kind futex", MEASURED, &["handed_to_woke"]),
    ("wakeup -c 0 -d 1s", REFUSED, &["-c is --cpus LIST"]),
    ("wakeup --auto 50", REFUSED, &["--explain", "--breaktrace"]),
    ("noise --cpus 0 --time 200ms", MEASURED, &["gaps of 1.0 us and more"]),
    ("clock --samples 1000 --cpus 0", MEASURED, &["monotonic"]),
    ("wakeup --clock wall", REFUSED, &["monotonic", "boottime"]),
    ("help noise", &[0], &["--threshold", "--load-cmd"]),
];

const TUNED: &[Guess] = &[
    ("tune plan --isolate 1 --root {host}", &[0, 2], &["isolate = \"1\"", "irqs = \"housekeeping\""]),
    ("tune --isolate 1", REFUSED, &["punctual tune plan --isolate"]),
    ("isolate 1", REFUSED, &["punctual tune plan --isolate"]),
    ("assess --isolate 1", REFUSED, &["punctual tune plan --isolate"]),
    ("tune plan --isolate 1 intent.toml", REFUSED, &["cannot be used with"]),
    ("tune plan --isolate ''", REFUSED, &["--isolate names no CPU"]),
    ("tune profile realtime", REFUSED, &["punctual tune plan realtime"]),
    ("tuned-adm profile realtime", REFUSED, &["punctual tune plan realtime"]),
    ("tune realtime", REFUSED, &["punctual tune plan realtime"]),
    ("tune plan --profile realtime", REFUSED, &["punctual tune plan realtime"]),
    ("tune plan realtime --root {host}", &[0, 2], &["what TuneD's profile is for", "rt-throttling = \"off\""]),
    ("tune plan cpu-partitioning --root {host}", &[0, 2], &["isolate = ", "irqs = \"housekeeping\""]),
    ("tune plan latency-performance --root {host}", &[0, 2], &["power = \"steady\""]),
    ("tune plan throughput-performance", REFUSED, &["is for throughput", "punctual tune plan"]),
    ("tune plan no-such", REFUSED, &["no file", "realtime, cpu-partitioning", "tune propose"]),
    ("tune plan --set vm.swappiness=7 --root {host}", &[0, 2], &["\"vm.swappiness\" = \"7\"", "-> 7"]),
    ("tune plan --isolate 1 --set vm.swappiness=7 --root {host}", &[0, 2], &["isolate = \"1\"", "-> 7"]),
    ("tune plan --set swappiness=7", REFUSED, &["did you mean vm.swappiness"]),
    ("tune plan --set vm.swappiness=900 --root {host}", &[2], &["0 to 200"]),
    ("tune plan --cpus 1", REFUSED, &["punctual tune plan --isolate"]),
    ("tune set vm.swappiness=7", REFUSED, &["tune plan --set", "tune apply --set"]),
    ("tune get cpu.governor", REFUSED, &["punctual tune knobs"]),
    ("tune knobs --root {host}", &[0], &["vm.swappiness", "now 60", "not on this machine", "[boot]"]),
    ("tune knobs vm.swap --root {host} --json", &[0], &["\"name\": \"vm.swappiness\"", "\"value\": \"60\""]),
    ("tune knobs no-such", REFUSED, &["punctual tune knobs"]),
    ("knobs", REFUSED, &["punctual tune knobs"]),
    ("governor performance", REFUSED, &["tune plan --set"]),
    ("cset shield", REFUSED, &["tune plan --isolate"]),
    ("check --severity problem --root {host}", &[0, 1], &["less severe not shown"]),
    ("check --cpus 0 --severity warning --root {host}", &[0, 1], &["less severe not shown"]),
    ("check --cpus 999 --root {host}", REFUSED, &["none of them is online"]),
    ("check --level problem", REFUSED, &["--severity"]),
    ("tune undo", REFUSED, &["punctual tune revert"]),
    ("tune off", REFUSED, &["punctual tune revert"]),
    ("tune active", REFUSED, &["punctual tune status"]),
    ("undo", REFUSED, &["punctual tune revert"]),
    ("audit", REFUSED, &["punctual check"]),
];

/// linuxptp, chrony, perf, and programs that measure packets.
const OTHERS: &[Guess] = &[
    ("ptp4l -i eth0 -m", REFUSED, &["punctual sync plan", "punctual measure sync"]),
    ("phc2sys -s eth0", REFUSED, &["punctual sync plan"]),
    ("pmc 'GET TIME_STATUS_NP'", REFUSED, &["punctual measure sync"]),
    ("chronyc tracking", REFUSED, &["punctual measure sync"]),
    ("measure sync --limit", REFUSED, &["--limit"]),
    ("perf sched record", REFUSED, &["--explain", "punctual app"]),
    ("trace-cmd record", REFUSED, &["--explain"]),
    ("isochron send", REFUSED, &["punctual listen"]),
    ("ping 10.0.0.1", REFUSED, &["punctual packet send"]),
    ("chrt -f 80 ./x", REFUSED, &["--priority 80", "punctual app"]),
    ("hwlatdetect --duration=10", REFUSED, &["punctual noise"]),
    ("rteval", REFUSED, &["punctual assess"]),
    ("rtla timerlat hist", REFUSED, &["punctual wakeup"]),
    ("jitterdebugger", REFUSED, &["punctual wakeup"]),
    ("noise -t 10", REFUSED, &["punctual cyclictest"]),
    ("export x.json", REFUSED, &["--format", "-o run.csv"]),
    ("ab", REFUSED, &["punctual campaign ab --knob"]),
    ("campaign ab --knob vm.swappiness=10 --time 10s", REFUSED, &["take at least 35 s"]),
    (
        "campaign ab --knob vm.swappiness=10,60 --time 5m --show",
        &[0],
        &["repetitions = 7", "[factor.level.intent.knob]"],
    ),
    ("campaign ab --knob no-such=1", REFUSED, &["punctual tune knobs"]),
    ("campaign check which-knob --factor power --root {host}", &[0, 2], &["which-knob"]),
    ("campaign run which-knob --factor powr", REFUSED, &["the factors are isolation", "power"]),
];

const STRESS_NG: &[Guess] = &[
    (
        "wakeup --cpus 0 --time 300ms --policy other --load-cmd 'while :; do :; done'",
        MEASURED,
        &["under load 'while :;"],
    ),
    ("noise --time 1s --load-cmd 'no-such-program --fast'", REFUSED, &["exit status 127", "no-such-program"]),
    ("wakeup --time 1s --policy other --load-cmd true", &[3], &["nothing was measured", "exit status 0", "--anyway"]),
    ("wakeup --vm 2", REFUSED, &["--load-cmd 'stress-ng --vm"]),
    ("assess --hdd 1", REFUSED, &["--load-cmd 'stress-ng --hdd"]),
    ("assess --stress", REFUSED, &["--load hard"]),
    ("stress-ng --cpu 1", REFUSED, &["--load-cmd"]),
    ("hackbench", REFUSED, &["--load hard"]),
    ("assess --load none", REFUSED, &["needs a load"]),
    ("assess --load heavy", REFUSED, &["hard, paper, osadl", "--load-cmd"]),
    ("assess --load hard --load-cmd 'make'", REFUSED, &["cannot be used with"]),
    ("load list", &[0], &["hard", "stress-ng: 3 CPU workers at 25 %", "osadl"]),
    ("load list --json", &[0], &["\"name\": \"paper\"", "\"wanted_cpu\": 0.75"]),
    ("load show osadl", &[0], &["[[command]]", "program = \"stress-ng\""]),
    ("load show osdal", REFUSED, &["hard, paper, osadl"]),
    ("load show my.toml", REFUSED, &["punctual load check my.toml"]),
    ("load check {dir}/mine.toml", &[0], &["is a load: 'mine'", "the command 'sh", "at least 0.5 CPUs"]),
    ("load check {dir}/absent.toml", REFUSED, &["cannot read"]),
    ("load check {dir}/wrong.toml", REFUSED, &["wrong.toml", "line 2", "punctual load show paper"]),
    ("load check {dir}/foreign.toml", &[1], &["'no-such-program' was not found"]),
    ("load run hard", REFUSED, &["--load NAME"]),
];

const GENERAL: &[Guess] = &[
    ("asess", REFUSED, &["'assess'"]),
    ("run", REFUSED, &["punctual assess"]),
    ("version", REFUSED, &["punctual --version"]),
    ("app", REFUSED, &["--cmd", "--pid", "PROGRAM"]),
    ("app --rate 1000", REFUSED, &["--rate"]),
    ("explain kernel-realtime", REFUSED, &["kernel-not-realtime"]),
    ("explain --frobnicate", REFUSED, &["--frobnicate"]),
    ("report --frobnicate x.json", REFUSED, &["--frobnicate"]),
    ("tail --csv x.json", REFUSED, &["punctual export RECORD --format csv"]),
    ("diff a b", REFUSED, &["punctual compare"]),
    ("plot x.json", REFUSED, &["punctual report"]),
    ("export --format gnuplot x.json", REFUSED, &["--format csv", "gnuplot reads"]),
    ("tail --for 24h x.json", REFUSED, &["--horizon 24h", "--claim"]),
    ("tune apply --dry-run", REFUSED, &["punctual tune plan"]),
    ("campaign run --dry-run", REFUSED, &["punctual campaign check"]),
    ("compare --fail-on worst:5ms a b", REFUSED, &["worse:5us", "--deadline"]),
    #[cfg(feature = "lab")]
    ("lab list", REFUSED, &["punctual lab show", "punctual lab status"]),
    #[cfg(feature = "lab")]
    ("lab up --dry-run", REFUSED, &["punctual lab show SCENARIO"]),
];

fn typed(line: &str, folder: &Path) -> Output {
    let host = fixtures::host("server-two-sockets");
    let line = line.replace("{dir}", folder.to_str().unwrap()).replace("{host}", host.to_str().unwrap());
    let program = env!("CARGO_BIN_EXE_punctual");
    Command::new("sh").args(["-c", &format!("exec '{program}' {line}")]).stdin(Stdio::null()).output().unwrap()
}

fn check(guesses: &[Guess]) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "mine.toml",
        "name = \"mine\"\nwanted-cpu = 0.5\n[[command]]\nprogram = \"sh\"\narguments = [\"-c\", \"x\", \"y\"]\n",
    );
    write("wrong.toml", "name = \"wrong\"\nspeed = 3\n");
    write("foreign.toml", "name = \"foreign\"\n[[command]]\nprogram = \"no-such-program\"\n");
    for (line, codes, parts) in guesses {
        let output = typed(line, folder.path());
        let all = format!("{}{}", stdout(&output), said(&output));
        let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(codes.contains(&code(&output)), "punctual {line}: exit {}: {all}", code(&output));
        for part in *parts {
            assert!(words.contains(part), "punctual {line}: '{part}' is not in: {all}");
        }
        assert!(!words.contains("use '-- "), "punctual {line}: harmful advice: {all}");
        if *codes == REFUSED {
            assert!(output.stdout.is_empty(), "punctual {line} printed data: {all}");
        }
    }
}

#[test]
fn of_people_who_know_cyclictest() {
    check(CYCLICTEST);
}

#[test]
fn of_people_who_know_rtla() {
    check(RTLA);
}

#[test]
fn of_people_who_know_tuned() {
    check(TUNED);
}

#[test]
fn of_people_who_know_linuxptp_perf_and_others() {
    check(OTHERS);
}

#[test]
fn of_people_who_know_stress_ng() {
    check(STRESS_NG);
}

#[test]
fn of_anybody() {
    check(GENERAL);
}

/// The other way round from a usage error: what a load was stands in the table, the record and the page.
#[test]
fn what_ran_as_the_load_stands_in_every_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let load = "name = \"two\"\n[[command]]\nprogram = \"sh\"\narguments = [\"-c\", \"while :; do :; done\"]\n\
                [[command]]\nprogram = \"tail\"\narguments = [\"-f\", \"/dev/null\"]\n";
    std::fs::write(path("two.toml"), load).unwrap();
    let line = [
        "measure",
        "wakeup",
        "--policy",
        "other",
        "--duration",
        "300ms",
        "--load",
        &path("two.toml"),
        "-o",
        &path("r.json"),
    ];
    let output = run(&line);
    let table = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    let what = "the command 'while :; do :; done'; the command 'tail -f /dev/null'";
    assert!(table.contains("under load 'two'") && table.contains(what), "{table}");
    let report = run(&["report", &path("r.json"), "-o", &path("r.html")]);
    assert_eq!(code(&report), 0, "{}", said(&report));
    let page = std::fs::read_to_string(path("r.html")).unwrap();
    assert!(page.contains("tail -f /dev/null") && page.contains("What the load did"));
}

/// The options that mean one thing have one name in every command that has it.
#[test]
fn one_thing_has_one_name_everywhere() {
    for command in [&["measure", "wakeup"][..], &["measure", "noise"], &["assess"], &["app"]] {
        let help = stdout(&run(&[command, &["--help"]].concat()));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for option in [
            "--duration",
            "--time",
            "--load ",
            "--load-cmd",
            "--load-cpus",
            "--without",
            "--rotate",
            "--anyway",
            "--json",
        ] {
            assert!(help.contains(option), "{command:?} lacks {option}");
        }
        for load in ["scaled to the machine", "3 CPU workers at 25 %", "bursts of memory"] {
            assert!(help.contains(load), "{command:?} does not say what the loads do: {load}");
        }
    }
}

/// Exit codes of commands where they differ from the general rule, as their help states them and as they are.
#[test]
fn help_names_a_command_as_it_was_typed() {
    for (words, usage) in [
        (&["clock", "--help"][..], "Usage: punctual clock "),
        (&["noise", "-h"], "Usage: punctual noise "),
        (&["measure", "clock", "--help"], "Usage: punctual measure clock "),
    ] {
        let output = run(words);
        assert!(stdout(&output).contains(usage), "{words:?}: {}", stdout(&output));
        assert_eq!(code(&output), 0);
    }
}

#[test]
fn help_states_the_exit_codes_of_its_own_command() {
    let help = |words: &[&str]| stdout(&run(&[words, &["--help"]].concat()));
    let row = |help: &str, number: u8| {
        let (_, rows) = help.split_once("Exit codes:").unwrap();
        rows.lines().find(|line| line.trim_start().starts_with(&number.to_string())).unwrap_or_default().to_owned()
    };
    assert!(row(&help(&["check"]), 1).contains("problem"));
    assert!(row(&help(&["tail"]), 1).contains("claim is broken"));
    assert!(row(&help(&["cyclictest"]), 0).contains("whatever it found"));
    assert!(row(&help(&["compare"]), 3).contains("invalid"));
    let host = fixtures::host("rt-x86-contradictions");
    let checked = run(&["check", "--root", host.to_str().unwrap()]);
    assert_eq!((code(&checked), stdout(&checked).contains("PROBLEM")), (1, true));
}
