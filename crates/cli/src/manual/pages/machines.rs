//! The commands that set machines and make them.

use super::{AS_COMMAND, Page, SIMPLE, USAGE};

/// Pages of the commands that read, set and make machines.
pub(super) const PAGES: &[Page] = &[
    Page {
        command: "tune",
        exits: AS_COMMAND,
        examples: &[
            ("punctual tune plan --isolate 1", "what isolating CPU 1 would change"),
            ("punctual tune apply --isolate 1", "do it"),
            ("punctual tune revert", "restore every setting"),
        ],
        see: &["punctual check", "punctual campaign", "docs/tune.md"],
    },
    Page {
        command: "tune plan",
        exits: &[("0", "the plan can be applied"), ("2", "wrong usage, or something stands in the way of the plan")],
        examples: &[
            ("punctual tune plan --isolate 2-3", "isolate these CPUs"),
            ("punctual tune plan intent.toml", "what an intent would change"),
            ("punctual tune plan --set vm.swappiness=10", "a single knob"),
            ("punctual tune plan realtime", "what TuneD's profile of that name is for"),
        ],
        see: &["punctual tune apply", "docs/tune.md"],
    },
    Page {
        command: "tune propose",
        exits: SIMPLE,
        examples: &[("punctual tune propose", "an intent to start from")],
        see: &["punctual tune plan", "docs/tune.md"],
    },
    Page {
        command: "tune apply",
        exits: &[
            ("0", "all of the plan is in force, or was before"),
            ("1", "a change was refused that nobody had to expect (with --keep-going)"),
            ("2", "wrong usage, something stands in the way, or a change failed; nothing of the plan is in force"),
        ],
        examples: &[
            ("punctual tune apply --isolate 2-3", "isolate these CPUs"),
            ("punctual tune apply --plan plan.json", "exactly the plan that 'plan --json' wrote"),
        ],
        see: &["punctual tune verify", "punctual tune revert", "docs/tune.md"],
    },
    Page {
        command: "tune persist",
        exits: &[
            ("0", "the unit is installed"),
            ("1", "a change was refused that nobody had to expect"),
            ("2", "wrong usage, no systemd, something stands in the way, or a change failed"),
        ],
        examples: &[("punctual tune persist intent.toml", "apply it at each boot")],
        see: &["punctual tune revert", "docs/tune.md"],
    },
    Page {
        command: "tune verify",
        exits: &[("0", "everything that was applied is in force"), ("1", "something of it is not"), USAGE],
        examples: &[("punctual tune verify", "still in force?")],
        see: &["punctual tune status", "docs/tune.md"],
    },
    Page {
        command: "tune status",
        exits: SIMPLE,
        examples: &[("punctual tune status", "what is applied")],
        see: &["punctual tune verify", "docs/tune.md"],
    },
    Page {
        command: "tune revert",
        exits: &[
            ("0", "everything is as it was before"),
            ("1", "something was left, because somebody else has changed it, or could not be restored"),
            USAGE,
        ],
        examples: &[
            ("punctual tune revert", "restore every setting"),
            ("punctual tune revert --force", "also what somebody else has changed meanwhile"),
        ],
        see: &["punctual tune status", "docs/tune.md"],
    },
    Page {
        command: "tune knobs",
        exits: SIMPLE,
        examples: &[
            ("punctual tune knobs", "the single knobs, with their values now"),
            ("punctual tune knobs vm.", "those of memory"),
        ],
        see: &["punctual tune plan", "docs/tune.md"],
    },
    Page {
        command: "sync",
        exits: AS_COMMAND,
        examples: &[
            ("punctual sync plan --profile gptp -i eth0", "what following a gPTP grand master would change"),
            ("punctual sync apply --profile ntp --server 192.168.1.1", "follow an NTP server"),
            ("punctual sync revert", "restore every setting, file and service"),
        ],
        see: &["punctual measure sync", "punctual tune", "docs/sync.md"],
    },
    Page {
        command: "sync plan",
        exits: &[("0", "the plan can be applied"), ("2", "wrong usage, or something stands in the way of the plan")],
        examples: &[
            (
                "punctual sync plan --profile ptp-udp -i eth0 --role best-master",
                "a node of a group that elects its master",
            ),
            ("punctual sync plan intent.toml", "the part [time] of an intent"),
        ],
        see: &["punctual sync apply", "docs/sync.md"],
    },
    Page {
        command: "sync apply",
        exits: &[
            ("0", "all of the plan is in force, or was before"),
            ("2", "wrong usage, something stands in the way, or a change failed; nothing of the plan is in force"),
        ],
        examples: &[("punctual sync apply --profile gptp -i eth0 --priority 30", "follow, at a real-time priority")],
        see: &["punctual sync verify", "punctual measure sync", "docs/sync.md"],
    },
    Page {
        command: "sync persist",
        exits: &[
            ("0", "the unit is installed"),
            ("2", "wrong usage, no systemd, something stands in the way, or a change failed"),
        ],
        examples: &[("punctual sync persist --profile gptp -i eth0", "apply it at each boot")],
        see: &["punctual sync revert", "docs/sync.md"],
    },
    Page {
        command: "sync verify",
        exits: &[("0", "everything that was applied is in force"), ("1", "something of it is not"), USAGE],
        examples: &[("punctual sync verify", "do the services still run as they were begun?")],
        see: &["punctual measure sync", "docs/sync.md"],
    },
    Page {
        command: "sync status",
        exits: SIMPLE,
        examples: &[("punctual sync status", "what is applied")],
        see: &["punctual sync verify", "docs/sync.md"],
    },
    Page {
        command: "sync revert",
        exits: &[
            ("0", "everything is as it was before"),
            ("1", "something was left, because somebody else has changed it, or could not be restored"),
            USAGE,
        ],
        examples: &[("punctual sync revert", "restore every setting, file and service")],
        see: &["punctual sync status", "docs/sync.md"],
    },
    Page {
        command: "campaign",
        exits: AS_COMMAND,
        examples: &[
            ("punctual campaign check which-knob", "what would be changed and measured, and how long it takes"),
            ("punctual campaign run which-knob", "which setting helps, and by how much"),
        ],
        see: &["punctual tune", "punctual compare", "docs/campaign.md"],
    },
    Page {
        command: "campaign list",
        exits: SIMPLE,
        examples: &[("punctual campaign list", "those that come with the program")],
        see: &["punctual campaign show", "docs/campaign.md"],
    },
    Page {
        command: "campaign show",
        exits: SIMPLE,
        examples: &[("punctual campaign show which-knob > mine.toml", "start your own from it")],
        see: &["punctual campaign check", "docs/campaign.md"],
    },
    Page {
        command: "campaign check",
        exits: &[
            ("0", "it can be run"),
            ("2", "wrong usage, something stands in the way, or too few repetitions to show any difference"),
        ],
        examples: &[("punctual campaign check which-knob --short", "its short form")],
        see: &["punctual campaign run", "docs/campaign.md"],
    },
    Page {
        command: "campaign run",
        exits: &[
            ("0", "it was run to its end, or goes on after a reboot"),
            ("2", "wrong usage, something stands in the way, or a run gave no record"),
            (
                "3",
                "it was ended before its end; or nothing was measured, because its runs would be invalid: their priority is \
                 refused (--anyway measures all the same)",
            ),
        ],
        examples: &[
            ("punctual campaign run which-knob -o DIR", "with a folder for its records"),
            ("punctual campaign run which-knob --factor power", "only what saves energy"),
            ("punctual campaign run mine.toml --set duration=30s", "your own, with a value in place of the file's"),
        ],
        see: &["punctual campaign resume", "punctual campaign report", "docs/campaign.md"],
    },
    Page {
        command: "campaign ab",
        exits: &[
            ("0", "it was run to its end, whatever it showed"),
            ("2", "wrong usage, the time is too short to show anything, or something stands in the way"),
            ("3", "it was ended before its end; or nothing was measured, because its runs would be invalid"),
        ],
        examples: &[
            (
                "punctual campaign ab --knob cpu.governor=performance,powersave --time 5m",
                "which of both is more punctual",
            ),
            ("punctual campaign ab --knob vm.swappiness=10", "10 against what the machine has"),
            ("punctual campaign ab --knob kernel.timer_migration=1,0 --show > mine.toml", "its file, to change it"),
        ],
        see: &["punctual campaign run", "punctual tune knobs", "docs/campaign.md"],
    },
    Page {
        command: "campaign resume",
        exits: &[
            ("0", "it was run to its end, or goes on after a reboot"),
            ("2", "wrong usage, something stands in the way, or a run gave no record"),
            ("3", "it was ended before its end"),
        ],
        examples: &[("punctual campaign resume DIR", "go on where it was")],
        see: &["punctual campaign status", "docs/campaign.md"],
    },
    Page {
        command: "campaign status",
        exits: SIMPLE,
        examples: &[("punctual campaign status DIR", "how far it is")],
        see: &["punctual campaign report", "docs/campaign.md"],
    },
    Page {
        command: "campaign report",
        exits: &[
            ("0", "it is ended, and its results are printed"),
            USAGE,
            ("3", "it is not ended; these are its results so far"),
        ],
        examples: &[("punctual campaign report DIR", "the results, and the page")],
        see: &["punctual compare", "docs/campaign.md"],
    },
    Page {
        command: "campaign rehearse",
        exits: &[
            ("0", "there are no more false alarms than it states"),
            ("1", "there are more"),
            USAGE,
            ("3", "it has too few repetitions to show anything"),
        ],
        examples: &[("punctual campaign rehearse which-knob --runs DIR", "on the runs in a folder")],
        see: &["punctual campaign check", "docs/campaign.md"],
    },
    Page {
        command: "lab",
        exits: AS_COMMAND,
        examples: &[
            ("punctual lab up rt-basic", "start a PREEMPT_RT machine"),
            ("punctual lab exec rt-basic -- punctual check", "run a command on it"),
            ("punctual lab down rt-basic", "end it"),
        ],
        see: &["docs/lab.md", "docs/calibration.md"],
    },
    Page {
        command: "lab up",
        exits: SIMPLE,
        examples: &[
            ("punctual lab up rt-basic", "a machine of one node"),
            ("punctual lab up mine.toml", "your own scenario"),
        ],
        see: &["punctual lab exec", "punctual lab down", "docs/lab.md"],
    },
    Page {
        command: "lab exec",
        exits: &[("any", "that of the command"), ("2", "also where there is no such lab or machine")],
        examples: &[("punctual lab exec rt-basic -- uname -a", "a command on its only machine")],
        see: &["punctual lab get", "punctual lab ssh", "docs/lab.md"],
    },
    Page {
        command: "lab get",
        exits: SIMPLE,
        examples: &[
            ("punctual lab get rt-basic /tmp/run.json", "a file of its only machine, into this folder"),
            ("punctual lab get two-nodes/b results ./b", "a folder of one machine of several"),
        ],
        see: &["punctual lab exec", "docs/lab.md"],
    },
    Page {
        command: "lab ssh",
        exits: &[("any", "that of the shell"), ("2", "also where there is no such lab or machine")],
        examples: &[("punctual lab ssh rt-basic", "a shell on its only machine")],
        see: &["punctual lab exec", "docs/lab.md"],
    },
    Page {
        command: "lab reboot",
        exits: SIMPLE,
        examples: &[("punctual lab reboot boot/node", "a machine with a disk")],
        see: &["docs/lab.md"],
    },
    Page {
        command: "lab status",
        exits: SIMPLE,
        examples: &[("punctual lab status", "what is running")],
        see: &["punctual lab up", "docs/lab.md"],
    },
    Page {
        command: "lab link",
        exits: &[("0", "it is shown or changed"), ("1", "the link is not as it should be"), USAGE],
        examples: &[("punctual lab link two-nodes", "settings and counters of its links")],
        see: &["docs/lab.md"],
    },
    Page {
        command: "lab analyzer",
        exits: &[("0", "what was expected holds, or nothing was"), ("1", "it does not"), USAGE],
        examples: &[("punctual lab analyzer two-nodes --between a b", "which machine acts later, and by how much")],
        see: &["docs/lab.md"],
    },
    Page {
        command: "lab trace",
        exits: &[("0", "it is copied"), USAGE],
        examples: &[(
            "punctual lab trace armhf --copy board --to .",
            "what QEMU saw of the board's devices, as ./board.trace",
        )],
        see: &["docs/lab.md"],
    },
    Page {
        command: "lab test",
        exits: &[
            ("0", "every step holds"),
            ("1", "a step does not hold"),
            ("2", "wrong usage, or all hold that could be run, and a scenario could not"),
        ],
        examples: &[
            ("punctual lab test rt-basic", "start it, check its steps, end it"),
            ("punctual lab test pulse-guests --keep results", "the same, and fetch the files that its steps name"),
        ],
        see: &["docs/lab.md"],
    },
    Page {
        command: "lab calibrate",
        exits: &[("0", "the delays were found within the bounds"), ("1", "they were not"), USAGE],
        examples: &[("punctual lab calibrate --report", "about ten minutes, and a page")],
        see: &["docs/calibration.md"],
    },
    Page {
        command: "lab down",
        exits: SIMPLE,
        examples: &[("punctual lab down rt-basic", "end it")],
        see: &["punctual lab up", "docs/lab.md"],
    },
    Page {
        command: "lab show",
        exits: SIMPLE,
        examples: &[("punctual lab show", "list the scenarios"), ("punctual lab show rt-basic", "print one")],
        see: &["punctual lab up", "docs/lab.md"],
    },
];
