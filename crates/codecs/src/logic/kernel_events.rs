//! Lines of GPIO chips as the kernel reports their edges (`struct gpio_v2_line_event`), written down by `punctual pulse watch`.
//!
//! ```text
//! punctual-edges 1
//! resolution_ns 2400         how far apart one edge on two of the lines was at most, where that was measured; else 'unknown'
//! shortest_ns 40000          the shortest pulse and gap that was seen whole meanwhile; else 'unknown'
//! line press-1 low           each line with its level at the beginning, in the order of their numbers from 0 on
//! line press-2 low
//! 1000241 0 high             nanoseconds from the beginning, a line, and its level from then on
//! 1000892 1 high
//! 2000000 1 lost             nothing is known of the line from its last edge to the next one
//! within_ns 2100             no edge was stamped later than this, by looks at the levels meanwhile; 'unknown' where they do not show that
//! until 60000000000          how long was looked; missing where that was cut off
//! ```
//!
//! A shift by it is right to within the larger of `resolution_ns` and `within_ns`, and to an unknown time where one of them is not known
//! or missing: an interrupt that is kept waiting while lines are watched makes a stamp late that was not when they were calibrated.

use super::{BACKWARDS, Levels, LogicCapture, LogicChannel, LogicError, MOST_CHANNELS};

const BEGIN: &str = "punctual-edges 1";
const PS_OF_NS: i64 = 1_000;
const UNKNOWN: &str = "unknown";

/// What was found out about the lines beforehand, with one signal on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibrated {
    /// How far apart one edge was on two of the lines at most (ns).
    pub resolution_ns: i64,
    /// The shortest time from edge to edge that was seen whole (ns).
    pub shortest_ns: i64,
}

/// What became of a line at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEvent {
    /// Its level is this one from then on.
    Level(bool),
    /// Edges of it were lost: nothing is known of it from its last edge to the next one.
    Lost,
}

/// The beginning of a file: the lines with their levels.
#[must_use]
pub fn head(lines: &[(&str, bool)], calibrated: Option<Calibrated>) -> String {
    let number = |of: fn(Calibrated) -> i64| calibrated.map_or_else(|| UNKNOWN.to_owned(), |it| of(it).to_string());
    let mut text = format!(
        "{BEGIN}\nresolution_ns {}\nshortest_ns {}\n",
        number(|it| it.resolution_ns),
        number(|it| it.shortest_ns)
    );
    for (name, is_high) in lines {
        text.push_str(&format!("line {name} {}\n", level_word(*is_high)));
    }
    text
}

/// A line of a file: what became of a line at a moment (ns from the beginning).
#[must_use]
pub fn event(at_ns: i64, line: usize, event: LineEvent) -> String {
    let word = match event {
        LineEvent::Level(is_high) => level_word(is_high),
        LineEvent::Lost => "lost",
    };
    format!("{at_ns} {line} {word}\n")
}

/// The end of a file (ns from the beginning), with how late stamps were at most (ns), if that is known.
#[must_use]
pub fn end(at_ns: i64, within_ns: Option<i64>) -> String {
    let within = within_ns.map_or_else(|| UNKNOWN.to_owned(), |ns| ns.to_string());
    format!("within_ns {within}\nuntil {at_ns}\n")
}

const fn level_word(is_high: bool) -> &'static str {
    if is_high { "high" } else { "low" }
}

/// Whether a file begins as these do.
pub(super) fn is_edges(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN.as_bytes())
}

/// Reads such a file. A last line without an end is passed over: it is still being written.
///
/// # Errors
/// With the line that cannot be; and for a pulse shorter than the shortest that the kernel's clock was seen to tell.
pub fn parse(bytes: &[u8]) -> Result<LogicCapture, LogicError> {
    let wrong = |line: usize, what: &str| LogicError::Line { line, what: what.to_owned() };
    let mut lines = units::whole_lines(bytes).0.map(|(number, line)| (number, line.trim_ascii_end()));
    match lines.next() {
        Some((_, line)) if line == BEGIN.as_bytes() => {}
        _ => return Err(LogicError::Foreign("what 'punctual pulse watch' writes")),
    }
    let mut capture = LogicCapture::default();
    let mut channels: Vec<Levels> = Vec::new();
    let (mut shortest_ps, mut last_ps, mut is_over) = (0, 0, false);
    let mut within_ps: Option<i64> = None;
    for (number, line) in lines {
        let text = std::str::from_utf8(line).map_err(|_| wrong(number, "it is no text"))?;
        let words: Vec<&str> = text.split(' ').collect();
        if is_over {
            return Err(wrong(number, "it follows the end"));
        }
        match words[..] {
            ["resolution_ns", UNKNOWN] | ["shortest_ns", UNKNOWN] if capture.channels.is_empty() => {}
            ["resolution_ns", ns] if capture.channels.is_empty() => {
                capture.resolution_ps = Some(moment_ps(ns, number)?);
            }
            ["shortest_ns", ns] if capture.channels.is_empty() => shortest_ps = moment_ps(ns, number)?,
            ["line", name, level] if last_ps == 0 => {
                let mut levels = Levels::default();
                levels.put(0, Some(level_of(level).ok_or_else(|| wrong(number, "a level is 'high' or 'low'"))?));
                if channels.len() == MOST_CHANNELS {
                    return Err(wrong(number, "there are more lines than any chip has"));
                }
                channels.push(levels);
                capture.channels.push(LogicChannel { name: name.to_owned(), spans: Vec::new() });
            }
            ["within_ns", UNKNOWN] => within_ps = None,
            ["within_ns", ns] => within_ps = Some(moment_ps(ns, number)?),
            ["until", ns] => {
                let at_ps = moment_ps(ns, number)?;
                if at_ps < last_ps {
                    return Err(wrong(number, BACKWARDS));
                }
                (last_ps, is_over) = (at_ps, true);
            }
            [ns, line, word] => {
                let at_ps = moment_ps(ns, number)?;
                let line = line.parse::<usize>().ok().and_then(|line| channels.get_mut(line));
                let levels = line.ok_or_else(|| wrong(number, "there is no line of this number"))?;
                if at_ps < last_ps {
                    return Err(wrong(number, BACKWARDS));
                }
                take(levels, at_ps, word, shortest_ps).map_err(|what| wrong(number, &what))?;
                last_ps = at_ps;
            }
            _ => return Err(wrong(number, "it is neither a line, an edge of one, nor an end")),
        }
    }
    for (channel, levels) in capture.channels.iter_mut().zip(channels) {
        channel.spans = levels.end(last_ps);
    }
    capture.resolution_ps = capture.resolution_ps.zip(within_ps).map(|(calibrated, seen)| calibrated.max(seen));
    Ok(capture)
}

/// What became of a line at a moment; an error says what cannot be.
fn take(levels: &mut Levels, at_ps: i64, word: &str, shortest_ps: i64) -> Result<(), String> {
    let last_ps = levels.spans.last().map(|span| span.edges_ps.last().copied().unwrap_or(span.from_ps));
    let Some(is_high) = level_of(word) else {
        if word != "lost" {
            return Err("an edge leads to 'high' or 'low', or was 'lost'".to_owned());
        }
        levels.put(last_ps.unwrap_or(at_ps), None);
        return Ok(());
    };
    // The level is read after the edge: of a pulse that is shorter than that takes, both edges lead to one level.
    if levels.now == Some(is_high) {
        levels.put(last_ps.unwrap_or(at_ps), None);
    }
    let has_edge = levels.spans.last().is_some_and(|span| !span.edges_ps.is_empty());
    if let Some(last_ps) = last_ps.filter(|_| has_edge && levels.now.is_some()) {
        let apart_ps = at_ps - last_ps;
        if apart_ps < shortest_ps {
            return Err(format!(
                "{} after the edge before it: shorter than the {} with which the lines were calibrated, and whether the kernel tells such \
                 edges is not known; order wider pulses, or calibrate with pulses as short",
                units::format::span(apart_ps / PS_OF_NS),
                units::format::span(shortest_ps / PS_OF_NS)
            ));
        }
    }
    levels.put(at_ps, Some(is_high));
    Ok(())
}

fn level_of(word: &str) -> Option<bool> {
    match word {
        "high" => Some(true),
        "low" => Some(false),
        _ => None,
    }
}

fn moment_ps(text: &str, line: usize) -> Result<i64, LogicError> {
    let ns = text.parse::<i64>().ok().filter(|ns| *ns >= 0).and_then(|ns| ns.checked_mul(PS_OF_NS));
    ns.ok_or_else(|| LogicError::Line { line, what: "a time is a number of nanoseconds, up to 106 days".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALIBRATED: Calibrated = Calibrated { resolution_ns: 2_400, shortest_ns: 40_000 };

    fn written(calibrated: Option<Calibrated>, events: &[(i64, usize, LineEvent)], until_ns: Option<i64>) -> String {
        let mut text = head(&[("press-1", false), ("press-2", true)], calibrated);
        events.iter().for_each(|(at_ns, line, what)| text.push_str(&event(*at_ns, *line, *what)));
        text + &until_ns.map_or_else(String::new, |until_ns| end(until_ns, Some(1_900)))
    }

    fn level(at_ns: i64, line: usize, is_high: bool) -> (i64, usize, LineEvent) {
        (at_ns, line, LineEvent::Level(is_high))
    }

    #[test]
    fn what_was_written_is_read() {
        let events = [level(1_000_000, 0, true), level(1_000_700, 1, false), level(1_100_000, 0, false)];
        let capture = parse(written(Some(CALIBRATED), &events, Some(5_000_000)).as_bytes()).unwrap();
        assert_eq!(capture.resolution_ps, Some(2_400_000));
        let names: Vec<&str> = capture.channels.iter().map(|channel| &*channel.name).collect();
        assert_eq!(names, ["press-1", "press-2"]);
        let of = |channel: usize| &capture.channels[channel].spans[0];
        assert_eq!(of(0).edges().collect::<Vec<_>>(), [(1_000_000_000, true), (1_100_000_000, false)]);
        assert_eq!((of(1).begins_high, of(1).edges_ps.len(), of(1).until_ps), (true, 1, 5_000_000_000));
        let open = parse(written(None, &events, None).as_bytes()).unwrap();
        assert_eq!((open.resolution_ps, open.channels[0].spans[0].until_ps), (None, 1_100_000_000));
    }

    #[test]
    fn an_error_is_stated_only_if_it_was_calibrated_and_seen_and_is_the_larger_of_both() {
        let resolution_ps = |calibrated, end: String| {
            let text = written(calibrated, &[level(1_000, 0, true)], None) + &end;
            parse(text.as_bytes()).unwrap().resolution_ps
        };
        assert_eq!(resolution_ps(Some(CALIBRATED), end(9_000, Some(1_900))), Some(2_400_000));
        // Interrupts waited longer than when the lines were calibrated.
        assert_eq!(resolution_ps(Some(CALIBRATED), end(9_000, Some(210_000))), Some(210_000_000));
        assert_eq!(resolution_ps(Some(CALIBRATED), end(9_000, None)), None);
        assert_eq!(resolution_ps(None, end(9_000, Some(1_900))), None);
        assert_eq!(resolution_ps(Some(CALIBRATED), String::new()), None, "cut off, or of a release that did not look");
    }

    #[test]
    fn of_lost_edges_and_of_levels_that_repeat_nothing_is_known_until_the_next_edge() {
        for between in [(200_000, 0, LineEvent::Lost), level(200_000, 0, true)] {
            let mut events = vec![level(100_000, 0, true), between];
            if between.2 == LineEvent::Lost {
                events.push(level(200_000, 0, true));
            }
            events.push(level(300_000, 0, false));
            let spans = &parse(written(None, &events, Some(900_000)).as_bytes()).unwrap().channels[0].spans.clone();
            assert_eq!(spans.len(), 2, "{between:?}");
            assert_eq!((spans[0].until_ps, spans[0].edges_ps.len()), (100_000_000, 1));
            assert_eq!((spans[1].from_ps, spans[1].begins_high), (200_000_000, true));
            assert_eq!(spans[1].edges_ps, [300_000_000]);
        }
    }

    #[test]
    fn a_pulse_that_is_shorter_than_those_of_the_calibration_is_refused() {
        let events = |width: i64| [level(1_000_000, 0, true), level(1_000_000 + width, 0, false)];
        assert!(parse(written(Some(CALIBRATED), &events(40_000), None).as_bytes()).is_ok());
        let error = parse(written(Some(CALIBRATED), &events(39_999), None).as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("line 7: 40.0 us after") || error.contains("shorter than the 40.0 us"), "{error}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_line() {
        for (tail, line) in [
            ("5 2 high\n", 6),
            ("5 0 up\n", 6),
            ("-5 0 high\n", 6),
            ("5 0 high\n4 1 low\n", 7),
            ("5 0 high\nuntil 4\n", 7),
            ("until 9\n9 0 high\n", 7),
            ("hello\n", 6),
            ("9223372036854775807 0 high\n", 6),
        ] {
            let error = parse((written(None, &[], None) + tail).as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("line {line}: ")), "{tail}: {error}");
        }
    }
}
