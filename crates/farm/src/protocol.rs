//! Which protocol two programs speak with each other.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// The protocol versions that this program speaks.
///
/// A change of a message that an older program would misread takes a new version. The greeting itself (see
/// [`Knock`](crate::Knock) and [`Answer`](crate::Answer)) is the same in every version.
pub const OUR_PROTOCOLS: Protocols = Protocols { lowest: 1, highest: 1 };

/// The longest text of a [`Hello`] (bytes). Host names have at most 64 on Linux.
const LONGEST_TEXT: usize = 255;

/// The protocol versions that a program speaks: all from the lowest to the highest, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ProtocolsText")]
pub struct Protocols {
    lowest: u32,
    highest: u32,
}

#[derive(Deserialize)]
struct ProtocolsText {
    lowest: u32,
    highest: u32,
}

/// Why a pair of numbers is no range of protocol versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("protocol versions {lowest} to {highest} are no range: versions are counted from 1, the lowest first")]
pub struct ProtocolsError {
    lowest: u32,
    highest: u32,
}

impl Protocols {
    /// The range from `lowest` to `highest`, both included.
    ///
    /// # Errors
    /// If `lowest` is 0 or above `highest`.
    pub const fn new(lowest: u32, highest: u32) -> Result<Self, ProtocolsError> {
        if lowest == 0 || lowest > highest {
            return Err(ProtocolsError { lowest, highest });
        }
        Ok(Self { lowest, highest })
    }

    /// The oldest version that the program speaks.
    #[must_use]
    pub const fn lowest(self) -> u32 {
        self.lowest
    }

    /// The newest version that the program speaks.
    #[must_use]
    pub const fn highest(self) -> u32 {
        self.highest
    }
}

impl TryFrom<ProtocolsText> for Protocols {
    type Error = ProtocolsError;

    fn try_from(text: ProtocolsText) -> Result<Self, ProtocolsError> {
        Self::new(text.lowest, text.highest)
    }
}

impl fmt::Display for Protocols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lowest == self.highest {
            write!(f, "{}", self.lowest)
        } else {
            write!(f, "{} to {}", self.lowest, self.highest)
        }
    }
}

/// How a program introduces itself to its partner.
///
/// Fields that a reader does not know are ignored, so that a later program can say more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the program, such as `0.1.0`.
    #[serde(deserialize_with = "printable")]
    pub program: String,
    /// The protocol versions that it speaks.
    pub protocol: Protocols,
    /// Name of its host.
    #[serde(deserialize_with = "printable")]
    pub host: String,
}

/// A text that can be printed on a terminal: what cannot is shown by its number.
fn printable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.len() > LONGEST_TEXT {
        return Err(D::Error::custom(format!("a text of {} bytes, at most {LONGEST_TEXT} are allowed", text.len())));
    }
    Ok(units::printable::line(&text).into_owned())
}

/// Which of two programs has to be replaced by a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedsUpdate {
    /// The program that reports the mismatch.
    Ours,
    /// Its partner.
    Theirs,
}

/// Two programs have no protocol version in common.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this program (punctual {} on {}) speaks protocol version {}, its partner (punctual {} on {}) version {}: install a newer punctual on {}",
    ours.program, ours.host, ours.protocol, theirs.program, theirs.host, theirs.protocol,
    if *needs_update == NeedsUpdate::Ours { &ours.host } else { &theirs.host }
)]
pub struct VersionMismatch {
    /// The program that reports the mismatch.
    pub ours: Hello,
    /// Its partner.
    pub theirs: Hello,
    /// The side that needs a newer program.
    pub needs_update: NeedsUpdate,
}

/// The newest protocol version that both programs speak.
///
/// # Errors
/// If they have none in common.
pub fn negotiate(ours: &Hello, theirs: &Hello) -> Result<u32, VersionMismatch> {
    let newest = ours.protocol.highest.min(theirs.protocol.highest);
    if newest >= ours.protocol.lowest.max(theirs.protocol.lowest) {
        return Ok(newest);
    }
    let needs_update =
        if ours.protocol.highest < theirs.protocol.lowest { NeedsUpdate::Ours } else { NeedsUpdate::Theirs };
    Err(VersionMismatch { ours: ours.clone(), theirs: theirs.clone(), needs_update })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(host: &str, lowest: u32, highest: u32) -> Hello {
        let protocol = Protocols::new(lowest, highest).unwrap();
        Hello { program: format!("0.{highest}.0"), protocol, host: host.to_owned() }
    }

    #[test]
    fn the_newest_common_version_is_spoken() {
        let check = |ours: (u32, u32), theirs: (u32, u32), expected: u32| {
            let (ours, theirs) = (hello("a", ours.0, ours.1), hello("b", theirs.0, theirs.1));
            assert_eq!(negotiate(&ours, &theirs).as_ref(), Ok(&expected));
            assert_eq!(negotiate(&theirs, &ours), Ok(expected), "both sides come to the same version");
        };
        check((1, 1), (1, 1), 1);
        check((1, 3), (2, 5), 3);
        check((2, 7), (1, 2), 2);
        check((1, 9), (4, 5), 5);
    }

    #[test]
    fn a_mismatch_states_both_ranges_and_who_needs_a_newer_program() {
        let (old, new) = (hello("lime2", 1, 2), hello("server", 3, 4));
        let seen_by_old = negotiate(&old, &new).unwrap_err();
        assert_eq!(seen_by_old.needs_update, NeedsUpdate::Ours);
        assert_eq!(
            seen_by_old.to_string(),
            "this program (punctual 0.2.0 on lime2) speaks protocol version 1 to 2, its partner (punctual 0.4.0 on \
             server) version 3 to 4: install a newer punctual on lime2"
        );
        let seen_by_new = negotiate(&new, &old).unwrap_err();
        assert_eq!(seen_by_new.needs_update, NeedsUpdate::Theirs);
        assert!(seen_by_new.to_string().ends_with("install a newer punctual on lime2"), "{seen_by_new}");
    }

    #[test]
    fn a_hello_is_read_with_unknown_fields_and_without_control_characters() {
        let text = r#"{"program": "9.0.0", "protocol": {"lowest": 1, "highest": 2}, "host": "a\u001b[2Jb", "new": 1}"#;
        let read: Hello = serde_json::from_str(text).unwrap();
        assert_eq!(read, Hello { program: "9.0.0".to_owned(), ..hello("a\\u001b[2Jb", 1, 2) });
        for (protocol, host) in
            [("0, \"highest\": 1", "a"), ("2, \"highest\": 1", "a"), ("1, \"highest\": 1", &*"a".repeat(256))]
        {
            let text = format!(r#"{{"program": "1", "protocol": {{"lowest": {protocol}}}, "host": "{host}"}}"#);
            assert!(serde_json::from_str::<Hello>(&text).is_err(), "{text}");
        }
    }
}
