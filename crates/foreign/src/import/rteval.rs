//! rteval's `summary.xml`, with results of cyclictest or timerlat.
//!
//! Its `maximum` is that of cyclictest; its `samples` and `mean` cover only the table. If the maximum is above the table,
//! rteval omits all statistics. Its timerlat module counts latencies of interrupts, threads and returns to user space
//! together, and silently drops samples above the table.

use record::{Measurement, Place, ReasonCode, Series};
use roxmltree::{Document, Node};

use super::source::Imported;
use super::tally::{Mean, Tally};
use super::text::{head, quoted};
use super::{Form, ImportFormat, Options, Reader, Unit};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "rteval",
    what: "rteval's summary.xml, of cyclictest or timerlat",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Document },
};

fn recognize(text: &str) -> bool {
    let head = head(text).trim_start();
    head.starts_with('<') && head.contains("<rteval")
}

fn read(text: &str, _options: Options) -> Result<Imported, ForeignError> {
    let document =
        Document::parse(text.trim_start()).map_err(|error| ForeignError::Text(format!("not rteval's XML: {error}")))?;
    let root = document.root_element();
    if !root.has_tag_name("rteval") {
        let name = quoted(root.tag_name().name());
        return Err(ForeignError::Text(format!("its root element is <{name}>, not <rteval>")));
    }
    let mut imported = Imported::from_program("rteval", Measurement::Wakeup);
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
            imported.reason(ReasonCode::InterruptedEarly, "a latency above the requested limit ended it, as requested");
        }
        overshot |= !timerlat && module.attribute("command_line").is_some();
        for core in module.children().filter(|node| node.has_tag_name("core")) {
            add(&mut imported, core, timerlat)?;
            cores += 1;
        }
        if timerlat && cores > 0 {
            imported.lacks(
                "separate latencies of timerlat: interrupt, thread and return to user space are counted together",
            );
            imported
                .reason(ReasonCode::MaximumUnknown, "rteval drops samples above timerlat's table, and their number");
        }
    }
    if cores == 0 {
        let why = if overshot {
            "its maximum was above its buckets; rteval then omits all statistics"
        } else {
            "no <core> in <cyclictest> or <timerlat>"
        };
        return Err(ForeignError::NoResult(why.to_owned()));
    }
    imported.lacks_fractions(Unit::Us.ns());
    Ok(imported)
}

fn text_of<'a>(root: Node<'a, '_>, path: &[&str]) -> Option<&'a str> {
    let mut node = root;
    for name in path {
        node = node.children().find(|child| child.has_tag_name(*name))?;
    }
    node.text().map(str::trim)
}

/// Reads the facts about the run: node, duration and load.
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
        imported.lacks(format!("the time zone: it contains only {} {}", quoted(date), quoted(time)));
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
        imported.lacks("what its loads achieved: it contains only their command lines");
    }
}

fn add(imported: &mut Imported, core: Node<'_, '_>, timerlat: bool) -> Result<(), ForeignError> {
    // Counting lines takes time, so it is done only for errors.
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
    let statistic = |name: &str| text_of(core, &["statistics", name]);
    let number = |name: &str| statistic(name).map(|text| whole(text, name)).transpose();
    let mut bins = Vec::new();
    let histogram = core.children().find(|node| node.has_tag_name("histogram"));
    for bucket in histogram.into_iter().flat_map(|node| node.children()).filter(|node| node.has_tag_name("bucket")) {
        let part =
            |name: &str| bucket.attribute(name).ok_or_else(|| wrong(format!("core {cpu}: a <bucket> without {name}")));
        bins.push((whole(part("index")?, "a bucket's index")?, whole(part("value")?, "a bucket's value")?));
    }
    let placed = units::total(bins.iter().map(|bin| bin.1));
    let max = number("maximum")?;
    // The maximum is cyclictest's own: if the table ends below it, at least one sample is above the table.
    let beyond = u64::from(!timerlat && max.is_some_and(|max| bins.iter().all(|bin| bin.0 < max)) && placed > 0);
    if beyond > 0 {
        imported.reason(
            ReasonCode::ValuesUnknown,
            format!("CPU {cpu}: of the samples above the table only the maximum is known, not their number"),
        );
    }
    if max.is_none() && !timerlat {
        imported.reason(
            ReasonCode::MaximumUnknown,
            format!("CPU {cpu}: it states no maximum, and samples above its buckets would not be seen"),
        );
    }
    let count = number("samples")?;
    if let Some(count) = count.filter(|count| *count != placed) {
        imported.reason(
            ReasonCode::SourceContradicts,
            format!("CPU {cpu}: it counted {count} samples, but its buckets hold {placed}"),
        );
    }
    let mean = statistic("mean").and_then(|text| text.parse::<f64>().ok()).filter(|mean| mean.is_finite());
    let tally = Tally {
        bins,
        beyond: Some(beyond),
        min: number("minimum")?,
        max,
        // The mean covers only the table.
        mean: mean.filter(|_| beyond == 0).map(|mean| Mean::rounded(mean, 6)),
        ..Tally::new(format!("CPU {cpu}"), Unit::Us.ns())
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
