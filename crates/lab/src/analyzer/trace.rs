//! Parses QEMU's log of writes to a parallel port, and finds the pulses in it. Pure.

use super::LINE;

/// Name of the event in QEMU's `hw/char/trace-events`.
const EVENT: &str = "parallel_ioport_write ";
/// The data register's offset from the port's base.
const DATA_REGISTER: u8 = 0;

/// The rising edge of a node's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// Time of the edge (ns of the host's CLOCK_REALTIME, in whole microseconds).
    pub at_ns: i64,
    /// Label (0 to 127).
    pub label: u8,
}

/// The content of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The pulses, in the order in which they were written.
    pub pulses: Vec<Pulse>,
    /// Writes to the port's registers that are not part of a pulse: by firmware, drivers and other programs.
    pub other_writes: usize,
}

/// Why a log cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line of the event has an unknown form.
    #[error(
        "line {number} of QEMU's log, '{line}', is not of the form that QEMU 7.2 to 10.0 write: \
         PID@SECONDS.MICROSECONDS:parallel_ioport_write write [SW] addr 0x00 val 0x01"
    )]
    Form {
        /// Line number, from 1.
        number: usize,
        /// Text of the line, at most 80 characters.
        line: String,
    },
}

/// One write to one of the port's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Write {
    at_ns: i64,
    register: u8,
    value: u8,
}

impl Log {
    /// Parses a log; lines of other events and an incomplete last line are skipped.
    ///
    /// # Errors
    /// If a line of the event has an unknown form.
    pub fn read(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut log = Self::default();
        let mut state: Option<u8> = None;
        for (number, line) in units::whole_lines(bytes).0 {
            let line = String::from_utf8_lossy(line);
            if !line.contains(EVENT) {
                continue;
            }
            let form = || TraceError::Form { number, line: line.chars().take(80).collect() };
            let Write { at_ns, register, value } = parse_write(&line).ok_or_else(form)?;
            if register != DATA_REGISTER {
                log.other_writes += 1;
                continue;
            }
            match state.map(|before| before ^ value) {
                Some(LINE) if value & LINE != 0 => log.pulses.push(Pulse { at_ns, label: value >> 1 }),
                // The line falls, or a label is set while it is low.
                Some(_) if value & LINE == 0 => {}
                _ => log.other_writes += 1,
            }
            state = Some(value);
        }
        Ok(log)
    }
}

/// Parses `PID@SECONDS.MICROSECONDS:parallel_ioport_write write [SW] addr 0x00 val 0x01`.
fn parse_write(line: &str) -> Option<Write> {
    let (thread, rest) = line.split_once('@')?;
    let (time, rest) = rest.split_once(':')?;
    let (seconds, microseconds) = time.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if ![thread, seconds, microseconds].into_iter().all(is_number) || microseconds.len() != 6 {
        return None;
    }
    let (_, rest) = rest.strip_prefix(EVENT)?.strip_prefix("write [")?.split_once("] addr 0x")?;
    let (register, value) = rest.split_once(" val 0x")?;
    let hexadecimal = |text: &str| {
        let is_byte = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_byte { u8::from_str_radix(text, 16).ok() } else { None }
    };
    let seconds_ns = seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?;
    let within_ns = microseconds.parse::<i64>().ok()? * 1_000;
    Some(Write {
        at_ns: seconds_ns.checked_add(within_ns)?,
        register: hexadecimal(register)?,
        value: hexadecimal(value)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pulse_bytes;
    use super::*;

    fn line(at_us: i64, register: u8, value: u8) -> String {
        let (seconds, within) = (at_us / 1_000_000, at_us % 1_000_000);
        format!("77@{seconds}.{within:06}:parallel_ioport_write write [SW] addr 0x{register:02x} val 0x{value:02x}\n")
    }

    fn log(writes: &[(u8, u8)]) -> Log {
        let text: String = (1..).zip(writes).map(|(at_us, (register, value))| line(at_us, *register, *value)).collect();
        Log::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn probes_of_firmware_and_two_pulses_are_parsed() {
        // Output of QEMU 7.2.
        let text = "15433@1795315738.299748:parallel_ioport_write write [SW] addr 0x02 val 0xcc\n\
                    15433@1795315738.299807:parallel_ioport_write write [SW] addr 0x00 val 0xaa\n\
                    15433@1795315749.520155:parallel_ioport_write write [SW] addr 0x00 val 0x0a\n\
                    15433@1795315749.568348:parallel_ioport_write write [SW] addr 0x00 val 0x0b\n\
                    15433@1795315749.580240:parallel_ioport_write write [SW] addr 0x00 val 0x0c\n\
                    15433@1795315750.000001:parallel_ioport_write write [SW] addr 0x00 val 0x0d\n\
                    15433@1795315750.0000";
        let log = Log::read(text.as_bytes()).unwrap();
        let expected = [(1_795_315_749_568_348_000, 5), (1_795_315_750_000_001_000, 6)]
            .map(|(at_ns, label)| Pulse { at_ns, label });
        assert_eq!((log.pulses.as_slice(), log.other_writes), (&expected[..], 2));
    }

    #[test]
    fn probes_of_a_driver_are_not_pulses() {
        // parport_pc of Linux 6.12: the control register, then 0xaa and 0x55 into the data register.
        let probe = [(2, 0x0c), (2, 0x0e), (2, 0x0c), (0, 0xaa), (0, 0x55), (0, 0xaa), (2, 0x0c)];
        assert_eq!(log(&probe).pulses, []);
        // The state before the first write is unknown, so the line may have been high.
        assert_eq!(log(&[(0, 1), (0, 0), (0, 1)]).pulses.len(), 1);
        // Another bit moves with the line; a high line changes its label; a line stays high.
        assert_eq!(log(&[(0, 0), (0, 3), (0, 5), (0, 5)]).pulses, []);
        // Other registers do not disturb the line's state.
        assert_eq!(log(&[(0, 0), (2, 0xff), (0, 1)]).pulses.len(), 1);
    }

    #[test]
    fn a_line_of_unknown_form_is_reported_with_its_number() {
        let good = line(1, 0, 0);
        for bad in [
            "parallel_ioport_write write [SW] addr 0x00 val 0x01\n",
            "2026-01-01T00:00:00.000000Z parallel_ioport_write write [SW] addr 0x00 val 0x01\n",
            "7@1.5:parallel_ioport_write write [SW] addr 0x00 val 0x01\n",
            "7@1.000005:parallel_ioport_write write [SW] addr 0x00 val 0x101\n",
            "7@1.000005:parallel_ioport_write write [SW] addr 0x00 val 0x+1\n",
            "7@99999999999.000005:parallel_ioport_write write [SW] addr 0x00 val 0x01\n",
            "7@1.000005:parallel_ioport_write write addr 0x00 val 0x01\n",
        ] {
            let error = Log::read(format!("{good}{bad}").as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("line 2 of QEMU's log"), "{error}");
        }
        // Other events do not matter.
        assert_eq!(Log::read(format!("7@1.000005:other_event x\n{good}").as_bytes()).unwrap().other_writes, 1);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Log::read(&bytes);
        }

        #[test]
        fn each_pulse_is_found_where_it_was_written(labels in proptest::collection::vec(0_u8..128, 0..40)) {
            let writes: Vec<u8> = labels.iter().flat_map(|label| {
                let [low, high] = pulse_bytes(*label);
                [low, high, low]
            }).collect();
            let text: String = (1..).zip(&writes).map(|(at_us, value)| line(at_us, 0, *value)).collect();
            let found = Log::read(text.as_bytes()).unwrap();
            let expected: Vec<Pulse> =
                (0..).zip(&labels).map(|(n, label)| Pulse { at_ns: (3 * n + 2) * 1_000, label: *label }).collect();
            prop_assert_eq!(found.pulses, expected);
            prop_assert_eq!(found.other_writes, usize::from(!labels.is_empty()));
        }
    }
}
