//! `punctual pulse shift`: records and captures that the tests write, with shifts, losses and bounces that they know.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use record::{Node, Nodes, OrderCounts, PulseRun, Record};
use serde_json::Value;

use crate::support::{code, punctual, said, stdout};

const INTERVAL_NS: i64 = 1_000_000;
const WIDTH_NS: i64 = 100_000;
const ORDERS: u64 = 1_000;
const MARK: u64 = 49;
/// When the capture shows order 0 (ns).
const BEGIN_NS: i64 = 20_000_000;

/// A line of a capture: when it changes its level (ns), and whether it is up then.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) edges: Vec<(i64, bool)>,
}

impl Line {
    /// Pulses of all orders, each so much after its place; `None` where there is none.
    fn new(name: &'static str, mark: u64, late_ns: impl Fn(u64) -> Option<i64>) -> Self {
        let mut line = Self { name, edges: Vec::new() };
        for number in 0..ORDERS {
            if let Some(late_ns) = late_ns(number) {
                line.pulse(number, late_ns, if is_long(number, mark) { 2 * WIDTH_NS } else { WIDTH_NS });
            }
        }
        line
    }

    fn pulse(&mut self, number: u64, late_ns: i64, width_ns: i64) {
        let start_ns = BEGIN_NS + i64::try_from(number).unwrap() * INTERVAL_NS + late_ns;
        self.edges.extend([(start_ns, true), (start_ns + width_ns, false)]);
    }

    /// With two more edges after each one of these orders.
    fn bouncing(mut self, is_of: impl Fn(u64) -> bool) -> Self {
        let edges = self.edges.iter().flat_map(|(at_ns, is_up)| {
            let number = u64::try_from((at_ns - BEGIN_NS) / INTERVAL_NS).unwrap();
            let bounces =
                if *is_up && is_of(number) { vec![(at_ns + 3_000, false), (at_ns + 5_000, true)] } else { vec![] };
            [vec![(*at_ns, *is_up)], bounces].concat()
        });
        self.edges = edges.collect();
        self
    }

    fn inverted(mut self) -> Self {
        self.edges.iter_mut().for_each(|(_, is_up)| *is_up = !*is_up);
        self
    }
}

/// The rule of `pulse send --mark`, written once more.
pub(crate) fn is_long(number: u64, mark: u64) -> bool {
    if mark == 0 {
        return false;
    }
    let place = number % mark;
    place == 0 || (place <= 24 && (number / mark) >> (24 - place) & 1 == 1)
}

/// All changes in the order of time: when (ns), which line, and whether it is up.
fn changes(lines: &[Line]) -> Vec<(i64, usize, bool)> {
    let of = |(place, line): (usize, &Line)| line.edges.iter().map(move |(at, is_up)| (*at, place, *is_up)).collect();
    let mut changes: Vec<(i64, usize, bool)> = lines.iter().enumerate().flat_map(|one| -> Vec<_> { of(one) }).collect();
    changes.sort_unstable();
    changes
}

fn rests_high(line: &Line) -> bool {
    line.edges.iter().min().is_some_and(|(_, is_up)| !*is_up)
}

/// When the capture ends: 20 intervals after the last order (ns).
const END_NS: i64 = BEGIN_NS + 1_020 * INTERVAL_NS;

/// A value change dump with a resolution of 1 ns.
pub(crate) fn vcd(lines: &[Line]) -> String {
    let id = |place: usize| char::from(b'!' + u8::try_from(place).unwrap());
    let mut text = String::from("$timescale 1 ns $end\n$scope module lines $end\n");
    for (place, line) in lines.iter().enumerate() {
        writeln!(text, "$var wire 1 {} {} $end", id(place), line.name).unwrap();
    }
    text.push_str("$upscope $end\n$enddefinitions $end\n#0\n");
    for (place, line) in lines.iter().enumerate() {
        writeln!(text, "{}{}", u8::from(rests_high(line)), id(place)).unwrap();
    }
    for (at_ns, place, is_up) in changes(lines) {
        writeln!(text, "#{at_ns}\n{}{}", u8::from(is_up), id(place)).unwrap();
    }
    let last_ns = changes(lines).last().map_or(0, |(at_ns, ..)| *at_ns);
    writeln!(text, "#{}", END_NS.max(last_ns + INTERVAL_NS)).unwrap();
    text
}

/// Saleae's text export, which states no resolution.
fn saleae(lines: &[Line]) -> String {
    let mut levels: Vec<bool> = lines.iter().map(rests_high).collect();
    let names: Vec<&str> = lines.iter().map(|line| line.name).collect();
    let row = |at_ns: i64, levels: &[bool]| {
        let levels: Vec<String> = levels.iter().map(|level| u8::from(*level).to_string()).collect();
        format!("{}.{:09},{}\n", at_ns / 1_000_000_000, at_ns % 1_000_000_000, levels.join(","))
    };
    let mut text = format!("Time [s],{}\n{}", names.join(","), row(0, &levels));
    for (at_ns, place, is_up) in changes(lines) {
        levels[place] = is_up;
        text.push_str(&row(at_ns, &levels));
    }
    text.push_str(&row(END_NS, &levels));
    text
}

/// The roles that a record which is read has to have.
pub(crate) fn give_roles(record: &mut Record) {
    let with_role = |(node, role): (&Node, &str)| Node { role: role.to_owned(), ..node.clone() };
    let nodes: Vec<Node> = record.nodes.iter().zip(["server", "node", "node"]).map(with_role).collect();
    record.nodes = Nodes::try_from(nodes).unwrap();
}

/// A folder with the record of a run of two nodes, b and c, and captures of it.
struct Run {
    folder: tempfile::TempDir,
}

impl Run {
    /// Of nodes whose clocks are ahead by 0 and -41 us, within 1 us.
    fn new(change: impl FnOnce(&mut PulseRun)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut record = samples::pulses(|run| {
            run.mark = Some(u32::try_from(MARK).unwrap());
            run.width_ns = WIDTH_NS.unsigned_abs();
            run.nodes[0].clock_ahead_ns = Some((-1_000, 1_000));
            run.nodes[1].clock_ahead_ns = Some((-42_000, -40_000));
            change(run);
        });
        give_roles(&mut record);
        fs::write(folder.path().join("run.json"), record.to_json()).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn capture(&self, name: &str, text: &str) -> &Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    fn shift(&self, captures: &[&str], more: &[&str]) -> Output {
        let mut command = punctual(&["pulse", "shift"]);
        command.arg(self.path("run.json")).args(captures.iter().map(|name| self.path(name))).args(more);
        command.env("COLUMNS", "200").output().unwrap()
    }

    /// Its result as JSON, and the exit code.
    fn json(&self, captures: &[&str], more: &[&str]) -> (Value, i32) {
        let output = self.shift(captures, &[more, &["--json"]].concat());
        let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
        (value, code(&output))
    }

    /// What it says on stderr of what it cannot use.
    fn refusal(&self, captures: &[&str], more: &[&str]) -> String {
        let output = self.shift(captures, more);
        assert_eq!((code(&output), &*stdout(&output)), (2, ""), "{}", said(&output));
        said(&output)
    }
}

fn lost(run: &mut PulseRun, node: usize, count: u64) {
    run.nodes[node].orders =
        OrderCounts { scheduled: ORDERS, acted: ORDERS - count, lost: count, ..OrderCounts::default() };
}

/// c is 40, 41 or 42 us later than b, and 90 us at order 777.
fn late_ns(number: u64) -> i64 {
    if number == 777 { 90_000 } else { 40_000 + i64::try_from(number % 3).unwrap() * 1_000 }
}

fn two(mark: u64) -> [Line; 2] {
    [Line::new("D0", mark, |_| Some(0)), Line::new("D1", mark, |number| Some(late_ns(number)))]
}

#[test]
fn each_figure_is_what_was_put_in() {
    let run = Run::new(|run| {
        lost(run, 0, 1);
        lost(run, 1, 10);
    });
    // b: order 500 lost; every fourth bounces. c: 300 to 309 lost; a pulse of nobody's between two orders; an odd one.
    let b = Line::new("D0", MARK, |number| (number != 500).then_some(0)).bouncing(|number| number % 4 == 0);
    let mut c =
        Line::new("D1", MARK, |number| (!(300..310).contains(&number) && number != 600).then(|| late_ns(number)));
    c.pulse(700, INTERVAL_NS / 2, WIDTH_NS);
    c.pulse(600, late_ns(600), WIDTH_NS * 3 / 2);
    run.capture("a.vcd", &vcd(&[b, c]));
    let (said, exit) = run.json(&["a.vcd"], &[]);
    assert_eq!((&said["schema"], &said["version"]), (&"punctual/shift".into(), &1.into()));
    assert_eq!(
        (exit, &said["verdict"], &said["contradictions"]),
        (0, &"holds".into(), &serde_json::json!([])),
        "{said}"
    );

    let [b, c] = [&said["lines"][0], &said["lines"][1]];
    assert_eq!(
        (&b["node"], &b["channel"], &c["node"], &c["channel"]),
        (&"b".into(), &"D0".into(), &"c".into(), &"D1".into())
    );
    let counts = |line: &Value| {
        [
            "pulses",
            "numbered",
            "missing",
            "extra",
            "odd",
            "bounces",
            "glitches",
            "cut",
            "acted",
            "scheduled",
            "covered",
            "without_edge",
        ]
        .map(|name| line[name].as_u64().unwrap())
    };
    // Every fourth of b's orders bounces by two edges; 500 is one of them, and lost. Order 700 has two pulses, and so none with a number.
    assert_eq!(counts(b), [999, 999, 1, 0, 0, 2 * 249, 0, 0, 999, 1_000, 1_000, 1]);
    assert_eq!(counts(c), [991, 989, 10, 1, 1, 0, 0, 0, 990, 1_000, 1_000, 9]);

    let pair = &said["pairs"][0];
    let figures = &pair["figures"];
    assert_eq!((&pair["first"], &pair["second"]), (&"b".into(), &"c".into()));
    let of = |name: &str| figures[name].as_i64().unwrap_or_else(|| panic!("{name}: {figures}"));
    assert_eq!((of("orders"), of("only_first"), of("only_second"), of("neither")), (988, 11, 1, 0));
    assert_eq!((of("min_ps"), of("max_ps")), (40_000_000, 90_000_000));
    assert_eq!(
        (of("worst_ps"), of("worst_order"), of("worst_at_ps")),
        (90_000_000, 777, (BEGIN_NS + 777 * INTERVAL_NS) * 1_000)
    );
    let all: Vec<i64> = (0..ORDERS)
        .filter(|number| !(300..310).contains(number) && ![500, 700].contains(number))
        .map(late_ns)
        .collect();
    let mean_ps = units::approx_f64_i64(all.iter().sum::<i64>()) / 988.0 * 1e3;
    assert!((figures["mean_ps"].as_f64().unwrap() - mean_ps).abs() < 0.01, "{figures}");
    assert!((of("p50_ns") - 41_000).abs() <= 32, "{figures}");
    assert_eq!((of("error_ps"), of("capture_rate_ppb")), (1_000, 0));
    let blocks = pair["blocks"].as_array().unwrap();
    assert_eq!(blocks.iter().map(|block| block["orders"].as_u64().unwrap()).sum::<u64>(), 988);
    let worst = blocks.iter().max_by_key(|block| block["max_ps"].as_i64()).unwrap();
    let at_ps = of("worst_at_ps");
    assert!((0..of("block_ps")).contains(&(at_ps - worst["from_ps"].as_i64().unwrap())), "{worst}");

    // The clocks explain 41 of the mean of 41.05 us, within 2 us together.
    let parts: Vec<(&str, i64, i64)> = pair["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| {
            let [lower, upper] = ["lower_ps", "upper_ps"].map(|name| part[name].as_i64().unwrap());
            (part["name"].as_str().unwrap(), lower, upper)
        })
        .collect();
    assert_eq!(parts[0], ("clock", 39_000_000, 43_000_000));
    let names: Vec<&str> = parts.iter().map(|part| part.0).collect();
    assert_eq!(names, ["clock", "ordered_to_acted", "output", "rest"]);
    assert!(parts[3].1 < 0 && parts[3].2 > 0, "{parts:?}");
    let likely: i64 = (0..4).map(|place| pair["parts"][place]["likely_ps"].as_i64().unwrap()).sum();
    assert!((units::approx_f64_i64(likely) - mean_ps).abs() < 1.0, "the parts add up");

    let output = run.shift(&["a.vcd"], &[]);
    let text = stdout(&output).replace(['\u{202f}', '\n'], " ");
    for words in [
        "b on D0, c on D1",
        "Not matched: 11 orders that b alone shows, 1 that c alone shows.",
        "c acted within 90.1 us of b at every order that both lines show; the witness contradicts no node.",
        "orders are told by the numbers that the marks spell",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        said_on_stderr(&output).contains("channels are taken in the order of the record's nodes: b on D0, c on D1")
    );
}

fn said_on_stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_shift_that_nothing_explains_contradicts_the_nodes() {
    // The record says that both clocks were right, within 1 us; the edges are 41 us apart, and no output takes so long.
    let run = Run::new(|run| run.nodes[1].clock_ahead_ns = Some((-1_000, 1_000)));
    run.capture("a.vcd", &vcd(&two(MARK)));
    let (said, exit) = run.json(&["a.vcd"], &["--limit", "1us"]);
    assert_eq!((exit, &said["verdict"]), (3, &"invalid".into()), "a contradiction outranks the limit");
    let words = said["contradictions"][0].as_str().unwrap();
    // 41.05 us in the mean; the likely 6 us of either output cancel, and may lie anywhere in their bounds.
    assert!(words.starts_with("c was 41.0 us later than b in the mean"), "{words}");
    assert!(words.contains("leaves 41.0 us without a reason, with all errors of 8.1 us"), "{words}");
    assert!(stdout(&run.shift(&["a.vcd"], &[])).contains("Invalid: c was 41.0 us later"));
}

#[test]
fn a_node_that_says_it_acted_where_no_edge_is_contradicts_the_witness() {
    let silent = |number: u64| (number < 995).then(|| late_ns(number));
    let lines = || [Line::new("D0", MARK, |_| Some(0)), Line::new("D1", MARK, silent)];
    let claims = Run::new(|run| lost(run, 1, 4));
    claims.capture("a.vcd", &vcd(&lines()));
    let (said, exit) = claims.json(&["a.vcd"], &[]);
    assert_eq!(exit, 3, "{said}");
    let words = said["contradictions"][0].as_str().unwrap().replace('\u{202f}', " ");
    assert_eq!(
        words,
        "c says that it carried out all but 4 of 1 000 orders, and the witness saw no edge of 5 of the 1 000 whose time it covers"
    );
    let admits = Run::new(|run| lost(run, 1, 5));
    admits.capture("a.vcd", &vcd(&lines()));
    assert_eq!(admits.json(&["a.vcd"], &[]).1, 0);
}

#[test]
fn a_line_without_marks_that_lacks_edges_which_its_node_claims_does_not_pass() {
    let half = |number: u64| (number % 2 == 0).then(|| late_ns(number));
    let lines = || [Line::new("D0", 0, |_| Some(0)), Line::new("D1", 0, half)];
    let claims = Run::new(|run| run.mark = None);
    claims.capture("a.vcd", &vcd(&lines()));
    let output = claims.shift(&["a.vcd"], &["--limit", "1ms"]);
    assert_eq!(code(&output), 3, "{}", said(&output));
    let text = stdout(&output).replace(['\u{202f}', '\n'], " ");
    for words in ["cannot be told: the line of b shows 499 pulses", "c says that it carried out all of 1 000 orders"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let admits = Run::new(|run| {
        run.mark = None;
        lost(run, 1, 500);
    });
    admits.capture("a.vcd", &vcd(&lines()));
    assert_eq!(admits.json(&["a.vcd"], &["--limit", "1ms"]).1, 0);
}

#[test]
fn a_limit_is_held_against_the_worst_shift() {
    let run = Run::new(|_| ());
    run.capture("a.vcd", &vcd(&two(MARK)));
    assert_eq!(run.json(&["a.vcd"], &["--limit", "90001ns"]).1, 0);
    // The worst is 90 us, right to within a nanosecond.
    let (open, exit) = run.json(&["a.vcd"], &["--limit", "90us"]);
    assert_eq!((exit, &open["verdict"]), (3, &"cannot-tell".into()));
    // The first node is the record's, in whichever order the lines are named.
    let (named, _) = run.json(&["a.vcd"], &["--line", "c=D1", "--line", "b=D0"]);
    assert_eq!(
        (&named["pairs"][0]["first"], &named["pairs"][0]["figures"]["max_ps"]),
        (&"b".into(), &90_000_000.into())
    );
    let output = run.shift(&["a.vcd"], &["--limit", "89us"]);
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).contains("Beyond the limit of 89.0 us: c was 90.0 us later than b at order 777."),
        "{}",
        said(&output)
    );
}

#[test]
fn without_marks_edges_are_paired_by_time_or_not_at_all() {
    let run = Run::new(|run| run.mark = None);
    run.capture("a.vcd", &vcd(&two(0)));
    let (said, exit) = run.json(&["a.vcd"], &[]);
    assert_eq!((exit, said["pairs"][0]["figures"]["orders"].as_u64()), (0, Some(1_000)), "{said}");
    assert!(said["pairs"][0]["paired"].as_str().unwrap().ends_with("since they have no marks"), "{said}");
    assert_eq!(said["lines"][0]["numbered"], Value::Null);
    // Nobody knows the number of an order then: the worst is the 778th pulse that the capture shows.
    assert_eq!(
        (&said["pairs"][0]["by_numbers"], &said["pairs"][0]["figures"]["worst_order"]),
        (&false.into(), &777.into())
    );
    // Without numbers the capture's clock may be off by 2 %, which is 1.8 us of 90.
    assert_eq!(run.json(&["a.vcd"], &["--limit", "89us"]).1, 3);
    let beyond = stdout(&run.shift(&["a.vcd"], &["--limit", "88us"]));
    assert!(beyond.contains("c was 90.0 us later than b at pulse 777.") && beyond.contains("at pulse"), "{beyond}");
    // Edges that may be half an interval apart by what the record says are of nobody knows which order.
    let ambiguous = Run::new(|run| (run.mark, run.nodes[0].ordered_to_returned_max_ns) = (None, Some(600_000)));
    ambiguous.capture("a.vcd", &vcd(&two(0)));
    let (said, exit) = ambiguous.json(&["a.vcd"], &[]);
    assert_eq!((exit, &said["pairs"][0]["figures"]), (3, &Value::Null));
    assert!(said["sentence"].as_str().unwrap().contains("by time alone pulses cannot be paired either"), "{said}");
    // The text says so once.
    let text = stdout(&ambiguous.shift(&["a.vcd"], &[])).replace('\n', " ");
    assert_eq!(text.matches("by time alone pulses cannot be paired either").count(), 1, "{text}");
    assert!(text.contains("Invalid: nothing can be said of c"), "{text}");
}

/// The data of a page.
fn data_of(page: &Path) -> Value {
    let html = fs::read_to_string(page).unwrap();
    let (_, data) = html.split_once("id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// Makes a page of files; what it says on stderr, too.
fn report(page: &Path, files: &[PathBuf]) -> (Value, String) {
    let output = punctual(&["report", "-o"]).arg(page).args(files).output().unwrap();
    assert_eq!(code(&output), 0, "{}", said(&output));
    (data_of(page), said(&output))
}

#[test]
fn a_shift_that_was_kept_stands_on_the_page_beside_its_run_and_what_others_published() {
    let run = Run::new(|_| ());
    run.capture("a.vcd", &vcd(&two(MARK)));
    let shift = run.path("shift.json");
    let output = run.shift(&["a.vcd"], &["--limit", "50us", "-o", shift.to_str().unwrap()]);
    assert_eq!(code(&output), 1, "{}", said(&output));
    assert!(stdout(&output).contains("Beyond the limit of 50.0 us"), "what is kept is said too");
    let printed = run.json(&["a.vcd"], &["--limit", "50us"]).0;
    assert_eq!(serde_json::from_str::<Value>(&fs::read_to_string(&shift).unwrap()).unwrap(), printed);

    let page = run.path("page.html");
    for files in
        [vec![run.path("run.json"), shift.clone()], vec![shift.clone(), run.path("run.json")], vec![shift.clone()]]
    {
        let (data, _) = report(&page, &files);
        assert_eq!((&data["page"]["kind"], &data["headline"]["state"]), (&"together".into(), &"broken".into()));
        assert_eq!(data["headline"]["word"], "Does not hold 50.0 us against b");
        let figures = &data["page"]["together"]["shifts"][0]["pairs"][0]["figures"];
        assert_eq!((&figures["max_ns"], &figures["worst_order"]), (&90_000.0.into(), &777.into()), "{figures}");
        assert_eq!(data["page"]["results"]["runs"].as_array().unwrap().len(), files.len() - 1);
        let rows = data["page"]["together"]["shift_rows"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["max"], &rows[0]["published"]), (4, &"90.0".into(), &false.into()));
        // A run that nobody named is called by the file.
        assert_eq!(rows[0]["source"], "shift");
    }
    // Of a folder with the record beside it, and one that is of a later version.
    let folder = run.folder.path().to_path_buf();
    let (data, stderr) = report(&page, &[folder]);
    assert_eq!(data["page"]["together"]["shifts"][0]["name"], "shift");
    assert!(stderr.contains("the page shows what") && stderr.contains("shift.json says"), "{stderr}");
    let newer = fs::read_to_string(&shift).unwrap().replacen("\"version\": 1", "\"version\": 2", 1);
    fs::write(&shift, newer).unwrap();
    let output = punctual(&["report", "-o"]).arg(&page).arg(&shift).output().unwrap();
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(
        said(&output).contains("it is version 2 of 'punctual/shift', and this program reads version 1"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_contradiction_is_what_the_page_begins_with() {
    let run = Run::new(|run| run.nodes[1].clock_ahead_ns = Some((-1_000, 1_000)));
    run.capture("a.vcd", &vcd(&two(MARK)));
    let shift = run.path("shift.json");
    assert_eq!(code(&run.shift(&["a.vcd"], &["-o", shift.to_str().unwrap()])), 3);
    let (data, _) = report(&run.path("page.html"), &[run.path("run.json"), shift]);
    assert_eq!((&data["headline"]["state"], &data["headline"]["word"]), (&"cannot-tell".into(), &"Invalid".into()));
    let sentence = data["headline"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("c was 41.0 us later than b in the mean"), "{sentence}");
    assert!(sentence.contains("leaves 41.0 us without a reason, with all errors of 8.1 us"), "{sentence}");
}

#[test]
fn levels_bounces_and_resolution_are_as_the_user_says() {
    let run = Run::new(|run| {
        run.nodes[0].output_words = Some("parport0/D3, active low; its guard lacks a control group".to_owned());
    });
    let [b, c] = two(MARK);
    run.capture("a.csv", &saleae(&[b.inverted(), c.bouncing(|_| true)]));
    // A text export of Saleae's states no resolution: the shift is found, and nothing is judged by its parts.
    let (said, exit) = run.json(&["a.csv"], &["--active-low", "b"]);
    assert_eq!((exit, &said["pairs"][0]["figures"]["max_ps"]), (0, &90_000_000.into()), "{said}");
    assert!(said["pairs"][0]["not_split"].as_str().unwrap().contains("--resolution"));
    assert_eq!(said["lines"][1]["bounces"], 2_000);
    let (exact, _) = run.json(&["a.csv"], &["--active-low", "b", "--resolution", "40ns"]);
    assert_eq!(
        (&exact["pairs"][0]["figures"]["error_ps"], exact["pairs"][0]["parts"].as_array().unwrap().len()),
        (&40_000.into(), 4)
    );
    // Edges 2 us apart are not one with a hold-off of 1 us: no pulse is as wide as ordered.
    assert_eq!(run.json(&["a.csv"], &["--active-low", "b", "--hold-off", "1us"]).1, 3);
    let hint = "b has its output active low: unless something inverts it, add --active-low b";
    assert!(said_on_stderr(&run.shift(&["a.csv"], &[])).replace('\n', " ").contains(hint));
    assert!(!said_on_stderr(&run.shift(&["a.csv"], &["--active-low", "b"])).contains("add --active-low"));
    // The wrong level makes pulses of all that lies between them, whose beginnings are near enough to be paired by time.
    let (wrong, exit) = run.json(&["a.csv"], &[]);
    assert_eq!((exit, &wrong["pairs"][0]["figures"]), (3, &Value::Null));
    assert!(wrong["sentence"].as_str().unwrap().contains("is it the right channel, and the right level?"), "{wrong}");
    assert!(run.refusal(&["a.csv"], &["--hold-off", "63us"]).contains("pulses of 100 us take one of 0 to 62.5 us"));
    assert!(run.refusal(&["a.csv"], &["--active-low", "d"]).contains("the run has no node 'd', but b, c"));
}

#[test]
fn several_captures_have_one_clock_only_if_the_user_says_so() {
    let run = Run::new(|_| ());
    let [b, c] = two(MARK);
    let (b, c) = (Line { name: "D0", ..b }, Line { name: "D0", ..c });
    run.capture("b.vcd", &vcd(&[b])).capture("c.vcd", &vcd(&[c]));
    assert!(run.refusal(&["b.vcd", "c.vcd"], &[]).contains("nobody knows whether their clocks are one"));
    let (said, exit) = run.json(&["b.vcd", "c.vcd"], &["--one-clock", "--line", "b=c.vcd:D0", "--line", "c=b.vcd:D0"]);
    // The lines are swapped, and so the shift has the other sign: the clocks do not explain that.
    assert_eq!((exit, &said["pairs"][0]["figures"]["min_ps"]), (3, &(-90_000_000).into()), "{said}");
    assert_eq!(run.json(&["b.vcd", "c.vcd"], &["--one-clock"]).1, 0);
    let ambiguous = run.refusal(&["b.vcd", "c.vcd"], &["--one-clock", "--line", "b=D0", "--line", "c=c.vcd:D0"]);
    assert!(ambiguous.contains("several channels are called 'D0'"), "{ambiguous}");
}

/// A guest's log of QEMU, whose data register has the line as its bit 0, and is first written at a second.
fn qemu(line: &Line, first_s: i64) -> String {
    let writes = line.edges.iter().map(|(at_ns, is_up)| (at_ns / 1_000 + 1_000_000_000, u8::from(*is_up)));
    let mut text = String::new();
    for (at_us, value) in std::iter::once((first_s * 1_000_000, 0)).chain(writes) {
        let (second, us) = (at_us / 1_000_000, at_us % 1_000_000);
        writeln!(text, "7@{second}.{us:06}:parallel_ioport_write write [SW] addr 0x00 val 0x{value:02x}").unwrap();
    }
    text
}

#[test]
fn logs_of_several_guests_of_qemu_are_read_together() {
    let run = Run::new(|_| ());
    let [b, c] = two(MARK);
    // Each alone would begin at the second of its own first write. The logs end with c's last edge, so that pulse is not used.
    run.capture("b.log", &qemu(&b, 990)).capture("c.log", &qemu(&c, 995));
    let (said, exit) = run.json(&["b.log", "c.log"], &["--one-clock", "--line", "b=b D0", "--line", "c=c D0"]);
    let figures = &said["pairs"][0]["figures"];
    assert_eq!((exit, &figures["orders"], &figures["min_ps"]), (0, &999.into(), &40_000_000.into()), "{figures}");
    assert_eq!((&figures["max_ps"], &figures["error_ps"]), (&90_000_000.into(), &1_000_000.into()));
}

#[test]
fn what_is_no_witness_is_refused_with_what_is_wrong() {
    let run = Run::new(|_| ());
    let whole = vcd(&two(MARK));
    let third = [two(MARK), two(MARK)].into_iter().flatten().take(3).enumerate();
    let three: Vec<Line> = third.map(|(place, line)| Line { name: ["D0", "D1", "D2"][place], ..line }).collect();
    run.capture("a.vcd", &whole)
        .capture("three.vcd", &vcd(&three))
        .capture("cut.csv", saleae(&two(MARK)).rsplit_once(',').unwrap().0)
        .capture("empty.vcd", "")
        .capture("other.txt", "no capture at all\n")
        .capture("volts.csv", "Time [s],Channel 0\n0.0,3.28\n0.1,0.02\n");
    let refused = [
        (&["cut.csv"][..], &[][..], "fewer than 2 levels: it was cut off"),
        (&["empty.vcd"], &[], "it is empty"),
        (&["other.txt"], &[], "it is none of the captures that can be read"),
        (&["volts.csv"], &[], "is none of 0, 1 and X"),
        (&["nothing.vcd"], &[], "cannot read"),
        (
            &["three.vcd"],
            &[],
            "2 nodes and 3 channels: say which is which, --line NODE=CHANNEL. Nodes: b, c; channels: D0, D1, D2",
        ),
        (&["a.vcd"], &["--line", "b=D0", "--line", "c=D7"], "there is no channel 'D7', but D0, D1"),
        (&["a.vcd"], &["--line", "b=D0", "--line", "d=D1"], "the run has no node 'd', but b, c"),
        (&["a.vcd"], &["--line", "b=D0", "--line", "c=D0"], "that is the channel of b"),
        (&["a.vcd"], &["--line", "b=D0", "--line", "b=D1"], "b has a channel already"),
        (&["a.vcd"], &["--line", "b=D0"], "a shift takes the lines of two nodes"),
        (&["a.vcd"], &["--line", "D0"], "has the form NODE=CHANNEL"),
        (&["a.vcd"], &["--resolution=-1us"], "it takes a time of 0 or more"),
    ];
    for (captures, more, words) in refused {
        let text = run.refusal(captures, more);
        assert!(text.contains(words), "{words}: {text}");
    }
    let none = Run::new(|run| run.nodes[1].output = record::NO_OUTPUT.to_owned());
    none.capture("a.vcd", &whole);
    assert!(none.refusal(&["a.vcd"], &[]).contains("1 of the 2 nodes"));
    write_record(&run.path("run.json"), &samples::run(record::Validity::default()));
    let other = run.refusal(&["a.vcd"], &[]);
    assert!(other.contains("is a run of 'wakeup': it takes the record of 'punctual pulse send'"), "{other}");
    fs::write(run.path("run.json"), &whole).unwrap();
    assert!(run.refusal(&["a.vcd"], &[]).contains("run.json"));
}

fn write_record(path: &Path, record: &Record) {
    fs::write(path, record.to_json()).unwrap();
}
