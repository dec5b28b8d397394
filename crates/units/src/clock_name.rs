//! Any clock that can be read, by a name that a record can carry.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ClockId;

/// Before the name of a PTP hardware clock.
const PHC: &str = "phc:";

/// A clock of the system, or a PTP hardware clock (PHC) of a network interface.
///
/// Its text is the system clock's name, `tai`, or `phc:` and the name of the hardware clock, `phc:ptp0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClockName {
    /// A clock that the kernel keeps.
    System(ClockId),
    /// A PTP hardware clock by the name of its device (Documentation/driver-api/ptp.rst): `ptp0`.
    Phc(String),
}

impl From<ClockId> for ClockName {
    fn from(clock: ClockId) -> Self {
        Self::System(clock)
    }
}

impl fmt::Display for ClockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(clock) => clock.fmt(f),
            Self::Phc(name) => write!(f, "{PHC}{name}"),
        }
    }
}

impl FromStr for ClockName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix(PHC) {
            Some("") => Err(format!("'{text}' names no hardware clock: write {PHC}ptp0")),
            Some(name) => Ok(Self::Phc(name.to_owned())),
            None => {
                text.parse().map(Self::System).map_err(|error| format!("{error}, and {PHC}NAME for a hardware clock"))
            }
        }
    }
}

impl Serialize for ClockName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClockName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

schemars::only_where_made! {
    impl schemars::JsonSchema for ClockName {
        fn schema_name() -> Cow<'static, str> {
            "ClockName".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            let names = ClockId::ALL.map(ClockId::name).join("|");
            schemars::json_schema!({
                "description": "A clock of the system by its name, or `phc:` and the name of a PTP hardware clock",
                "type": "string",
                "pattern": format!("^({names}|{PHC}.+)$"),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        let all = ClockId::ALL.map(ClockName::System).into_iter().chain([ClockName::Phc("ptp0".to_owned())]);
        for clock in all {
            assert_eq!(clock.to_string().parse::<ClockName>(), Ok(clock.clone()));
            let json = serde_json::to_string(&clock).unwrap();
            assert_eq!(serde_json::from_str::<ClockName>(&json).unwrap(), clock, "{json}");
        }
        assert!("phc:".parse::<ClockName>().is_err_and(|error| error.contains("phc:ptp0")));
        assert!("wall".parse::<ClockName>().is_err_and(|error| error.contains("phc:NAME")));
    }
}
