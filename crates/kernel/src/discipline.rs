//! What the kernel knows of how well its clock is synchronized, and of TAI: `adjtimex(2)`. All of it is read; TAI less UTC can be
//! set, which steers nothing.

use std::io;

/// The state of the kernel's clock (`time_state` in kernel/time/ntp.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeapState {
    /// No leap second is announced.
    None,
    /// A second will be inserted at the end of the day in UTC.
    Insert,
    /// A second will be left out at the end of the day in UTC.
    Delete,
    /// The inserted second is now, or has just been.
    Now,
}

/// What `adjtimex` reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discipline {
    /// Whether a program claims to synchronize the clock: `STA_UNSYNC` is not set.
    pub is_synchronized: bool,
    /// The leap second that is announced.
    pub leap: LeapState,
    /// The largest error, as the program that synchronizes the clock stated it; the kernel adds 500 parts per million of the time
    /// since (ns).
    pub max_error_ns: i64,
    /// The estimated error, as that program stated it (ns).
    pub estimated_error_ns: i64,
    /// The correction of the clock's rate (parts per billion), without that of the tick's length.
    pub frequency_ppb: f64,
    /// The length of a tick (us): 10000, unless a program corrects the rate by it.
    pub tick_us: i64,
    /// TAI less UTC (s); 0 where nobody has set it.
    pub tai_less_utc_s: i32,
    /// Whether a pulse per second disciplines the clock.
    pub has_pps: bool,
}

/// Reads it; nothing is changed, and no right is needed.
///
/// # Errors
/// Where the kernel refuses.
#[allow(clippy::useless_conversion, reason = "not useless on 32-bit machines")]
pub fn read() -> io::Result<Discipline> {
    // SAFETY: timex consists of integers alone, for all of which 0 is a value; no mode asks for a change.
    let mut time: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `time` is a valid, writable timex for the length of the call.
    let state = unsafe { libc::clock_adjtime(libc::CLOCK_REALTIME, &raw mut time) };
    if state < 0 {
        return Err(io::Error::last_os_error());
    }
    let leap = match state {
        libc::TIME_OK | libc::TIME_ERROR if time.status & libc::STA_INS != 0 => LeapState::Insert,
        libc::TIME_OK | libc::TIME_ERROR if time.status & libc::STA_DEL != 0 => LeapState::Delete,
        libc::TIME_INS => LeapState::Insert,
        libc::TIME_DEL => LeapState::Delete,
        libc::TIME_OOP | libc::TIME_WAIT => LeapState::Now,
        _ => LeapState::None,
    };
    Ok(Discipline {
        is_synchronized: time.status & libc::STA_UNSYNC == 0,
        leap,
        max_error_ns: i64::from(time.maxerror).saturating_mul(1_000),
        estimated_error_ns: i64::from(time.esterror).saturating_mul(1_000),
        // In 2^-16 parts per million.
        frequency_ppb: units::approx_f64_i64(i64::from(time.freq)) * 1_000.0 / 65_536.0,
        tick_us: i64::from(time.tick),
        tai_less_utc_s: time.tai,
        has_pps: time.status & libc::STA_PPSSIGNAL != 0,
    })
}

/// Tells the kernel what TAI less UTC is, by which CLOCK_TAI is ahead of CLOCK_REALTIME; nothing else of the clock's discipline is
/// changed. Linux before 5.2 takes no 0, without an error: what it has made of the order has to be read.
///
/// # Errors
/// Without the right to set the clock (CAP_SYS_TIME).
#[allow(clippy::useless_conversion, reason = "not useless on 32-bit machines")]
pub fn set_tai_less_utc(seconds: u8) -> io::Result<()> {
    // SAFETY: timex consists of integers alone, for all of which 0 is a value.
    let mut time: libc::timex = unsafe { std::mem::zeroed() };
    time.modes = libc::ADJ_TAI;
    // With this mode alone the field means TAI less UTC (kernel/time/ntp.c, process_adjtimex_modes()).
    time.constant = seconds.into();
    // SAFETY: `time` is a valid, writable timex for the length of the call.
    let state = unsafe { libc::clock_adjtime(libc::CLOCK_REALTIME, &raw mut time) };
    if state < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The rate at which the kernel corrects CLOCK_REALTIME now (parts per billion): the frequency, and the length of the tick.
///
/// # Errors
/// Where the kernel refuses.
pub fn rate_ppb() -> io::Result<f64> {
    let read = read()?;
    // A tick is 10000 us (kernel/time/ntp.c, USER_HZ of 100).
    Ok(read.frequency_ppb + units::approx_f64_i64(read.tick_us - 10_000) * 100_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_clocks_that_it_describes() {
        let read = read().unwrap();
        // The kernel takes 9 to 11 ms for a tick, and 500 parts per million for the rate (kernel/time/ntp.c).
        assert!((9_000..=11_000).contains(&read.tick_us), "{read:?}");
        assert!(read.frequency_ppb.abs() <= 500_000.0, "{read:?}");
        let clock = |id: units::ClockId| crate::clock::now_ns(id.into());
        let tai_ns = clock(units::ClockId::Tai) - clock(units::ClockId::Realtime);
        let less_ns = i64::from(read.tai_less_utc_s) * 1_000_000_000;
        assert!((tai_ns - less_ns).abs() < 500_000_000, "{tai_ns} {read:?}");
    }

    #[test]
    fn what_stands_there_is_set_again_and_nothing_else_changes() {
        let before = read().unwrap();
        // One that no time service would set is left alone.
        let Ok(seconds) = u8::try_from(before.tai_less_utc_s) else { return };
        let set = set_tai_less_utc(seconds);
        assert!(set.is_ok() || set.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied));
        let after = read().unwrap();
        assert_eq!(after.tai_less_utc_s, before.tai_less_utc_s);
        // A service that steers the clock changes its rate meanwhile, not the length of the tick and the state.
        assert_eq!((after.tick_us, after.leap), (before.tick_us, before.leap));
    }
}
