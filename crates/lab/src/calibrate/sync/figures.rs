//! What ptp4l and phc2sys print of their own offsets.

/// One line of figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// When it was printed (ns of CLOCK_MONOTONIC, which the programs print in milliseconds).
    pub at_ns: i64,
    /// The offset (ns), or root mean square of several offsets: what the line has.
    pub offset_ns: i64,
    /// Whether the servo is locked: state `s2`, or a summary, which ptp4l prints of a locked servo alone.
    pub is_locked: bool,
    /// The correction of the clock's frequency (ppb).
    pub frequency_ppb: i64,
    /// The path delay, or how long a reading took (ns).
    pub delay_ns: i64,
}

/// The lines of figures in a log, in their order; other lines are skipped.
#[must_use]
pub fn figures(log: &str) -> Vec<Figures> {
    log.lines().filter_map(one_line).collect()
}

fn one_line(line: &str) -> Option<Figures> {
    let (time, rest) = line.split_once('[')?.1.split_once("]:")?;
    let (seconds, milliseconds) = time.trim().split_once('.')?;
    let at_ms = seconds.parse::<i64>().ok()?.checked_mul(1_000)?.checked_add(milliseconds.parse().ok()?)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1)?.parse::<i64>().ok()
    };
    let (offset_ns, is_summary) = match after("rms") {
        Some(rms_ns) => (rms_ns, true),
        None => (after("offset")?, false),
    };
    Some(Figures {
        at_ns: at_ms.checked_mul(1_000_000)?,
        offset_ns,
        is_locked: is_summary || words.contains(&"s2"),
        frequency_ppb: after("freq")?,
        delay_ns: after("delay")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_and_single_lines_are_parsed() {
        let log = "ptp4l[12.345]: selected /dev/ptp0 as PTP clock\n\
                   ptp4l[13.001]: master offset  -94672800000000123 s0 freq     +0 path delay     10000\n\
                   ptp4l[20.500]: rms    5 max   12 freq -19998 +/-   3 delay 10001 +/-   0\n\
                   phc2sys[31.250]: CLOCK_REALTIME phc offset      -17 s2 freq   -7003 delay    350\n\
                   ptp4l[x.1]: rms 1 max 2 freq 3 +/- 4 delay 5\n";
        let found = figures(log);
        let brief: Vec<_> = found.iter().map(|of| (of.at_ns, of.offset_ns, of.is_locked, of.frequency_ppb)).collect();
        assert_eq!(
            brief,
            [
                (13_001_000_000, -94_672_800_000_000_123, false, 0),
                (20_500_000_000, 5, true, -19_998),
                (31_250_000_000, -17, true, -7_003)
            ]
        );
        assert_eq!(found.iter().map(|of| of.delay_ns).collect::<Vec<_>>(), [10_000, 10_001, 350]);
    }
}
