//! Names to addresses, as the machine itself resolves them.
//!
//! The static program has no name service switch of its own, so `getent` of the system is asked: it knows `/etc/hosts`, DNS,
//! mDNS and whatever else this machine is configured for (docs/decisions/0029).

use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use kernel::wait::Readable;

use crate::address::{self, AddressError};

/// A lookup has at most this long: DNS resolvers give up after 5 s by default.
const LONGEST_LOOKUP: Duration = Duration::from_secs(6);
/// More output than any name has addresses.
const MOST_OUTPUT: usize = 64 * 1024;
/// The most addresses that are tried.
const MOST_ADDRESSES: usize = 16;
/// Exit code of getent where the name is unknown.
const NOT_FOUND: i32 = 2;

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Not an address, and no name either.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Nobody knows the name.
    #[error("no address is known for '{0}': check its spelling with 'getent ahosts {0}', or give the address")]
    Unknown(String),
    /// The system has no getent.
    #[error(
        "names are looked up by the system's 'getent', which this machine lacks ({reason}): give the address of '{name}'"
    )]
    NoGetent {
        /// The name.
        name: String,
        /// Why it cannot be started.
        reason: String,
    },
    /// The lookup takes too long.
    #[error("looking up '{name}' took longer than {} s: the name server does not answer; give the address", seconds(*after))]
    TooLong {
        /// The name.
        name: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The lookup failed.
    #[error("looking up '{name}' failed ({reason}): give the address")]
    Failed {
        /// The name.
        name: String,
        /// What is known.
        reason: String,
    },
}

fn seconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64())
}

/// The addresses of a host, in the order in which the machine prefers them; at least one. `until` bounds the lookup.
///
/// # Errors
/// If the host is neither an address nor a name that this machine knows.
pub fn resolve(host: &str, port: u16, until: Instant) -> Result<Vec<SocketAddr>, ResolveError> {
    resolve_with(&["getent"], host, port, until)
}

/// `getent` is the program, with arguments that stand before getent's own.
fn resolve_with(getent: &[&str], host: &str, port: u16, until: Instant) -> Result<Vec<SocketAddr>, ResolveError> {
    if let Some(address) = address::literal(host, port)? {
        return Ok(vec![address]);
    }
    // Only what a name can have reaches the command line; a leading dash would be an option.
    let is_name = host.len() <= 253
        && !host.starts_with(['-', '.'])
        && host.chars().all(|letter| letter.is_alphanumeric() || ".-_".contains(letter));
    if !is_name || host.is_empty() {
        return Err(AddressError::NotAName(host.to_owned()).into());
    }
    let output = ask(getent, host, until)?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for text in output.lines().filter_map(|line| line.split_whitespace().next()) {
        // One that this program cannot use, such as of an interface that is gone, is not a reason to use none.
        let Ok(Some(address)) = address::literal(text, port) else { continue };
        if !addresses.contains(&address) && addresses.len() < MOST_ADDRESSES {
            addresses.push(address);
        }
    }
    if addresses.is_empty() { Err(ResolveError::Unknown(host.to_owned())) } else { Ok(addresses) }
}

/// What `getent ahosts NAME` prints: a line for each address and type of socket.
fn ask(getent: &[&str], name: &str, until: Instant) -> Result<String, ResolveError> {
    let (program, arguments) = getent.split_first().unwrap_or((&"getent", &[]));
    let mut child = Command::new(program)
        .args(arguments)
        .args(["ahosts", name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| ResolveError::NoGetent { name: name.to_owned(), reason: error.to_string() })?;
    let begun = Instant::now();
    let until = until.min(begun + LONGEST_LOOKUP);
    let answer = answer(&mut child, until);
    if !matches!(answer, Ok(Some(_))) {
        // It may have ended meanwhile.
        let _ = child.kill();
        // It cannot refuse that.
        let _ = child.wait();
    }
    let failed = |error: io::Error| ResolveError::Failed { name: name.to_owned(), reason: error.to_string() };
    let Some((output, status)) = answer.map_err(failed)? else {
        return Err(ResolveError::TooLong { name: name.to_owned(), after: begun.elapsed() });
    };
    match status.code() {
        Some(0) => Ok(output),
        Some(NOT_FOUND) => Err(ResolveError::Unknown(name.to_owned())),
        _ => Err(ResolveError::Failed { name: name.to_owned(), reason: format!("getent: {status}") }),
    }
}

/// What the child prints and how it ends; `None` if that takes too long.
fn answer(child: &mut Child, until: Instant) -> io::Result<Option<(String, ExitStatus)>> {
    let Some(mut output) = child.stdout.take() else { return Ok(None) };
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if text.len() > MOST_OUTPUT {
            return Err(io::Error::other("it prints more than any name has addresses"));
        }
        let mut ready = Readable::new([output.as_fd()]);
        ready.wait(i64::try_from(left.as_nanos()).unwrap_or(i64::MAX))?;
        if ready.ready().next().is_none() {
            continue;
        }
        match output.read(&mut chunk) {
            Ok(0) => break,
            Ok(bytes) => text.extend_from_slice(chunk.get(..bytes).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // It has closed its output, so it is about to end.
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(Some((String::from_utf8_lossy(&text).into_owned(), status)));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Looks `lime2` up with a script of the shell in the place of getent. The shell reads it: a file that was just written
    /// cannot always be executed while other threads start programs.
    fn look_up(folder: &Path, text: &str, until: Instant) -> Result<Vec<SocketAddr>, ResolveError> {
        let path = folder.join("getent");
        fs::write(&path, text).unwrap();
        resolve_with(&["sh", path.to_str().unwrap()], "lime2", 9, until)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn addresses_come_in_the_machine_s_order_and_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let text = "test \"$1 $2 $#\" = 'ahosts lime2 2' || exit 3\n\
                    printf '2001:db8::7     STREAM lime2\\n2001:db8::7     DGRAM\\n'\n\
                    printf 'fe80::1%%gone    STREAM\\n10.0.0.7   STREAM\\n10.0.0.7 RAW\\n'";
        let addresses = look_up(folder.path(), text, soon()).unwrap();
        assert_eq!(addresses, ["[2001:db8::7]:9".parse().unwrap(), "10.0.0.7:9".parse().unwrap()]);
    }

    #[test]
    fn every_way_to_fail_has_its_error() {
        let folder = tempfile::tempdir().unwrap();
        let check = |text: &str, expected: &str| {
            let error = look_up(folder.path(), text, soon()).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("address"), "{text}: {error}");
        };
        check("exit 2", "no address is known for 'lime2'");
        check("exit 0", "no address is known for 'lime2'");
        check("exit 1", "getent: exit status: 1");
        check("kill -9 $$", "signal: 9");
        check("yes 10.0.0.7", "prints more than any name has addresses");
        let error = resolve_with(&["/nowhere/getent"], "lime2", 9, soon()).unwrap_err();
        assert!(matches!(error, ResolveError::NoGetent { .. }), "{error}");
        assert!(error.to_string().contains("give the address of 'lime2'"), "{error}");
    }

    #[test]
    fn a_lookup_that_takes_too_long_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("getent.pid");
        let error = loop {
            let soon = Instant::now() + Duration::from_millis(300);
            let error = look_up(folder.path(), "echo $$ > \"$0.pid\"; exec sleep 1000", soon).unwrap_err();
            // The shell may not have come to its first line.
            if fs::read_to_string(&pid_file).is_ok_and(|text| !text.is_empty()) {
                break error;
            }
        };
        assert!(matches!(error, ResolveError::TooLong { .. }), "{error}");
        let pid = fs::read_to_string(&pid_file).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "the lookup is gone");
    }

    #[test]
    fn an_address_starts_no_program_and_nothing_odd_is_a_name() {
        let addresses = resolve_with(&["/nowhere/getent"], "::1", 9, soon()).unwrap();
        assert_eq!(addresses, ["[::1]:9".parse().unwrap()]);
        for name in ["", "-s", "--help", "a b", "a;b", "a/b", ".a", "a\n", &"a".repeat(254)] {
            let error = resolve_with(&["/nowhere/getent"], name, 9, soon()).unwrap_err();
            assert_eq!(error, ResolveError::Address(AddressError::NotAName(name.to_owned())));
        }
    }
}
