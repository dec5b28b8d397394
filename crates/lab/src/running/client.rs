//! The client's side: runs a program in a guest, or reboots the guest.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::place::Lab;
use crate::guest::protocol::{Ended, Frame, Hello, Kind, MAX_CONTENT, Restart, Run};

/// Why a program could not be run in a guest.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The lab has no such node.
    #[error("lab {lab} has no node named {node}; it has: {nodes}")]
    NoNode {
        /// Name of the lab.
        lab: String,
        /// The requested node.
        node: String,
        /// The lab's nodes.
        nodes: String,
    },
    /// The guest or its keeper went away.
    #[error("node {node} went away: {error}")]
    Gone {
        /// Name of the node.
        node: String,
        /// The reason of the failure.
        error: io::Error,
    },
    /// The machine went down before the program had ended.
    #[error("node {node} went down before the program had ended; its output until then is above: {why}")]
    Lost {
        /// Name of the node.
        node: String,
        /// The reason of the failure.
        why: String,
    },
    /// The machine did not reboot.
    #[error("node {node} did not reboot: {why}")]
    NotRestarted {
        /// Name of the node.
        node: String,
        /// The reason, with the end of its console.
        why: String,
    },
    /// The program could not be started.
    #[error("cannot start the program on node {node}: {why}")]
    NotStarted {
        /// Name of the node.
        node: String,
        /// The reason of the failure.
        why: String,
    },
}

/// The local ends of the program's standard streams.
pub struct Streams<'a> {
    /// Forwarded to its standard input until the end; `None`: the program gets an empty input.
    pub input: Option<Box<dyn Read + Send>>,
    /// Receives its standard output.
    pub output: &'a mut dyn Write,
    /// Receives its standard error.
    pub error: &'a mut dyn Write,
}

/// Runs a program in a guest to its end and returns its exit code. A program killed by a signal gives 128 + the
/// signal's number, as in shells.
///
/// # Errors
/// If there is no such node, or it goes away.
pub fn exec(lab: &Lab, node: &str, run: &Run, streams: Streams<'_>) -> Result<i32, ExecError> {
    let gone = |error| ExecError::Gone { node: node.to_owned(), error };
    let mut port = connect(lab, node)?;
    Frame::json(Kind::Run, run).and_then(|frame| frame.write(&mut port)).map_err(gone)?;
    let to = port.try_clone().map_err(gone)?;
    let feeding = std::thread::Builder::new().name("lab-input".to_owned());
    // If the input never ends, this thread ends with the process.
    feeding.spawn(move || feed(streams.input, to)).map_err(gone)?;
    loop {
        let frame = Frame::read(&mut port).map_err(gone)?;
        let frame = frame.ok_or_else(|| gone(io::ErrorKind::UnexpectedEof.into()))?;
        match frame.kind {
            Kind::Output => streams.output.write_all(&frame.content).map_err(gone)?,
            Kind::Error => streams.error.write_all(&frame.content).map_err(gone)?,
            Kind::Ended => {
                streams.output.flush().map_err(gone)?;
                return match frame.parse().map_err(gone)? {
                    Ended::Code(code) => Ok(code),
                    Ended::Signal(number) => Ok(128 + number),
                    Ended::NotStarted(why) => Err(ExecError::NotStarted { node: node.to_owned(), why }),
                    Ended::Lost(why) => Err(ExecError::Lost { node: node.to_owned(), why }),
                };
            }
            Kind::Waiting => {
                let why = String::from_utf8_lossy(&frame.content);
                writeln!(streams.error, "node {node}: {why}").map_err(gone)?;
            }
            Kind::Hello | Kind::Run | Kind::Input | Kind::Kill | Kind::Restart => {}
        }
    }
}

/// Reboots a machine with a disk and waits until its agent answers.
///
/// # Errors
/// If there is no such node, it has no disk, or it does not come up in time; with the end of its console.
pub fn restart(lab: &Lab, node: &str, order: Restart) -> Result<Hello, ExecError> {
    let gone = |error| ExecError::Gone { node: node.to_owned(), error };
    let mut port = connect(lab, node)?;
    Frame::json(Kind::Restart, &order).and_then(|frame| frame.write(&mut port)).map_err(gone)?;
    let frame = Frame::read(&mut port).map_err(gone)?;
    let frame = frame.ok_or_else(|| gone(io::ErrorKind::UnexpectedEof.into()))?;
    if frame.kind == Kind::Hello {
        return frame.parse().map_err(gone);
    }
    match frame.parse().map_err(gone)? {
        Ended::NotStarted(why) | Ended::Lost(why) => Err(ExecError::NotRestarted { node: node.to_owned(), why }),
        Ended::Code(_) | Ended::Signal(_) => Err(gone(io::ErrorKind::InvalidData.into())),
    }
}

fn connect(lab: &Lab, node: &str) -> Result<UnixStream, ExecError> {
    UnixStream::connect(lab.socket_path(node)).map_err(|_| ExecError::NoNode {
        lab: lab.name.clone(),
        node: node.to_owned(),
        nodes: lab.nodes().join(", "),
    })
}

fn feed(input: Option<Box<dyn Read + Send>>, mut to: UnixStream) {
    let mut bytes = vec![0; MAX_CONTENT];
    if let Some(mut input) = input {
        while let Ok(read @ 1..) = input.read(&mut bytes) {
            if (Frame { kind: Kind::Input, content: bytes[..read].to_vec() }).write(&mut to).is_err() {
                return;
            }
        }
    }
    // An empty frame closes the program's standard input.
    let _ = Frame { kind: Kind::Input, content: Vec::new() }.write(&mut to);
}
