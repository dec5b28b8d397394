//! What to type instead, after a mistyped or foreign command line.
//!
//! clap knows names that look alike; it does not know what cyclictest, rtla, tuned and stress-ng call a thing. Where this table
//! has an answer it replaces clap's. clap's advice to write a mistyped option behind `--` is never given: behind it the option
//! would be taken for a file or a program.

mod as_typed;

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

pub(crate) use self::as_typed::Spelling;

/// A word that others use: the beginning of the command line where the tip holds, the word, what to type instead.
type Tip = (&'static str, &'static str, &'static str);

/// Commands that a word could stand for. The first part is what has been typed before the word.
const COMMANDS: &[Tip] = &[
    ("", "run", "'punctual assess' measures this machine and says whether it keeps a deadline"),
    ("", "test", "'punctual assess' measures this machine and says whether it keeps a deadline"),
    ("", "latency", "'punctual wakeup' measures latency, 'punctual assess' says whether it keeps a deadline"),
    ("", "timerlat", "'punctual wakeup' measures timer latency; '--explain' says what made it late"),
    ("", "osnoise", "'punctual noise' measures the time that is taken from a thread"),
    ("", "hwnoise", "'punctual noise' measures the time that is taken from a thread"),
    ("", "hwlat", "'punctual noise' measures the time that is taken from a thread"),
    ("", "oslat", "'punctual noise' measures the time that is taken from a thread"),
    (
        "",
        "hackbench",
        "'--load hard' loads the machine as hackbench does, among others; 'punctual load list' lists loads",
    ),
    ("", "stress", "'--load hard' loads the machine during a measurement; 'punctual load list' lists loads"),
    ("", "stress-ng", "'--load-cmd \"stress-ng …\"' runs it beside a measurement; 'punctual load list' lists loads"),
    ("", "trace", "'punctual wakeup --explain' says what made wake-ups late"),
    ("", "isolate", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    ("", "undo", "'punctual tune revert' restores every setting"),
    ("", "revert", "'punctual tune revert' restores every setting"),
    ("", "apply", "'punctual tune apply' applies a plan, 'punctual tune plan' shows it first"),
    ("", "plan", "'punctual tune plan' shows what would be changed"),
    ("", "audit", "'punctual check' audits the settings"),
    ("", "predict", "'punctual tail RECORD' says how bad it can get"),
    ("", "plot", "'punctual report RECORD' makes a page with the plots"),
    ("", "html", "'punctual report RECORD' makes a page"),
    (
        "",
        "show",
        "'punctual report RECORD' makes a page; 'punctual load show', 'campaign show' and 'lab show' print files",
    ),
    ("", "convert", "'punctual import' reads other programs' results, 'punctual export' writes for them"),
    ("", "diff", "'punctual compare A B' compares runs"),
    ("", "version", "'punctual --version' prints it"),
    ("", "rtla", "'punctual wakeup' measures timer latency; '--explain' says what made it late"),
    ("", "hist", "'punctual wakeup' measures timer latency; '--explain' says what made it late"),
    ("", "top", "'punctual wakeup' measures timer latency; '--explain' says what made it late"),
    ("", "jitter", "'punctual wakeup' measures timer latency; '--explain' says what made it late"),
    ("", "jitterdebugger", "'punctual wakeup' measures timer latency; '--explain' says what made it late"),
    ("", "cyclicdeadline", "'punctual wakeup' measures timer latency; '--explain' says what made it late"),
    ("", "signaltest", "'punctual event --kind signal' measures how late a signal wakes a thread"),
    ("", "sigwaittest", "'punctual event --kind signal' measures how late a signal wakes a thread"),
    (
        "",
        "ptsematest",
        "'punctual event --kind futex-pi' measures how late a lock wakes a thread; 'futex' and 'condvar' are kinds too",
    ),
    ("", "pmqtest", "'punctual event --kind mqueue' measures how late a message wakes a thread"),
    (
        "",
        "svsematest",
        "'punctual event --kind futex' measures how late a semaphore of POSIX wakes a thread; those of System V are not measured",
    ),
    ("", "handover", "'punctual event' measures how late one thread wakes another"),
    ("", "ipc", "'punctual event' measures how late one thread wakes another"),
    ("", "rteval", "'punctual assess' loads and measures this machine, and says whether it keeps a deadline"),
    ("", "hwlatdetect", "'punctual noise' measures the time that is taken from a thread"),
    ("", "queuelat", "'punctual noise' measures the time that is taken from a thread"),
    ("", "pi_stress", "'--load hard' loads the machine during a measurement; 'punctual load list' lists loads"),
    (
        "",
        "ptp4l",
        "'punctual sync plan' configures a time service, 'punctual measure sync' measures how far the clocks are apart",
    ),
    (
        "",
        "phc2sys",
        "'punctual sync plan' configures a time service, 'punctual measure sync' measures how far the clocks are apart",
    ),
    (
        "",
        "ts2phc",
        "'punctual sync plan' configures a time service, 'punctual measure sync' measures how far the clocks are apart",
    ),
    (
        "",
        "timemaster",
        "'punctual sync plan' configures a time service, 'punctual measure sync' measures how far the clocks are apart",
    ),
    (
        "",
        "chronyd",
        "'punctual sync plan' configures a time service, 'punctual measure sync' measures how far the clocks are apart",
    ),
    ("", "pmc", "'punctual measure sync' measures how far the clocks are apart"),
    ("", "chronyc", "'punctual measure sync' measures how far the clocks are apart"),
    ("", "phc_ctl", "'punctual measure sync' measures how far the clocks are apart"),
    ("", "offset", "'punctual measure sync' measures how far the clocks are apart"),
    ("", "drift", "'punctual measure sync' measures how far the clocks are apart"),
    (
        "",
        "hwstamp_ctl",
        "'punctual packet send --hardware-stamps auto' uses the stamps of network interfaces, and sets them back",
    ),
    ("packet", "listen", "that is 'punctual listen', which also carries out runs that another node asks for"),
    ("", "ping", "'punctual listen' and 'punctual packet send' measure the delay of packets"),
    ("", "iperf3", "'punctual listen' and 'punctual packet send' measure the delay of packets"),
    ("", "isochron", "'punctual listen' and 'punctual packet send' measure the delay of packets"),
    ("", "sockperf", "'punctual listen' and 'punctual packet send' measure the delay of packets"),
    ("", "netperf", "'punctual listen' and 'punctual packet send' measure the delay of packets"),
    ("", "perf", "'punctual wakeup --explain' says what made wake-ups late, 'punctual app' follows a program"),
    ("", "sched", "'punctual wakeup --explain' says what made wake-ups late, 'punctual app' follows a program"),
    ("", "stat", "'punctual wakeup --explain' says what made wake-ups late, 'punctual app' follows a program"),
    ("", "record", "'punctual wakeup --explain' says what made wake-ups late, 'punctual app' follows a program"),
    ("", "trace-cmd", "'punctual wakeup --explain' says what made wake-ups late, 'punctual app' follows a program"),
    ("", "bpftrace", "'punctual wakeup --explain' says what made wake-ups late, 'punctual app' follows a program"),
    ("", "ftrace", "'punctual wakeup --explain' says what made wake-ups late, 'punctual app' follows a program"),
    (
        "",
        "tuned",
        "'punctual tune plan' shows what would be changed, 'punctual tune plan realtime' what TuneD's profile is for",
    ),
    (
        "",
        "tuned-adm",
        "'punctual tune plan' shows what would be changed, 'punctual tune plan realtime' what TuneD's profile is for",
    ),
    (
        "",
        "realtime",
        "'punctual tune plan' shows what would be changed, 'punctual tune plan realtime' what TuneD's profile is for",
    ),
    ("", "isolcpus", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    ("", "cset", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    ("", "taskset", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    ("", "numactl", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    ("", "knobs", "'punctual tune plan --set KNOB=VALUE' shows what it changes, 'punctual tune knobs' lists knobs"),
    ("", "sysctl", "'punctual tune plan --set KNOB=VALUE' shows what it changes, 'punctual tune knobs' lists knobs"),
    ("", "governor", "'punctual tune plan --set KNOB=VALUE' shows what it changes, 'punctual tune knobs' lists knobs"),
    ("", "cpupower", "'punctual tune plan --set KNOB=VALUE' shows what it changes, 'punctual tune knobs' lists knobs"),
    (
        "",
        "x86_energy_perf_policy",
        "'punctual tune plan --set KNOB=VALUE' shows what it changes, 'punctual tune knobs' lists knobs",
    ),
    ("", "set", "'punctual tune plan --set KNOB=VALUE' shows what it changes, 'punctual tune knobs' lists knobs"),
    ("", "irqbalance", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    ("", "tuna", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    (
        "",
        "chrt",
        "'punctual wakeup --policy fifo --priority 80' measures so; 'punctual app' follows a program of yours",
    ),
    ("", "status", "'punctual tune status' shows what is applied, 'punctual check' what is wrong with the settings"),
    ("", "list", "'punctual campaign list', 'punctual load list' and 'punctual tune knobs' list what there is"),
    ("", "config", "'punctual profile' shows all settings, 'punctual check' what is wrong with them"),
    ("", "monitor", "'punctual wakeup --duration unlimited' measures until Ctrl-C"),
    ("", "ab", "'punctual campaign ab --knob KNOB=A,B --time 5m' compares two settings"),
    ("measure", "jitterdebugger", "'punctual wakeup' measures timer latency; '--explain' says what made it late"),
    ("measure", "signaltest", "'punctual event --kind signal' measures how late a signal wakes a thread"),
    ("measure", "sigwaittest", "'punctual event --kind signal' measures how late a signal wakes a thread"),
    ("measure", "ptsematest", "'punctual event --kind futex-pi' measures how late a lock wakes a thread"),
    ("measure", "pmqtest", "'punctual event --kind mqueue' measures how late a message wakes a thread"),
    ("measure", "futex", "'punctual event --kind futex' measures how late a futex wakes a thread"),
    ("measure", "eventfd", "'punctual event --kind eventfd' measures how late an eventfd wakes a thread"),
    ("measure", "hwlat", "'punctual noise' measures the time that is taken from a thread"),
    ("measure", "oslat", "'punctual noise' measures the time that is taken from a thread"),
    ("measure", "hwnoise", "'punctual noise' measures the time that is taken from a thread"),
    ("tune", "realtime", "'punctual tune plan realtime' shows what TuneD's profile of that name is for"),
    (
        "tune",
        "set",
        "'punctual tune plan --set KNOB=VALUE' shows what it changes, 'tune apply --set KNOB=VALUE' does it",
    ),
    ("tune", "get", "'punctual tune knobs NAME' shows what a knob stands at"),
    ("tune", "ab", "'punctual campaign ab --knob KNOB=A,B --time 5m' compares two settings"),
    #[cfg(not(feature = "lab"))]
    ("", "lab", "this program was built without the lab; 'make build' in the folder of the sources builds one with it"),
    ("", "conclusions", "'make conclusions' in the folder of the sources holds what is concluded against the truth"),
    ("measure", "latency", "'punctual wakeup' measures latency"),
    ("measure", "timerlat", "'punctual wakeup' measures timer latency"),
    ("measure", "cyclictest", "'punctual cyclictest' takes cyclictest's options, 'punctual wakeup' measures the same"),
    ("measure", "jitter", "'punctual wakeup' measures it; its '--jitter' draws the schedules at random"),
    ("measure", "osnoise", "'punctual noise' measures it"),
    ("measure", "app", "'punctual app -- ./program' follows a program"),
    ("measure", "load", "'punctual load list' lists loads, '--load NAME' runs one beside a measurement"),
    ("tune", "undo", "'punctual tune revert' restores every setting"),
    ("tune", "restore", "'punctual tune revert' restores every setting"),
    ("tune", "reset", "'punctual tune revert' restores every setting"),
    ("tune", "off", "'punctual tune revert' restores every setting"),
    ("tune", "isolate", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    (
        "tune",
        "profile",
        "'punctual tune plan realtime' shows what TuneD's profile of that name is for, 'punctual tune plan' what is proposed",
    ),
    ("tune", "recommend", "'punctual tune propose' proposes an intent for this machine"),
    ("tune", "active", "'punctual tune status' shows what is applied"),
    ("tune", "list", "'punctual tune status' shows what is applied, 'punctual tune knobs' what can be set"),
    ("tune", "show", "'punctual tune plan' shows what would be changed, 'punctual tune status' what is applied"),
    ("lab", "list", "'punctual lab show' lists the scenarios, 'punctual lab status' what is running"),
    ("lab", "start", "'punctual lab up SCENARIO' starts one"),
    ("lab", "stop", "'punctual lab down NAME' ends one"),
    ("lab", "run", "'punctual lab up SCENARIO' starts one, 'punctual lab exec LAB -- COMMAND' runs a command on it"),
    ("sync", "measure", "'punctual measure sync' measures how far the clocks are apart"),
    ("sync", "start", "'punctual sync apply' configures and starts a time service"),
    ("sync", "stop", "'punctual sync revert' restores every setting, file and service"),
    ("sync", "undo", "'punctual sync revert' restores every setting, file and service"),
    ("load", "run", "'--load NAME' runs a load beside 'measure wakeup', 'measure noise', 'assess' and 'app'"),
];

/// In place of a command: every one that measures.
const MEASURING: &str = "*";

/// Options that others have. The first part is the command; the empty one holds everywhere.
const OPTIONS: &[Tip] = &[
    (
        "tune",
        "--isolate",
        "'punctual tune plan --isolate LIST' shows what it changes, 'tune apply --isolate LIST' does it",
    ),
    ("", "--isolate", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    ("sync", "--source", "'punctual measure sync --source …' measures how far the clocks are apart"),
    ("sync", "--limit", "'punctual measure sync --limit D' holds the clocks' hard bound against a limit"),
    ("sync", "--time", "'punctual measure sync --time D' measures how far the clocks are apart"),
    ("sync", "--duration", "'punctual measure sync --duration D' measures how far the clocks are apart"),
    ("sync", "--dry-run", "'punctual sync plan' shows what 'sync apply' would change"),
    ("app", "--command", "--cmd COMMAND, or the program and its arguments after '--'"),
    (
        "tail",
        "--for",
        "--horizon 24h foretells that time; --claim \"100us for 1 day at 99%\" asks whether a limit holds for so long",
    ),
    ("lab", "--dry-run", "'punctual lab show SCENARIO' prints what 'lab up SCENARIO' starts"),
    ("tune", "--cpus", "'punctual tune plan --isolate LIST' shows what isolating these CPUs changes"),
    ("tune", "--profile", "'punctual tune plan realtime' shows what TuneD's profile of that name is for"),
    ("tune", "--knob", "--set KNOB=VALUE"),
    ("check", "--level", "--severity problem, warning or note"),
    ("campaign", "--set", "'punctual campaign ab --knob KNOB=A,B' compares two settings of a knob"),
    ("tune", "--dry-run", "'punctual tune plan' shows what 'tune apply' would change"),
    ("campaign", "--dry-run", "'punctual campaign check CAMPAIGN' shows what 'campaign run' would change and measure"),
    ("", "--csv", "'punctual export RECORD --format csv' writes CSV"),
    ("", "--html", "'punctual report RECORD' makes a page"),
    ("", "--histogram", "the record has the histogram: keep it with '-o FILE', draw it with 'punctual report FILE'"),
    ("", "--histofall", "the record has the histogram: keep it with '-o FILE', draw it with 'punctual report FILE'"),
    (MEASURING, "--mlockall", "memory is always locked where this is permitted; leave it out"),
    (MEASURING, "--smp", "one thread on each CPU is the default; leave it out"),
    (MEASURING, "--stress", "--load hard"),
    (MEASURING, "--load-command", "--load-cmd COMMAND"),
    (
        MEASURING,
        "--auto",
        "'--explain' says what made wake-ups late, '--breaktrace D' stops at the first that is later than D",
    ),
    (
        MEASURING,
        "--trace",
        "'--explain' says what made wake-ups late, '--breaktrace D' stops at the first that is later than D",
    ),
    (MEASURING, "--stop", "--breaktrace D"),
    (MEASURING, "--seconds", "--duration 10s"),
    (MEASURING, "--runtime", "--duration 10s"),
    (MEASURING, "--limit", "--deadline D"),
    (MEASURING, "--threshold", "--deadline D"),
    (MEASURING, "--distance", "pairs of threads are spread over the interval by themselves; leave it out"),
    (MEASURING, "--fork", "both threads of a pair are of one process; leave it out"),
];

/// Values of options that others know: the command, the option, the value, what to type instead.
const VALUES: &[(&str, &str, &str, &str)] = &[
    (
        "export",
        "--format",
        "gnuplot",
        "'--format csv' writes what gnuplot reads: 'set datafile separator \",\"'; docs/json.md has a recipe",
    ),
    (
        "measure",
        "--kind",
        "mutex",
        "--kind futex-pi is a lock with priority inheritance, --kind condvar one with a condition",
    ),
    ("measure", "--kind", "semaphore", "--kind futex is what a semaphore of POSIX waits with"),
    ("measure", "--kind", "cond", "--kind condvar"),
    ("measure", "--kind", "mq", "--kind mqueue"),
];

/// Options of one letter that cyclictest and rtla have, and what they are called here.
const LETTERS: &[(char, &str)] = &[
    ('a', "--cpus LIST"),
    ('b', "--breaktrace D"),
    ('c', "--cpus LIST"),
    ('d', "--duration D"),
    ('D', "--duration D"),
    ('i', "--interval D"),
    ('l', "--samples N"),
    ('p', "--priority P (rtla's -p, the period, is --interval D)"),
    ('P', "--priority P, --policy NAME"),
    ('t', "--threads N"),
];

/// Stressors of stress-ng whose options are typed beside ours.
const STRESSORS: [&str; 10] =
    ["--vm", "--vm-bytes", "--hdd", "--io", "--cpu-load", "--timer", "--fork", "--matrix", "--switch", "--udp"];

/// Puts the right tip into an error of clap's, and takes those out that would do harm.
pub(crate) fn corrected(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let typed: Vec<String> = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut kept: Vec<StyledStr> = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        Some(ContextValue::StyledStr(tip)) => vec![tip],
        _ => Vec::new(),
    };
    kept.retain(|tip| !is_escape(&tip.to_string()));
    let wrong = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    let tip = wrong(ContextKind::InvalidSubcommand)
        .and_then(|word| tip_for_command(&typed, &word))
        .or_else(|| tip_for_value(&typed, &wrong(ContextKind::InvalidArg)?, &wrong(ContextKind::InvalidValue)?))
        // An option that is understood and misused needs no other one.
        .or_else(|| {
            let is_unknown = error.kind() == ErrorKind::UnknownArgument;
            wrong(ContextKind::InvalidArg).filter(|_| is_unknown).and_then(|word| tip_for_option(&typed, &word))
        });
    if let Some(tip) = tip {
        for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand] {
            error.remove(kind);
        }
        kept = vec![StyledStr::from(tip)];
    }
    if !kept.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(kept));
    }
    error
}

/// Puts the user's own spelling into an error of clap's.
pub(crate) fn spelled(mut error: clap::Error, spelling: &Spelling) -> clap::Error {
    for kind in [ContextKind::InvalidArg, ContextKind::PriorArg, ContextKind::Usage] {
        let other = match error.get(kind) {
            Some(ContextValue::String(text)) => ContextValue::String(spelling.apply(text)),
            Some(ContextValue::Strings(texts)) => {
                ContextValue::Strings(texts.iter().map(|text| spelling.apply(text)).collect())
            }
            Some(ContextValue::StyledStr(text)) => {
                ContextValue::StyledStr(StyledStr::from(spelling.apply(&text.ansi().to_string())))
            }
            _ => continue,
        };
        error.insert(kind, other);
    }
    error
}

/// Whether a tip of clap's says to hide an option behind `--`.
fn is_escape(tip: &str) -> bool {
    tip.contains("as a value, use")
}

/// The words before the one that is wrong which name a command.
fn before<'a>(typed: &'a [String], wrong: &str) -> &'a str {
    match typed.first() {
        Some(first) if first != wrong && !first.starts_with('-') => first,
        _ => "",
    }
}

fn tip_for_command(typed: &[String], wrong: &str) -> Option<String> {
    let command = before(typed, wrong);
    let found = COMMANDS.iter().find(|(at, word, _)| *at == command && *word == wrong)?;
    Some(found.2.to_owned())
}

fn tip_for_value(typed: &[String], option: &str, wrong: &str) -> Option<String> {
    let command = before(typed, wrong);
    let name = option.split([' ', '=']).next().unwrap_or(option);
    let found = VALUES.iter().find(|(at, known, value, _)| *at == command && *known == name && *value == wrong)?;
    Some(found.3.to_owned())
}

fn tip_for_option(typed: &[String], wrong: &str) -> Option<String> {
    let command = before(typed, wrong);
    // `--cpus <LIST>` or `--cpus=1`: the name alone.
    let name = wrong.split([' ', '=']).next().unwrap_or(wrong);
    let is_measuring = matches!(command, "measure" | "assess" | "app");
    let holds = |at: &str| at.is_empty() || at == command || (at == MEASURING && is_measuring);
    let known = options_of(typed);
    // Advice for all commands that measure is of use to those that have what it names.
    let is_had = |tip: &str| named_options(tip).all(|option| known.contains(&option));
    let tip = OPTIONS.iter().find(|(at, word, tip)| holds(at) && *word == name && (*at != MEASURING || is_had(tip)));
    if let Some((_, _, tip)) = tip {
        return Some((*tip).to_owned());
    }
    if is_measuring && STRESSORS.contains(&name) {
        return Some(format!("{name} is stress-ng's: --load-cmd 'stress-ng {name} …' runs it as the load"));
    }
    let mut letters = name.strip_prefix('-')?.chars();
    let letter = letters.next().filter(|letter| is_measuring && letters.next().is_none() && *letter != '-')?;
    let own = LETTERS.iter().find(|(known, own)| *known == letter && is_had(own)).map(|(_, own)| *own);
    let all = "'punctual cyclictest' takes cyclictest's own options";
    Some(own.map_or_else(|| all.to_owned(), |own| format!("-{letter} is {own} here; {all}")))
}

/// The long options, with their dashes, of the command that the words name.
fn options_of(typed: &[String]) -> Vec<String> {
    let mut command = crate::Cli::command();
    for word in typed {
        match command.find_subcommand(word) {
            Some(one) => command = one.clone(),
            None => break,
        }
    }
    command
        .get_arguments()
        .flat_map(|arg| arg.get_long_and_visible_aliases().unwrap_or_default())
        .map(|long| format!("--{long}"))
        .collect()
}

/// The options that a tip names as ours: at its beginning, behind a quote, a comma or a blank.
fn named_options(tip: &str) -> impl Iterator<Item = String> + '_ {
    let words = tip.split([' ', '\'', ',', ';', ')', '(']).filter(|word| word.starts_with("--"));
    words.map(|word| word.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {

    use super::*;

    fn said(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match crate::parsed(&words) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{line} is understood"),
        }
    }

    #[test]
    fn what_others_call_a_thing_is_found_here() {
        for (line, tip) in [
            ("punctual timerlat", "punctual wakeup"),
            ("punctual tune undo", "tune revert"),
            ("punctual tune --isolate 1", "tune plan --isolate"),
            ("punctual assess --isolate 1", "tune plan --isolate"),
            ("punctual measure wakeup -a 1", "--cpus LIST"),
            ("punctual measure wakeup -m", "punctual cyclictest"),
            ("punctual assess --vm 2", "--load-cmd 'stress-ng --vm"),
            ("punctual measure wakeup --histogram 200", "punctual report"),
            ("punctual lab start rt-basic", "lab up"),
        ] {
            let said = said(line);
            assert!(said.contains(tip), "{line}: {said}");
        }
    }

    /// A letter of another program's, in each command that measures: what is advised is there.
    #[test]
    fn an_option_that_is_advised_is_one_of_the_command() {
        let mut advised = 0;
        for command in
            ["measure wakeup", "measure noise", "measure clock", "measure event", "measure sync", "assess", "app"]
        {
            let typed: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let known = options_of(&typed);
            assert!(known.len() > 3, "{command}: {known:?}");
            let letters = LETTERS.iter().map(|(letter, _)| format!("-{letter}"));
            let options = OPTIONS.iter().filter(|(at, ..)| *at == MEASURING).map(|(_, word, _)| (*word).to_owned());
            for wrong in letters.chain(options).filter(|wrong| !known.contains(wrong)) {
                let Some(tip) = tip_for_option(&typed, &wrong) else { continue };
                advised += 1;
                for option in named_options(&tip) {
                    assert!(known.contains(&option), "{command} {wrong}: {tip}");
                }
            }
        }
        assert!(advised > 20, "{advised}");
    }

    #[test]
    fn an_option_that_is_ours_and_misused_is_not_replaced_by_another() {
        let said = said("punctual measure sync --limit");
        assert!(said.contains("--limit") && !said.contains("--deadline"), "{said}");
    }

    #[test]
    fn nobody_is_told_to_hide_an_option_behind_two_dashes() {
        for line in [
            "punctual tune plan --isolat 1",
            "punctual report --frobnicate x.json",
            "punctual app --rate 1000",
            "punctual load show --frobnicate",
            "punctual explain --frobnicate",
            "punctual tail --frobnicate x.json",
        ] {
            let said = said(line);
            assert!(!said.contains("use '-- "), "{line}: {said}");
        }
        // A likeness of clap's own stands where the table has nothing better.
        assert!(said("punctual tune plan --isolat 1").contains("--isolate"));
        assert!(said("punctual asess").contains("assess"));
    }

    #[test]
    fn every_word_of_the_table_is_unknown_to_the_command_itself() {
        let command = crate::Cli::command();
        for (at, word, tip) in COMMANDS {
            let parent = if at.is_empty() { &command } else { command.find_subcommand(at).unwrap() };
            assert!(parent.find_subcommand(word).is_none(), "{at} {word}: {tip}");
        }
    }
}
