//! Which guests the switch joins, and by what kind of links.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::impairment::{Impairment, ImpairmentError};

/// More guests than any machine emulates at once.
pub const MAX_PORTS: usize = 64;

/// A Unix socket's path without its closing NUL, `sun_path` of `include/uapi/linux/un.h` (bytes).
const MAX_PATH_BYTES: usize = 107;

/// A switch: its ports, and the seed of all that is left to chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SwitchConfig {
    /// Decides which frames are lost, doubled, late and overtaken; every direction of a link draws a stream of its own
    /// from it, so that the same seed and the same frames have the same fate (default 0).
    #[serde(default)]
    pub seed: u64,
    /// The ports, 2 to 64.
    pub port: Vec<PortConfig>,
}

/// A port, with the link to the guest behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PortConfig {
    /// The switch's own socket, made by it (up to 107 bytes).
    pub local: PathBuf,
    /// The guest's socket, made by QEMU (up to 107 bytes).
    pub remote: PathBuf,
    /// Where to write what passes here, both ways, as pcap with nanoseconds of the host's CLOCK_MONOTONIC (default:
    /// nowhere).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<PathBuf>,
    /// From the guest to the switch.
    #[serde(default)]
    pub from_guest: Impairment,
    /// From the switch to the guest.
    #[serde(default)]
    pub to_guest: Impairment,
}

/// Why a switch cannot be made so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SwitchConfigError {
    /// Too few ports to join, or too many.
    #[error("the switch has {0} ports: it must have 2 to {MAX_PORTS}, one [[port]] for each guest")]
    Ports(usize),
    /// A path that no socket can have.
    #[error("port {port}: {name} is '{}', {} bytes long: a socket's path has 1 to 107 bytes", path.display(),
        path.as_os_str().len())]
    Path {
        /// Its place, from 0.
        port: usize,
        /// `local` or `remote`.
        name: &'static str,
        /// What stands there.
        path: PathBuf,
    },
    /// Two sockets of the same path.
    #[error("port {port}: {name} is '{}', which is a socket already: each must have a path of its own", path.display())]
    PathTwice {
        /// The second one's place, from 0.
        port: usize,
        /// `local` or `remote`.
        name: &'static str,
        /// What stands there.
        path: PathBuf,
    },
    /// A link out of its bounds.
    #[error("port {port}: {name}.{error}")]
    Impairment {
        /// Its place, from 0.
        port: usize,
        /// `from-guest` or `to-guest`.
        name: &'static str,
        /// What is wrong with it.
        error: ImpairmentError,
    },
}

impl SwitchConfig {
    /// Whether a switch can be made so.
    ///
    /// # Errors
    /// The first thing that is wrong.
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
    /// The value of the guest's `-netdev`, to which a `-device …,netdev=ID` belongs (QEMU 7.2 and newer).
    #[must_use]
    pub fn netdev_argument(&self, id: &str) -> String {
        // A comma in a value is written twice (QEMU's util/qemu-option.c).
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
    fn a_file_reads_back_as_it_was_written() {
        let read: SwitchConfig = toml::from_str(TWO).unwrap();
        assert_eq!((read.seed, read.check()), (7, Ok(())));
        assert_eq!(read.port[0].from_guest.delay, units::Ns::from_ms(2));
        assert_eq!(toml::from_str::<SwitchConfig>(&toml::to_string(&read).unwrap()).unwrap(), read);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_bound() {
        let check = |change: fn(&mut SwitchConfig), part: &str| {
            let mut config: SwitchConfig = toml::from_str(TWO).unwrap();
            change(&mut config);
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check(|config| config.port.truncate(1), "has 1 ports: it must have 2 to 64");
        check(|config| config.port[1].local = "x".repeat(108).into(), "port 1: local is 'xxx");
        check(|config| config.port[1].remote = "g0".into(), "port 1: remote is 'g0', which is a socket already");
        check(|config| config.port[1].remote = PathBuf::new(), "0 bytes long");
        check(|config| config.port[0].to_guest.drop = 2.0, "port 0: to-guest.drop is 2");
    }

    #[test]
    fn the_guest_s_sockets_are_ours_the_other_way_round() {
        let port = PortConfig { local: "run/s,0".into(), remote: "run/g0".into(), ..PortConfig::default() };
        assert_eq!(
            port.netdev_argument("n0"),
            "dgram,id=n0,local.type=unix,local.path=run/g0,remote.type=unix,remote.path=run/s,,0"
        );
    }
}
