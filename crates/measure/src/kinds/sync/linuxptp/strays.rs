//! What came to the sockets for one ptp4l that was none of its messages, or was too much: the record says so.

use codecs::linuxptp::DecodeError;
use units::format;

/// Counts it.
#[derive(Clone, Debug, Default)]
pub(super) struct Strays {
    /// Messages of another domain, of another program's clock, or of another kind.
    pub(super) foreign: u64,
    /// Messages that could not be decoded, and why the last one could not.
    undecodable: u64,
    last_error: Option<DecodeError>,
    /// Messages with time stamps that were not taken over: this program was stopped or had no CPU, or they came too fast.
    pub(super) dropped: u64,
    /// Times between two looks in which more answers came than are taken.
    pub(super) unread: u64,
}

impl Strays {
    /// A message that could not be decoded.
    pub(super) fn refused(&mut self, error: &DecodeError) {
        self.undecodable += 1;
        self.last_error = Some(*error);
    }

    /// What a reader has to know, one line each; nothing where nothing strayed.
    pub(super) fn words(&self) -> Vec<String> {
        let count = format::count;
        let mut all = Vec::new();
        if self.dropped > 0 {
            all.push(format!(
                "{} messages with time stamps that came in while this program was stopped or had no CPU, or that came too fast",
                count(self.dropped)
            ));
        }
        if self.unread > 0 {
            all.push(format!(
                "answers among the messages that came too fast to take all of them, {} times between two questions",
                count(self.unread)
            ));
        }
        if self.foreign > 0 {
            all.push(format!(
                "{} messages that came to its sockets and were left out, being of another domain, clock or kind",
                count(self.foreign)
            ));
        }
        if let Some(error) = self.last_error {
            all.push(format!("{} messages that cannot be decoded (the last: {error})", count(self.undecodable)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strayed_is_counted_in_words_and_silence_says_nothing() {
        assert!(Strays::default().words().is_empty());
        let mut strays = Strays { foreign: 1_200, dropped: 7, unread: 2, ..Strays::default() };
        let error = codecs::linuxptp::decode(&[1, 2, 3]).unwrap_err();
        strays.refused(&error);
        strays.refused(&error);
        let words = strays.words();
        assert_eq!(words.len(), 4);
        assert!(words[0].starts_with("7 messages with time stamps") && words[1].contains("2 times"), "{words:?}");
        assert!(words[2].starts_with(&format!("{} messages that came", format::count(1_200))), "{words:?}");
        assert!(words[3].starts_with("2 messages that cannot be decoded") && words[3].contains("byte"), "{words:?}");
    }
}
