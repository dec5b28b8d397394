//! Memory management that runs beside everything else.

use super::{Knob, Values};
use crate::{Form, KnobScope};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "vm.swappiness",
        about: "how readily pages of programs are written to swap",
        cost: "",
        scope: KnobScope::Machine,
        path: "/proc/sys/vm/swappiness",
        form: Form::Integer,
        values: Values::Integer(0, 200),
        source: "Documentation/admin-guide/sysctl/vm.rst",
    },
    Knob {
        name: "vm.stat_interval",
        about: "how often each CPU's counters of memory are folded into the machine's (s)",
        cost: "older figures in /proc/vmstat",
        scope: KnobScope::Machine,
        path: "/proc/sys/vm/stat_interval",
        form: Form::Integer,
        values: Values::Integer(1, 86_400),
        source: "Documentation/admin-guide/sysctl/vm.rst",
    },
    Knob {
        name: "vm.compaction_proactiveness",
        about: "how much memory is moved about beforehand to have large pieces free",
        cost: "throughput of programs with huge pages",
        scope: KnobScope::Machine,
        path: "/proc/sys/vm/compaction_proactiveness",
        form: Form::Integer,
        values: Values::Integer(0, 100),
        source: "Documentation/admin-guide/sysctl/vm.rst",
    },
    Knob {
        name: "transparent-hugepage",
        about: "whether pages are joined to huge ones behind a program's back",
        cost: "throughput of programs with much memory",
        scope: KnobScope::Machine,
        path: "/sys/kernel/mm/transparent_hugepage/enabled",
        form: Form::Chosen,
        values: Values::Words(&["always", "madvise", "never"]),
        source: "Documentation/admin-guide/mm/transhuge.rst",
    },
    Knob {
        name: "transparent-hugepage.defrag",
        about: "whether a page fault may wait until memory has been moved for a huge page",
        cost: "throughput of programs with much memory",
        scope: KnobScope::Machine,
        path: "/sys/kernel/mm/transparent_hugepage/defrag",
        form: Form::Chosen,
        values: Values::Words(&["always", "defer", "defer+madvise", "madvise", "never"]),
        source: "Documentation/admin-guide/mm/transhuge.rst",
    },
    Knob {
        name: "ksm",
        about: "1: a kernel thread looks for pages with the same content, and joins them",
        cost: "memory, where virtual machines share much",
        scope: KnobScope::Machine,
        path: "/sys/kernel/mm/ksm/run",
        form: Form::Integer,
        values: Values::Integer(0, 2),
        source: "Documentation/admin-guide/mm/ksm.rst",
    },
];
