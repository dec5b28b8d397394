//! Real-time threads of other programs that can run before the measuring threads.

use std::fs;

use units::CpuSet;

/// The kernel's own threads carry this flag (PF_KTHREAD, include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;

/// A real-time thread of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    /// Its kernel id.
    pub(crate) tid: u32,
    /// Its name.
    pub(crate) name: String,
    /// Its policy by name.
    pub(crate) policy: &'static str,
    /// And by the kernel's number.
    pub(crate) policy_number: u32,
    /// Its priority.
    pub(crate) priority: u32,
}

/// What `/proc/PID/task/TID/stat` tells (Documentation/filesystems/proc.rst, table 1-4).
#[derive(Clone, Debug, PartialEq, Eq)]
struct TaskStat {
    name: String,
    flags: u64,
    priority: u32,
    policy: u32,
}

fn parse(text: &str) -> Option<TaskStat> {
    // The name stands in parentheses and can hold any character, parentheses too.
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(open + 1..close)?.to_owned();
    let fields: Vec<&str> = text.get(close + 1..)?.split_ascii_whitespace().collect();
    // Field 3, the state, is the first after the name.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(TaskStat {
        name,
        flags: field(9)?,
        priority: u32::try_from(field(40)?).ok()?,
        policy: u32::try_from(field(41)?).ok()?,
    })
}

/// Those of at least this priority that may run on a measured CPU; the kernel's own threads only if they are asked for.
pub(crate) fn find(measured: &CpuSet, priority: u32, with_kernel: bool) -> Vec<Rival> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    let ids = |path: String| {
        fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
            .collect::<Vec<_>>()
    };
    for process in ids("/proc".to_owned()).into_iter().filter(|id| *id != own) {
        for thread in ids(format!("/proc/{process}/task")) {
            let Some(stat) =
                fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).ok().and_then(|text| parse(&text))
            else {
                continue;
            };
            let is_kernel = stat.flags & PF_KTHREAD != 0;
            if (is_kernel && !with_kernel) || stat.priority < priority || stat.priority == 0 {
                continue;
            }
            let Ok(tid) = thread.parse() else { continue };
            if kernel::sched::affinity_of(tid).is_ok_and(|cpus| cpus.intersection(measured).is_empty()) {
                continue;
            }
            found.push(Rival {
                tid,
                name: stat.name,
                policy: kernel::sched::policy_name(stat.policy),
                policy_number: stat.policy,
                priority: stat.priority,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_a_name_with_parentheses() {
        let mut fields = vec!["S"; 1];
        fields.extend(std::iter::repeat_n("0", 5));
        fields.push("2097152");
        fields.extend(std::iter::repeat_n("0", 30));
        fields.extend(["99", "1", "0"]);
        let text = format!("123 (od)d (name) {}", fields.join(" "));
        let stat = parse(&text).unwrap();
        assert_eq!(stat, TaskStat { name: "od)d (name".into(), flags: 2_097_152, priority: 99, policy: 1 });
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in ".{0,80}") {
            let _ = parse(&text);
        }
    }
}
