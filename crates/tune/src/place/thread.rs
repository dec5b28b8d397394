//! How threads are scheduled, and where they may run; only the running machine has threads.

use std::fs;
use std::io;

use kernel::sched::Scheduling;
use knobs::{Order, Reading, Value, thread};
use units::CpuSet;

use super::{Access, Files};

/// ESRCH: the thread has ended.
const NO_SUCH_THREAD: i32 = 3;

/// Policy and priority of a thread.
pub(super) struct SchedulingOf<'a> {
    pub(super) path: &'a str,
    pub(super) comm: &'a str,
}

impl Access for SchedulingOf<'_> {
    fn read(&self, files: &Files) -> Reading {
        read(find(files, self.path, self.comm), read_scheduling)
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        write(find(files, self.path, self.comm), self.comm, value, write_scheduling)
    }
}

/// The CPUs of a thread.
pub(super) struct AffinityOf<'a> {
    pub(super) path: &'a str,
    pub(super) comm: &'a str,
}

impl Access for AffinityOf<'_> {
    fn read(&self, files: &Files) -> Reading {
        read(find(files, self.path, self.comm), |tid| kernel::sched::affinity_of(tid).map(|cpus| cpus.to_string()))
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        write(find(files, self.path, self.comm), self.comm, value, |tid, text| {
            let cpus: CpuSet = text.parse().map_err(io::Error::other)?;
            kernel::sched::set_affinity(tid, &cpus)
        })
    }
}

/// The thread of a place in a live machine; `None` where it is gone, or another one has its number.
fn find(files: &Files, path: &str, comm: &str) -> Option<u32> {
    let path = files.is_live().then(|| files.locate(path))?;
    let name = fs::read_to_string(path.join("comm")).ok()?;
    let tid = path.file_name()?.to_str()?.parse().ok()?;
    (name.trim_end_matches('\n') == comm).then_some(tid)
}

fn read(tid: Option<u32>, read: impl Fn(u32) -> io::Result<String>) -> Reading {
    match tid.map(read) {
        None => Reading::Missing,
        Some(Ok(text)) => Reading::Is(Value::Text(text)),
        Some(Err(error)) if error.raw_os_error() == Some(NO_SUCH_THREAD) => Reading::Missing,
        Some(Err(error)) => Reading::Failed(error.to_string()),
    }
}

fn write(tid: Option<u32>, comm: &str, value: &Value, write: impl Fn(u32, &str) -> io::Result<()>) -> io::Result<()> {
    let Value::Text(text) = value else { return Ok(()) };
    let tid = tid.ok_or_else(|| io::Error::other(format!("the thread {comm} is gone")))?;
    write(tid, text)
}

fn read_scheduling(tid: u32) -> io::Result<String> {
    let Scheduling { policy, priority, nice } = kernel::sched::scheduling_of(tid)?;
    let scheduling = match policy {
        0 => thread::Scheduling::Other(nice),
        1 => thread::Scheduling::Fifo(priority),
        2 => thread::Scheduling::RoundRobin(priority),
        3 => thread::Scheduling::Batch(nice),
        5 => thread::Scheduling::Idle,
        _ => return Err(io::Error::other(format!("its policy is number {policy}, which cannot be restored"))),
    };
    Ok(scheduling.to_string())
}

fn write_scheduling(tid: u32, text: &str) -> io::Result<()> {
    let (policy, priority, nice) = match text.parse().map_err(io::Error::other)? {
        thread::Scheduling::Other(nice) => (0, 0, nice),
        thread::Scheduling::Fifo(priority) => (1, priority, 0),
        thread::Scheduling::RoundRobin(priority) => (2, priority, 0),
        thread::Scheduling::Batch(nice) => (3, 0, nice),
        thread::Scheduling::Idle => (5, 0, 0),
    };
    kernel::sched::set_scheduling_of(tid, Scheduling { policy, priority, nice })
}
