//! Data pins of parallel ports by the character device ppdev (include/uapi/linux/ppdev.h, drivers/char/ppdev.c).
//!
//! A claim belongs to the open file, not to the process: whoever has a descriptor of it can write, and the port is free once all
//! descriptors are closed. What the pins do then is nobody's affair: they keep their level. An exclusive claim is had only where
//! no other driver or program has registered for the port (`lp` does for each port as soon as it is loaded), and keeps all others
//! off as long as it lasts. The driver has one lock for all ports: a program that waits in it for another port keeps every writer
//! waiting.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// How many data pins a port has: D0 to D7.
pub const DATA_PINS: u8 = 8;

/// `_IOC(direction, 'p', number, size)` (include/uapi/asm-generic/ioctl.h).
const fn request(direction: u64, number: u64, size: u64) -> u64 {
    direction << 30 | size << 16 | 0x70 << 8 | number
}

const NONE: u64 = 0;
const WRITE: u64 = 1;
const READ: u64 = 2;

/// What the driver is asked, in the order in which it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    /// `PPEXCL`: the claim that follows is to be exclusive.
    Exclusive,
    /// `PPCLAIM`: the port is to be this open file's.
    Claim,
    /// `PPDATADIR`: the data pins are outputs.
    Forward,
    /// `PPRDATA`: what the data pins are.
    Levels,
    /// `PPWDATA`: what they are to be.
    Write(u8),
}

impl Ask {
    const fn number(self) -> u64 {
        match self {
            Self::Exclusive => request(NONE, 0x8f, 0),
            Self::Claim => request(NONE, 0x8b, 0),
            Self::Forward => request(WRITE, 0x90, size_of::<libc::c_int>() as u64),
            Self::Levels => request(READ, 0x85, 1),
            Self::Write(_) => request(WRITE, 0x86, 1),
        }
    }
}

/// An open file of the driver. Tests have one of their own, which refuses what the driver refuses.
trait OpenPort {
    /// Asks the driver; what it answered is 0 except for [`Ask::Levels`].
    fn ask(&self, what: Ask) -> io::Result<u8>;
}

impl OpenPort for OwnedFd {
    #[inline]
    fn ask(&self, what: Ask) -> io::Result<u8> {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::unnecessary_cast,
            reason = "32 bits, in the C library's type"
        )]
        let number = what.number() as libc::Ioctl;
        // A direction of 0 is forward: the pins are outputs.
        let mut bytes = if let Ask::Write(levels) = what { [levels, 0, 0, 0] } else { [0; 4] };
        // SAFETY: the driver reads or writes a byte or an int at this address, or nothing; it is valid and writable for the call.
        if unsafe { libc::ioctl(self.as_raw_fd(), number, std::ptr::from_mut(&mut bytes)) } == 0 {
            Ok(bytes[0])
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// What is written to a port to make one of its pins active or safe; the other pins keep the level that they had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinBytes {
    /// With the pin at its safe level.
    pub safe: u8,
    /// With the pin at its active level.
    pub active: u8,
}

impl PinBytes {
    /// Of a pin (0 to 7), where the port has these levels.
    const fn of(levels: u8, pin: u8, active_low: bool) -> Self {
        let (low, high) = (levels & !(1 << pin), levels | 1 << pin);
        if active_low { Self { safe: high, active: low } } else { Self { safe: low, active: high } }
    }
}

/// Claims a port for this open file alone, and makes one of its pins safe.
fn take(port: &impl OpenPort, pin: u8, active_low: bool) -> io::Result<PinBytes> {
    if pin >= DATA_PINS {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // Without this a second program could wait for the port, and every write with it.
    port.ask(Ask::Exclusive)?;
    port.ask(Ask::Claim)?;
    port.ask(Ask::Forward)?;
    let bytes = PinBytes::of(port.ask(Ask::Levels)?, pin, active_low);
    port.ask(Ask::Write(bytes.safe))?;
    Ok(bytes)
}

/// A parallel port that was opened and belongs to nobody yet.
#[derive(Debug)]
pub struct ParallelPort {
    file: File,
    /// What the kernel calls it: `parport0`.
    pub name: String,
}

impl ParallelPort {
    /// Opens a port: `parport0`, or a path to its device. Nothing is asked of it yet.
    ///
    /// # Errors
    /// Where there is none, this user may not open it, or it is another kind of device.
    pub fn open(name: &str) -> io::Result<Self> {
        /// The driver's major number (include/uapi/linux/major.h).
        const MAJOR: u32 = 99;
        let path = if name.contains('/') { PathBuf::from(name) } else { Path::new("/dev").join(name) };
        // Not by opening it: another device may do something then.
        let known = rustix::fs::stat(&path)?;
        if !rustix::fs::FileType::from_raw_mode(known.st_mode).is_char_device()
            || rustix::fs::major(known.st_rdev) != MAJOR
        {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no parallel port of the kernel's ppdev"));
        }
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(Self { file, name: format!("parport{}", rustix::fs::minor(known.st_rdev)) })
    }

    /// The names of all ports of this machine that programs can open, in their order.
    #[must_use]
    pub fn names() -> Vec<String> {
        let found = std::fs::read_dir("/dev").into_iter().flatten().flatten();
        let names = found.filter_map(|entry| entry.file_name().into_string().ok());
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let mut names: Vec<String> = names.filter(|name| name.strip_prefix("parport").is_some_and(is_number)).collect();
        names.sort_by_key(|name| (name.len(), name.clone()));
        names
    }

    /// The drivers that have registered for the port, by the kernel's names: `lp`, `ppdev0` for a program. Any of them stands in the
    /// way of an exclusive claim.
    #[must_use]
    pub fn users(&self) -> Vec<String> {
        users_of(&self.name)
    }

    /// Takes a data pin (0 to 7) as an output, which begins at its safe level. No other driver or program has any pin of the port
    /// then, and the other pins keep the levels that they have.
    ///
    /// # Errors
    /// `ENXIO` where somebody else has registered for the port, or it is gone; `EINVAL` where there is no such pin.
    pub fn output(self, pin: u8, active_low: bool) -> io::Result<OutputPin> {
        let file = OwnedFd::from(self.file);
        let bytes = take(&file, pin, active_low)?;
        Ok(OutputPin { file, bytes })
    }
}

fn users_of(port: &str) -> Vec<String> {
    let folder = Path::new("/proc/sys/dev/parport").join(port).join("devices");
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = found.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    // That is a file which names the one that has the port just now.
    names.retain(|name| name != "active");
    names.sort_unstable();
    names
}

/// A data pin that this process has as an output. It is at its safe level again when this is dropped; if the process is killed,
/// nobody makes it so.
#[derive(Debug)]
pub struct OutputPin {
    file: OwnedFd,
    bytes: PinBytes,
}

impl OutputPin {
    /// Makes it active or safe: one system call, which returns when the port's register is written.
    ///
    /// # Errors
    /// Where the port is gone.
    #[inline]
    pub fn set(&self, active: bool) -> io::Result<()> {
        let levels = if active { self.bytes.active } else { self.bytes.safe };
        self.file.ask(Ask::Write(levels)).map(|_| ())
    }

    /// The pin by a descriptor of the same open file that another process shared, with the bytes that it has there.
    #[must_use]
    pub const fn shared(file: OwnedFd, bytes: PinBytes) -> Self {
        Self { file, bytes }
    }

    /// A descriptor of the same open file for another process: the port is free once all are closed.
    ///
    /// # Errors
    /// Where this process has too many files open.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    /// What is written to make it active or safe.
    #[must_use]
    pub const fn bytes(&self) -> PinBytes {
        self.bytes
    }
}

impl Drop for OutputPin {
    fn drop(&mut self) {
        // A port that is gone drives nothing.
        let _ = self.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;

    /// A port with its register, and how many drivers have registered for it.
    #[derive(Default)]
    struct Hardware {
        levels: Cell<u8>,
        is_reverse: Cell<bool>,
        registered: Cell<u32>,
        is_exclusive: Cell<bool>,
        writes: RefCell<Vec<u8>>,
    }

    /// An open file, as drivers/char/ppdev.c of Linux 6.12 keeps one.
    struct Opened {
        hardware: Rc<Hardware>,
        wants_exclusive: Cell<bool>,
        is_registered: Cell<bool>,
        is_claimed: Cell<bool>,
    }

    impl Opened {
        fn open(hardware: &Rc<Hardware>) -> Self {
            let [wants_exclusive, is_registered, is_claimed] = [const { Cell::new(false) }; 3];
            Self { hardware: Rc::clone(hardware), wants_exclusive, is_registered, is_claimed }
        }
    }

    impl OpenPort for Opened {
        fn ask(&self, what: Ask) -> io::Result<u8> {
            let fails = |number| Err(io::Error::from_raw_os_error(number));
            let port = &self.hardware;
            match what {
                Ask::Exclusive if self.is_registered.get() && !self.wants_exclusive.get() => fails(libc::EINVAL),
                Ask::Exclusive => {
                    self.wants_exclusive.set(true);
                    Ok(0)
                }
                Ask::Claim if self.is_claimed.get() => fails(libc::EINVAL),
                Ask::Claim => {
                    // parport_register_dev_model() refuses it, and register_device() says ENXIO.
                    let others = port.registered.get() - u32::from(self.is_registered.get());
                    if port.is_exclusive.get() || self.wants_exclusive.get() && others > 0 {
                        return fails(libc::ENXIO);
                    }
                    port.registered.set(port.registered.get() + 1);
                    port.is_exclusive.set(self.wants_exclusive.get());
                    self.is_registered.set(true);
                    self.is_claimed.set(true);
                    Ok(0)
                }
                _ if !self.is_claimed.get() => fails(libc::EINVAL),
                Ask::Forward => {
                    port.is_reverse.set(false);
                    Ok(0)
                }
                // Without a device the pins of a reversed port read high.
                Ask::Levels => Ok(if port.is_reverse.get() { 0xff } else { port.levels.get() }),
                Ask::Write(levels) => {
                    port.levels.set(levels);
                    port.writes.borrow_mut().push(levels);
                    Ok(0)
                }
            }
        }
    }

    impl Drop for Opened {
        fn drop(&mut self) {
            if self.is_registered.get() {
                self.hardware.registered.set(self.hardware.registered.get() - 1);
                self.hardware.is_exclusive.set(false);
            }
        }
    }

    #[test]
    fn the_requests_are_those_of_the_kernel_s_header() {
        let numbers = [Ask::Exclusive, Ask::Claim, Ask::Forward, Ask::Levels, Ask::Write(7)].map(Ask::number);
        assert_eq!(numbers, [0x708f, 0x708b, 0x4004_7090, 0x8001_7085, 0x4001_7086]);
    }

    #[test]
    fn a_pin_is_switched_and_the_others_keep_their_level() {
        for (levels, pin, active_low, safe, active) in [
            (0b1010_0101, 3, false, 0b1010_0101, 0b1010_1101),
            (0b1010_1101, 3, false, 0b1010_0101, 0b1010_1101),
            (0b0000_0000, 0, true, 0b0000_0001, 0b0000_0000),
            (0b1111_1111, 7, true, 0b1111_1111, 0b0111_1111),
        ] {
            let hardware = Rc::new(Hardware::default());
            hardware.levels.set(levels);
            hardware.is_reverse.set(true);
            let port = Opened::open(&hardware);
            let bytes = take(&port, pin, active_low).unwrap();
            assert_eq!(bytes, PinBytes { safe, active });
            // Safe from the first write on.
            assert_eq!(*hardware.writes.borrow(), [safe]);
        }
    }

    #[test]
    fn a_port_belongs_to_one_open_file_until_that_is_closed() {
        let hardware = Rc::new(Hardware::default());
        let refused = |pin| take(&Opened::open(&hardware), pin, false).unwrap_err();
        assert_eq!(refused(8).kind(), io::ErrorKind::InvalidInput);
        // The driver of printers has registered for it, and has not claimed it.
        hardware.registered.set(1);
        assert_eq!(refused(3).raw_os_error(), Some(libc::ENXIO));
        hardware.registered.set(0);
        let first = Opened::open(&hardware);
        take(&first, 3, false).unwrap();
        assert_eq!(refused(4).raw_os_error(), Some(libc::ENXIO), "another pin of the same port");
        assert_eq!(take(&first, 3, false).unwrap_err().raw_os_error(), Some(libc::EINVAL), "claimed already");
        assert_eq!(*hardware.writes.borrow(), [0], "nothing was written for those who were refused");
        drop(first);
        take(&Opened::open(&hardware), 4, false).unwrap();
        // Nothing is written without a claim.
        let unclaimed = Opened::open(&hardware);
        assert_eq!(unclaimed.ask(Ask::Write(1)).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn what_is_no_port_is_refused_with_what_it_is() {
        let said = |name: &str| ParallelPort::open(name).unwrap_err();
        assert_eq!(said("/dev/null").to_string(), "it is no parallel port of the kernel's ppdev");
        assert_eq!(said("/proc/self/status").to_string(), "it is no parallel port of the kernel's ppdev");
        assert_eq!(said("parport4096").kind(), io::ErrorKind::NotFound);
        // A descriptor of something else is no port.
        let null = OwnedFd::from(File::open("/dev/null").unwrap());
        assert_eq!(take(&null, 0, false).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
