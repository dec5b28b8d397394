//! The commands that measure, judge results and carry them elsewhere.

use super::{AS_COMMAND, ExitRow, Page, SIMPLE, USAGE};

const MEASURE_USAGE: ExitRow = (
    "2",
    "wrong usage or configuration, such as a CPU, file or load command that does not exist; nothing was measured",
);
const MEASURE_INVALID: ExitRow = (
    "3",
    "the run is invalid; or nothing was measured, because it would be: the priority is refused, or the load ended at once \
     (--anyway measures all the same)",
);
const MEASURE_SEE: &[&str] = &[
    "punctual assess",
    "punctual load",
    "punctual report",
    "punctual compare",
    "docs/glossary.md",
    "docs/validity.md",
];

/// Pages of the commands that measure, and of those that take results.
pub(super) const PAGES: &[Page] = &[
    Page {
        command: "",
        exits: &[
            ("0", "what was asked holds, or nothing was asked"),
            ("1", "what was asked is broken: a limit, a claim, a gate, or a setting that 'check' calls a problem"),
            ("2", "wrong usage or configuration; nothing was measured"),
            ("3", "the result is invalid or decides nothing, or a run was refused at its start; outranks 1"),
            ("other", "'cyclictest' keeps cyclictest's codes, 'lab exec' and 'lab ssh' those of what they run"),
        ],
        examples: &[
            (
                "punctual assess --deadline 200us --time 5m",
                "does this machine keep 200 us? Verdict, advice, records, a page",
            ),
            ("punctual check", "which settings stand in the way"),
            ("punctual wakeup --cpus 1 --time 30s", "the same as 'punctual measure wakeup'; 'clock' and 'noise' too"),
            ("punctual cyclictest -S -m -p 98 -i 200 -D 60", "cyclictest's own command line"),
        ],
        see: &[
            "punctual assess",
            "punctual check",
            "punctual measure",
            "punctual tune",
            "cyclictest(8)",
            "docs/glossary.md",
        ],
    },
    Page {
        command: "assess",
        exits: &[
            ("0", "the deadline holds, and a --claim is shown"),
            ("1", "the deadline does not hold, or the claim is broken"),
            MEASURE_USAGE,
            (
                "3",
                "it cannot be told: a run is invalid, too little was measured, the claim is neither shown nor broken; or \
                 nothing was measured, because it would be so (--anyway measures all the same)",
            ),
        ],
        examples: &[
            ("punctual assess --deadline 100us", "one minute: idle, with idle states disabled, under the load 'hard'"),
            (
                "punctual assess --deadline 1ms --duration 10m --load-cmd 'ping -f localhost'",
                "under a load of your own in place of 'hard'",
            ),
            ("punctual assess --cpus 2-3 --load paper --load-cpus others -o DIR", "two CPUs, the load on the others"),
        ],
        see: &[
            "punctual check",
            "punctual load",
            "punctual measure wakeup",
            "punctual report",
            "docs/load.md",
            "docs/validity.md",
        ],
    },
    Page {
        command: "app",
        exits: &[
            ("0", "the run is valid or degraded, and the --deadline holds where one is stated"),
            ("1", "a latency exceeds the deadline"),
            MEASURE_USAGE,
            MEASURE_INVALID,
        ],
        examples: &[
            ("punctual app -- ./control --rate 1000", "start a program with its own options and follow it"),
            ("punctual app --pid 1234 --duration 60s --deadline 500us", "follow one that runs"),
            ("punctual app --load hard -- ./control", "the same under load"),
        ],
        see: &["punctual measure wakeup", "punctual explain", "docs/app.md", "docs/audit.md"],
    },
    Page {
        command: "check",
        exits: &[
            ("0", "no problem was found; there may be warnings and notes"),
            ("1", "at least one problem was found"),
            USAGE,
        ],
        examples: &[
            ("punctual check", "audit this machine; root sees most"),
            ("punctual check --watch 1s --json", "judge the interrupts of one second, as JSON"),
            ("punctual check --root DIR", "audit a captured tree"),
            ("punctual check --cpus 2-3 --severity warning", "what concerns these CPUs, without notes"),
        ],
        see: &["punctual explain", "punctual tune", "punctual profile", "docs/findings.md"],
    },
    Page {
        command: "compare",
        exits: &[
            ("0", "no question was asked, or each holds"),
            ("1", "--fail-on or --pass-on is answered with \"worse\""),
            USAGE,
            ("3", "a run is invalid, or the runs cannot decide: too few, of unequal lengths, under different loads"),
        ],
        examples: &[
            ("punctual compare before.json after.json", "two runs"),
            (
                "punctual compare --a a1.json a2.json a3.json --b b1.json b2.json b3.json --fail-on worse:20us",
                "a gate for CI: three runs of each",
            ),
        ],
        see: &["punctual measure wakeup", "punctual campaign", "punctual tail"],
    },
    Page {
        command: "tail",
        exits: &[
            ("0", "the claim is shown; without a claim: at least one time span has an answer"),
            ("1", "the claim is broken: its limit was exceeded too often"),
            USAGE,
            ("3", "the claim is neither shown nor broken, no time span has an answer, or a run is invalid"),
        ],
        examples: &[
            ("punctual tail run.json", "how bad it can get in an hour, a day, a year"),
            ("punctual tail run.json --claim \"100us for 1 day at 99%\"", "is this shown?"),
        ],
        see: &["punctual measure wakeup", "punctual compare"],
    },
    Page {
        command: "tail rehearse",
        exits: SIMPLE,
        examples: &[(
            "punctual tail rehearse --processes 100",
            "how often predictions come true, on simulated processes",
        )],
        see: &["punctual tail"],
    },
    Page {
        command: "explain",
        exits: SIMPLE,
        examples: &[
            ("punctual explain", "list all findings"),
            ("punctual explain kernel-not-realtime", "what it is, why it matters, how to change it"),
        ],
        see: &["punctual check", "docs/findings.md", "docs/audit.md"],
    },
    Page {
        command: "measure",
        exits: AS_COMMAND,
        examples: &[
            ("punctual measure wakeup --cpus 1", "timer wake-up latency of one CPU"),
            ("punctual wakeup --cpus 1", "the same; 'clock' and 'noise' stand alone as well"),
        ],
        see: MEASURE_SEE,
    },
    Page {
        command: "measure wakeup",
        exits: &[
            ("0", "the run is valid or degraded; a --deadline holds, a --claim is shown, where one is stated"),
            ("1", "a latency exceeds the deadline, or the claim is broken"),
            MEASURE_USAGE,
            (
                "3",
                "the run is invalid, or the claim is neither shown nor broken; or nothing was measured, because the run would \
                 be invalid: the priority is refused, or the load ended at once (--anyway measures all the same)",
            ),
        ],
        examples: &[
            ("punctual measure wakeup --cpus 2-3 --duration 60s --deadline 100us", "two CPUs; exit 1 if one is later"),
            ("punctual measure wakeup --load-cmd 'ping -f localhost' -o run.json", "beside your own load"),
            ("punctual measure wakeup --explain", "what made the worst of them late"),
        ],
        see: MEASURE_SEE,
    },
    Page {
        command: "measure clock",
        exits: &[("0", "the run is valid or degraded"), MEASURE_USAGE, MEASURE_INVALID],
        examples: &[
            ("punctual measure clock", "cost of reading the usual clocks"),
            ("punctual measure clock --clocks tai,boottime --pairs tai:monotonic --cpu 1", "others, on CPU 1"),
        ],
        see: MEASURE_SEE,
    },
    Page {
        command: "measure gpio",
        exits: &[
            ("0", "the run is valid or degraded, and the --deadline holds where one is stated"),
            ("1", "a response or an answer exceeds the deadline"),
            MEASURE_USAGE,
            MEASURE_INVALID,
        ],
        examples: &[
            ("punctual measure gpio --line gpiochip0/17", "cost of writing a line that nothing hangs on"),
            (
                "punctual measure gpio --line gpiochip0/valve --active-low --priority 80 -o pin.json",
                "by its name, inverted",
            ),
            (
                "punctual measure gpio --loop-back gpiochip0/17 gpiochip0/27 --deadline 100us",
                "response to an edge, through a wire between the two lines, with a limit",
            ),
            (
                "punctual measure gpio --loop-back gpiochip0/17 gpiochip0/27 --load hard --duration 10m",
                "the same under load, for ten minutes",
            ),
            (
                "punctual measure gpio --answer gpiochip0/27 gpiochip0/17 --witness announced --witness-cost 3200ns",
                "answers to the edges of a board that runs latmon, with its own stamps beside",
            ),
        ],
        see: &["punctual measure wakeup", "punctual report", "punctual compare", "docs/response.md"],
    },
    Page {
        command: "measure noise",
        exits: &[
            ("0", "the run is valid or degraded, and the --deadline holds where one is stated"),
            ("1", "a gap exceeds the deadline"),
            MEASURE_USAGE,
            MEASURE_INVALID,
        ],
        examples: &[
            ("punctual measure noise --cpus 1 --duration 30s", "time taken from a thread on CPU 1"),
            ("punctual measure noise --load paper --deadline 50us", "under load, with a limit"),
        ],
        see: MEASURE_SEE,
    },
    Page {
        command: "measure event",
        exits: &[
            ("0", "the run is valid or degraded, and the --deadline holds where one is stated"),
            ("1", "a latency from a hand-over to the wake-up exceeds the deadline"),
            MEASURE_USAGE,
            MEASURE_INVALID,
        ],
        examples: &[
            (
                "punctual measure event --kind futex-pi --cpus 1",
                "a lock with priority inheritance, both threads on CPU 1",
            ),
            ("punctual measure event --kind eventfd --between 1,2", "CPU 1 wakes a thread of CPU 2"),
            (
                "punctual measure event --kind mqueue --load hard --deadline 100us",
                "a message queue under load, with a limit",
            ),
        ],
        see: &["punctual measure wakeup", "punctual report", "punctual compare", "docs/event.md"],
    },
    Page {
        command: "measure sync",
        exits: &[
            ("0", "the run is valid or degraded, and the hard bound stays within --limit where one is stated"),
            ("1", "a clock was farther from its reference than the limit"),
            MEASURE_USAGE,
            ("3", "the run is invalid (lost, another reference, a step), or its bound is too wide to tell"),
        ],
        examples: &[
            ("punctual measure sync", "every source of time that runs here, for a minute"),
            ("punctual measure sync --source ptp --limit 10us --duration 1h -o sync.json", "a limit on the hard bound"),
            ("punctual measure sync --source phc", "hardware clocks against the system clock"),
        ],
        see: &["punctual measure clock", "punctual report"],
    },
    Page {
        command: "measure request",
        exits: &[
            ("0", "the run is valid or degraded, and the deadline holds where the request states one"),
            ("1", "the deadline is broken"),
            MEASURE_USAGE,
            MEASURE_INVALID,
        ],
        examples: &[
            ("punctual measure request request.json -o run.json", "the measurement that a file describes"),
            ("punctual measure request - --anyway", "from standard input; made even if it will be invalid"),
        ],
        see: &["punctual measure wakeup", "punctual campaign", "docs/schema/run-request-1.json"],
    },
    Page {
        command: "load",
        exits: AS_COMMAND,
        examples: &[
            ("punctual load list", "what the loads do that come with the program"),
            ("punctual load show paper > my.toml", "start a load of your own from one of them"),
            ("punctual load check my.toml", "what it would run"),
        ],
        see: &["punctual assess", "punctual measure wakeup", "docs/load.md"],
    },
    Page {
        command: "load list",
        exits: SIMPLE,
        examples: &[("punctual load list --json", "for scripts")],
        see: &["punctual load show", "docs/load.md"],
    },
    Page {
        command: "load show",
        exits: SIMPLE,
        examples: &[("punctual load show hard", "its file, with what each part does")],
        see: &["punctual load list", "punctual load check", "docs/load.md"],
    },
    Page {
        command: "load check",
        exits: &[
            ("0", "the file is a load, and its programs are installed"),
            ("1", "the file is a load, and a program of it is not installed here"),
            ("2", "the file cannot be read, or is no load"),
        ],
        examples: &[("punctual load check my.toml", "what it would run")],
        see: &["punctual load show", "docs/load.md"],
    },
    Page {
        command: "profile",
        exits: SIMPLE,
        examples: &[
            ("punctual profile", "every setting and fact that can matter"),
            ("punctual profile --capture DIR", "keep the files that were read, without names and addresses"),
        ],
        see: &["punctual check"],
    },
    Page {
        command: "report",
        exits: SIMPLE,
        examples: &[
            ("punctual report run.json other.json -o page.html", "one page of two records"),
            ("punctual report run.json shift.json -o page.html", "how far apart nodes switched, by a witness"),
        ],
        see: &["punctual assess", "punctual export", "punctual pulse shift"],
    },
    Page {
        command: "import",
        exits: &[
            ("0", "it is imported; an import is degraded at best"),
            USAGE,
            ("3", "the source contradicts itself, or has no maximum; the record says so"),
        ],
        examples: &[
            ("punctual import night.txt -o night.json", "the format is recognized by its content"),
            ("punctual import run.csv --printf-args qSAwtra", "a table of isochron, which names no column"),
        ],
        see: &["punctual report", "punctual compare", "punctual export"],
    },
    Page {
        command: "export",
        exits: SIMPLE,
        examples: &[
            ("punctual export run.json -o run.csv", "one row a bin"),
            ("punctual export run.json --format cyclictest", "cyclictest's histogram"),
        ],
        see: &["punctual import", "punctual report"],
    },
    Page {
        command: "cyclictest",
        exits: &[
            ("0", "a run was made, whatever it found"),
            ("1", "the kernel did not let it begin"),
            ("2", "wrong usage; cyclictest itself exits with 1"),
        ],
        examples: &[
            ("punctual cyclictest -S -m -p 98 -i 200 -D 60", "one thread on each CPU, for a minute"),
            ("punctual cyclictest -q -m -p 98 -a 1 -t 1 -h 400 -D 1h", "a histogram of one CPU"),
        ],
        see: &["cyclictest(8)", "punctual measure wakeup", "punctual import"],
    },
    Page {
        command: "completions",
        exits: SIMPLE,
        examples: &[(
            "punctual completions bash > ~/.local/share/bash-completion/completions/punctual",
            "for bash; new shells complete then",
        )],
        see: &["punctual man"],
    },
    Page {
        command: "man",
        exits: SIMPLE,
        examples: &[("punctual man /usr/local/share/man/man1", "install the manual pages")],
        see: &["punctual completions"],
    },
];
