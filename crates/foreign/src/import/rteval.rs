//! rteval's `summary.xml`, of the cyclictest or the timerlat that it ran.
//!
//! Its `maximum` is cyclictest's, its `samples` and `mean` are those of the table alone; where the maximum lies beyond
//! the table it leaves all statistics out. Its timerlat counts latencies of interrupts, threads and returns to user space
//! together, and drops what lies beyond the table without a word.

use record::{Measurement, Place, ReasonCode, Series};
use roxmltree::{Document, Node};

use super::source::Imported;
use super::tally::{Mean, Tally};
use super::text::{head, quoted};
use super::{ImportFormat, Options, Unit};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat =
    ImportFormat { name: "rteval", what: "rteval's summary.xml, of cyclictest or timerlat", recognise, read };

fn recognise(text: &str) -> bool {
    let head = head(text).trim_start();
    head.starts_with('<') && head.contains("<rteval")
}

fn read(text: &str, _options: Options) -> Result<Imported, ForeignError> {
    let document = Document::parse(text).map_err(|error| ForeignError::Text(format!("not rteval's XML: {error}")))?;
    let root = document.root_element();
    if !root.has_tag_name("rteval") {
        let name = quoted(root.tag_name().name());
        return Err(ForeignError::Text(format!("its root element is <{name}>, not <rteval>")));
    }
    let mut imported = Imported::by("rteval", Measurement::Wakeup);
    imported.tool_version(root.attribute("version").unwrap_or_default());
    about(&mut imported, root);
    let mut cores = 0;
    let mut overshot = false;
    for module in root.descendants().filter(|node| node.has_tag_name("cyclictest") || node.has_tag_name("timerlat")) {
        let timerlat = module.has_tag_name("timerlat");
        if let Some(line) = module.attribute("command_line") {
            imported.command(line);
        }
        if module.children().any(|node| node.has_tag_name("abort_report") || node.has_tag_name("stoptrace_invoked")) {
            imported.reason(ReasonCode::InterruptedEarly, "a latency above the set one ended it, as was asked of it");
        }
        overshot |= !timerlat && module.attribute("command_line").is_some();
        for core in module.children().filter(|node| node.has_tag_name("core")) {
            add(&mut imported, core, timerlat)?;
            cores += 1;
        }
        if timerlat && cores > 0 {
            imported
                .lacks("the three latencies of timerlat apart: interrupt, thread and return to user space are summed");
            imported
                .reason(ReasonCode::MaximumUnknown, "rteval drops what lies beyond timerlat's table, and its number");
        }
    }
    if cores == 0 {
        let why = if overshot {
            "its maximum lay beyond its buckets, and then rteval leaves all statistics out"
        } else {
            "no <core> in <cyclictest> or <timerlat>"
        };
        return Err(ForeignError::NoResult(why.to_owned()));
    }
    imported.lacks_below(Unit::Us.ns());
    Ok(imported)
}

fn text_of<'a>(root: Node<'a, '_>, path: &[&str]) -> Option<&'a str> {
    let mut node = root;
    for name in path {
        node = node.children().find(|child| child.has_tag_name(*name))?;
    }
    node.text().map(str::trim)
}

/// Node, length, load.
fn about(imported: &mut Imported, root: Node<'_, '_>) {
    let uname = ["SystemInfo", "."].iter().find_map(|place| {
        let from = if *place == "." { Some(root) } else { root.children().find(|node| node.has_tag_name(*place)) };
        from.and_then(|from| from.children().find(|node| node.has_tag_name("uname")))
    });
    if let Some(uname) = uname {
        let node = imported.node();
        text_of(uname, &["node"]).unwrap_or_default().clone_into(&mut node.hostname);
        text_of(uname, &["kernel"]).unwrap_or_default().clone_into(&mut node.kernel_release);
        text_of(uname, &["arch"]).unwrap_or_default().clone_into(&mut node.machine);
    }
    let Some(run) = root.children().find(|node| node.has_tag_name("run_info")) else { return };
    let part = |name: &str| run.attribute(name).and_then(|text| text.parse::<u32>().ok()).map(i64::from);
    if let (Some(days), Some(hours), Some(minutes), Some(seconds)) =
        (part("days"), part("hours"), part("minutes"), part("seconds"))
    {
        let seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
        imported.lasted(seconds.saturating_mul(1_000_000_000));
    }
    if let (Some(date), Some(time)) = (text_of(run, &["date"]), text_of(run, &["time"])) {
        imported.lacks(format!("the time zone: it says {} {}", quoted(date), quoted(time)));
    }
    if let Some(loads) = root.children().find(|node| node.has_tag_name("loads")) {
        let load = imported.load();
        "rteval".clone_into(&mut load.name);
        load.commands = loads
            .children()
            .filter(|node| node.has_tag_name("command_line") && node.attribute("run") != Some("0"))
            .filter_map(|node| node.text())
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        imported.lacks("what its loads achieved: only their command lines are told");
    }
}

fn add(imported: &mut Imported, core: Node<'_, '_>, timerlat: bool) -> Result<(), ForeignError> {
    // Counting lines takes time: only where something is wrong.
    let line = || usize::try_from(core.document().text_pos_at(core.range().start).row).unwrap_or(usize::MAX);
    let wrong = |what: String| ForeignError::Line { line: line(), what };
    let whole = |text: &str, what: &str| {
        text.trim().parse::<u64>().map_err(|_| wrong(format!("{what} is '{}', not a whole number", quoted(text))))
    };
    let id = core.attribute("id").ok_or_else(|| wrong("a <core> without id".to_owned()))?;
    let cpu = u32::try_from(whole(id, "a core's id")?).ok().filter(|cpu| *cpu < 8_192);
    let cpu = cpu.ok_or_else(|| wrong(format!("there is no core {}", quoted(id))))?;
    if let Some(priority) = core.attribute("priority").and_then(|text| text.parse().ok()) {
        imported.requested().priority = priority;
        imported.requested().policy = "fifo".to_owned();
    }
    let told = |name: &str| text_of(core, &["statistics", name]);
    let number = |name: &str| told(name).map(|text| whole(text, name)).transpose();
    let mut bins = Vec::new();
    let histogram = core.children().find(|node| node.has_tag_name("histogram"));
    for bucket in histogram.into_iter().flat_map(|node| node.children()).filter(|node| node.has_tag_name("bucket")) {
        let part =
            |name: &str| bucket.attribute(name).ok_or_else(|| wrong(format!("core {cpu}: a <bucket> without {name}")));
        bins.push((whole(part("index")?, "a bucket's index")?, whole(part("value")?, "a bucket's value")?));
    }
    let placed = units::total(bins.iter().map(|bin| bin.1));
    let max = number("maximum")?;
    // The maximum is the program's own, so that one sample at least lies beyond a table that ends below it.
    let beyond = u64::from(!timerlat && max.is_some_and(|max| bins.iter().all(|bin| bin.0 < max)) && placed > 0);
    if beyond > 0 {
        imported.reason(
            ReasonCode::ValuesUnknown,
            format!("CPU {cpu}: beyond the table its maximum alone is told, and not how many samples"),
        );
    }
    let count = number("samples")?;
    if let Some(count) = count.filter(|count| *count != placed) {
        imported.reason(
            ReasonCode::SourceContradicts,
            format!("CPU {cpu}: it tells of {count} samples, and its buckets hold {placed}"),
        );
    }
    let mean = told("mean").and_then(|text| text.parse::<f64>().ok()).filter(|mean| mean.is_finite());
    let tally = Tally {
        bins,
        beyond: Some(beyond),
        min: number("minimum")?,
        max,
        // Of the table alone.
        mean: mean.filter(|_| beyond == 0).map(|mean| Mean::rounded(mean, 6)),
        ..Tally::of(format!("CPU {cpu}"), Unit::Us.ns())
    };
    imported.requested().cpus.insert(cpu);
    imported.requested().pinned = true;
    let series = Series {
        name: if timerlat { "scheduled_to_thread" } else { "scheduled_to_woke" }.to_owned(),
        variant: if timerlat { "with irq and user return" } else { "" }.to_owned(),
        place: Place::thread(cpu, Some(cpu)),
        ..Series::default()
    };
    imported.add(series, tally)
}
