//! Against what a rule's facts were checked.

use std::fmt;

use serde::{Serialize, Serializer};

/// The releases of Linux whose sources and documents the rules about the kernel were checked against, oldest first. What
/// changed between them stands in the rule's text, with the release that changed it.
pub const LINUX: Checked = Checked::Linux(&["6.1", "6.12", "7.3"]);

/// Against what a rule's facts were checked. Every rule has to say so, because facts about a kernel age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Against the sources and documents of these releases of Linux, oldest first.
    Linux(&'static [&'static str]),
    /// It depends on no release of the kernel. The text names what it rests on: a standard, hardware, another program.
    Independent(&'static str),
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linux([]) => f.write_str("nothing"),
            Self::Linux([only]) => write!(f, "Linux {only}"),
            Self::Linux([first @ .., last]) => write!(f, "Linux {} and {last}", first.join(", ")),
            Self::Independent(basis) => {
                write!(f, "no release of Linux, because it depends on none; it rests on {basis}")
            }
        }
    }
}

impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_as_a_list() {
        assert_eq!(LINUX.to_string(), "Linux 6.1, 6.12 and 7.3");
        assert_eq!(Checked::Linux(&["6.12"]).to_string(), "Linux 6.12");
        assert!(Checked::Independent("IEEE 802.3").to_string().ends_with("IEEE 802.3"));
        assert_eq!(serde_json::to_string(&LINUX).unwrap(), "\"Linux 6.1, 6.12 and 7.3\"");
    }
}
