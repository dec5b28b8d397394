//! Measures how long an import of 10 MB takes, for each text format of cyclictest, its JSON, rteval's XML and a log of ptp4l.
//! The inputs are generated.
//!
//! Prints one line per format: name, size (bytes), duration (ms, median of five).

use std::fmt::Write as _;
use std::time::Instant;

use foreign::{Options, Unit};

const BYTES: usize = 10 << 20;

fn main() {
    for (name, text) in [
        ("cyclictest-text", redrawn()),
        ("cyclictest-verbose", verbose()),
        ("cyclictest-histogram", histogram()),
        ("cyclictest-json", json()),
        ("rteval", xml()),
        ("linuxptp-log", ptp4l()),
    ] {
        let mut took: Vec<u128> = (0..5)
            .map(|_| {
                let start = Instant::now();
                let imported =
                    foreign::import(text.as_bytes(), None, Options { unit: Some(Unit::Us), ..Options::default() });
                let record = imported.map(|imported| imported.into_record("speed"));
                assert!(record.is_ok_and(|record| record.samples() > 0), "{name} was not read");
                start.elapsed().as_millis()
            })
            .collect();
        took.sort_unstable();
        println!("{name} {} {}", text.len(), took[took.len() / 2]);
    }
}

fn redrawn() -> String {
    let mut text = String::new();
    let mut cycle = 0;
    while text.len() < BYTES {
        cycle += 10;
        for thread in 0..4 {
            let _ = writeln!(
                text,
                "T:{thread:2} ({:5}) P:80 I:1000 C:{cycle:7} Min:{:7} Act:{:5} Avg:{:5} Max:{:8}",
                4_000 + thread,
                3,
                9,
                8,
                120
            );
        }
        text.push_str("\u{1b}[4A");
    }
    text
}

fn verbose() -> String {
    let mut text = String::new();
    let mut cycle = 0_u64;
    while text.len() < BYTES {
        for thread in 0..4 {
            let _ = writeln!(text, "{thread:8}:{cycle:8}:{:8}", 3 + cycle * 7_919 % 97);
        }
        cycle += 1;
    }
    text
}

fn histogram() -> String {
    let mut text = String::from("# Histogram\n");
    let mut rows = 0_u64;
    while text.len() < BYTES {
        let _ = write!(text, "{rows:06} ");
        let counts: Vec<String> = (0..16).map(|_| "000001".to_owned()).collect();
        text.push_str(&counts.join("\t"));
        text.push('\n');
        rows += 1;
    }
    let mut line = |name: &str, value: u64| {
        let _ = write!(text, "# {name}:");
        for _ in 0..16 {
            let _ = write!(text, " {value:05}");
        }
        text.push('\n');
    };
    line("Total", rows);
    line("Min Latencies", 0);
    line("Avg Latencies", (rows - 1) / 2);
    line("Max Latencies", rows - 1);
    line("Histogram Overflows", 0);
    text
}

fn json() -> String {
    let mut text = String::from(
        "{\n\"cmdline:\": \"cyclictest\",\n\"rt_test_version:\": \"2.40\",\n\"resolution_in_ns\": 1,\n\"thread\": {",
    );
    for thread in 0..16 {
        let comma = if thread == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n\"{thread}\": {{\n\"histogram\": {{");
        let rows = BYTES / 16 / 16;
        for row in 0..rows {
            let comma = if row == 0 { "" } else { "," };
            let _ = write!(text, "{comma}\n    \"{row}\": 1");
        }
        let _ = write!(text, "}},\n\"cycles\": {rows}, \"min\": 0, \"max\": {}, \"cpu\": {thread}}}", rows - 1);
    }
    text.push_str("}\n}\n");
    text
}

fn xml() -> String {
    let mut text = String::from("<rteval version=\"3.8\"><Measurements><cyclictest command_line=\"cyclictest\">");
    for core in 0..16 {
        let rows = BYTES / 16 / 40;
        let _ = write!(
            text,
            "<core id=\"{core}\" priority=\"95\"><statistics><samples>{rows}</samples><minimum unit=\"us\">0</minimum>\
             <maximum unit=\"us\">{}</maximum></statistics><histogram>",
            rows - 1
        );
        for row in 0..rows {
            let _ = writeln!(text, "<bucket index=\"{row}\" value=\"1\"/>");
        }
        text.push_str("</histogram></core>");
    }
    text.push_str("</cyclictest></Measurements></rteval>\n");
    text
}

fn ptp4l() -> String {
    let mut text = String::new();
    let mut second = 0_u64;
    while text.len() < BYTES {
        let offset_ns = second * 7_919 % 401;
        let sign = if second % 2 == 0 { "" } else { "-" };
        let _ = writeln!(
            text,
            "ptp4l[{}.905]: master offset {:>10} s2 freq {:+7} path delay {:9}",
            1_000 + second,
            format!("{sign}{offset_ns}"),
            1_234 + offset_ns,
            800 + offset_ns / 10
        );
        second += 1;
    }
    text
}
