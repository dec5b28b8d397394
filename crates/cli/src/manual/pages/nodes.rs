//! The commands that measure between two nodes.

use super::{AS_COMMAND, ExitRow, Page};

const NODES_USAGE: ExitRow = (
    "2",
    "wrong usage or configuration, the other node cannot be reached, does not trust this one or refuses; nothing was measured",
);
const NODES_INVALID: ExitRow = (
    "3",
    "the run is invalid (the clocks could not be compared, a clock was set, nothing arrived), or the error of its delays is \
     too large to tell",
);

/// Pages of the commands that measure between two nodes.
pub(super) const PAGES: &[Page] = &[
    Page {
        command: "packet",
        exits: AS_COMMAND,
        examples: &[(
            "punctual packet send --to 192.168.1.5 --token-file token",
            "packets for a minute to the node where 'punctual listen --token-file token' runs",
        )],
        see: &["punctual listen", "punctual packet send", "docs/packet.md", "docs/peer.md"],
    },
    Page {
        command: "listen",
        exits: &[
            ("0", "it was ended, or with --once the run is valid or degraded and its limit holds"),
            ("1", "with --once: a packet exceeded the limit that the other node stated, or was lost under one"),
            NODES_USAGE,
            NODES_INVALID,
        ],
        examples: &[
            ("punctual listen --token-file token", "at every address, with the token in a file"),
            ("punctual listen --on 192.168.1.5:4000 --cpu 3 --once -o run.json", "one run, with threads on CPU 3"),
            (
                "punctual listen --token-file token --policy policy.toml",
                "what other nodes may ask for is in a file: 'punctual measure request FILE --on HOST=TOKENFILE' there",
            ),
            (
                "punctual listen --token-file token --explain",
                "with what made packets late on this node, after its kernel had them",
            ),
        ],
        see: &["punctual packet send", "punctual measure request", "docs/peer.md"],
    },
    Page {
        command: "packet send",
        exits: &[
            ("0", "the run is valid or degraded, and --limit holds where one is stated"),
            ("1", "a packet exceeded the limit by more than its error, or was lost under one"),
            NODES_USAGE,
            NODES_INVALID,
        ],
        examples: &[
            ("punctual packet send --to lime2 --token-file token -o run.json", "1,000 packets a second for a minute"),
            (
                "punctual packet send --to lime2 --token-file token --hardware-stamps auto",
                "with the stamps of this node's interface, which ptp4l has it take",
            ),
            (
                "punctual packet send --to lime2 --token-file token --direction both --receive schedule --limit 50us",
                "both ways, with receivers that know the schedule, against a limit",
            ),
        ],
        see: &["punctual listen", "punctual measure sync", "punctual compare", "docs/packet.md"],
    },
    Page {
        command: "pulse",
        exits: AS_COMMAND,
        examples: &[(
            "punctual pulse send --to press-1=token1 --to press-2=token2",
            "two nodes for a minute, which switch nothing: stamps alone say how late they would be",
        )],
        see: &["punctual listen", "punctual pulse send", "docs/pulse.md", "docs/peer.md"],
    },
    Page {
        command: "pulse send",
        exits: &[
            ("0", "the run is valid or degraded, and every node carried every order out within the tolerance"),
            ("1", "an order was carried out later, or not at all"),
            NODES_USAGE,
            NODES_INVALID,
        ],
        examples: &[
            (
                "punctual pulse send --to press-1=token1 --to press-2=token2 --interval 500us --lead 400us -o run.json",
                "2,000 orders a second, each for a time 400 us after its schedule",
            ),
            (
                "punctual pulse send --to press-1=token1 --by exchange --output-name valve --width 100us --mark 1000",
                "by this node's clock, with pulses that a logic analyzer can number",
            ),
        ],
        see: &["punctual listen", "punctual packet send", "punctual tail", "docs/pulse.md"],
    },
    Page {
        command: "pulse sweep",
        exits: &[
            ("0", "at one of the cycles a lead was confirmed, and the sweep was not ended before it was through"),
            ("1", "at every cycle it was shown that no lead suffices, or none was found"),
            NODES_USAGE,
            (
                "3",
                "no lead was confirmed, and one may suffice: too little time, or a miss that does not show more than --max-miss; or \
                 the sweep was ended, whatever it had confirmed until then: by Ctrl-C, by a run that did not take place, or by one \
                 that nothing can be taken from, four times (a clock was set, or a node was lost)",
            ),
        ],
        examples: &[(
            "punctual pulse sweep --to press-1=token1 --to press-2=token2 --interval 250us,500us,1ms --max-miss 1e-5 -o sweep",
            "how far ahead two nodes have to be ordered, at each of three cycles, 99 % sure",
        )],
        see: &["punctual pulse send", "punctual pulse shift", "punctual listen", "punctual report", "docs/pulse.md"],
    },
    Page {
        command: "pulse watch",
        exits: &[
            ("0", "the capture, or the calibration, was written"),
            (
                "2",
                "a line, a chip or a file cannot be had or read to the end, or the lines did not show one signal whole",
            ),
        ],
        examples: &[
            (
                "punctual pulse watch --line a=gpiochip0/5 --line b=gpiochip0/6 --calibrate --time 30s -o lines.json",
                "what the kernel's stamps of two lines are worth, with one signal on both",
            ),
            (
                "punctual pulse watch --line press-1=gpiochip0/5 --line press-2=gpiochip0/6 --calibration lines.json -o edges.txt",
                "the outputs of two nodes, until Ctrl-C; then: punctual pulse shift run.json edges.txt",
            ),
        ],
        see: &["punctual pulse shift", "docs/pulse.md"],
    },
    Page {
        command: "pulse shift",
        exits: &[
            ("0", "the witness contradicts no node, and --limit holds where one is stated"),
            ("1", "a node switched earlier or later than the first one by more than the limit"),
            (
                "2",
                "wrong usage, a file that is no record of 'punctual pulse send' or no capture, a sweep that confirmed nothing, or \
                 a channel that is not in the capture",
            ),
            (
                "3",
                "the witness contradicts a node beyond all errors, edges are missing that a node says it made, the run itself is \
                 invalid, nothing can be said of a node, or not whether --limit holds: the error of a shift leaves it open, or the \
                 capture does not say how exact it is",
            ),
        ],
        examples: &[
            (
                "punctual pulse shift run.json capture.sr --line press-1=D0 --line press-2=D1 --limit 50us",
                "how far apart two nodes switched, by the channels of a logic analyzer",
            ),
            (
                "punctual pulse shift run.json digital_0.bin digital_1.bin --one-clock",
                "the same of an analyzer that writes a file for each channel, in the order of the record's nodes",
            ),
            (
                "punctual pulse shift run.json capture.sr -o shift.json",
                "kept, for 'punctual report run.json shift.json'",
            ),
            (
                "punctual pulse shift sweep capture.sr -o sweep/shift.json",
                "of a sweep with --mark, watched from its beginning to its end; then: punctual report sweep",
            ),
        ],
        see: &["punctual pulse send", "punctual report", "docs/pulse.md"],
    },
];
