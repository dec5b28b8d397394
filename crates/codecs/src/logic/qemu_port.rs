//! QEMU's log of what guests write to a parallel port without a device (its trace event `parallel_ioport_write`, QEMU 7.2 to 10.0), with
//! the host's time: the lab's logic analyzer. The eight bits of the data register are eight lines.
//!
//! ```text
//! 15433@1795315749.568348:parallel_ioport_write write [SW] addr 0x00 val 0x0b
//! thread, seconds and microseconds of the host's CLOCK_REALTIME; register and value in hexadecimal digits
//! ```
//!
//! Each guest has a log of its own, and all have one clock: they are read together. Before the first write to its data register nothing
//! is known of a port. A last line without an end is passed over: QEMU is still writing it.

use super::{BACKWARDS, Levels, LogicCapture, LogicChannel, LogicError, MOST_CHANNELS, PS};

const FORM: &str = "QEMU's log of a parallel port";
const EVENT: &[u8] = b"parallel_ioport_write ";
/// Lines of a port.
const LINES: usize = 8;
const PS_OF_US: i64 = PS / 1_000_000;

/// A write to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PortWrite {
    at_us: i64,
    register: u8,
    value: u8,
}

/// Reads the logs of several guests, each with the guest's name, as one capture: its lines are `GUEST D0` to `GUEST D7`, and its zero is
/// the second of the first write of all.
///
/// # Errors
/// With the line, where a log is none or a write in it has another form; all times of a log ascend, as the host's clock does unless it is
/// set.
pub fn parse(logs: &[(&[u8], &str)]) -> Result<LogicCapture, LogicError> {
    if logs.len() > MOST_CHANNELS / LINES {
        let what = format!("{} logs: up to {} can be read together", logs.len(), MOST_CHANNELS / LINES);
        return Err(LogicError::Line { line: 1, what });
    }
    let all: Vec<Vec<PortWrite>> = logs.iter().map(|(bytes, _)| writes(bytes)).collect::<Result<_, _>>()?;
    let moments = || all.iter().flatten().map(|write| write.at_us);
    let (Some(first_us), Some(last_us)) = (moments().min(), moments().max()) else {
        return Err(LogicError::Foreign(FORM));
    };
    let zero_us = first_us - first_us % 1_000_000;
    // A hundred days are the most that picoseconds have room for.
    let at_ps = |at_us: i64| (at_us - zero_us).checked_mul(PS_OF_US);
    let end_ps = at_ps(last_us).ok_or_else(|| LogicError::Line {
        line: 1,
        what: "the logs' first and last write are more than 106 days apart: did somebody set the host's clock?"
            .to_owned(),
    })?;
    let mut channels = Vec::new();
    for ((_, name), writes) in logs.iter().zip(&all) {
        let mut levels = vec![Levels::default(); LINES];
        for write in writes.iter().filter(|write| write.register == 0) {
            let now_ps = at_ps(write.at_us).unwrap_or(end_ps);
            for (bit, levels) in levels.iter_mut().enumerate() {
                levels.put(now_ps, Some(write.value >> bit & 1 == 1));
            }
        }
        let channel = |(bit, levels): (usize, Levels)| {
            let name = if name.is_empty() { format!("D{bit}") } else { format!("{name} D{bit}") };
            LogicChannel { name, spans: levels.end(end_ps) }
        };
        channels.extend(levels.into_iter().enumerate().map(channel));
    }
    Ok(LogicCapture { channels, resolution_ps: Some(PS_OF_US) })
}

/// Whether a file begins as QEMU's logs do.
#[must_use]
pub fn is_log(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && line.get(digits) == Some(&b'@')
}

/// The writes of a log; lines of other events are passed over.
fn writes(bytes: &[u8]) -> Result<Vec<PortWrite>, LogicError> {
    let mut all: Vec<PortWrite> = Vec::new();
    for (number, line) in units::whole_lines(bytes).0 {
        let wrong = |what: String| LogicError::Line { line: number, what };
        if !line.windows(EVENT.len()).any(|words| words == EVENT) {
            continue;
        }
        let write = port_write(line).ok_or_else(|| {
            let text = String::from_utf8_lossy(line.get(..80).unwrap_or(line)).into_owned();
            wrong(format!("'{}' is not of the form that QEMU 7.2 to 10.0 write", units::printable::line(&text)))
        })?;
        if all.last().is_some_and(|before| write.at_us < before.at_us) {
            return Err(wrong(format!("{BACKWARDS}: was the host's clock set?")));
        }
        all.push(write);
    }
    Ok(all)
}

fn port_write(line: &[u8]) -> Option<PortWrite> {
    let line = std::str::from_utf8(line).ok()?;
    let (thread, rest) = line.split_once('@')?;
    let (time, rest) = rest.split_once(":parallel_ioport_write write [")?;
    let (seconds, microseconds) = time.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if ![thread, seconds, microseconds].into_iter().all(is_number) || microseconds.len() != 6 {
        return None;
    }
    let (_, rest) = rest.split_once("] addr 0x")?;
    let (register, value) = rest.trim_end().split_once(" val 0x")?;
    let hexadecimal = |text: &str| {
        let is_byte = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_byte.then(|| u8::from_str_radix(text, 16).ok()).flatten()
    };
    let at_us = seconds.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(microseconds.parse().ok()?)?;
    Some(PortWrite { at_us, register: hexadecimal(register)?, value: hexadecimal(value)? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As QEMU 7.2 wrote it of a guest's firmware and of two pulses; the last line is not at its end.
    const LOG: &str = "15433@1795315738.299748:parallel_ioport_write write [SW] addr 0x02 val 0xcc\n\
        15433@1795315738.299807:parallel_ioport_write write [SW] addr 0x00 val 0xaa\n\
        15433@1795315738.299900:other_event 7\n\
        15433@1795315749.520155:parallel_ioport_write write [SW] addr 0x00 val 0x0a\n\
        15433@1795315749.568348:parallel_ioport_write write [SW] addr 0x00 val 0x0b\n\
        15433@1795315749.580240:parallel_ioport_write write [SW] addr 0x00 val 0x0c\n\
        15433@1795315750.000001:parallel_ioport_write write [SW] addr 0x00 val 0x0d\n\
        15433@1795315750.0000";

    #[test]
    fn bits_of_the_data_register_are_lines_and_logs_have_one_clock() {
        let other = LOG.replace("1795315738", "1795315737");
        let read = parse(&[(LOG.as_bytes(), "a"), (other.as_bytes(), "b")]).unwrap();
        assert_eq!((read.channels.len(), read.resolution_ps), (16, Some(1_000_000)));
        assert_eq!((read.channels[0].name.as_str(), read.channels[15].name.as_str()), ("a D0", "b D7"));
        let span = &read.channels[0].spans[0];
        // The zero is the second of the first write of both.
        assert_eq!((span.from_ps, span.until_ps, span.begins_high), (1_299_807_000_000, 13_000_001_000_000, false));
        assert_eq!(
            span.edges().collect::<Vec<_>>(),
            [(12_568_348_000_000, true), (12_580_240_000_000, false), (13_000_001_000_000, true)]
        );
        assert_eq!(read.channels[8].spans[0].from_ps, 299_807_000_000);
        assert_eq!(read.channels[7].spans[0].edges().collect::<Vec<_>>(), [(12_520_155_000_000, false)]);
        assert_eq!(parse(&[(LOG.as_bytes(), "")]).unwrap().channels[3].name, "D3");
    }

    #[test]
    fn what_is_no_log_or_goes_backwards_is_refused_with_its_line() {
        let said = |text: &str| parse(&[(text.as_bytes(), "")]).unwrap_err().to_string();
        assert_eq!(said("7@1.000005:other_event x\n"), "it does not begin as QEMU's log of a parallel port does");
        assert_eq!(said(""), "it does not begin as QEMU's log of a parallel port does");
        assert!(said(&LOG.replace("val 0x0c", "val 0x10c")).starts_with("line 6: '15433@1795315749.580240:parallel"));
        assert!(said(&LOG.replace("749.58", "749.5")).contains("line 6"));
        assert_eq!(
            said(&LOG.replace("1795315750", "1795315740")),
            format!("line 7: {BACKWARDS}: was the host's clock set?")
        );
        assert!(said(&LOG.replace("15433@1795315738.2", "15433@795315738.2")).contains("more than 106 days apart"));
        assert!(is_log(LOG.as_bytes()) && !is_log(b"Time [s],a") && !is_log(b"12\n@") && !is_log(b"@1"));
        assert!(parse(&[(LOG.as_bytes(), "a"); 129]).unwrap_err().to_string().contains("up to 128"));
    }

    proptest! {
        #[test]
        fn damaged_logs_never_make_it_panic(at in 0..500_usize, byte in any::<u8>(), cut in 0..500_usize) {
            let mut bytes = LOG.as_bytes().to_vec();
            bytes[at % LOG.len()] = byte;
            bytes.truncate(cut.max(1));
            if let Ok(read) = parse(&[(&bytes, "")]) {
                let spans = read.channels.iter().flat_map(|channel| &channel.spans);
                prop_assert!(spans.into_iter().all(|span| span.edges_ps.windows(2).all(|pair| pair[0] <= pair[1])));
            }
        }
    }
}
