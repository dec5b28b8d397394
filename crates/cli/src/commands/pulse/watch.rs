//! `punctual pulse watch`: a third node's lines as a logic analyzer, by the kernel's own stamps.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use codecs::logic::kernel_events::{self, Calibrated};
use indicatif::{ProgressBar, ProgressStyle};
use run::Stop;
use run::line_watch::{Lateness, LineCounts, LineWatch, Looks, WatchProgress, WatchedLine, WhyUnknown, calibrate};
use summary::line_calibration::{LINE_CALIBRATION_SCHEMA, LINE_CALIBRATION_VERSION, LineCalibrationDocument};
use terminal::output;
use units::{Ns, format};

use crate::exit::Exit;
use crate::save;

/// Watch lines of this machine's GPIO chips as a logic analyzer does, by the kernel's own stamps of their edges
///
/// Writes a capture that 'punctual pulse shift' reads: join the outputs of the nodes with inputs of this machine, which is none of
/// them. The kernel's clock of edges serves the lines of a chip one after the other and reads a level late, so a shift by it has no
/// error until the lines are calibrated: once with --calibrate and one signal on all of them, and with --calibration from then on.
#[derive(clap::Args)]
pub(crate) struct WatchArgs {
    /// A line and what it is called, as the node that it belongs to; once for each line, two or more
    #[arg(long = "line", value_name = "NAME=CHIP/LINE", required = true)]
    lines: Vec<String>,
    /// How long to watch [default: until Ctrl-C]
    #[arg(long, visible_alias = "duration", value_name = "D")]
    time: Option<Ns>,
    /// One signal is on all lines: find out how far apart its edges are stamped, and how short a pulse can be
    #[arg(long)]
    calibrate: bool,
    /// What --calibrate found of these lines
    #[arg(long, value_name = "FILE", conflicts_with = "calibrate")]
    calibration: Option<PathBuf>,
    /// Read the levels without a pause, to state a smaller error: on a CPU that nobody else uses
    #[arg(long)]
    spin: bool,
    /// Where the capture goes, or the calibration
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

impl WatchArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let lines: Vec<WatchedLine> = self.lines.iter().map(|line| watched(line)).collect::<anyhow::Result<_>>()?;
        if lines.len() < 2 {
            bail!("one --line alone: a shift takes the lines of two nodes");
        }
        for (at, line) in lines.iter().enumerate() {
            if lines.iter().take(at).any(|other| other.name == line.name) {
                bail!("--line {}: two lines are called '{}'", line.name, line.name);
            }
        }
        if let Some(time) = self.time.filter(|time| time.0 <= 0) {
            bail!("--time {time}: it must be above zero");
        }
        if self.output.exists() && !self.force {
            bail!("{} exists: name another file, or replace it with --force", self.output.display());
        }
        // Not after the time that it takes.
        save::check_file(&self.output)?;
        let calibrated = self.calibration.as_deref().map(|file| calibration(file, &lines)).transpose()?;
        let watch = LineWatch::take(&lines)?;
        let stop = Stop::on_signals().context("cannot handle signals")?;
        let duration =
            self.time.map_or_else(|| "until Ctrl-C".to_owned(), |time| format!("for {}", format::span(time.0)));
        output::note(&format!("watching {} lines {duration}", lines.len()));
        let looks = if self.spin { Looks::Spinning } else { Looks::Resting };
        let progress = Progress::new(&lines);
        let seen = if self.calibrate {
            let mut capture = Vec::new();
            let seen = watch.run((None, looks), self.time, &stop, &mut capture, &mut |so_far| progress.show(so_far))?;
            // Before anything is printed, or it would stand behind the counts.
            progress.end();
            if let Some(error) = seen.failed {
                bail!("the lines could not be read to the end: {error}; calibrate again");
            }
            let capture = kernel_events::parse(&capture).context("what was seen cannot be read again")?;
            let found = calibrate(&capture)?;
            let (kernel, ..) = kernel::process::system_names();
            let document = LineCalibrationDocument {
                schema: LINE_CALIBRATION_SCHEMA.to_owned(),
                version: LINE_CALIBRATION_VERSION,
                lines: lines.iter().map(|line| line.line.clone()).collect(),
                edges: found.edges,
                resolution_ns: found.calibrated.resolution_ns.unsigned_abs(),
                shortest_ns: found.calibrated.shortest_ns.unsigned_abs(),
                kernel,
            };
            let mut text = serde_json::to_string_pretty(&document)?;
            text.push('\n');
            output::data(&format!(
                "of {} edges each was stamped within {} on all lines; the shortest pulse or gap that was seen whole: {}\n",
                format::count(found.edges),
                format::span(found.calibrated.resolution_ns),
                format::span(found.calibrated.shortest_ns)
            ));
            save::write_or_fall_back(&self.output, text.as_bytes())?.announce();
            seen
        } else {
            let file = File::create(&self.output).with_context(|| format!("cannot write {}", self.output.display()))?;
            let mut capture = BufWriter::new(file);
            let seen =
                watch.run((calibrated, looks), self.time, &stop, &mut capture, &mut |so_far| progress.show(so_far))?;
            capture.flush().with_context(|| format!("cannot write {}", self.output.display()))?;
            seen
        };
        progress.end();
        for (line, counts) in lines.iter().zip(&seen.all.lines) {
            output::note(&format!("{} ({}): {}", line.name, line.line, seen_of(counts)));
        }
        let has_edges = seen.all.lines.iter().any(|counts| counts.edges > 0);
        if !self.calibrate && has_edges {
            match seen.lateness {
                Lateness::Within(ns) => output::note(&in_words(ns, calibrated)),
                Lateness::Unknown(line, why) => {
                    output::warning(&not_known(lines.get(line).map_or("a line", |line| &line.name), why));
                }
            }
        }
        if let Some(error) = seen.failed {
            bail!("the lines cannot be read any more: {error}; {} has what was seen until then", self.output.display());
        }
        if calibrated.is_none() && !self.calibrate {
            output::note("not calibrated: 'punctual pulse shift' takes the capture only with a stated --resolution");
        }
        Ok(Exit::Holds)
    }
}

/// What was seen of a line.
fn seen_of(LineCounts { edges, lost, late }: &LineCounts) -> String {
    let lost = match lost {
        0 => String::new(),
        1 => ", 1 lost: the kernel had no room for it".to_owned(),
        lost => format!(", {} lost: the kernel had no room for them", format::count(*lost)),
    };
    let late = match late {
        0 => String::new(),
        late => format!(", {} left out: reported when later ones had been written", format::count(*late)),
    };
    format!("{} {}{lost}{late}", format::count(*edges), if *edges == 1 { "edge" } else { "edges" })
}

/// That nothing is known of how late a stamp of a line is, with what to do.
fn not_known(line: &str, why: WhyUnknown) -> String {
    let (what, remedy) = match why {
        WhyUnknown::Lost => {
            (format!("edges of {line} were lost, since the kernel had no room for them"), "order fewer pulses")
        }
        WhyUnknown::Apart => (
            format!(
                "an edge of {line} came between two looks at its level, or what looks saw and the edges that the kernel reported do not \
                 belong together"
            ),
            "order wider pulses",
        ),
    };
    format!(
        "{what}: how late a stamp is nobody knows, and no error can be stated. Either {remedy}, or leave this program a CPU and the right \
         to real-time priority"
    )
}

/// How late stamps were at most, and what that makes of the calibration.
fn in_words(within_ns: i64, calibrated: Option<Calibrated>) -> String {
    let within = format::span(within_ns);
    let seen = format!("no edge was stamped later than {within}, by looks at the levels");
    match calibrated {
        Some(calibrated) if within_ns > calibrated.resolution_ns => format!(
            "{seen}: more than the {} between two lines when they were calibrated, so it is the error of each shift",
            format::span(calibrated.resolution_ns)
        ),
        _ => seen,
    }
}

/// A line as it is typed.
fn watched(text: &str) -> anyhow::Result<WatchedLine> {
    let (name, line) = text.split_once('=').with_context(|| format!("--line '{text}' has the form NAME=CHIP/LINE"))?;
    if name.is_empty() || name.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        bail!("--line '{text}': a name has one letter or more, and no blanks");
    }
    Ok(WatchedLine { name: name.to_owned(), line: line.to_owned() })
}

/// What a calibration says of lines that it is of.
fn calibration(file: &Path, lines: &[WatchedLine]) -> anyhow::Result<Calibrated> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let document = LineCalibrationDocument::from_json(&text).with_context(|| {
        format!(
            "{} cannot be used: name what 'punctual pulse watch --calibrate' wrote, or calibrate again",
            file.display()
        )
    })?;
    if let Some(other) = lines.iter().find(|line| !document.lines.contains(&line.line)) {
        bail!(
            "{} is of the lines {}, and not of {}: calibrate all lines together",
            file.display(),
            document.lines.join(", "),
            other.line
        );
    }
    let (kernel, ..) = kernel::process::system_names();
    if document.kernel != kernel {
        bail!("{} is of kernel {}, and this is {kernel}: calibrate again", file.display(), document.kernel);
    }
    let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    Ok(Calibrated { resolution_ns: ns(document.resolution_ns), shortest_ns: ns(document.shortest_ns) })
}

/// What stands in the last line of a terminal meanwhile, cut to its width; nothing elsewhere.
struct Progress<'a> {
    bar: ProgressBar,
    lines: &'a [WatchedLine],
}

impl<'a> Progress<'a> {
    fn new(lines: &'a [WatchedLine]) -> Self {
        if !output::draws_on(&io::stderr()) {
            return Self { bar: ProgressBar::hidden(), lines };
        }
        let bar = ProgressBar::new_spinner();
        // The template is a constant that the library accepts; its own default would do as well.
        bar.set_style(ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { bar, lines }
    }

    fn show(&self, so_far: &WatchProgress) {
        self.bar.set_message(counts(self.lines, so_far));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// How long it has been watching, in whole seconds, and the edges of each line.
fn counts(lines: &[WatchedLine], so_far: &WatchProgress) -> String {
    let of_line =
        |(line, counts): (&WatchedLine, &LineCounts)| format!("{} {}", line.name, format::count(counts.edges));
    let counts: Vec<String> = lines.iter().zip(&so_far.lines).map(of_line).collect();
    format!("{} s: {}", so_far.elapsed_ns / 1_000_000_000, counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(named: &[&str]) -> Vec<WatchedLine> {
        named.iter().map(|line| WatchedLine { name: (*line).to_owned(), line: (*line).to_owned() }).collect()
    }

    #[test]
    fn a_line_has_a_name_and_a_place() {
        assert_eq!(
            watched("b=gpiochip0/4").unwrap(),
            WatchedLine { name: "b".to_owned(), line: "gpiochip0/4".to_owned() }
        );
        for wrong in ["gpiochip0/4", "=gpiochip0/4", "a b=gpiochip0/4"] {
            assert!(watched(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_refused_before_anything_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("absent").join("lines.json");
        let args = WatchArgs {
            lines: vec!["a=gpiochip0/1".to_owned(), "b=gpiochip0/3".to_owned()],
            time: None,
            calibrate: true,
            calibration: None,
            spin: false,
            output: file.clone(),
            force: false,
        };
        let error = format!("{:#}", args.run().unwrap_err());
        assert!(error.contains("cannot write to") && error.contains("absent"), "{error}");
    }

    #[test]
    fn why_nothing_is_known_of_a_stamp_is_said_as_it_is() {
        let lost = not_known("b", WhyUnknown::Lost);
        assert!(lost.starts_with("edges of b were lost") && !lost.contains("looks"), "{lost}");
        let apart = not_known("b", WhyUnknown::Apart);
        assert!(apart.starts_with("an edge of b came between two looks") && apart.contains("wider pulses"), "{apart}");
        let of = |edges, lost, late| seen_of(&LineCounts { edges, lost, late });
        assert_eq!(of(1, 1, 0), "1 edge, 1 lost: the kernel had no room for it");
        assert_eq!(of(1_200, 0, 2), "1\u{202f}200 edges, 2 left out: reported when later ones had been written");
    }

    #[test]
    fn meanwhile_the_edges_of_each_line_are_shown() {
        let of = |edges| LineCounts { edges, ..LineCounts::default() };
        let so_far = WatchProgress { elapsed_ns: 3_499_000_000, lines: vec![of(1_192), of(0)] };
        assert_eq!(counts(&lines(&["b", "c"]), &so_far), "3 s: b 1\u{202f}192, c 0");
    }

    #[test]
    fn what_is_said_of_late_stamps_names_the_error_where_it_is_more_than_was_calibrated() {
        let calibrated = Some(Calibrated { resolution_ns: 2_401, shortest_ns: 40_000 });
        let plain = "no edge was stamped later than 2.4 us, by looks at the levels";
        assert_eq!((in_words(2_401, calibrated), in_words(2_401, None)), (plain.to_owned(), plain.to_owned()));
        let more = in_words(210_000, calibrated);
        assert!(
            more.contains("later than 210 us") && more.contains("more than the 2.4 us between two lines"),
            "{more}"
        );
        assert!(more.ends_with("so it is the error of each shift"), "{more}");
    }

    #[test]
    fn a_calibration_holds_for_its_lines_and_its_kernel_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines.json");
        let (kernel, ..) = kernel::process::system_names();
        let write = |kernel: &str| {
            let document = LineCalibrationDocument {
                schema: LINE_CALIBRATION_SCHEMA.to_owned(),
                version: LINE_CALIBRATION_VERSION,
                lines: vec!["gpiochip0/1".to_owned(), "gpiochip0/3".to_owned()],
                edges: 2_000,
                resolution_ns: 2_401,
                shortest_ns: 40_000,
                kernel: kernel.to_owned(),
            };
            std::fs::write(&file, serde_json::to_string(&document).unwrap()).unwrap();
        };
        write(&kernel);
        let of = |named: &[&str]| calibration(&file, &lines(named)).map_err(|error| error.to_string());
        assert_eq!(of(&["gpiochip0/3", "gpiochip0/1"]), Ok(Calibrated { resolution_ns: 2_401, shortest_ns: 40_000 }));
        assert!(of(&["gpiochip0/1", "gpiochip0/5"]).unwrap_err().contains("not of gpiochip0/5"));
        write("4.19.0-rt");
        assert!(of(&["gpiochip0/1"]).unwrap_err().contains("calibrate again"));
        let whole = std::fs::read_to_string(&file).unwrap();
        for (from, to, says) in [
            ("\"resolution_ns\":2401", "\"resolution_ns\":-1", "line 1 column"),
            ("punctual/line-calibration", "punctual/record", "its schema is 'punctual/record'"),
            ("\"shortest_ns\":40000", "\"shortest_ns\":2401", "its field 'resolution_ns' cannot be"),
        ] {
            std::fs::write(&file, whole.replace(from, to)).unwrap();
            let error = format!("{:#}", calibration(&file, &lines(&["gpiochip0/1"])).unwrap_err());
            assert!(error.contains("lines.json cannot be used") && error.contains("calibrate again"), "{error}");
            assert!(error.contains(says), "{error}");
        }
    }
}
