//! A run that another node carries out, and of which it tells every event.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use farm::{AskedRun, Job, ToRun};
use peer::{connect, read_token};
use record::{Fold, Record, RefusalClass, RunEvent, RunRequest};
use run::Stop;
use terminal::output;
use units::CpuSet;

use crate::connection::Connection;
use crate::destination::{Destination, OutputArgs};
use crate::exit::Exit;
use crate::other_node::OtherNode;
use crate::view::live::LiveRun;
use crate::view::result;

const CONNECTING: Duration = Duration::from_secs(10);
/// Between two looks at whether the run is to end.
const LOOK: Duration = Duration::from_millis(200);
/// How long it may take to end a run, with its record on the way.
const ENDING: Duration = Duration::from_secs(60);

impl OtherNode {
    /// Has it carried out, and delivers its record as that of a run of this node.
    pub(super) fn measure(&self, whole: &RunRequest, output: OutputArgs, label: &str) -> anyhow::Result<Exit> {
        let asked = AskedRun::try_from(whole)?;
        let token = read_token(&self.token_file)?;
        let mut destination = output.prepare()?;
        destination.grow(&CpuSet::new())?;
        let channel = connect(&self.to.host, self.to.port_or_default(), &token, CONNECTING)?;
        let stop = Stop::on_signals().context("cannot handle signals")?;
        destination.begin(&CpuSet::new())?;
        let mut connection = Connection::new(channel, None);
        connection.channel.send(&Job::Run(asked))?;
        let mut telling = Telling {
            label,
            destination: &destination,
            live: None,
            fold: Fold::default(),
            refused: None,
            has_begun: false,
        };
        let told = telling.all(&mut connection, &stop);
        connection.close();
        if let Some(live) = &telling.live {
            live.finish();
        }
        let Telling { refused, fold, has_begun, .. } = telling;
        let lost = match told {
            Ok(()) => None,
            Err(error) if fold.record().is_some() => {
                output::warning(&format!("{error:#}; the record has what was told until then"));
                Some(format!("{error:#}"))
            }
            Err(error) if has_begun => {
                return Ok(destination.lost(format!(
                    "{} had begun the run, and what became of it is not known here: {error:#}",
                    self.to
                )));
            }
            // Who refuses says so: that nothing was heard says nothing of the run.
            Err(error) => {
                return Ok(destination.lost(format!(
                    "{} was asked for the run, and whether it began is not known here: {error:#}",
                    self.to
                )));
            }
        };
        if let Some((class, why)) = refused {
            return Ok(destination.refused(class, &format!("{} says: {why}", self.to)));
        }
        let missing = fold.missing();
        if missing > 0 {
            output::warning(&format!("{missing} intervals were not told: this node did not keep up"));
        }
        let record = fold.into_record().context("the other node told no record")?;
        let file = destination.file().map(std::path::Path::to_owned);
        let table = |color| result::table_of_file(&record, file.as_deref(), color);
        match lost {
            None => destination.deliver(&record, table),
            Some(why) => destination.deliver_lost(&record, why, table),
        }
    }
}

/// What is told of the run.
struct Telling<'a> {
    label: &'a str,
    destination: &'a Destination,
    live: Option<LiveRun>,
    fold: Fold,
    refused: Option<(RefusalClass, String)>,
    /// Whether the other node told that the run begins.
    has_begun: bool,
}

impl Telling<'_> {
    /// Hears all of it.
    fn all(&mut self, connection: &mut Connection<'_>, stop: &Stop) -> anyhow::Result<()> {
        let mut ended_at: Option<Instant> = None;
        while !self.fold.is_finished() && self.refused.is_none() {
            match connection.channel.receive(LOOK)? {
                Some(RunEvent::Lost { why }) => bail!("the other node lost the run: {why}"),
                Some(event) => self.take(event),
                None => {}
            }
            match ended_at {
                None if stop.ended_early() => {
                    connection.channel.send(&ToRun::Stop)?;
                    ended_at = Some(Instant::now());
                }
                Some(since) if since.elapsed() > ENDING => {
                    bail!("the other node did not end the run within {} s", ENDING.as_secs());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, event: RunEvent) {
        let label = |mut record: Box<Record>| {
            self.label.clone_into(&mut record.label);
            record
        };
        let event = match event {
            RunEvent::Started { measurement, duration_ns, .. } => {
                self.has_begun = true;
                let head = format!("{} {}", measurement.name(), self.label);
                self.live = Some(LiveRun::with_head(&head, duration_ns));
                RunEvent::Started { measurement, duration_ns, label: self.label.to_owned() }
            }
            RunEvent::Live { live } => {
                if let Some(shown) = &self.live {
                    shown.show(&live);
                }
                RunEvent::Live { live }
            }
            RunEvent::Warning { text } => {
                output::warning(&text);
                RunEvent::Warning { text }
            }
            RunEvent::Refused { class, why } => {
                self.refused = Some((class, why));
                return;
            }
            RunEvent::Intervals { record } => {
                let record = label(record);
                self.destination.take_told(&record);
                self.fold.take(RunEvent::Intervals { record });
                return;
            }
            RunEvent::SoFar { record } => {
                let record = label(record);
                if let Some(sink) = self.destination.sink() {
                    sink.replace((*record).clone());
                }
                self.fold.take(RunEvent::SoFar { record });
                return;
            }
            RunEvent::Finished { record } => {
                self.fold.take(RunEvent::Finished { record: label(record) });
                return;
            }
            other @ (RunEvent::Gap { .. } | RunEvent::Lost { .. }) => {
                self.fold.take(other.clone());
                other
            }
        };
        self.destination.tell(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_named_with_the_file_of_its_token() {
        let one: OtherNode = "lime2:4000=/run/token".parse().unwrap();
        assert_eq!((one.to.port_or_default(), one.token_file.to_str()), (4_000, Some("/run/token")));
        let link_local: OtherNode = "[fe80::1%eth0]:4000=a=b".parse().unwrap();
        assert_eq!(link_local.token_file.to_str(), Some("a=b"));
        for text in ["lime2", "lime2=", "=token"] {
            let error = text.parse::<OtherNode>().unwrap_err();
            assert!(!error.is_empty(), "{text}");
        }
    }
}
