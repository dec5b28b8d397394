//! The commands of a node that is monitored.

use super::{AS_COMMAND, Page, SIMPLE};

/// Pages of the commands of the agent.
pub(super) const PAGES: &[Page] = &[
    Page {
        command: "agent",
        exits: AS_COMMAND,
        examples: &[("punctual agent status", "what it does, and how much of it the hub has")],
        see: &["punctual agent enrol", "punctual agent run", "docs/agent.md"],
    },
    Page {
        command: "agent enrol",
        exits: &[
            ("0", "this machine is enrolled"),
            ("2", "no address answers, the hub refuses, or nothing can be kept"),
        ],
        examples: &[
            ("punctual agent enrol hub.example < token", "with the token that 'punctual-hub enrol' printed"),
            ("punctual agent enrol 192.168.1.9:5378 hub.example < token", "a hub with two addresses"),
        ],
        see: &["punctual agent run", "docs/agent.md"],
    },
    Page {
        command: "agent run",
        exits: &[
            ("0", "it was ended in order: SIGTERM or Ctrl-C"),
            ("2", "it is enrolled nowhere, another agent runs, or the settings ask for what cannot be"),
        ],
        examples: &[
            ("punctual agent run", "by /etc/punctual/agent.toml, as the service does"),
            ("punctual agent run --config agent.toml --state here", "with settings and a folder of one's own"),
        ],
        see: &["punctual agent status", "punctual measure wakeup", "docs/agent.md"],
    },
    Page {
        command: "agent status",
        exits: SIMPLE,
        examples: &[("punctual agent status --json", "for a script")],
        see: &["punctual agent run", "docs/agent.md"],
    },
    Page {
        command: "agent install",
        exits: SIMPLE,
        examples: &[
            (
                "punctual agent install",
                "as root, once this machine is enrolled: monitors from now on and after each boot",
            ),
            ("punctual agent install --prefix /opt/punctual", "with the program elsewhere"),
        ],
        see: &["punctual agent enrol", "punctual agent status", "docs/agent.md"],
    },
    Page {
        command: "agent new-key",
        exits: SIMPLE,
        examples: &[("punctual agent new-key", "on a machine whose disk is a copy of another one's")],
        see: &["punctual agent enrol", "docs/agent.md"],
    },
];
