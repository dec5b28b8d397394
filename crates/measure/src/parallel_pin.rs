//! Takes data pins of parallel ports, as policies name them: `PORT/PIN`.

use std::io;

use kernel::parport::{DATA_PINS, OutputPin, ParallelPort};

/// Why a pin cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// It names no pin.
    #[error("'{0}' is not PORT/PIN: name a parallel port and one of its data pins, D0 to D7, for example parport0/D3")]
    Form(String),
    /// The port cannot be opened.
    #[error("parallel port {port}: {error}{there}")]
    Port {
        /// What was asked.
        port: String,
        /// What the system said to that.
        error: io::Error,
        /// What there is, with what to do.
        there: String,
    },
    /// Somebody else has registered for the port.
    #[error("parallel port {port} is used by {users}: {remedy}, or name a pin of another port")]
    Used {
        /// Name of the port that was asked for, as in "parport0".
        port: String,
        /// Who, as the kernel names them.
        users: String,
        /// What to do about that.
        remedy: String,
    },
    /// The kernel refuses the pin.
    #[error(
        "the kernel does not give parallel port {port} to this program: {error}; has somebody else just taken it, or is it gone?"
    )]
    Refused {
        /// Name of the port that was asked for, as in "parport0".
        port: String,
        /// The kernel's reason.
        error: io::Error,
    },
}

/// Takes the pin `PORT/PIN`, as an output that is at its safe level.
///
/// # Errors
/// Where there is no such pin, or somebody else uses its port.
pub(crate) fn take_pin(named: &str, active_low: bool) -> Result<OutputPin, PinError> {
    let (name, pin) = parts(named).ok_or_else(|| PinError::Form(named.to_owned()))?;
    let port = ParallelPort::open(name).map_err(|error| PinError::Port {
        port: name.to_owned(),
        there: what_there_is(&error, &ParallelPort::names()),
        error,
    })?;
    let (name, users) = (port.name.clone(), port.users());
    port.output(pin, active_low).map_err(|error| {
        // The kernel refuses without saying why; whoever has registered for the port stands in its list.
        if users.is_empty() {
            PinError::Refused { port: name, error }
        } else {
            PinError::Used { port: name, users: users.join(", "), remedy: remedy(&users) }
        }
    })
}

/// A port's name and the number of one of its data pins; `None` where it is no such pair.
fn parts(named: &str) -> Option<(&str, u8)> {
    let (port, pin) = named.rsplit_once('/')?;
    let digit = pin.strip_prefix('D').filter(|digit| digit.len() == 1)?;
    let number = digit.parse().ok().filter(|number| *number < DATA_PINS)?;
    (!port.is_empty()).then_some((port, number))
}

/// What would free a port that these have registered for.
fn remedy(users: &[String]) -> String {
    let (programs, drivers): (Vec<&str>, Vec<&str>) =
        users.iter().map(String::as_str).partition(|user| user.starts_with("ppdev"));
    let of_drivers = (!drivers.is_empty()).then(|| format!("unload that driver ('rmmod {}')", drivers.join(" ")));
    let of_programs =
        (!programs.is_empty()).then(|| "end the program that has it open ('fuser /dev/parport*')".to_owned());
    of_drivers.into_iter().chain(of_programs).collect::<Vec<_>>().join(" and ")
}

/// What this machine has, and what would help, as the end of a sentence.
fn what_there_is(error: &io::Error, names: &[String]) -> String {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return ": be in the group that owns it ('lp' on most systems), or root".to_owned();
    }
    match names {
        [] => "; this machine shows no parallel port: load its driver and the one for programs ('modprobe -a parport_pc ppdev')"
            .to_owned(),
        names => format!("; this machine has {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_a_port_and_d0_to_d7() {
        assert_eq!(parts("parport0/D3"), Some(("parport0", 3)));
        assert_eq!(parts("/dev/parport1/D7"), Some(("/dev/parport1", 7)));
        for other in ["parport0", "parport0/3", "parport0/D8", "parport0/D", "parport0/D03", "/D1", "parport0/d1", ""] {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    #[test]
    fn what_cannot_be_had_is_said_with_what_helps() {
        let said = |named: &str| take_pin(named, false).unwrap_err().to_string();
        assert!(said("parport0/17").contains("for example parport0/D3"));
        assert!(
            said("/dev/null/D1").starts_with("parallel port /dev/null: it is no parallel port of the kernel's ppdev")
        );
        let there = |kind: io::ErrorKind, names: &[&str]| {
            what_there_is(&kind.into(), &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert!(there(io::ErrorKind::NotFound, &[]).contains("modprobe -a parport_pc ppdev"));
        assert_eq!(there(io::ErrorKind::NotFound, &["parport1"]), "; this machine has parport1");
        assert!(there(io::ErrorKind::PermissionDenied, &["parport0"]).contains("'lp'"));
        let users = |users: &[&str]| remedy(&users.iter().map(|user| (*user).to_owned()).collect::<Vec<_>>());
        assert_eq!(users(&["lp"]), "unload that driver ('rmmod lp')");
        assert_eq!(users(&["ppdev0"]), "end the program that has it open ('fuser /dev/parport*')");
        assert_eq!(
            users(&["lp", "ppdev1"]),
            "unload that driver ('rmmod lp') and end the program that has it open ('fuser /dev/parport*')"
        );
    }
}
