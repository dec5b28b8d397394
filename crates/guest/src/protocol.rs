//! The protocol between lab and agent: frames of one byte for the kind, four for the length, and the content.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// The longest content of a frame (bytes).
pub const MAX_CONTENT: usize = 64 * 1024;

/// The kind of a frame: who sends it and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lab to agent: asks whether it is there. Agent to lab: the answer ([`Hello`]).
    Hello,
    /// Lab to agent: run this program ([`Run`]); one at a time.
    Run,
    /// Lab to agent: bytes for the program's standard input; an empty frame closes it.
    Input,
    /// Lab to agent: kill the running program with all its children.
    Kill,
    /// Agent to lab: bytes from the program's standard output.
    Output,
    /// Agent to lab: bytes from the program's standard error.
    Error,
    /// Agent to lab: how the program ended ([`Ended`]).
    Ended,
    /// Client to keeper: reboot the machine ([`Restart`]); the answer is the [`Hello`] of the next boot.
    Restart,
    /// Keeper to client: why the client has to wait (text).
    Waiting,
}

impl Kind {
    const ALL: [(Self, u8); 9] = [
        (Self::Hello, b'h'),
        (Self::Run, b'r'),
        (Self::Input, b'i'),
        (Self::Kill, b'k'),
        (Self::Output, b'o'),
        (Self::Error, b'e'),
        (Self::Ended, b'x'),
        (Self::Restart, b's'),
        (Self::Waiting, b'w'),
    ];

    fn byte(self) -> u8 {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, byte)| *byte)
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == byte).map(|(kind, _)| *kind)
    }
}

/// One message between lab and agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The kind, which also determines the form of the content.
    pub kind: Kind,
    /// Bytes, or JSON for the kinds that name a type; at most [`MAX_CONTENT`].
    pub content: Vec<u8>,
}

/// What the agent reports about the machine and itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Kernel release, as `uname -r` prints it.
    pub release: String,
    /// Host name, as `uname -n` prints it.
    pub host_name: String,
    /// `/proc/sys/kernel/random/boot_id`: differs after each boot.
    #[serde(default)]
    pub boot_id: String,
    /// What the guest failed to set up, with the reason, one text each.
    pub troubles: Vec<String>,
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// Variables that are added to the program's environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// How to reboot a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Restart {
    /// Cut the power: what is not yet on the disk is lost. Otherwise the guest's system is asked to reboot.
    pub power_cut: bool,
    /// How long it may take until the agent answers again (s).
    pub within_s: u64,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It could not be started, for this reason.
    NotStarted(String),
    /// The machine went down before the program ended, for this reason.
    Lost(String),
}

impl Frame {
    /// A frame with this value as JSON.
    ///
    /// # Errors
    /// If the value cannot be written as JSON.
    pub fn json(kind: Kind, value: &impl Serialize) -> io::Result<Self> {
        Ok(Self { kind, content: serde_json::to_vec(value)? })
    }

    /// Parses the content as JSON.
    ///
    /// # Errors
    /// If the content is not JSON of this type.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.content)?)
    }

    /// Writes the frame in one piece.
    ///
    /// # Errors
    /// If the content is too long, or the other side is gone.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let length = u32::try_from(self.content.len()).ok().filter(|_| self.content.len() <= MAX_CONTENT);
        let length = length.ok_or_else(|| {
            io::Error::other(format!("a message between lab and guest is longer than {MAX_CONTENT} bytes"))
        })?;
        let mut bytes = Vec::with_capacity(5 + self.content.len());
        bytes.push(self.kind.byte());
        bytes.extend(length.to_le_bytes());
        bytes.extend(&self.content);
        to.write_all(&bytes)?;
        to.flush()
    }

    /// Reads the next frame; `None` if the stream ended between two frames.
    ///
    /// A time limit of the stream limits only the wait for the first byte: the rest follows at once.
    ///
    /// # Errors
    /// If the stream ends within a frame, is not of this protocol, or stays silent for longer than its time limit.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; 5];
        if from.read(&mut head[..1])? == 0 {
            return Ok(None);
        }
        read_rest(from, &mut head[1..])?;
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let kind = Kind::from_byte(head[0])
            .ok_or_else(|| invalid(format!("unknown kind of message: byte {:#04x}", head[0])))?;
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MAX_CONTENT {
            return Err(invalid(format!(
                "a message of {length} bytes is longer than the limit of {MAX_CONTENT} bytes"
            )));
        }
        let mut content = vec![0; length];
        read_rest(from, &mut content)?;
        Ok(Some(Self { kind, content }))
    }
}

fn read_rest(from: &mut impl Read, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        match from.read(into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => into = &mut into[read..],
            Err(error) if is_time_limit(&error) || error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the error means only that nothing arrived within the stream's time limit.
#[must_use]
pub fn is_time_limit(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let run = Run { arguments: vec!["punctual".to_owned(), "check".to_owned()], environment: BTreeMap::new() };
        let mut bytes = Vec::new();
        Frame::json(Kind::Run, &run).unwrap().write(&mut bytes).unwrap();
        Frame { kind: Kind::Input, content: Vec::new() }.write(&mut bytes).unwrap();
        let mut from = bytes.as_slice();
        assert_eq!(Frame::read(&mut from).unwrap().unwrap().parse::<Run>().unwrap(), run);
        assert_eq!(Frame::read(&mut from).unwrap().unwrap().kind, Kind::Input);
        assert_eq!(Frame::read(&mut from).unwrap(), None);
        let mut cut = &bytes[..7];
        assert_eq!(Frame::read(&mut cut).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_neither_panic_nor_use_much_memory(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut from = bytes.as_slice();
            while let Ok(Some(frame)) = Frame::read(&mut from) {
                prop_assert!(frame.content.len() <= MAX_CONTENT);
            }
        }
    }
}
