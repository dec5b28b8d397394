//! PTP hardware clocks (Documentation/driver-api/ptp.rst, include/uapi/linux/ptp_clock.h): what they are, and readings of one
//! between two readings of the system clock.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// Readings in one call; the kernel takes at most 25 (PTP_MAX_SAMPLES).
const READINGS: usize = 10;
const MOST_READINGS: usize = 25;

/// `struct ptp_clock_time`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct ClockTime {
    seconds: i64,
    nanoseconds: u32,
    reserved: u32,
}

/// `struct ptp_sys_offset`: system, device, system, device, …, system.
#[repr(C)]
struct SysOffset {
    samples: u32,
    reserved: [u32; 3],
    times: [ClockTime; 2 * MOST_READINGS + 1],
}

/// `struct ptp_sys_offset_extended`: system before, device, system after, for each reading.
#[repr(C)]
struct SysOffsetExtended {
    samples: u32,
    /// `CLOCK_REALTIME` is 0; before Linux 6.12 this was reserved, and had to be 0.
    clock: i32,
    reserved: [u32; 2],
    times: [[ClockTime; 3]; MOST_READINGS],
}

/// `struct ptp_sys_offset_precise`: all at one moment, by hardware.
#[repr(C)]
#[derive(Default)]
struct SysOffsetPrecise {
    device: ClockTime,
    realtime: ClockTime,
    raw: ClockTime,
    reserved: [u32; 4],
}

/// `_IOC(direction, '=', number, size)` (include/uapi/asm-generic/ioctl.h).
const fn request(direction: u64, number: u64, size: usize) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "sizes of a few hundred bytes")]
    let size = size as u32 as u64;
    direction << 30 | size << 16 | (b'=' as u64) << 8 | number
}

const WRITE: u64 = 1;
const READ_WRITE: u64 = 3;
const SYS_OFFSET: u64 = request(WRITE, 5, size_of::<SysOffset>());
const SYS_OFFSET_PRECISE: u64 = request(READ_WRITE, 8, size_of::<SysOffsetPrecise>());
const SYS_OFFSET_EXTENDED: u64 = request(READ_WRITE, 9, size_of::<SysOffsetExtended>());

/// How a hardware clock was compared with the system clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Both were latched at one moment by hardware (`PTP_SYS_OFFSET_PRECISE`).
    Precise,
    /// The driver read the system clock right before and after the register (`PTP_SYS_OFFSET_EXTENDED`).
    Extended,
    /// The kernel read the system clock around the driver's call (`PTP_SYS_OFFSET`).
    Basic,
}

impl Method {
    /// The name of the kernel's request.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Precise => "PTP_SYS_OFFSET_PRECISE",
            Self::Extended => "PTP_SYS_OFFSET_EXTENDED",
            Self::Basic => "PTP_SYS_OFFSET",
        }
    }
}

/// The narrowest of several readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// How it was made.
    pub method: Method,
    /// The hardware clock (ns of its own epoch).
    pub phc_ns: i64,
    /// `CLOCK_REALTIME` before (ns).
    pub before_ns: i64,
    /// `CLOCK_REALTIME` after (ns); the same as before for [`Method::Precise`].
    pub after_ns: i64,
}

impl Comparison {
    /// The hardware clock less the system clock, in the middle of the window (ns).
    #[must_use]
    pub const fn offset_ns(&self) -> i64 {
        self.phc_ns - self.before_ns - self.width_ns() / 2
    }

    /// `CLOCK_REALTIME` in the middle of the window (ns).
    #[must_use]
    pub const fn middle_ns(&self) -> i64 {
        self.before_ns + self.width_ns() / 2
    }

    /// The length of the window in which the hardware clock was read (ns); the error is at most that.
    #[must_use]
    pub const fn width_ns(&self) -> i64 {
        self.after_ns - self.before_ns
    }
}

/// An open hardware clock; it is only read.
#[derive(Debug)]
pub struct HardwareClock {
    device: File,
    /// The best that it offers, once that is known.
    method: Option<Method>,
}

const fn to_ns(time: ClockTime) -> i64 {
    time.seconds.saturating_mul(1_000_000_000).saturating_add(time.nanoseconds as i64)
}

impl HardwareClock {
    /// Opens `/dev/ptp0` or another.
    ///
    /// # Errors
    /// Where it does not exist or may not be read.
    pub fn open(device: &Path) -> io::Result<Self> {
        // Before Linux 6.15 only who could set a clock is told how it is corrected. Nothing is set here.
        let both = File::options().read(true).write(true).open(device);
        let device = both.or_else(|_| File::open(device))?;
        Ok(Self { device, method: None })
    }

    /// By how much the clock's rate is corrected (parts per billion), as it was last set through this kernel; `None` where the
    /// kernel does not say it to this user.
    #[must_use]
    pub fn correction_ppb(&self) -> Option<i64> {
        // A clock's identifier from a descriptor (FD_TO_CLOCKID, Documentation of clock_gettime(2)).
        let id = (!self.device.as_raw_fd() << 3) | 3;
        // SAFETY: all zeros is a value of this structure of integers, and `modes` 0 changes nothing.
        let mut time: libc::timex = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is valid and writable for the length of the call; `modes` is 0, so the clock is only asked.
        if unsafe { libc::clock_adjtime(id, &raw mut time) } < 0 {
            return None;
        }
        // In units of 2^-16 parts per million.
        i64::try_from(i128::from(time.freq) * 1_000 / 65_536).ok()
    }

    /// Compares it with the system clock, by the best way that it offers.
    ///
    /// # Errors
    /// Where the device is gone, or offers none.
    pub fn compare(&mut self) -> io::Result<Comparison> {
        if let Some(method) = self.method {
            return self.compare_by(method);
        }
        let mut last = io::Error::from(io::ErrorKind::Unsupported);
        for method in [Method::Precise, Method::Extended, Method::Basic] {
            match self.compare_by(method) {
                Ok(compared) => {
                    self.method = Some(method);
                    return Ok(compared);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn compare_by(&self, method: Method) -> io::Result<Comparison> {
        let windows: Vec<(i64, i64, i64)> = match method {
            Method::Precise => {
                let mut read = SysOffsetPrecise::default();
                self.ask(SYS_OFFSET_PRECISE, &mut read)?;
                vec![(to_ns(read.realtime), to_ns(read.device), to_ns(read.realtime))]
            }
            Method::Extended => {
                let mut read = SysOffsetExtended {
                    samples: 0,
                    clock: 0,
                    reserved: [0; 2],
                    times: [[ClockTime::default(); 3]; MOST_READINGS],
                };
                read.samples = u32::try_from(READINGS).unwrap_or(1);
                self.ask(SYS_OFFSET_EXTENDED, &mut read)?;
                let readings = read.times.iter().take(READINGS);
                readings.map(|[before, device, after]| (to_ns(*before), to_ns(*device), to_ns(*after))).collect()
            }
            Method::Basic => {
                let mut read =
                    SysOffset { samples: 0, reserved: [0; 3], times: [ClockTime::default(); 2 * MOST_READINGS + 1] };
                read.samples = u32::try_from(READINGS).unwrap_or(1);
                self.ask(SYS_OFFSET, &mut read)?;
                let times = &read.times[..=2 * READINGS];
                times.windows(3).step_by(2).map(|of| (to_ns(of[0]), to_ns(of[1]), to_ns(of[2]))).collect()
            }
        };
        let narrowest = windows.into_iter().filter(|(before, _, after)| after >= before).min_by_key(|(b, _, a)| a - b);
        let (before_ns, phc_ns, after_ns) =
            narrowest.ok_or_else(|| io::Error::other("the system clock was set back in each reading"))?;
        Ok(Comparison { method, phc_ns, before_ns, after_ns })
    }

    fn ask<T>(&self, number: u64, read: &mut T) -> io::Result<()> {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::unnecessary_cast,
            reason = "32 bits, in the C library's type"
        )]
        let number = number as libc::Ioctl;
        // SAFETY: each request is made with the structure whose size it encodes, valid and writable for the length of the call.
        if unsafe { libc::ioctl(self.device.as_raw_fd(), number, std::ptr::from_mut(read)) } == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_are_those_of_the_kernel_s_header() {
        // As include/uapi/linux/ptp_clock.h gives them for x86-64 and arm.
        assert_eq!(SYS_OFFSET, 0x4340_3d05);
        assert_eq!(SYS_OFFSET_PRECISE, 0xc040_3d08);
        assert_eq!(SYS_OFFSET_EXTENDED, 0xc4c0_3d09);
    }

    #[test]
    fn a_window_is_the_error() {
        let compared = Comparison { method: Method::Basic, phc_ns: 37_000_000_150, before_ns: 100, after_ns: 200 };
        assert_eq!((compared.offset_ns(), compared.width_ns()), (37_000_000_000, 100));
    }

    #[test]
    fn what_is_no_clock_is_refused() {
        assert!(HardwareClock::open(Path::new("/dev/ptp-none")).is_err());
        let mut null = HardwareClock::open(Path::new("/dev/null")).unwrap();
        assert!(null.compare().is_err() && null.correction_ppb().is_none());
    }
}
