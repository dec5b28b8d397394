//! Control groups of both versions: folders that the kernel fills, and processes that move between them.

use std::fs;
use std::io;
use std::path::Path;

use kernel::control_file;
use knobs::{Order, Reading, Value};

use super::file::replace;
use super::{Access, Files};

const PROCESSES: &str = "cgroup.procs";
/// `PF_KTHREAD`, include/linux/sched.h: a thread of the kernel's.
const KERNEL_THREAD: u32 = 0x0020_0000;
/// A process may start others while it is moved; no more rounds than this.
const ROUNDS_MAX: u32 = 16;

/// The folder of a group: there, or not.
pub(super) struct Folder<'a> {
    pub(super) path: &'a str,
}

impl Access for Folder<'_> {
    fn read(&self, files: &Files) -> Reading {
        Reading::Is(if files.locate(self.path).is_dir() { Value::text("") } else { Value::Absent })
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        let path = files.locate(self.path);
        if *value == Value::Absent { remove(&path, files.is_live()) } else { make(&path, files.is_live()) }
    }
}

/// The ordinary processes of one group, moved to another.
pub(super) struct Tasks<'a> {
    pub(super) path: &'a str,
    pub(super) from: &'a str,
}

impl Access for Tasks<'_> {
    fn read(&self, files: &Files) -> Reading {
        read_tasks(&files.prefix, &files.locate(self.path), &files.locate(self.from))
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        match value {
            Value::Text(_) => {
                move_tasks(&files.prefix, files.is_live(), &files.locate(self.path), &files.locate(self.from))
            }
            // The folder's own removal moves them back.
            Value::Absent => Ok(()),
        }
    }
}

fn processes(group: &Path) -> io::Result<Vec<String>> {
    Ok(fs::read_to_string(group.join(PROCESSES))?.lines().map(str::to_owned).collect())
}

/// Whether a process is the kernel's own (proc_pid_stat(5), field 9); one that has ended is nobody's.
fn is_kernel_process(prefix: &Path, process: &str) -> Option<bool> {
    let folder = prefix.join("proc").join(process);
    // A captured tree has the threads alone.
    let stat = fs::read_to_string(folder.join("stat"))
        .or_else(|_| fs::read_to_string(folder.join("task").join(process).join("stat")))
        .ok()?;
    let flags: u32 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(6)?.parse().ok()?;
    Some(flags & KERNEL_THREAD != 0)
}

/// The processes of a group that are not the kernel's, and how many are.
fn ordinary(prefix: &Path, group: &Path) -> io::Result<(Vec<String>, usize)> {
    let all = processes(group)?;
    let ordinary: Vec<String> =
        all.iter().filter(|process| is_kernel_process(prefix, process) == Some(false)).cloned().collect();
    let kernel_processes = all.iter().filter(|process| is_kernel_process(prefix, process) == Some(true)).count();
    Ok((ordinary, kernel_processes))
}

/// Whether the ordinary processes have left `from` for `to`, and who has not.
fn read_tasks(prefix: &Path, to: &Path, from: &Path) -> Reading {
    if !to.is_dir() {
        return Reading::Missing;
    }
    match ordinary(prefix, from) {
        Ok((left, kernel_processes)) if left.is_empty() => {
            Reading::Is(Value::Text(format!("moved but for {kernel_processes} of the kernel's own")))
        }
        Ok((left, _)) => Reading::Is(Value::Text(format!("{} stay, {} the first", left.len(), left[0]))),
        Err(error) => Reading::Failed(error.to_string()),
    }
}

/// Moves the ordinary processes, all that can be moved; the reading back shows those that cannot.
fn move_tasks(prefix: &Path, is_live: bool, to: &Path, from: &Path) -> io::Result<()> {
    let mut stubborn: Vec<String> = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let (mut left, _) = ordinary(prefix, from)?;
        left.retain(|process| !stubborn.contains(process));
        if left.is_empty() {
            break;
        }
        for process in left {
            if enter(is_live, to, from, &process).is_err() {
                stubborn.push(process);
            }
        }
    }
    Ok(())
}

fn enter(is_live: bool, to: &Path, from: &Path, process: &str) -> io::Result<()> {
    if is_live {
        return control_file::write(&to.join(PROCESSES), process);
    }
    // What the kernel would do.
    let stay: Vec<String> = processes(from)?.into_iter().filter(|other| other != process).collect();
    let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let mut there = processes(to).unwrap_or_default();
    there.retain(|other| other != process);
    there.push(process.to_owned());
    // The kernel lists them by their numbers.
    there.sort_by_key(|process| process.parse::<u32>().unwrap_or(u32::MAX));
    replace(&to.join(PROCESSES), &text(&there))?;
    replace(&from.join(PROCESSES), &text(&stay))
}

/// Makes a group; in a tree of files with what the kernel puts into one.
fn make(path: &Path, is_live: bool) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    if is_live {
        return Ok(());
    }
    let above = path.parent().unwrap_or(path);
    for entry in fs::read_dir(above)?.flatten().filter(|entry| entry.path().is_file()) {
        let name = entry.file_name();
        let content = match name.to_str() {
            Some("cgroup.type") => "domain\n",
            Some("cpuset.cpus.partition") => "member\n",
            Some("cpuset.sched_load_balance") => "1\n",
            Some("cpuset.cpu_exclusive" | "cpuset.mem_exclusive") => "0\n",
            _ => "",
        };
        fs::write(path.join(name), content)?;
    }
    Ok(())
}

/// A group is removed when none is in it: they go to the group above.
fn remove(path: &Path, is_live: bool) -> io::Result<()> {
    let above = path.parent().unwrap_or(path);
    for process in processes(path).unwrap_or_default() {
        // One that has ended meanwhile is none.
        let _ = enter(is_live, above, path, &process);
    }
    if is_live { fs::remove_dir(path) } else { fs::remove_dir_all(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_processes_move_and_come_back_and_the_kernel_s_are_counted() {
        let tree = tempfile::tempdir().unwrap();
        let (root, others) = (tree.path().join("cpuset"), tree.path().join("cpuset/others"));
        fs::create_dir(&root).unwrap();
        let before = "1\n2\n30\n400\n9999\n";
        fs::write(root.join(PROCESSES), before).unwrap();
        fs::write(root.join("cpuset.cpus"), "0-3\n").unwrap();
        for (pid, name, flags) in [(1, "init", 0x40_0100), (2, "kthreadd", 0x20_8040), (30, "a) b", 0), (400, "c", 0)] {
            let folder = tree.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), format!("{pid} ({name}) S 0 1 1 0 -1 {flags} 0 0\n")).unwrap();
        }
        assert_eq!(read_tasks(tree.path(), &others, &root), Reading::Missing);
        make(&others, false).unwrap();
        assert_eq!(fs::read_to_string(others.join("cpuset.cpus")).unwrap(), "");
        let said = |reading: Reading| match reading {
            Reading::Is(Value::Text(text)) => text,
            other => format!("{other:?}"),
        };
        assert_eq!(said(read_tasks(tree.path(), &others, &root)), "3 stay, 1 the first");
        move_tasks(tree.path(), false, &others, &root).unwrap();
        assert_eq!(said(read_tasks(tree.path(), &others, &root)), "moved but for 1 of the kernel's own");
        // One that has ended, 9999, is nobody's.
        assert_eq!(fs::read_to_string(root.join(PROCESSES)).unwrap(), "2\n9999\n");
        assert_eq!(fs::read_to_string(others.join(PROCESSES)).unwrap(), "1\n30\n400\n");
        remove(&others, false).unwrap();
        assert_eq!(fs::read_to_string(root.join(PROCESSES)).unwrap(), before);
        assert!(!others.exists());
    }
}
