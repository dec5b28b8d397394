//! Each option in each of its spellings.

use super::*;
use units::Ns;

fn options(line: &str) -> Options {
    match parse(line.split_whitespace().map(OsString::from)) {
        Ok(Request::Run(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

fn error(line: &str) -> String {
    match parse(line.split_whitespace().map(OsString::from)) {
        Err(error) => format!("{error:#}"),
        Ok(request) => panic!("{line}: {request:?}"),
    }
}

/// All `lines` mean the default with this one change.
fn check(lines: &[&str], change: impl Fn(&mut Options)) {
    let mut expected = Options::default();
    change(&mut expected);
    for line in lines {
        assert_eq!(options(line), expected, "{line}");
    }
}

fn listed(text: &str) -> Cpus {
    Cpus::Listed(text.parse().unwrap())
}

#[test]
fn values_that_may_be_left_away() {
    check(&["", "-a", "--affinity", "-a all", "--affinity=all", "-t 1", "-t1", "--threads=1", "--threads 1"], |_| {});
    check(&["-a 1", "-a1", "--affinity=1", "--affinity 1", "--aff 1"], |o| o.affinity = listed("1"));
    check(&["-a 0-3,8", "-a8,0-3"], |o| o.affinity = listed("0-3,8"));
    check(&["-a !0", "-a!0", "--affinity=!0"], |o| o.affinity = Cpus::Except("0".parse().unwrap()));
    check(&["-t", "-t0", "-t 0", "--threads", "-S", "--smp", "-t -a", "-a -t"], |o| o.threads = Threads::EachCpu);
    check(&["-t 2", "-t2", "--threads=2", "-t -t2"], |o| o.threads = Threads::Count(2));
}

#[test]
fn alignments() {
    check(&["-A", "-A 0", "--aligned", "--aligned=0"], |o| o.alignment = Alignment::Aligned(0));
    check(&["-A 50", "-A50", "--aligned=50", "--aligned 50", "-A 7 -A 50"], |o| o.alignment = Alignment::Aligned(50));
    check(&["--secaligned", "--secaligned=0"], |o| o.alignment = Alignment::Second(0));
    check(&["--secaligned=500", "--secaligned 500", "--sec 500"], |o| o.alignment = Alignment::Second(500));
}

#[test]
fn numbers() {
    check(&["-p 98", "-p98", "--priority=98", "--priority 98", "--priori 98"], |o| o.priority = 98);
    check(&["-i 200", "-i200", "--interval=200", "--interval 200"], |o| o.interval_us = 200);
    check(&["-l 5", "-l5", "--loops=5"], |o| o.loops = Some(5));
    check(&["-l 0", "-b 0", "-D 0", "-c 0", "--clock=0", "--latency=0", "-p 0"], |_| {});
    check(&["-d 0", "-d0", "--distance=0"], |o| o.distance_us = Some(0));
    check(&["-b 50", "-b50", "--breaktrace=50"], |o| o.break_above = Some(50));
    check(&["-c 1", "-c1", "--clock=1"], |o| o.clock = ClockId::Realtime);
    check(&["--latency=20", "--latency 20"], |o| o.dma_latency = DmaLatency::Hold(20));
    check(&["-h 200", "-h200", "--histogram=200"], |o| o.histogram_bins = Some(200));
    check(&["-h 2000000"], |o| o.histogram_bins = Some(1_000_000));
    check(&["-H 200", "-H200", "--histofall=200"], |o| {
        (o.histogram_bins, o.histogram_summary) = (Some(200), true);
    });
}

#[test]
fn durations_are_seconds_unless_they_say_otherwise() {
    let seconds = |s| move |o: &mut Options| o.duration = Some(Ns::from_s(s));
    check(&["-D 10", "-D10", "-D 10s", "--duration=10", "--duration 10", "--dur 10"], seconds(10));
    check(&["-D 2m", "-D2m"], seconds(120));
    check(&["-D 1h"], seconds(3_600));
    check(&["-D 1d"], seconds(86_400));
}

#[test]
fn switches() {
    check(&["-m", "--mlockall"], |o| o.lock_memory = true);
    check(&["-M", "--refresh_on_max"], |o| o.refresh_on_max = true);
    check(&["-N", "--nsecs"], |o| o.nanoseconds = true);
    check(&["-q", "--quiet"], |o| o.quiet = true);
    check(&["-v", "--verbose"], |o| o.verbose = true);
    check(&["--priospread"], |o| o.priority_spread = true);
    check(&["--tracemark"], |o| o.trace_mark = true);
    check(&["--laptop"], |o| o.dma_latency = DmaLatency::Laptop);
    check(&["--default-system"], |o| o.dma_latency = DmaLatency::DefaultSystem);
    check(&["-n", "--nanosleep", "-u", "--unbuffered", "-nu"], |_| {});
}

#[test]
fn files_cpus_and_policies() {
    check(&["--json=x.json", "--json x.json"], |o| o.json_file = Some("x.json".into()));
    check(&["--histfile=x", "--histfile x"], |o| o.histogram_file = Some("x".into()));
    check(&["--mainaffinity=1", "--mainaffinity 1"], |o| o.main_affinity = Some(listed("1")));
    for (name, policy) in [
        ("other", PolicyName::Other),
        ("normal", PolicyName::Other),
        ("batch", PolicyName::Batch),
        ("idle", PolicyName::Idle),
        ("fifo", PolicyName::Fifo),
        ("rr", PolicyName::RoundRobin),
    ] {
        check(&[&format!("--policy={name}"), &format!("--policy {name}")], |o| o.policy = Some(policy));
    }
}

#[test]
fn lines_that_others_run() {
    check(&["-p 98 -a 1 -t 1 -n -h 200 -q -i 200"], |o| {
        (o.priority, o.affinity, o.histogram_bins) = (98, listed("1"), Some(200));
        (o.quiet, o.interval_us) = (true, 200);
    });
    check(&["-mSq -p90 -i250 -D 1m", "-qmS -p 90 -i 250 -D60"], |o| {
        (o.lock_memory, o.quiet, o.threads) = (true, true, Threads::EachCpu);
        (o.priority, o.interval_us, o.duration) = (90, 250, Some(Ns::from_s(60)));
    });
    // One word with a space in it, as programs write that start it without a shell.
    let words = ["-i100", "-qmu", "-h 3500", "-p95", "-t", "-a"].map(OsString::from);
    let Ok(Request::Run(parsed)) = parse(words) else { panic!("not parsed") };
    assert_eq!((parsed.histogram_bins, parsed.interval_us, parsed.priority), (Some(3_500), 100, 95));
}

#[test]
fn help_is_long_only_since_h_is_a_histogram() {
    assert_eq!(parse(["--help".into()]).unwrap(), Request::Help);
    assert!(error("-h").contains("-h"));
}

#[test]
fn nothing_is_ignored() {
    for (line, named) in [
        ("-U", "-U"),
        ("--bogus", "--bogus"),
        ("--prio=5", "--priospread"),
        ("word", "word"),
        ("-a x", "x"),
        ("-ax", "x"),
        ("-c 2", "2"),
        ("-p 100", "100"),
        ("-p -1", "-1"),
        ("-i abc", "abc"),
        ("-h 0", "0"),
        ("-D 1x", "x"),
        ("-D 2m3", "2m3"),
        ("--policy=foo", "foo"),
        ("-i", "-i"),
        ("--quiet=1", "quiet"),
        ("-r", "-r"),
        ("-s", "-s"),
        ("-x", "-x"),
        ("-R", "-R"),
        ("-o 2", "-o"),
        ("-A x", "x"),
        ("-A 5 --secaligned", "exclude"),
        ("--secaligned=2 --aligned=2", "exclude"),
        ("-F x", "-F"),
        ("--smi", "--smi"),
        ("--spike=100", "--spike"),
        ("--spike-nodes=1", "--spike-nodes"),
        ("--dbg_cyclictest", "--dbg_cyclictest"),
    ] {
        let error = error(line);
        assert!(error.contains(named), "{line}: {error}");
    }
}
