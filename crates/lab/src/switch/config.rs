//! Configuration of the switch: its guests and the links to them.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::impairment::{Impairment, ImpairmentError};

/// Largest number of ports: more guests than any machine emulates at once.
pub const MAX_PORTS: usize = 64;

/// Longest path of a Unix socket without the closing NUL, `sun_path` of `include/uapi/linux/un.h` (bytes).
const MAX_PATH_BYTES: usize = 107;

/// A switch: its ports, and the seed of its random numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SwitchConfig {
    /// Seed that decides which frames are dropped, duplicated, delayed and reordered (default 0). Every direction of a
    /// link has its own random stream, so that the same seed and the same frames give the same result.
    #[serde(default)]
    pub seed: u64,
    /// The ports, 2 to 64.
    pub port: Vec<PortConfig>,
}

/// A port with the link to its guest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PortConfig {
    /// Path of the socket that the switch creates (at most 107 bytes).
    pub local: PathBuf,
    /// Path of the guest's socket, which QEMU creates (at most 107 bytes).
    pub remote: PathBuf,
    /// File for a capture of this port in both directions: pcap with nanoseconds of the host's CLOCK_REALTIME, as
    /// the logic analyzer's log (default: none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<PathBuf>,
    /// Impairment from the guest to the switch.
    #[serde(default)]
    pub from_guest: Impairment,
    /// Impairment from the switch to the guest.
    #[serde(default)]
    pub to_guest: Impairment,
}

/// Why a configuration of a switch is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SwitchConfigError {
    /// Too few or too many ports.
    #[error("the switch has {0} ports: it must have 2 to {MAX_PORTS}, one [[port]] for each guest")]
    Ports(usize),
    /// A path that is invalid for a socket.
    #[error("port {port}: {name} is '{}', {} bytes long: a socket's path has 1 to 107 bytes", path.display(),
        path.as_os_str().len())]
    Path {
        /// Index of the port, from 0.
        port: usize,
        /// `local` or `remote`.
        name: &'static str,
        /// The configured path.
        path: PathBuf,
    },
    /// Two sockets have the same path.
    #[error("port {port}: {name} is '{}', which is already the path of another socket: each needs its own", path.display())]
    PathTwice {
        /// Index of the second port with that path, from 0.
        port: usize,
        /// `local` or `remote`.
        name: &'static str,
        /// The configured path.
        path: PathBuf,
    },
    /// An impairment is out of bounds.
    #[error("port {port}: {name}.{error}")]
    Impairment {
        /// Index of the port, from 0.
        port: usize,
        /// `from-guest` or `to-guest`.
        name: &'static str,
        /// Which value is out of bounds.
        error: ImpairmentError,
    },
}

impl SwitchConfig {
    /// Checks that a switch can have this configuration.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self) -> Result<(), SwitchConfigError> {
        if !(2..=MAX_PORTS).contains(&self.port.len()) {
            return Err(SwitchConfigError::Ports(self.port.len()));
        }
        let mut seen = HashSet::new();
        for (place, port) in self.port.iter().enumerate() {
            for (name, path) in [("local", &port.local), ("remote", &port.remote)] {
                let bytes = path.as_os_str().as_bytes();
                if !(1..=MAX_PATH_BYTES).contains(&bytes.len()) || bytes.contains(&0) {
                    return Err(SwitchConfigError::Path { port: place, name, path: path.clone() });
                }
                if !seen.insert(path) {
                    return Err(SwitchConfigError::PathTwice { port: place, name, path: path.clone() });
                }
            }
            for (name, impairment) in [("from-guest", &port.from_guest), ("to-guest", &port.to_guest)] {
                impairment.check().map_err(|error| SwitchConfigError::Impairment { port: place, name, error })?;
            }
        }
        Ok(())
    }
}

impl PortConfig {
    /// The value of QEMU's `-netdev` for the guest, which needs a matching `-device …,netdev=ID` (QEMU 7.2 and newer).
    #[must_use]
    pub fn netdev_argument(&self, id: &str) -> String {
        // QEMU expects a comma within a value to be doubled (util/qemu-option.c).
        let path = |path: &Path| path.display().to_string().replace(',', ",,");
        let (local, remote) = (path(&self.remote), path(&self.local));
        format!("dgram,id={id},local.type=unix,local.path={local},remote.type=unix,remote.path={remote}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "seed = 7\n[[port]]\nlocal = \"s0\"\nremote = \"g0\"\nfrom-guest.delay = \"2ms\"\n\
        [[port]]\nlocal = \"s1\"\nremote = \"g1\"\n";

    #[test]
    fn a_written_file_can_be_read_back() {
        let read: SwitchConfig = toml::from_str(TWO).unwrap();
        assert_eq!((read.seed, read.check()), (7, Ok(())));
        assert_eq!(read.port[0].from_guest.delay, units::Ns::from_ms(2));
        assert_eq!(toml::from_str::<SwitchConfig>(&toml::to_string(&read).unwrap()).unwrap(), read);
    }

    #[test]
    fn errors_name_the_place_and_the_bound() {
        let check = |change: fn(&mut SwitchConfig), part: &str| {
            let mut config: SwitchConfig = toml::from_str(TWO).unwrap();
            change(&mut config);
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check(|config| config.port.truncate(1), "has 1 ports: it must have 2 to 64");
        check(|config| config.port[1].local = "x".repeat(108).into(), "port 1: local is 'xxx");
        check(
            |config| config.port[1].remote = "g0".into(),
            "port 1: remote is 'g0', which is already the path of another socket",
        );
        check(|config| config.port[1].remote = PathBuf::new(), "0 bytes long");
        check(|config| config.port[0].to_guest.drop = 2.0, "port 0: to-guest.drop is 2");
    }

    #[test]
    fn sockets_of_the_guest_are_ours_with_ends_swapped() {
        let port = PortConfig { local: "run/s,0".into(), remote: "run/g0".into(), ..PortConfig::default() };
        assert_eq!(
            port.netdev_argument("n0"),
            "dgram,id=n0,local.type=unix,local.path=run/g0,remote.type=unix,remote.path=run/s,,0"
        );
    }
}
