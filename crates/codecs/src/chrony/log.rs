//! Lines of the files that chronyd writes where `log measurements`, `log statistics` or `log tracking` is configured.
//!
//! Each reader takes one line. chronyd repeats a banner of three lines now and then, and keeps three decimals of each
//! value in exponential notation, so a value is known to 0.05 % of itself. The shapes are those of chrony 3 and 4; the
//! fixtures are files of 4.3 and 4.6.1.
//!
//! ```text
//! 2026-11-25 00:55:04 10.77.0.1       N  1 111 111 1111   0  0 0.00 -5.007e-02  1.137e-05  1.514e-07  0.000e+00 ...
//! ```

use super::ntp_data::TimestampSource;
use super::reports::LeapStatus;
use super::wire::UtcTime;

/// Why a line is not one of the log that it was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no line of chronyd's {log} log: {column} is missing, or is not one")]
pub struct ForeignLine {
    /// The name of the log in chronyd's `log` directive.
    pub log: &'static str,
    /// The first column that cannot be read.
    pub column: &'static str,
}

/// A line of `measurements.log`: one packet of an NTP source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement<'a> {
    /// When it was made, to the second.
    pub time: UtcTime,
    /// Address of the source.
    pub source: &'a str,
    /// As the source states it.
    pub leap: LeapStatus,
    /// As the source states it.
    pub stratum: u16,
    /// As [`super::NtpData::tests_passed`]; chronyd logs packets that failed a test too, depending on its version.
    pub tests_passed: u16,
    /// Interval between two polls of this machine, as a power of two of seconds.
    pub local_poll_log2_s: i16,
    /// The same of the source.
    pub remote_poll_log2_s: i16,
    /// The score by which chronyd adapts its interval of polling, from 0 to 1.
    pub poll_score: f64,
    /// Measured offset, in seconds. Positive: the system clock, as chronyd corrects it, is *behind* the source.
    pub offset_s: f64,
    /// Measured delay of the round trip, in seconds.
    pub peer_delay_s: f64,
    /// Measured dispersion, in seconds.
    pub peer_dispersion_s: f64,
    /// From the source to its stratum-1 server, in seconds.
    pub root_delay_s: f64,
    /// From the source to its stratum-1 server, in seconds.
    pub root_dispersion_s: f64,
    /// What the source follows; `None` where this version does not log it.
    pub reference_id: Option<u32>,
    /// Who took the times of transmission and reception here; `None` where this version does not log it.
    pub timestamps: Option<(TimestampSource, TimestampSource)>,
}

/// A line of `statistics.log`: the estimates after a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics<'a> {
    /// When the last measurement was made, to the second.
    pub time: UtcTime,
    /// Address of the source, or the letters of a reference clock.
    pub source: &'a str,
    /// Standard deviation of the measurements about the line, in seconds.
    pub standard_deviation_s: f64,
    /// Estimated offset, in seconds. Positive: the system clock, as chronyd corrects it, is ahead of the source.
    pub estimated_offset_s: f64,
    /// Estimated standard deviation of this offset, in seconds.
    pub offset_standard_deviation_s: f64,
    /// Estimated frequency against the source, in seconds per second. Positive: the clock is faster than the source.
    pub frequency_difference: f64,
    /// Estimated bound of its error, in seconds per second.
    pub skew: f64,
    /// Old against new estimate of the frequency, in units of the old one's error; above 3 the older one was too good.
    pub stress: f64,
    /// Measurements in the regression.
    pub samples: u32,
    /// Measurements that were left out as too old for the line.
    pub discarded_samples: u32,
    /// Runs of residuals with the same sign.
    pub runs: u32,
    /// Estimated asymmetry of the network's jitter, from -0.5 to 0.5; `None` where this version does not log it.
    pub asymmetry: Option<f64>,
}

/// A line of `tracking.log`: an update of the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackingUpdate<'a> {
    /// When the last measurement was processed, to the second.
    pub time: UtcTime,
    /// Address of the source, the letters of a reference clock, or `0.0.0.0` where not synchronized.
    pub source: &'a str,
    /// As [`super::Tracking::stratum`].
    pub stratum: u16,
    /// How fast the system clock would run without correction, in parts per million.
    pub frequency_ppm: f64,
    /// Estimated bound of the frequency's error, in parts per million.
    pub skew_ppm: f64,
    /// Estimated offset at this update, in seconds. Positive: the system clock, as chronyd corrects it, is ahead.
    pub offset_s: f64,
    /// Whether the clock is synchronized, and whether a leap second is near.
    pub leap: LeapStatus,
    /// Sources that were combined.
    pub combined_sources: u32,
    /// Estimated standard deviation of the offset, in seconds.
    pub offset_standard_deviation_s: f64,
    /// True time minus system clock before this update, in seconds, as [`super::Tracking::system_offset`].
    pub remaining_correction_s: f64,
    /// As [`super::Tracking::root_delay`], in seconds.
    pub root_delay_s: f64,
    /// As [`super::Tracking::root_dispersion`], in seconds.
    pub root_dispersion_s: f64,
    /// Largest error of the system clock since the previous update, in seconds, by the sum that
    /// [`super::Tracking::bound_ns`] makes, and by what it trusts.
    pub max_error_s: f64,
}

impl<'a> Measurement<'a> {
    /// Reads a line of `measurements.log`. `Ok(None)`: a line of the banner, or an empty one.
    ///
    /// # Errors
    ///
    /// Any other line, with the first column that cannot be read.
    pub fn parse(line: &'a str) -> Result<Option<Self>, ForeignLine> {
        let Some(mut columns) = Columns::new("measurements", line) else { return Ok(None) };
        let time = columns.time()?;
        let source = columns.source()?;
        let leap = columns.leap()?;
        let stratum = columns.number("stratum")?;
        let tests = [("tests 1 to 3", 3), ("tests 5 to 7", 3), ("tests A to D", 4)];
        let mut tests_passed = 0;
        for (name, bits) in tests {
            tests_passed = tests_passed << bits | columns.bits(name, bits)?;
        }
        let mut measurement = Self {
            time,
            source,
            leap,
            stratum,
            tests_passed,
            local_poll_log2_s: columns.number("local poll interval")?,
            remote_poll_log2_s: columns.number("remote poll interval")?,
            poll_score: columns.float("score")?,
            offset_s: columns.float("offset")?,
            peer_delay_s: columns.float("peer delay")?,
            peer_dispersion_s: columns.float("peer dispersion")?,
            root_delay_s: columns.float("root delay")?,
            root_dispersion_s: columns.float("root dispersion")?,
            reference_id: None,
            timestamps: None,
        };
        if columns.is_at_end() {
            return Ok(Some(measurement));
        }
        let reference_id = columns.word("reference ID")?;
        let reference_id = (reference_id.len() == 8).then(|| u32::from_str_radix(reference_id, 16).ok()).flatten();
        measurement.reference_id = Some(reference_id.ok_or(columns.foreign("reference ID"))?);
        if columns.is_at_end() {
            return Ok(Some(measurement));
        }
        columns.word("mode")?;
        measurement.timestamps = Some((columns.timestamp_source()?, columns.timestamp_source()?));
        columns.end(measurement)
    }
}

impl<'a> Statistics<'a> {
    /// Reads a line of `statistics.log`. `Ok(None)`: a line of the banner, or an empty one.
    ///
    /// # Errors
    ///
    /// Any other line, with the first column that cannot be read.
    pub fn parse(line: &'a str) -> Result<Option<Self>, ForeignLine> {
        let Some(mut columns) = Columns::new("statistics", line) else { return Ok(None) };
        let mut statistics = Self {
            time: columns.time()?,
            source: columns.source()?,
            standard_deviation_s: columns.float("standard deviation")?,
            estimated_offset_s: columns.float("estimated offset")?,
            offset_standard_deviation_s: columns.float("standard deviation of the offset")?,
            frequency_difference: columns.float("frequency difference")?,
            skew: columns.float("skew")?,
            stress: columns.float("stress")?,
            samples: columns.number("number of samples")?,
            discarded_samples: columns.number("number of discarded samples")?,
            runs: columns.number("number of runs")?,
            asymmetry: None,
        };
        if !columns.is_at_end() {
            statistics.asymmetry = Some(columns.float("asymmetry")?);
        }
        columns.end(statistics)
    }
}

impl<'a> TrackingUpdate<'a> {
    /// Reads a line of `tracking.log`. `Ok(None)`: a line of the banner, or an empty one.
    ///
    /// # Errors
    ///
    /// Any other line, with the first column that cannot be read.
    pub fn parse(line: &'a str) -> Result<Option<Self>, ForeignLine> {
        let Some(mut columns) = Columns::new("tracking", line) else { return Ok(None) };
        let update = Self {
            time: columns.time()?,
            source: columns.source()?,
            stratum: columns.number("stratum")?,
            frequency_ppm: columns.float("frequency")?,
            skew_ppm: columns.float("skew")?,
            offset_s: columns.float("offset")?,
            leap: columns.leap()?,
            combined_sources: columns.number("number of combined sources")?,
            offset_standard_deviation_s: columns.float("standard deviation of the offset")?,
            remaining_correction_s: columns.float("remaining correction")?,
            root_delay_s: columns.float("root delay")?,
            root_dispersion_s: columns.float("root dispersion")?,
            max_error_s: columns.float("maximum error")?,
        };
        columns.end(update)
    }
}

/// Reads the columns of a line from the left.
struct Columns<'a> {
    log: &'static str,
    words: std::iter::Peekable<std::str::SplitAsciiWhitespace<'a>>,
}

impl<'a> Columns<'a> {
    /// `None` for an empty line and for a banner's: one of `=` alone, or the heads of the columns.
    fn new(log: &'static str, line: &'a str) -> Option<Self> {
        let text = line.trim();
        let is_banner = text.bytes().all(|byte| byte == b'=') || text.starts_with("Date (UTC) Time ");
        (!is_banner).then(|| Self { log, words: text.split_ascii_whitespace().peekable() })
    }

    const fn foreign(&self, column: &'static str) -> ForeignLine {
        ForeignLine { log: self.log, column }
    }

    fn is_at_end(&mut self) -> bool {
        self.words.peek().is_none()
    }

    fn end<T>(&mut self, entry: T) -> Result<Option<T>, ForeignLine> {
        if self.is_at_end() { Ok(Some(entry)) } else { Err(self.foreign("end of line")) }
    }

    fn word(&mut self, column: &'static str) -> Result<&'a str, ForeignLine> {
        self.words.next().ok_or(self.foreign(column))
    }

    fn number<T: std::str::FromStr>(&mut self, column: &'static str) -> Result<T, ForeignLine> {
        self.word(column)?.parse().map_err(|_| self.foreign(column))
    }

    /// A finite number; "inf" and "nan" are none that a conclusion could rest on.
    fn float(&mut self, column: &'static str) -> Result<f64, ForeignLine> {
        let value: f64 = self.number(column)?;
        if value.is_finite() { Ok(value) } else { Err(self.foreign(column)) }
    }

    fn bits(&mut self, column: &'static str, bits: usize) -> Result<u16, ForeignLine> {
        let word = self.word(column)?;
        let is_binary = word.len() == bits && word.bytes().all(|byte| matches!(byte, b'0' | b'1'));
        is_binary.then(|| u16::from_str_radix(word, 2).ok()).flatten().ok_or(self.foreign(column))
    }

    fn source(&mut self) -> Result<&'a str, ForeignLine> {
        let word = self.word("source")?;
        let is_source = word.len() <= 45 && word.bytes().all(|byte| byte.is_ascii_graphic());
        if is_source { Ok(word) } else { Err(self.foreign("source")) }
    }

    fn leap(&mut self) -> Result<LeapStatus, ForeignLine> {
        match self.word("leap status")? {
            "N" => Ok(LeapStatus::Normal),
            "+" => Ok(LeapStatus::InsertSecond),
            "-" => Ok(LeapStatus::DeleteSecond),
            "?" => Ok(LeapStatus::Unsynchronized),
            _ => Err(self.foreign("leap status")),
        }
    }

    fn timestamp_source(&mut self) -> Result<TimestampSource, ForeignLine> {
        match self.word("source of timestamps")? {
            "D" => Ok(TimestampSource::Daemon),
            "K" => Ok(TimestampSource::Kernel),
            "H" => Ok(TimestampSource::Hardware),
            _ => Err(self.foreign("source of timestamps")),
        }
    }

    fn time(&mut self) -> Result<UtcTime, ForeignLine> {
        let date = self.word("date")?;
        let days = days(date).ok_or(self.foreign("date"))?;
        let time = self.word("time")?;
        let second = second(time).ok_or(self.foreign("time"))?;
        Ok(UtcTime { seconds: days * 86_400 + second, nanoseconds: 0 })
    }
}

/// The three numbers between separators; digits alone, with the widths that chronyd writes.
fn three(text: &str, separator: char, widths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; 3];
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next()?;
        let is_number = part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok()).flatten()?;
    }
    parts.next().is_none().then_some(numbers)
}

/// Days from 1970-01-01 to a date such as `2026-11-25`.
fn days(date: &str) -> Option<i64> {
    let [year, month, day] = three(date, '-', [4, 2, 2])?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the day that varies is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    // 719 468 days from 0000-03-01 to 1970-01-01.
    Some(year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468)
}

/// Seconds of the day at a time such as `00:55:04`; a leap second is second 60.
fn second(time: &str) -> Option<i64> {
    let [hour, minute, second] = three(time, ':', [2, 2, 2])?;
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}
