//! Queries and changes of a running lab: one line of JSON each way, on a socket of the keeper.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::network::{LinkOrder, Network, SegmentReport};
use super::place::Lab;

/// How long a client may take to send its question, and the keeper to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest question (bytes).
const MAX_QUESTION: u64 = 64 * 1024;

/// Why a lab's segments could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The keeper does not answer.
    #[error("lab {lab} does not answer: {error}")]
    Gone {
        /// Name of the lab.
        lab: String,
        /// The underlying error.
        error: io::Error,
    },
    /// The keeper refused.
    #[error("lab {lab}: {why}")]
    Refused {
        /// Name of the lab.
        lab: String,
        /// The reason, in words.
        why: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Question {
    Segments,
    Link(LinkOrder),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Segments(Vec<SegmentReport>),
    Refused(String),
}

/// Starts the thread that answers questions while the keeper runs.
pub(super) fn serve(lab: &Lab, network: Arc<Network>) -> io::Result<()> {
    let listener = UnixListener::bind(lab.control_path())?;
    thread::Builder::new().name("lab-control".to_owned()).spawn(move || {
        for client in listener.incoming().flatten() {
            // A client that goes away needs no answer.
            let _ = answer(&client, &network);
        }
    })?;
    Ok(())
}

fn answer(client: &UnixStream, network: &Network) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(client.take(MAX_QUESTION)).read_line(&mut line)?;
    let outcome = match serde_json::from_str(&line) {
        Ok(Question::Segments) => network.report(),
        Ok(Question::Link(order)) => network.change(order).map(|segment| vec![segment]),
        Err(error) => Err(format!("the keeper does not understand the question: {error}")),
    };
    let answer = outcome.map_or_else(Answer::Refused, Answer::Segments);
    let mut to = client;
    writeln!(to, "{}", serde_json::to_string(&answer)?)
}

/// The settings of a lab's segments, and their frame counters.
///
/// # Errors
/// If the lab's keeper, or one of its switches, does not answer.
pub fn segments(lab: &Lab) -> Result<Vec<SegmentReport>, ControlError> {
    ask(lab, &Question::Segments)
}

/// Changes a link of a running lab and returns the segment's new settings. An order without a change only queries.
///
/// # Errors
/// If the lab has no such link, or does not answer.
pub fn change_link(lab: &Lab, order: LinkOrder) -> Result<SegmentReport, ControlError> {
    let mut segments = ask(lab, &Question::Link(order))?;
    segments.pop().ok_or_else(|| gone(lab)(io::ErrorKind::InvalidData.into()))
}

fn gone(lab: &Lab) -> impl Fn(io::Error) -> ControlError {
    move |error| ControlError::Gone { lab: lab.name.clone(), error }
}

fn ask(lab: &Lab, question: &Question) -> Result<Vec<SegmentReport>, ControlError> {
    let outcome = || -> io::Result<Answer> {
        let mut keeper = UnixStream::connect(lab.control_path())?;
        keeper.set_read_timeout(Some(PATIENCE))?;
        writeln!(keeper, "{}", serde_json::to_string(question)?)?;
        let mut line = String::new();
        BufReader::new(keeper).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    match outcome().map_err(gone(lab))? {
        Answer::Segments(segments) => Ok(segments),
        Answer::Refused(why) => Err(ControlError::Refused { lab: lab.name.clone(), why }),
    }
}
