//! `punctual lab link`: what the links between machines do to frames, and changing that.

use ::lab::running::{self, LinkOrder, PortReport, SegmentReport};
use ::lab::switch::{DirectionCounters, Impairment};
use anyhow::bail;
use units::Ns;

use super::expect::{self, Expectation, Found};
use crate::exit::Exit;
use terminal::output;

/// Show the settings and counters of a running lab's links, or change a link
///
/// An impairment is written 'delay=5ms,jitter=100us,drop=0.01,duplicate=0.001,reorder=0.001', 'none' for a good link; it
/// replaces the whole previous one. 'delay=30ms,only=ptp/sync' impairs one flow alone: 'udp/PORT', 'ethertype/0xNNNN' or
/// 'ptp/TYPE'. Frames that are under way are not affected.
#[derive(clap::Args)]
pub(super) struct LinkArgs {
    /// Name of the lab.
    lab: String,
    /// SEGMENT/NODE [default: all links]
    link: Option<String>,
    /// New impairment of frames that the node sends.
    #[arg(long, value_name = "IMPAIRMENT", requires = "link")]
    from_guest: Option<Impairment>,
    /// New impairment of frames to the node.
    #[arg(long, value_name = "IMPAIRMENT", requires = "link")]
    to_guest: Option<Impairment>,
    /// Exit 1 unless a count lies between two bounds: NAME=LEAST..MOST, with NAME for example to-guest.dropped,
    /// from-guest.duplicated, to-guest.reordered, sent, refused, absent, late-max.
    #[arg(long, value_name = "RANGE", requires = "link")]
    expect: Vec<Expectation>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

impl LinkArgs {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let lab = running::find(&self.lab)?;
        let Some(link) = self.link else {
            print(&running::segments(&lab)?, self.json)?;
            return Ok(Exit::Holds);
        };
        let Some((segment, node)) = link.split_once('/') else {
            bail!("'{link}' names no link: write SEGMENT/NODE");
        };
        let (segment, node) = (segment.to_owned(), node.to_owned());
        let order = LinkOrder { segment, node, from_guest: self.from_guest, to_guest: self.to_guest };
        let node = order.node.clone();
        let mut report = running::change_link(&lab, order)?;
        report.ports.retain(|port| port.node == node);
        let Some(port) = report.ports.first() else { bail!("the lab reported nothing about {link}") };
        let faults = expect::faults(&self.expect, &numbers(port))?;
        print(std::slice::from_ref(&report), self.json)?;
        faults.iter().for_each(|fault| output::note(fault));
        Ok(if faults.is_empty() { Exit::Holds } else { Exit::Broken })
    }
}

fn counters(direction: &DirectionCounters) -> [(&'static str, u64); 9] {
    let DirectionCounters { entered, dropped, duplicated, reordered, held_in_vain, overflowed, left, waiting, spared } =
        *direction;
    [
        ("entered", entered),
        ("dropped", dropped),
        ("duplicated", duplicated),
        ("reordered", reordered),
        ("held-in-vain", held_in_vain),
        ("overflowed", overflowed),
        ("left", left),
        ("waiting", waiting),
        ("spared", spared),
    ]
}

fn numbers(port: &PortReport) -> Vec<(String, Found)> {
    let outcome = &port.outcome;
    let ways = [("from-guest", &outcome.counters.from_guest), ("to-guest", &outcome.counters.to_guest)];
    let counted_way = |(way, direction): (&'static str, &DirectionCounters)| {
        counters(direction).map(|(name, count)| (format!("{way}.{name}"), Found::Count(count)))
    };
    let of_port = [
        ("sent", Found::Count(outcome.sent)),
        ("refused", Found::Count(outcome.refused)),
        ("absent", Found::Count(outcome.absent)),
        ("late-max", Found::Time(i64::try_from(outcome.late_max_ns).ok().map(Ns))),
    ];
    ways.into_iter().flat_map(counted_way).chain(of_port.map(|(name, found)| (name.to_owned(), found))).collect()
}

fn print(segments: &[SegmentReport], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        output::data(&format!("{}\n", serde_json::to_string_pretty(segments)?));
        return Ok(());
    }
    for segment in segments {
        for port in &segment.ports {
            let link = format!("{}/{}", segment.name, port.node);
            for (way, impairment, direction) in [
                ("from guest", &port.from_guest, &port.outcome.counters.from_guest),
                ("to guest", &port.to_guest, &port.outcome.counters.to_guest),
            ] {
                let counted: Vec<String> = counters(direction)
                    .into_iter()
                    .filter(|(_, count)| *count > 0)
                    .map(|(name, count)| format!("{count} {name}"))
                    .collect();
                output::data(&format!("{link:<20}  {way:<10}  {impairment:<24}  {}\n", counted.join(", ")));
            }
        }
    }
    if segments.is_empty() {
        output::note("the lab has no segment: its machines are alone");
    }
    Ok(())
}
