use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use store::{Change, Node, Place, Read as _, Store as _};
use terminal::output;

use super::enrol::read_label;
use super::{by, find, open};
use crate::apart::{ApartLog, Event, Line};
use crate::clock::now_wall_ns;
use crate::fleet;
use crate::keys::Keys;
use crate::pages::{look, zoned};

/// Takes nothing more from a node: its key is no longer good here
#[derive(Debug, clap::Args)]
pub(super) struct RevokeArgs {
    /// The node, by its name or its key
    node: String,
}

impl RevokeArgs {
    pub(super) fn run(&self, folder: &Path) -> anyhow::Result<ExitCode> {
        let (folder, mut store) = open(folder)?;
        let Node { key: node, name, .. } = find(&store, &self.node)?;
        let by = by();
        store.change_node(node, &Change::Revoked, &by)?;
        // Without it a hub that is restored from a backup of before would take the node again.
        let log = ApartLog::new(&folder, Keys::load_or_make(&folder)?.hub());
        let line = Line { at_wall_ns: by.at_wall_ns, event: Event::Revoked { node, name } };
        log.append(&[line]).context(
            "the node is revoked, and that could not be written where a restore would find it: try again when the cause \
             is gone",
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Changes what is said of a node
#[derive(Debug, clap::Subcommand)]
pub(super) enum NodeCommand {
    /// Give it another name
    Rename {
        /// The node, by its name or its key
        node: String,
        /// The name
        name: String,
    },
    /// Say where it stands
    Place {
        /// The node, by its name or its key
        node: String,
        /// The rack
        #[arg(required_unless_present = "nowhere")]
        rack: Option<String>,
        /// The slot in it
        #[arg(required_unless_present = "nowhere")]
        slot: Option<String>,
        /// It stands nowhere any more
        #[arg(long, conflicts_with_all = ["rack", "slot"])]
        nowhere: bool,
    },
    /// Give it labels, or take some off
    Label {
        /// The node, by its name or its key
        node: String,
        /// A label that it gets
        #[arg(value_name = "KEY=VALUE", required_unless_present = "remove")]
        labels: Vec<String>,
        /// A label that is taken off
        #[arg(long, value_name = "KEY")]
        remove: Vec<String>,
    },
    /// Expect nothing of it any more; what it measured stays
    Retire {
        /// The node, by its name or its key
        node: String,
    },
    /// Expect it to send again
    Unretire {
        /// The node, by its name or its key
        node: String,
    },
    /// Write something down about it
    Note {
        /// The node, by its name or its key
        node: String,
        /// What
        text: String,
    },
}

impl NodeCommand {
    pub(super) fn run(self, folder: &Path) -> anyhow::Result<ExitCode> {
        match self {
            Self::Rename { node, name } => change(folder, &node, &[Change::Renamed { name }]),
            Self::Place { node, rack, slot, .. } => {
                let place = rack.zip(slot).map(|(rack, slot)| Place { rack, slot });
                change(folder, &node, &[Change::Placed { place }])
            }
            Self::Label { node, labels, remove } => {
                let off = remove.into_iter().map(|key| Ok(Change::Labeled { key, value: None }));
                let on = labels.iter().map(|label| {
                    let (key, value) = read_label(label)?;
                    Ok(Change::Labeled { key, value: Some(value) })
                });
                let changes: Vec<Change> = off.chain(on).collect::<anyhow::Result<_>>()?;
                change(folder, &node, &changes)
            }
            Self::Retire { node } => change(folder, &node, &[Change::Retired]),
            Self::Unretire { node } => change(folder, &node, &[Change::Unretired]),
            Self::Note { node, text } => change(folder, &node, &[Change::Noted { text }]),
        }
    }
}

fn change(folder: &Path, name: &str, changes: &[Change]) -> anyhow::Result<ExitCode> {
    let (_, mut store) = open(folder)?;
    let node = find(&store, name)?;
    for change in changes {
        store.change_node(node.key, change, &by())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the nodes, what is to be looked at first
#[derive(Debug, clap::Args)]
pub(super) struct NodesArgs {
    /// With the keys of those that were revoked, too
    #[arg(long)]
    all: bool,
}

impl NodesArgs {
    pub(super) fn run(&self, folder: &Path) -> anyhow::Result<ExitCode> {
        let (_, store) = open(folder)?;
        let mut rows = store.fleet(now_wall_ns())?;
        fleet::sort(&mut rows);
        let mut table = terminal::table::Table::new(&["node", "state", "latest", "worst of a day", "last seen", "key"])
            .left(1)
            .left(4)
            .left(5);
        let latency = |of: Option<&store::Maximum>| {
            of.map_or(String::new(), |maximum| units::format::latency(maximum.maximum_ns))
        };
        for row in rows {
            table.row(vec![
                row.node.name.clone(),
                look(&row.state).word.to_owned(),
                latency(row.latest.as_ref()),
                latency(row.day.as_ref()),
                row.node.seen_wall_ns.map_or(String::new(), zoned),
                row.node.key.to_string(),
            ]);
        }
        for node in store.nodes()?.into_iter().filter(|node| self.all && node.revoked_wall_ns.is_some()) {
            let seen = node.seen_wall_ns.map_or(String::new(), zoned);
            table.row(vec![node.name, "revoked".to_owned(), String::new(), String::new(), seen, node.key.to_string()]);
        }
        output::data(&table.render());
        Ok(ExitCode::SUCCESS)
    }
}
