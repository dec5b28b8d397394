//! The node's own file, which says what is measured. The hub never writes it.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use units::{CpuSet, Ns};

use crate::explaining::ExplainChoice;

/// Where the node's file stands, unless another is named.
pub const SETTINGS_FILE: &str = "/etc/punctual/agent.toml";
/// The file is a few lines; what is longer is another file.
const MOST_BYTES: u64 = 64 * 1024;
/// The shortest interval of a record (1 s): each is an entry with a flush.
const LEAST_INTERVAL_MAXIMUM: Ns = Ns::from_s(1);
/// The longest interval of a record (1 h): its maximum is told that late.
const MOST_INTERVAL_MAXIMUM: Ns = Ns::from_s(3_600);
/// The least room for what is not sent yet (256 KiB): two segments with what a profile takes.
const LEAST_SPOOL_BYTES: u64 = 256 * 1024;

/// What is measured, and how much of it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Time from one schedule to the next.
    #[serde(with = "units::duration_text")]
    pub interval: Ns,
    /// Real-time priority of the measuring threads (SCHED_FIFO, 1 to 99).
    pub priority: u32,
    /// The latency that none should exceed; samples beyond it are counted.
    #[serde(with = "units::duration_text::optional")]
    pub limit: Option<Ns>,
    /// CPUs to monitor. Without it all but the isolated ones: a thread above the user's would disturb those.
    pub cpus: Option<CpuSet>,
    /// Length of an interval, each of which has a maximum of its own. They begin at multiples of it on UTC.
    #[serde(with = "units::duration_text")]
    pub interval_maximum: Ns,
    /// Room on the disk for what is kept (bytes).
    pub spool_bytes: u64,
    /// Whether the causes of the worst wake-ups are sought.
    pub explain: ExplainChoice,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval: Ns::from_us(1_000),
            priority: 98,
            limit: None,
            cpus: None,
            interval_maximum: Ns::from_s(300),
            spool_bytes: 16 << 20,
            explain: ExplainChoice::Auto,
        }
    }
}

/// Why the node's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It cannot be read.
    #[error("the agent's settings {}: {error}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The kernel's reason.
        error: io::Error,
    },
    /// Much longer than settings.
    #[error("{} has more than {MOST_BYTES} bytes: it is no file of settings", path.display())]
    TooLong {
        /// Path of the file.
        path: PathBuf,
    },
    /// It is no TOML, or has what settings have not.
    #[error("the agent's settings {}: {error}", path.display())]
    Toml {
        /// Path of the file.
        path: PathBuf,
        /// Line, field and reason.
        error: Box<toml::de::Error>,
    },
    /// A value that cannot be.
    #[error("the agent's settings {}: {field} is {found}; {bound}", path.display())]
    Bound {
        /// Path of the file.
        path: PathBuf,
        /// The key of the file whose value is out of bounds.
        field: &'static str,
        /// What it says.
        found: String,
        /// What it may be.
        bound: String,
    },
}

impl Settings {
    /// Reads the node's file. The one at [`SETTINGS_FILE`] may be missing: the defaults hold then.
    ///
    /// # Errors
    /// Where a named file is missing, or says what cannot be.
    pub fn read(named: Option<&Path>) -> Result<Self, SettingsError> {
        let path = named.unwrap_or(Path::new(SETTINGS_FILE));
        let mut text = String::new();
        let read = std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
        match read {
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(SettingsError::File { path: path.to_owned(), error }),
            Ok(bytes) if u64::try_from(bytes).is_ok_and(|bytes| bytes > MOST_BYTES) => {
                return Err(SettingsError::TooLong { path: path.to_owned() });
            }
            Ok(_) => {}
        }
        Self::from_toml(&text, path)
    }

    fn from_toml(text: &str, path: &Path) -> Result<Self, SettingsError> {
        let settings: Self = toml::from_str(text)
            .map_err(|error| SettingsError::Toml { path: path.to_owned(), error: Box::new(error) })?;
        let bound = |field, found: String, bound: String| {
            Err(SettingsError::Bound { path: path.to_owned(), field, found, bound })
        };
        if !(1..=99).contains(&settings.priority) {
            return bound("priority", settings.priority.to_string(), "it is 1 to 99".to_owned());
        }
        if !(LEAST_INTERVAL_MAXIMUM..=MOST_INTERVAL_MAXIMUM).contains(&settings.interval_maximum) {
            let most = format!("it is {LEAST_INTERVAL_MAXIMUM} to {MOST_INTERVAL_MAXIMUM}");
            return bound("interval-maximum", settings.interval_maximum.to_string(), most);
        }
        if settings.limit.is_some_and(|limit| limit <= Ns::ZERO) {
            return bound("limit", "not above 0".to_owned(), "it is a time above 0, or left out".to_owned());
        }
        if settings.spool_bytes < LEAST_SPOOL_BYTES {
            return bound(
                "spool-bytes",
                settings.spool_bytes.to_string(),
                format!("it is at least {LEAST_SPOOL_BYTES}"),
            );
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_differs_from_the_defaults_and_nothing_unknown() {
        let read = |text| Settings::from_toml(text, Path::new("agent.toml"));
        assert_eq!(read("").unwrap(), Settings::default());
        let text = "interval = \"2ms\"\npriority = 80\nlimit = \"150us\"\ncpus = \"1-2\"\ninterval-maximum = \"1s\"\n\
                    explain = \"off\"\n";
        let settings = read(text).unwrap();
        assert_eq!((settings.interval, settings.limit), (Ns(2_000_000), Some(Ns(150_000))));
        assert_eq!((read("").unwrap().explain, settings.explain), (ExplainChoice::Auto, ExplainChoice::Off));
        assert_eq!(settings.cpus, Some("1-2".parse().unwrap()));
        for (wrong, word) in [
            ("priority = 100", "1 to 99"),
            ("interval-maximum = \"10ms\"", "interval-maximum"),
            ("limit = \"0us\"", "above 0"),
            ("spool-bytes = 1", "spool-bytes"),
            ("explain = \"perhaps\"", "explain"),
            ("weather = 3", "weather"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("agent.toml"), "{error}");
        }
    }
}
