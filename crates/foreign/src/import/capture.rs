//! Captured messages of PTP and NTP, in pcap and pcapng files.
//!
//! What a capture can and cannot show is said in [`codecs::capture`].

use codecs::capture::exchanges::Exchanges;
use codecs::capture::file::{CaptureError, CaptureReader, is_capture};
use record::ReasonCode;
use units::format::{bytes as size, count};

use super::clocks::Clocks;
use super::source::Imported;
use super::stream::StreamReader;
use super::{ImportFormat, Reader};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "capture",
    what: "pcap or pcapng file with messages of PTP or NTP, as tcpdump and Wireshark write it",
    is_distinct: true,
    reader: Reader::Stream { recognize: is_capture, begin: || Box::new(Capture::default()) },
};

/// As `measure sync` assumes it unless it is told otherwise (parts per billion).
const MAX_DRIFT_PPB: u32 = 100_000;

#[derive(Debug)]
struct Capture {
    reader: CaptureReader,
    exchanges: Exchanges,
    damaged: Option<CaptureError>,
}

impl Default for Capture {
    fn default() -> Self {
        Self { reader: CaptureReader::default(), exchanges: Exchanges::new(MAX_DRIFT_PPB), damaged: None }
    }
}

impl StreamReader for Capture {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), ForeignError> {
        if self.damaged.is_some() {
            return Ok(());
        }
        let Self { reader, exchanges, damaged } = self;
        *damaged = reader.feed(bytes, &mut |frame| exchanges.take(frame)).err();
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Imported, ForeignError> {
        let Self { reader, exchanges, damaged } = *self;
        let (frames, messages) = exchanges.counted();
        let captured = exchanges.finish();
        let all_notes = captured.notes.join("; ");
        let Some(span) = captured.span.filter(|_| messages > 0) else {
            let why = match damaged {
                Some(damage) => damage.to_string(),
                None if reader.left_over() > 0 => "the file was cut off".to_owned(),
                None if all_notes.is_empty() => {
                    "it was captured with another filter, or on another interface".to_owned()
                }
                None => all_notes,
            };
            let what = format!("{} frames, and no message of PTP or NTP with a time among them: {why}", count(frames));
            return Err(ForeignError::NoResult(what));
        };
        let why = if captured.notes.is_empty() {
            "the capture has no exchange of both directions".to_owned()
        } else {
            format!("the capture has no exchange of both directions that can be used: {all_notes}")
        };
        let clocks = Clocks::new(span, captured.followed)
            .rests_on_drift(MAX_DRIFT_PPB)
            .contradict(captured.contradictions)
            .without_offsets(&why);
        let mut imported = Imported::from_clocks("a capture", clocks);
        captured.notes.into_iter().for_each(|note| imported.lacks(note));
        imported.lacks("which machine it was made on, beyond what its frames say of their direction");
        imported.lacks(
            "how the clock was corrected: between two exchanges a bound grows by what the kernel corrects at most",
        );
        if let Some(damage) = damaged {
            imported.reason(ReasonCode::InterruptedEarly, damage.to_string());
        } else if reader.left_over() > 0 {
            let left = size(reader.left_over());
            imported.reason(
                ReasonCode::InterruptedEarly,
                format!("the file was cut off: its last {left} are no whole record"),
            );
        }
        Ok(imported)
    }
}
