//! A value change dump (IEEE 1364-2005, section 18), as sigrok, GTKWave and simulators write it: of it, the lines of one bit.
//!
//! Wider values, real numbers and comments are passed over. `x` and `z` are no levels: nothing is known there.
//!
//! libsigrok 0.5.2, its last release, gives lines the levels of others if one between them was not captured: of D0 and D2 it writes D1's
//! as D2's. Such a file is refused, as far as the lines' names show it. Its unit of time is finer than its samples are apart; how far
//! these are it says in a comment.

use std::collections::HashMap;

use super::sigrok_rate::SampleRate;
use super::{BACKWARDS, Levels, LogicCapture, LogicChannel, LogicError, MOST_CHANNELS};

const FORM: &str = "a value change dump";

/// Reads a file.
///
/// # Errors
/// With the byte, where it is no such file, is cut off, or says what cannot be.
pub fn parse(bytes: &[u8]) -> Result<LogicCapture, LogicError> {
    let mut words = Words { bytes, at: 0 };
    let mut heading = Heading::default();
    if !words.clone().next().is_some_and(|(_, word)| word.starts_with(b"$")) {
        return Err(LogicError::Foreign(FORM));
    }
    heading.read(&mut words)?;
    heading.check_libsigrok()?;
    let unit_ps = heading.unit_ps.ok_or(LogicError::Foreign("a value change dump with a $timescale"))?;
    let mut levels = vec![Levels::default(); heading.names.len()];
    let mut now_ps = None;
    while let Some((at, word)) = words.next() {
        let wrong = |what: String| LogicError::Byte { at, what };
        match word {
            [b'#', digits @ ..] => {
                let count = number(digits).ok_or_else(|| wrong(format!("'{}' is no time", shown(word))))?;
                let at_ps = unit_ps.of(count).ok_or_else(|| wrong(format!("'{}' is too late", shown(word))))?;
                if now_ps.is_some_and(|now_ps| at_ps < now_ps) {
                    return Err(wrong(BACKWARDS.to_owned()));
                }
                now_ps = Some(at_ps);
            }
            [b'0' | b'1' | b'x' | b'X' | b'z' | b'Z', id @ ..] if !id.is_empty() => {
                if let Some(channel) = heading.channel(id).and_then(|channel| levels.get_mut(channel)) {
                    // What stands before the first time holds from 0 on.
                    channel.put(*now_ps.get_or_insert(0), level(word[0]));
                }
            }
            // A value of several bits, or a real one: its line follows.
            [b'b' | b'B', value @ ..] if !value.is_empty() => {
                let (_, id) = words.next().ok_or(LogicError::Short { bytes: bytes.len(), what: "a value" })?;
                if let Some(channel) = heading.channel(id).and_then(|channel| levels.get_mut(channel)) {
                    let value = *value.last().unwrap_or(&b'x');
                    channel.put(*now_ps.get_or_insert(0), level(value));
                }
            }
            [b'r' | b'R', _, ..] => {
                words.next().ok_or(LogicError::Short { bytes: bytes.len(), what: "a value" })?;
            }
            b"$comment" => words.pass_to_end(bytes.len())?,
            // What they enclose are values.
            b"$dumpvars" | b"$dumpall" | b"$dumpon" | b"$dumpoff" | b"$end" => {}
            _ => return Err(wrong(format!("'{}' is neither a time nor a value", shown(word)))),
        }
    }
    let end_ps = now_ps.ok_or(LogicError::Short { bytes: bytes.len(), what: "its heading: no value follows" })?;
    let resolution_ps = heading.resolution_ps(unit_ps);
    let channel = |(name, levels): (String, Levels)| LogicChannel { name, spans: levels.end(end_ps) };
    Ok(LogicCapture { channels: heading.names.into_iter().zip(levels).map(channel).collect(), resolution_ps })
}

const fn level(byte: u8) -> Option<bool> {
    match byte {
        b'0' => Some(false),
        b'1' => Some(true),
        _ => None,
    }
}

/// The unit of its times: so many picoseconds, or femtoseconds of which so many are one.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Picoseconds(i64),
    PerPicosecond(i64),
}

impl Unit {
    fn of(self, count: i64) -> Option<i64> {
        match self {
            Self::Picoseconds(ps) => count.checked_mul(ps),
            Self::PerPicosecond(count_of_one) => Some(count / count_of_one),
        }
    }

    /// How long one of them is (ps), at least 1: moments are whole ones.
    fn length_ps(self) -> i64 {
        self.of(1).unwrap_or(super::PS).max(1)
    }
}

/// What is declared before the first value.
#[derive(Debug, Default)]
struct Heading<'a> {
    unit_ps: Option<Unit>,
    /// Where it says that libsigrok wrote it (bytes).
    libsigrok_at: Option<usize>,
    /// How often it says that samples were taken.
    rate: Option<SampleRate>,
    names: Vec<String>,
    /// By the short name in the file, which channel: those of one byte, of which most files have no others, apart.
    short: HashMap<&'a [u8], usize>,
    of_byte: Vec<Option<usize>>,
}

impl<'a> Heading<'a> {
    fn read(&mut self, words: &mut Words<'a>) -> Result<(), LogicError> {
        let short = |words: &Words<'_>| LogicError::Short { bytes: words.bytes.len(), what: "its heading" };
        loop {
            let (at, word) = words.next().ok_or_else(|| short(words))?;
            match word {
                b"$enddefinitions" => return words.pass_to_end(words.bytes.len()),
                b"$version" => {
                    let version = words.take_to_end()?;
                    self.libsigrok_at = version.first().filter(|word| **word == b"libsigrok").map(|_| at);
                }
                b"$comment" => {
                    let comment = words.take_to_end()?;
                    self.rate = self.rate.or_else(|| sample_rate(&comment));
                }
                b"$timescale" => self.unit_ps = Some(timescale(words, at)?),
                b"$var" => self.variable(words, at)?,
                [b'$', ..] => words.pass_to_end(words.bytes.len())?,
                _ => return Err(LogicError::Byte { at, what: format!("'{}' in its heading", shown(word)) }),
            }
        }
    }

    /// How far apart two moments are at least that it can tell apart (ps); `None` if it was sampled, and does not say how often.
    fn resolution_ps(&self, unit: Unit) -> Option<i64> {
        let unit_ps = unit.length_ps();
        match self.rate {
            // Times between two units were rounded to one of them.
            Some(rate) if !rate.units_of(unit_ps).1 => Some(rate.period_ps() + unit_ps),
            Some(rate) => Some(rate.period_ps()),
            None if self.libsigrok_at.is_some() => None,
            None => Some(unit_ps),
        }
    }

    /// Lines that libsigrok numbers from 0 on are D0, D1, …: where one is left out, those behind it are others than they are called.
    fn check_libsigrok(&self) -> Result<(), LogicError> {
        let Some(at) = self.libsigrok_at else { return Ok(()) };
        let number = |name: &String| name.strip_prefix('D')?.parse::<usize>().ok();
        let Some(numbers) = self.names.iter().map(number).collect::<Option<Vec<usize>>>() else { return Ok(()) };
        match numbers.iter().enumerate().find(|(place, number)| place != *number) {
            None => Ok(()),
            Some((missing, _)) => Err(LogicError::Byte {
                at,
                what: format!(
                    "libsigrok wrote it without D{missing}, and then gives the lines behind that one the levels of others; save a \
                     session file (-o FILE.sr), or capture all lines up to the last one"
                ),
            }),
        }
    }

    /// `$var wire 1 ! D0 $end`, or `… D0 [3] $end`.
    fn variable(&mut self, words: &mut Words<'a>, at: usize) -> Result<(), LogicError> {
        let all = words.take_to_end()?;
        let &[_, bits, id, name, ref rest @ ..] = all.as_slice() else {
            return Err(LogicError::Byte { at, what: "a $var of fewer than four words".to_owned() });
        };
        if bits != b"1" {
            return Ok(());
        }
        if self.names.len() == MOST_CHANNELS {
            return Err(LogicError::Byte { at, what: format!("more than {MOST_CHANNELS} lines of one bit") });
        }
        let channel = self.names.len();
        // One line may stand in several scopes: the first name counts.
        let is_new = match id {
            &[byte] => {
                self.of_byte.resize(256, None);
                let known = &mut self.of_byte[usize::from(byte)];
                let is_new = known.is_none();
                *known = Some(known.unwrap_or(channel));
                is_new
            }
            _ => *self.short.entry(id).or_insert(channel) == channel,
        };
        if is_new {
            let words = [name].into_iter().chain(rest.iter().copied());
            self.names.push(words.map(shown).collect::<Vec<_>>().join(" "));
        }
        Ok(())
    }

    fn channel(&self, id: &[u8]) -> Option<usize> {
        match id {
            &[byte] => self.of_byte.get(usize::from(byte)).copied().flatten(),
            _ => self.short.get(id).copied(),
        }
    }
}

/// `Acquisition with 4/4 channels at 24 MHz`, as libsigrok and programs that were made from it write it.
fn sample_rate(comment: &[&[u8]]) -> Option<SampleRate> {
    match comment {
        [b"Acquisition", b"with", _, b"channels", b"at", number, unit] => {
            SampleRate::of_text(&format!("{} {}", shown(number), shown(unit)))
        }
        _ => None,
    }
}

/// `$timescale 10 ns $end`, with or without the space.
fn timescale(words: &mut Words<'_>, at: usize) -> Result<Unit, LogicError> {
    let text: Vec<u8> = words.take_to_end()?.concat();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let count = match &text[..digits] {
        b"1" => 1,
        b"10" => 10,
        b"100" => 100,
        _ => 0,
    };
    let unit = match &text[digits..] {
        b"s" => Unit::Picoseconds(super::PS * count),
        b"ms" => Unit::Picoseconds(1_000_000_000 * count),
        b"us" => Unit::Picoseconds(1_000_000 * count),
        b"ns" => Unit::Picoseconds(1_000 * count),
        b"ps" => Unit::Picoseconds(count),
        b"fs" if count > 0 => Unit::PerPicosecond(1_000 / count),
        _ => Unit::Picoseconds(0),
    };
    match unit {
        Unit::Picoseconds(0) => {
            Err(LogicError::Byte { at, what: format!("'{}' is no time scale (1, 10 or 100 of s to fs)", shown(&text)) })
        }
        unit => Ok(unit),
    }
}

/// A count without a sign.
fn number(digits: &[u8]) -> Option<i64> {
    let add = |value: i64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    };
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, add)).flatten()
}

/// A word in an error or a name.
fn shown(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(&word[..word.len().min(80)]).into_owned();
    units::printable::line(&text).into_owned()
}

/// The words of a file, each with its place.
#[derive(Clone)]
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Words<'a> {
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..)?;
        let begin = self.at + rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let word = self.bytes.get(begin..)?;
        let length = word.iter().position(u8::is_ascii_whitespace).unwrap_or(word.len());
        self.at = begin + length;
        Some((begin, word.get(..length)?))
    }
}

impl<'a> Words<'a> {
    /// The words up to `$end`.
    fn take_to_end(&mut self) -> Result<Vec<&'a [u8]>, LogicError> {
        let mut all = Vec::new();
        for (_, word) in self.by_ref() {
            if word == b"$end" {
                return Ok(all);
            }
            // A declaration has a handful; a file without an end is not copied.
            if all.len() < 16 {
                all.push(word);
            }
        }
        Err(LogicError::Short { bytes: self.bytes.len(), what: "what a $end closes" })
    }

    fn pass_to_end(&mut self, bytes: usize) -> Result<(), LogicError> {
        let found = self.by_ref().any(|(_, word)| word == b"$end");
        if found { Ok(()) } else { Err(LogicError::Short { bytes, what: "what a $end closes" }) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::PS;
    use super::*;

    /// As sigrok-cli writes it, with a bus and a comment put in.
    const FILE: &str = "$date Sun Nov 29 17:00:00 2026 $end\n$version libsigrok 0.5.2 $end\n$comment\n  Acquisition with 2/8 channels at 1 MHz\n$end\n\
        $timescale 10 ns $end\n$scope module libsigrok $end\n$var wire 1 ! D0 $end\n$var wire 1 \" D1 [1] $end\n$var wire 8 # bus $end\n\
        $var real 64 ab speed $end\n$upscope $end\n$scope module again $end $var wire 1 ! D0_too $end $upscope $end\n$enddefinitions $end\n#0 0! x\" b00000000 #\n#5 1! r1.5 ab\n#7 0! 1\"\n#9 $comment later $end z\"\n#100\n";

    #[test]
    fn lines_of_one_bit_give_their_edges_and_the_rest_is_passed_over() {
        let read = parse(FILE.as_bytes()).unwrap();
        assert_eq!(read.channels.iter().map(|channel| channel.name.as_str()).collect::<Vec<_>>(), ["D0", "D1 [1]"]);
        assert_eq!(read.resolution_ps, Some(1_000_000), "its samples are 1 us apart");
        let first = &read.channels[0].spans[0];
        assert_eq!(first.edges().collect::<Vec<_>>(), [(50_000, true), (70_000, false)]);
        assert_eq!((first.from_ps, first.until_ps), (0, 1_000_000));
        let second = &read.channels[1].spans;
        assert_eq!(second.len(), 1);
        assert_eq!((second[0].from_ps, second[0].until_ps, second[0].begins_high), (70_000, 90_000, true));
    }

    #[test]
    fn a_dump_is_no_more_exact_than_its_samples_are_apart() {
        let of = |version: &str, rate: &str, scale: &str| {
            let text = format!(
                "$version {version} $end $comment\n  Acquisition with 4/4 channels{rate}\n$end $timescale {scale} $end \
                 $var wire 1 ! D0 $end $enddefinitions $end #0 0! #3000 1!"
            );
            parse(text.as_bytes()).unwrap().resolution_ps
        };
        let libsigrok = "libsigrok 0.5.2";
        assert_eq!(of(libsigrok, " at 20 MHz", "1 ns"), Some(50_000));
        assert_eq!(of(libsigrok, " at 24 MHz", "1 ns"), Some(42_667), "and its times are whole nanoseconds");
        assert_eq!(of(libsigrok, " at 200 kHz", "1 us"), Some(5_000_000));
        assert_eq!(of(libsigrok, " at 2 GHz", "1 ns"), Some(1_500));
        assert_eq!(of(libsigrok, "", "1 ns"), None, "sampled, and nobody knows how often");
        assert_eq!(of("libsigrok4DSL 0.2.0", " at 20 MHz", "1 ns"), Some(50_000));
        assert_eq!(of("GHDL", "", "1 ns"), Some(1_000), "a simulator has no samples");
        assert_eq!(of("GHDL", "", "10 fs"), Some(1), "moments are whole picoseconds");
    }

    #[test]
    fn time_scales_are_those_of_the_standard() {
        let of = |scale: &str| {
            let text = format!("$timescale {scale} $end $var wire 1 ! a $end $enddefinitions $end #0 0! #3000 1!");
            parse(text.as_bytes()).map(|read| read.channels[0].spans[0].edges_ps[0])
        };
        assert_eq!(of("1 s"), Ok(3_000 * PS));
        assert_eq!(of("100ps"), Ok(300_000));
        assert_eq!(of("10 fs"), Ok(30));
        for wrong in ["2 ns", "ns", "10", "10 as", "1000 fs"] {
            assert!(of(wrong).unwrap_err().to_string().contains("no time scale"), "{wrong}");
        }
        assert!(of("100 s").is_ok() && of("").is_err());
    }

    #[test]
    fn what_is_cut_off_or_contradictory_is_refused_with_its_byte() {
        let head = "$timescale 1 ns $end $var wire 1 ! a $end $enddefinitions $end ";
        let said = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(said("Time [s],a"), "it does not begin as a value change dump does");
        assert!(said("$var wire 1 ! a $end $enddefinitions $end #0 1!").contains("$timescale"));
        assert!(said("$timescale 1 ns").contains("within what a $end closes"));
        assert!(said("$timescale 1 ns $end $var wire 1 ! a $end").contains("within its heading"));
        assert!(said(head).contains("no value follows"));
        assert_eq!(said(&format!("{head}#5 1! #4 0!")), format!("byte {}: {BACKWARDS}", head.len() + 6));
        assert!(said(&format!("{head}#5 q!")).contains("'q!' is neither a time nor a value"));
        assert!(said(&format!("{head}#99999999999999999999")).contains("is no time"));
        assert!(said(&format!("{head}#9999999999999999999")).contains("no time"));
        assert!(said(&format!("{head}#9223372036854775807")).contains("is too late"));
    }

    proptest! {
        #[test]
        fn damaged_files_never_make_it_panic(at in 0..500_usize, byte in any::<u8>(), cut in 0..500_usize) {
            let mut bytes = FILE.as_bytes().to_vec();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(cut.max(1));
            if let Ok(read) = parse(&bytes) {
                let edges = read.channels.iter().flat_map(|channel| &channel.spans);
                prop_assert!(edges.into_iter().all(|span| span.edges_ps.windows(2).all(|pair| pair[0] <= pair[1])));
            }
        }
    }
}
