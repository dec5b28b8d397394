//! `punctual cyclictest` as scripts see it: each line is read by a small parser and must be what it was read from.
//!
//! Runs are short and SCHED_OTHER, so no right is needed; no latency is judged. Where the original is installed, its
//! output goes through the same parser.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails by panicking, in its helpers too")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::eventually_measures;

const ORIGINAL: &str = "/usr/bin/cyclictest";

fn punctual(line: &str) -> Output {
    let words = std::iter::once("cyclictest").chain(line.split_whitespace());
    Command::new(env!("CARGO_BIN_EXE_punctual")).args(words).output().unwrap()
}

fn stdout_of(line: &str) -> String {
    let output = punctual(line);
    assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A status line, read by its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Status {
    thread: u64,
    tid: u64,
    priority: u64,
    interval_us: u64,
    cycles: u64,
    min: u64,
    actual: u64,
    average: u64,
    max: u64,
}

impl Status {
    /// Reads a line and writes it again: the columns are as cyclictest pads them, or this panics.
    fn read(line: &str, value_width: usize) -> Self {
        let labels = ["T:", "(", ") P:", "I:", "C:", "Min:", "Act:", "Avg:", "Max:"];
        let starts: Vec<(usize, usize)> =
            labels.iter().map(|label| (line.find(label).expect(line), label.len())).collect();
        let numbers: Vec<u64> = starts
            .iter()
            .enumerate()
            .map(|(n, (start, length))| {
                let end = starts.get(n + 1).map_or(line.len(), |(next, _)| *next);
                line[start + length..end].trim().parse().unwrap_or_else(|_| panic!("{line}"))
            })
            .collect();
        let [thread, tid, priority, interval_us, cycles, min, actual, average, max] = numbers[..] else {
            panic!("{line}")
        };
        let w = value_width;
        let again = format!(
            "T:{thread:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{cycles:7} Min:{min:7} Act:{actual:w$} Avg:{average:w$} Max:{max:8}"
        );
        assert_eq!(again, line);
        Self { thread, tid, priority, interval_us, cycles, min, actual, average, max }
    }
}

/// A histogram, read row by row.
#[derive(Debug, Default)]
struct Table {
    rows: Vec<Vec<u64>>,
    foot: BTreeMap<String, Vec<u64>>,
    /// For each thread the cycles that are named, and how many others there were.
    overflows: Vec<(Vec<u64>, u64)>,
}

impl Table {
    fn read(text: &str) -> Self {
        let mut table = Self::default();
        let body = text.split_once("# Histogram\n").expect(text).1;
        for line in body.lines().take_while(|line| !line.is_empty()) {
            let numbers =
                |text: &str| -> Vec<u64> { text.split_whitespace().map(|n| n.parse().expect(line)).collect() };
            if let Some(thread) = line.strip_prefix("# Thread ") {
                let (number, cycles) = thread.split_once(':').expect(line);
                assert_eq!(number, table.overflows.len().to_string());
                let (named, others) = cycles.split_once(" # ").unwrap_or((cycles, "0 others"));
                let others = others.strip_suffix(" others").expect(line).parse().expect(line);
                table.overflows.push((numbers(named), others));
            } else if let Some(foot) = line.strip_prefix("# ") {
                let (name, values) = foot.split_once(':').expect(line);
                table.foot.insert(name.to_owned(), numbers(values));
            } else {
                let (bin, columns) = line.split_once(' ').expect(line);
                assert_eq!(bin, format!("{:06}", table.rows.len()));
                let counts: Vec<u64> = columns.split('\t').map(|n| n.parse().expect(line)).collect();
                let again: Vec<String> = counts.iter().map(|count| format!("{count:06}")).collect();
                assert_eq!(again.join("\t"), columns);
                table.rows.push(counts);
            }
        }
        table
    }

    /// Everything that must hold between the parts of a table of so many threads and cycles.
    fn check(&self, bins: usize, threads: usize, cycles: u64, summary: bool) {
        assert_eq!(self.rows.len(), bins);
        let columns = threads + usize::from(summary);
        assert!(self.rows.iter().all(|row| row.len() == columns));
        let (totals, overflows) = (&self.foot["Total"], &self.foot["Histogram Overflows"]);
        assert_eq!((totals.len(), overflows.len()), (columns, columns));
        for thread in 0..threads {
            let in_bins: u64 = self.rows.iter().map(|row| row[thread]).sum();
            assert_eq!(in_bins, totals[thread]);
            assert_eq!(totals[thread] + overflows[thread], cycles);
            let (named, others) = &self.overflows[thread];
            assert_eq!(u64::try_from(named.len()).unwrap() + others, overflows[thread]);
            assert!(named.len() <= bins && named.iter().all(|cycle| *cycle < cycles));
        }
        if summary {
            assert!(self.rows.iter().all(|row| row[..threads].iter().sum::<u64>() == row[threads]));
            assert_eq!(totals[..threads].iter().sum::<u64>(), totals[threads]);
            assert_eq!(self.foot["Max Latencies"][..threads].iter().max(), self.foot["Max Latencies"].last());
        }
        assert_eq!((self.foot["Min Latencies"].len(), self.foot["Avg Latencies"].len()), (threads, threads));
        assert_eq!(self.overflows.len(), threads);
        assert!(self.foot["Histogram Overflow at cycle number"].is_empty());
    }
}

/// The file of `--json`, with what must hold inside it.
fn check_json(file: &Path, bins: usize, threads: usize, cycles: u64, table: Option<&Table>) {
    let text = std::fs::read_to_string(file).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in ["file_version", "cmdline:", "rt_test_version:", "start_time", "end_time", "return_code", "sysinfo"] {
        assert!(json.get(key).is_some(), "{key} is missing in {text}");
    }
    for key in ["sysname", "nodename", "release", "version", "machine", "realtime"] {
        assert!(json["sysinfo"].get(key).is_some(), "{key} is missing in {text}");
    }
    assert_eq!((&json["num_threads"], &json["return_code"]), (&threads.into(), &0.into()));
    assert_eq!(json["thread"].as_object().unwrap().len(), threads);
    for number in 0..threads {
        let thread = &json["thread"][number.to_string()];
        assert_eq!(thread["cycles"], cycles);
        let (min, max) = (thread["min"].as_f64().unwrap(), thread["max"].as_f64().unwrap());
        let average = thread["avg"].as_f64().unwrap();
        assert!(min <= average && average <= max, "{thread}");
        assert!(thread["cpu"].is_u64() && thread["node"].is_u64(), "{thread}");
        let histogram = thread["histogram"].as_object().unwrap();
        assert!(histogram.keys().all(|bin| bin.parse::<usize>().unwrap() < bins));
        if let Some(table) = table {
            for (bin, row) in table.rows.iter().enumerate() {
                let count = histogram.get(&bin.to_string()).and_then(serde_json::Value::as_u64).unwrap_or(0);
                assert_eq!(count, row[number], "bin {bin} of thread {number}");
            }
        }
    }
}

#[test]
fn the_summary_of_a_quiet_run() {
    let text = stdout_of("-q -l 50 -i 1000 --laptop");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 1, "{text}");
    let status = Status::read(lines[0], 5);
    assert_eq!((status.thread, status.priority, status.interval_us, status.cycles), (0, 0, 1_000, 50));
    assert!(status.min <= status.average && status.average <= status.max && status.actual <= status.max);
    assert!(status.tid > 0);
}

#[test]
fn nanoseconds_widen_the_columns() {
    let text = stdout_of("-q -N -l 20 -i 1000 --laptop");
    Status::read(text.trim_end(), 8);
}

#[test]
fn threads_differ_by_the_distance_and_end_together() {
    let text = stdout_of("-q -l 200 -i 1000 -d 1000 -t 2 --laptop");
    let threads: Vec<Status> = text.lines().map(|line| Status::read(line, 5)).collect();
    assert_eq!((threads[0].interval_us, threads[1].interval_us), (1_000, 2_000));
    // The first thread that has all its cycles ends the run for the others; how far they are then is timing.
    assert!(threads.iter().any(|thread| thread.cycles == 200) && threads.iter().all(|thread| thread.cycles <= 200));
}

#[test]
fn a_refreshed_block_moves_the_cursor_over_the_last_one() {
    let text = stdout_of("-l 600 -i 1000 -t 2 -d 0 --laptop");
    let blocks: Vec<_> = text.split("\u{1b}[4A").collect();
    assert!(blocks.len() > 1, "{text}");
    for block in blocks {
        let lines: Vec<_> = block.lines().collect();
        assert_eq!(lines.len(), 4, "{block}");
        assert!(lines[0].starts_with("policy: other/other: loadavg: ") && lines[0].ends_with("          "));
        assert_eq!(lines[1], "");
        assert_eq!((Status::read(lines[2], 5).thread, Status::read(lines[3], 5).thread), (0, 1));
    }
}

#[test]
fn verbose_prints_every_sample_once() {
    let text = stdout_of("-v -l 40 -i 1000 --laptop");
    let mut expected = 0_u64;
    for line in text.lines().skip_while(|line| !line.starts_with("Thread 0 Interval: 1000")).skip(1) {
        let fields: Vec<u64> = line.split(':').map(|field| field.trim().parse().unwrap()).collect();
        assert_eq!(fields[..2], [0, expected]);
        assert_eq!(format!("{:8}:{:8}:{:8}", fields[0], fields[1], fields[2]), line);
        expected += 1;
    }
    assert_eq!(expected, 40);
}

#[test]
fn histogram_and_json_agree_and_count_every_cycle() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json");
    for (option, bins, summary) in [("-h", 20_000, false), ("-h", 3, false), ("-H", 200, true)] {
        let text = stdout_of(&format!("-q -l 50 -i 1000 -t 2 {option} {bins} --json={} --laptop", json.display()));
        assert!(!text.contains("T:"), "{text}");
        assert!(text.ends_with("\n\n"));
        let table = Table::read(&text);
        // Either thread may be cut short by the other's end: the file says how many cycles each has.
        let cycles: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        if (0..2).all(|n| cycles["thread"][n.to_string()]["cycles"] == 50) {
            table.check(bins, 2, 50, summary);
            check_json(&json, bins, 2, 50, Some(&table));
        }
    }
}

#[test]
fn the_histogram_goes_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("histogram");
    let text = stdout_of(&format!("-q -l 20 -h 10 --histfile={} --laptop", file.display()));
    assert_eq!(text, "");
    Table::read(&std::fs::read_to_string(file).unwrap()).check(10, 1, 20, false);
}

#[test]
fn a_run_breaks_at_the_first_latency_above_the_limit() {
    let text = stdout_of("-q -N -b 1 -l 1000 -i 1000 --laptop");
    let lines: Vec<_> = text.lines().collect();
    let status = Status::read(lines[0], 8);
    assert_eq!(status.cycles, 1);
    assert_eq!(lines[1], format!("# Thread Ids: {:05}", status.tid));
    assert_eq!(lines[2], format!("# Break thread: {}", status.tid));
    assert_eq!(lines[3], format!("# Break value: {}", status.max));
}

#[test]
fn an_interrupted_run_prints_its_summary_and_exits_0() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["cyclictest", "-q", "-h", "5", "--laptop"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually_measures(&child);
    // Twice, as `timeout -s INT` does: to the child and to its group.
    for _ in 0..2 {
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    }
    let mut text = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(Table::read(&text).rows.len(), 5);
}

#[test]
fn wrong_usage_exits_2_and_prints_no_data() {
    for line in ["--bogus", "-U", "-r", "-q -l 5 word", "-a 9999", "-i 0", "-p 100", "-l 5 --json=/absent/file"] {
        let output = punctual(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{line}");
    }
}

#[test]
fn periods_that_no_sample_stands_for_are_counted_on_stderr() {
    let signal = |child: &std::process::Child, name: &str| {
        let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    let line = ["cyclictest", "-q", "-t", "1", "-i", "1000", "-D", "4", "--laptop"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    let child = command.args(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // While the process is stopped, periods pass of which no thread can take a sample.
    eventually_measures(&child);
    signal(&child, "STOP");
    std::thread::sleep(std::time::Duration::from_millis(100));
    signal(&child, "CONT");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let line = said.lines().find(|line| line.contains("periods were missed")).unwrap_or_else(|| panic!("{said}"));
    let words = line.replace('\u{202f}', "");
    let numbers: Vec<u64> = words.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(line.starts_with("# punctual: ") && line.contains("thread 0: "), "{line}");
    let status = Status::read(String::from_utf8(output.stdout).unwrap().trim_end_matches('\n'), 5);
    assert!(numbers[0] >= 90, "{line}");
    assert!(status.cycles < 4_000 - 80, "the original's count is as it was: {status:?}");
}

#[test]
fn help_is_ours() {
    assert!(stdout_of("--help").starts_with("punctual cyclictest"));
}

#[test]
fn the_original_goes_through_the_same_parser() {
    if !Path::new(ORIGINAL).exists() {
        eprintln!("skipped: {ORIGINAL} is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for program in [ORIGINAL, env!("CARGO_BIN_EXE_punctual")] {
        let json = folder.path().join("result.json");
        let mut command = Command::new(program);
        if program != ORIGINAL {
            command.arg("cyclictest");
        }
        command.args(["-q", "-l", "200", "-i", "1000", "-h", "50", "--laptop"]);
        let output = command.arg(format!("--json={}", json.display())).output().unwrap();
        if program == ORIGINAL && output.status.code() != Some(0) {
            eprintln!("skipped: {ORIGINAL} cannot run here: {}", String::from_utf8_lossy(&output.stderr));
            return;
        }
        assert_eq!(output.status.code(), Some(0), "{program}");
        let table = Table::read(&String::from_utf8(output.stdout).unwrap());
        table.check(50, 1, 200, false);
        check_json(&json, 50, 1, 200, Some(&table));

        let mut command = Command::new(program);
        if program != ORIGINAL {
            command.arg("cyclictest");
        }
        let output = command.args(["-q", "-l", "100", "-t", "2", "-d", "0", "--laptop"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let threads: Vec<u64> = text.lines().map(|line| Status::read(line, 5).thread).collect();
        assert_eq!(threads, [0, 1], "{program}");
    }
}
