//! A run that this node carries out for another one: by a process of its own, whose events go there as they come.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use anyhow::{Context as _, bail};
use farm::{AskedRun, ToRun};
use peer::ChannelError;
use record::{Fold, Record, RefusalClass, RunEvent, RunRequest};
use run::{NextOfRun, ProcessPlan, ProcessRun, Stop};

use super::Own;
use crate::begin::AnywayArgs;
use crate::connection::Connection;
use terminal::output;

/// Between two looks at what the other node says.
const LOOK: Duration = Duration::from_millis(100);

/// One run for another node.
pub(super) fn measure(
    connection: &mut Connection<'_>,
    asked: AskedRun,
    own: &Own,
    anyway: AnywayArgs,
    label: &str,
    stop: &Stop,
) -> anyhow::Result<Record> {
    let request = RunRequest::from(asked);
    output::note(&format!("{} asks for a run of '{}'", connection.channel.partner(), request.kind().name));
    let messages = io::stderr().as_fd().try_clone_to_owned().context("cannot say what the run says")?;
    let plan = ProcessPlan {
        program: &own.program,
        request: &request,
        label,
        file: None,
        is_wanted_anyway: anyway.anyway,
        messages: File::from(messages),
    };
    let mut run = match ProcessRun::start(plan) {
        Ok(run) => run,
        Err(error) => return Err(refuse(connection, &error.to_string())),
    };
    let (mut fold, mut refused, mut gone) = (Fold::default(), None, None);
    let mut has_begun = false;
    let status = loop {
        match run.next(LOOK)? {
            NextOfRun::Event(event) => {
                if gone.is_none() {
                    gone = connection.channel.send(&*event).err();
                }
                has_begun = has_begun || matches!(*event, RunEvent::Started { .. });
                match *event {
                    RunEvent::Refused { why, .. } => refused = Some(why),
                    other => fold.take(other),
                }
            }
            NextOfRun::Nothing => {}
            NextOfRun::Ended(status) => break status,
        }
        // Whoever has heard the end may go.
        let has_ended = fold.is_finished() || refused.is_some();
        if gone.is_none() && !has_ended {
            gone = hear(connection, &mut run).err();
        }
        // Nobody waits for it any more.
        if gone.is_some() || stop.ended_early() {
            run.end();
        }
    };
    if let Some(error) = gone {
        return Err(error.into());
    }
    if let Some(why) = refused {
        bail!("refused: {why}");
    }
    if !fold.is_finished() {
        let why = format!("the run ended with {status}, and without its record");
        return Err(if has_begun { lose(connection, why) } else { refuse(connection, &why) });
    }
    fold.into_record().context("the run told no record")
}

/// Tells the other node that nothing was measured, and makes an error of it.
pub(super) fn refuse(connection: &mut Connection<'_>, why: &str) -> anyhow::Error {
    let refused = RunEvent::Refused { class: RefusalClass::Usage, why: why.to_owned() };
    let _ = connection.channel.send(&refused);
    anyhow::anyhow!("refused: {why}")
}

/// Tells the other node that a run that had begun is lost, and makes an error of it.
fn lose(connection: &mut Connection<'_>, why: String) -> anyhow::Error {
    let error = anyhow::anyhow!("lost: {why}");
    let _ = connection.channel.send(&RunEvent::Lost { why });
    error
}

/// Does what the other node says meanwhile, and keeps the connection alive.
fn hear(connection: &mut Connection<'_>, run: &mut ProcessRun) -> Result<(), ChannelError> {
    connection.refuse_others();
    while let Some(said) = connection.channel.receive(Duration::ZERO)? {
        match said {
            ToRun::Stop => run.end(),
        }
    }
    Ok(())
}
