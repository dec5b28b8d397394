//! What of a capture gave nothing, and why.

use units::format;

/// Messages that gave nothing, by their reason.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) frames: u64,
    pub(super) messages: u64,
    pub(super) cut: u64,
    pub(super) unknown_link: u64,
    pub(super) untimed: u64,
    pub(super) unreadable: u64,
    pub(super) unmatched: u64,
    pub(super) copies: u64,
    pub(super) before_announce: u64,
    pub(super) sent_as_master: u64,
    pub(super) from_others: u64,
    pub(super) peer_delay: u64,
    pub(super) unsynchronized: u64,
    pub(super) too_many: u64,
}

impl Counts {
    pub(super) fn notes(&self) -> Vec<String> {
        let rows = [
            (self.cut, "frames were cut by the capture (its snap length) before the message ended"),
            (
                self.unknown_link,
                "frames are of a link type that is not read (read are Ethernet, Linux cooked captures and raw IP)",
            ),
            (self.untimed, "messages have no time stamp in the file"),
            (self.unreadable, "messages on the ports of PTP or NTP are damaged, or of another kind or version"),
            (self.unmatched, "messages have no other half in the capture"),
            (
                self.copies,
                "messages are copies of others, as a capture on all interfaces (tcpdump -i any) has them: each was counted once",
            ),
            (
                self.before_announce,
                "answers came before the first Announce of their master: whether its time is TAI or UTC is not known",
            ),
            (
                self.sent_as_master,
                "messages were sent by this machine as master or server: they show nothing of the clocks that follow it",
            ),
            (self.from_others, "requests are of other machines: when they were sent is not in this capture"),
            (
                self.peer_delay,
                "messages are of the peer-to-peer delay mechanism, which bounds no offset, and from which none is computed",
            ),
            (self.unsynchronized, "answers are of a server that says that it is not synchronized, or refuses"),
            (self.too_many, "messages are of masters or servers beyond the first 64"),
        ];
        rows.iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", format::count(*count)))
            .collect()
    }

    /// Messages of PTP and NTP that were in it.
    pub(super) const fn messages(&self) -> u64 {
        self.messages
    }
}
