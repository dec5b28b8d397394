//! What lab and agent say to each other: frames of one byte for the kind, four for the length, and the content.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// The longest content of a frame (bytes).
pub const MAX_CONTENT: usize = 64 * 1024;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lab to agent: are you there? Agent to lab: I am ([`Hello`]).
    Hello,
    /// Lab to agent: run this ([`Run`]); one at a time.
    Run,
    /// Lab to agent: for the program's standard input; nothing in it closes it.
    Input,
    /// Lab to agent: end what runs.
    Kill,
    /// Agent to lab: from the program's standard output.
    Output,
    /// Agent to lab: from its standard error.
    Error,
    /// Agent to lab: how it ended ([`Ended`]).
    Ended,
    /// Client to keeper: start the machine again ([`Restart`]); the answer is the new start's [`Hello`].
    Restart,
    /// Keeper to client: why it has to wait (text).
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

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == byte).map(|(kind, _)| *kind)
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// Its content: bytes, or JSON where the kind says so.
    pub content: Vec<u8>,
}

/// What the agent says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// `uname -r`.
    pub release: String,
    /// `uname -n`.
    pub host_name: String,
    /// Another one after each start of the machine (`/proc/sys/kernel/random/boot_id`).
    #[serde(default)]
    pub boot_id: String,
    /// Why something that the guest was to set up could not be.
    pub troubles: Vec<String>,
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Program and arguments.
    pub arguments: Vec<String>,
    /// Added to its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// How a machine shall start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Restart {
    /// Whether its power is cut: what it has not brought to its disk is lost. Else its system is asked to reboot.
    pub power_cut: bool,
    /// How long it may take until its agent answers again (s).
    pub within_s: u64,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It could not be started, because of this.
    NotStarted(String),
    /// What it ran on went down first, because of this.
    Lost(String),
}

impl Frame {
    /// A message with JSON in it.
    ///
    /// # Errors
    /// Where the value has no JSON form.
    pub fn json(kind: Kind, value: &impl Serialize) -> io::Result<Self> {
        Ok(Self { kind, content: serde_json::to_vec(value)? })
    }

    /// The JSON in it.
    ///
    /// # Errors
    /// Where there is other JSON in it, or none.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.content)?)
    }

    /// Writes it in one piece.
    ///
    /// # Errors
    /// Where it is too long, or the other side is gone.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let length = u32::try_from(self.content.len()).ok().filter(|_| self.content.len() <= MAX_CONTENT);
        let length = length.ok_or_else(|| io::Error::other("a message between lab and guest is too long"))?;
        let mut bytes = Vec::with_capacity(5 + self.content.len());
        bytes.push(self.kind.byte());
        bytes.extend(length.to_le_bytes());
        bytes.extend(&self.content);
        to.write_all(&bytes)?;
        to.flush()
    }

    /// Reads the next one; `None` where the other side ended in order.
    ///
    /// From a stream with a time limit only the wait for its first byte is limited: the rest follows at once.
    ///
    /// # Errors
    /// Where it ended within a message, or sent something else, or nothing came within the stream's time limit.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; 5];
        if from.read(&mut head[..1])? == 0 {
            return Ok(None);
        }
        read_rest(from, &mut head[1..])?;
        let odd = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let kind = Kind::of(head[0]).ok_or_else(|| odd(format!("no message begins with byte {:#04x}", head[0])))?;
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MAX_CONTENT {
            return Err(odd(format!("a message of {length} bytes, of at most {MAX_CONTENT}")));
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

/// Whether an error says only that nothing came within a stream's time limit.
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
        fn foreign_bytes_are_no_panic_and_take_no_memory(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut from = bytes.as_slice();
            while let Ok(Some(frame)) = Frame::read(&mut from) {
                prop_assert!(frame.content.len() <= MAX_CONTENT);
            }
        }
    }
}
