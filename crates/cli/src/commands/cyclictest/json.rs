//! cyclictest's `--json` file, with the spelling that its readers know: two keys end in a colon, `resolution_in_ns`
//! is a flag, the threads are members named by their numbers, and only bins that hold something are written.
//!
//! Unlike the original's, the command line is escaped, so that the file is always JSON.

use std::fmt::Write as _;

use jiff::Zoned;

use super::ThreadResult;

/// What the file says beside the threads.
pub(super) struct Run<'a> {
    pub(super) command: &'a [String],
    pub(super) started: &'a Zoned,
    pub(super) ended: &'a Zoned,
    pub(super) nanoseconds: bool,
}

/// The whole file.
pub(super) fn document(run: &Run<'_>, threads: &[ThreadResult<'_>]) -> String {
    let (release, version, machine, node) = kernel::process::system_names();
    let when = |time: &Zoned| quoted(&time.strftime("%a, %d %b %Y %H:%M:%S %z").to_string());
    let members: Vec<String> = threads.iter().map(thread_member).collect();
    format!(
        r#"{{
  "file_version": 1,
  "cmdline:": {command},
  "rt_test_version:": {tool},
  "start_time": {started},
  "end_time": {ended},
  "return_code": 0,
  "sysinfo": {{
    "sysname": "Linux",
    "nodename": {node},
    "release": {release},
    "version": {version},
    "machine": {machine},
    "realtime": {realtime}
  }},
  "num_threads": {count},
  "resolution_in_ns": {resolution},
  "thread": {{
{members}
  }}
}}
"#,
        command = quoted(&run.command.join(" ")),
        tool = quoted(concat!("punctual ", env!("CARGO_PKG_VERSION"))),
        started = when(run.started),
        ended = when(run.ended),
        node = quoted(&node),
        release = quoted(&release),
        version = quoted(&version),
        machine = quoted(&machine),
        realtime = u8::from(is_realtime_kernel()),
        count = threads.len(),
        resolution = u8::from(run.nanoseconds),
        members = members.join(",\n"),
    )
}

fn thread_member(thread: &ThreadResult<'_>) -> String {
    let linear = thread.linear;
    let bins: Vec<String> = linear
        .counts()
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(bin, count)| format!("        \"{bin}\": {count}"))
        .collect();
    let mut text = format!("    \"{}\": {{\n      \"histogram\": {{", thread.number);
    if !bins.is_empty() {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{}\n", bins.join(",\n"));
    }
    let cycles = linear.samples();
    let average = units::approx_f64(linear.sum()) / units::approx_f64(cycles.max(1));
    let _ = write!(
        text,
        "      }},\n      \"cycles\": {cycles},\n      \"min\": {},\n      \"max\": {},\n      \"avg\": {average:.2},\n      \
         \"cpu\": {},\n      \"node\": {}\n    }}",
        super::text::shown_minimum(linear.min()),
        linear.max().unwrap_or(0),
        thread.cpu,
        numa_node(thread.cpu),
    );
    text
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether the kernel says that it was built with PREEMPT_RT.
fn is_realtime_kernel() -> bool {
    std::fs::read_to_string("/sys/kernel/realtime").is_ok_and(|text| text.trim() == "1")
}

/// The NUMA node of a CPU; 0 where there is only one.
fn numa_node(cpu: u32) -> u32 {
    let entries = std::fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}"));
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.strip_prefix("node")?.parse().ok()).next().unwrap_or(0)
}
