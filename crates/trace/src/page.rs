//! The sub-buffers of the kernel's ring buffer, as `per_cpu/cpuN/trace_pipe_raw` gives them.
//!
//! A sub-buffer begins with the time of its first record and the number of bytes that are in use; then follow records,
//! each with a word of five bits of type and 27 bits of time since the record before.
//! Sources: include/linux/ring_buffer.h (`struct ring_buffer_event`, `enum ring_buffer_type`), `events/header_page`,
//! `events/header_event`.

use crate::format;

/// The order of bytes of the machine that traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// The lowest first.
    Little,
    /// The highest first.
    Big,
}

impl Endian {
    /// That of the machine this program runs on.
    pub const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };

    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// `N` bytes from `offset` on, where there are as many.
#[inline(always)]
pub(crate) fn array<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

/// How a sub-buffer is laid out on this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    endian: Endian,
    commit_offset: usize,
    /// 4 or 8.
    commit_size: usize,
    data_offset: usize,
    data_size: usize,
}

/// Why bytes are no sub-buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// `events/header_page` is not of the known form.
    #[error("events/header_page does not describe {0}: this kernel is newer, or older, than this program knows")]
    Header(&'static str),
    /// Fewer bytes than a head.
    #[error("a sub-buffer of {bytes} bytes, shorter than its own head")]
    Short {
        /// What is there.
        bytes: usize,
    },
    /// It claims to hold more than there is.
    #[error("a sub-buffer says that {says} of its {bytes} bytes are in use")]
    Length {
        /// What it says.
        says: usize,
        /// What is there.
        bytes: usize,
    },
    /// A record reaches beyond the end.
    #[error("the record at byte {at} of a sub-buffer reaches beyond its end")]
    Record {
        /// From the first byte of the data.
        at: usize,
    },
}

/// What the writer lost before the records of a sub-buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lost {
    /// No record was lost.
    #[default]
    Nothing,
    /// Some records were lost; the writer did not count them.
    Some,
    /// This many records were lost.
    Events(u64),
}

/// Flags in the word of bytes in use, beside the number itself (kernel/trace/ring_buffer.c).
const LOST: u64 = 1 << 31;
const LOST_IS_COUNTED: u64 = 1 << 30;
const IN_USE: u64 = (1 << 27) - 1;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of time in a record's first word.
const DELTA_BITS: u32 = 27;
/// An absolute time stamp holds the lower 59 bits.
const STAMP_BITS: u32 = 59;

impl PageLayout {
    /// From the text of `events/header_page`.
    ///
    /// # Errors
    /// Where a field is missing or of an unknown size.
    pub fn parse(header_page: &str, endian: Endian) -> Result<Self, PageError> {
        let fields = format::fields(header_page);
        let find = |name: &'static str| fields.iter().find(|field| field.name == name).ok_or(PageError::Header(name));
        let (stamp, commit, data) = (find("timestamp")?, find("commit")?, find("data")?);
        if stamp.offset != 0 || stamp.size != 8 {
            return Err(PageError::Header("a time stamp of 8 bytes"));
        }
        if !matches!(commit.size, 4 | 8) {
            return Err(PageError::Header("a commit of 4 or 8 bytes"));
        }
        if data.offset < commit.offset.saturating_add(commit.size) || data.size == 0 {
            return Err(PageError::Header("data behind its head"));
        }
        Ok(Self {
            endian,
            commit_offset: commit.offset,
            commit_size: commit.size,
            data_offset: data.offset,
            data_size: data.size,
        })
    }

    /// The whole length of a sub-buffer (bytes).
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        self.data_offset + self.data_size
    }

    /// The order of bytes.
    #[must_use]
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The records of one sub-buffer.
    ///
    /// # Errors
    /// Where its head is cut off or contradicts its length.
    pub fn records<'page>(&self, page: &'page [u8]) -> Result<Records<'page>, PageError> {
        let short = PageError::Short { bytes: page.len() };
        let time_ns = self.endian.u64(array(page, 0).ok_or(short)?);
        let commit = if self.commit_size == 8 {
            self.endian.u64(array(page, self.commit_offset).ok_or(short)?)
        } else {
            u64::from(self.endian.u32(array(page, self.commit_offset).ok_or(short)?))
        };
        let data = page.get(self.data_offset..).ok_or(short)?;
        let used = usize::try_from(commit & IN_USE).unwrap_or(usize::MAX);
        let records = data.get(..used).ok_or(PageError::Length { says: used, bytes: data.len() })?;
        let lost = match (commit & LOST, commit & LOST_IS_COUNTED) {
            (0, _) => Lost::Nothing,
            (_, 0) => Lost::Some,
            // The number stands behind the last record, as long as a long.
            _ if self.commit_size == 8 => array(data, used).map_or(Lost::Some, |b| Lost::Events(self.endian.u64(b))),
            _ => array(data, used).map_or(Lost::Some, |b| Lost::Events(u64::from(self.endian.u32(b)))),
        };
        Ok(Records { endian: self.endian, data: records, at: 0, time_ns, lost })
    }
}

/// Bytes from a record's first on that can be read without a look at each place: more than any event that is decoded.
pub(crate) const WINDOW: usize = 128 + 8;

/// One record: an event's bytes with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'page> {
    /// By the trace's clock (ns).
    pub time_ns: u64,
    /// The event, its number first.
    pub data: &'page [u8],
    /// The same from its first byte on, and as much of what follows; absent near the end of a sub-buffer.
    pub(crate) window: Option<&'page [u8; WINDOW]>,
}

/// The records of one sub-buffer in the order of time.
#[derive(Clone, Debug)]
pub struct Records<'page> {
    endian: Endian,
    data: &'page [u8],
    at: usize,
    time_ns: u64,
    lost: Lost,
}

impl<'page> Records<'page> {
    /// What was lost before them.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// The next event's bytes; `None` at the end.
    ///
    /// # Errors
    /// Where a record reaches beyond the end; nothing follows then.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record<'page>>, PageError> {
        loop {
            if self.at >= self.data.len() {
                return Ok(None);
            }
            let at = self.at;
            let beyond = PageError::Record { at };
            let Some(word) = self.word(at) else { return self.stop(beyond) };
            let (kind, delta) = match self.endian {
                Endian::Little => (word & 31, u64::from(word >> 5)),
                Endian::Big => (word >> DELTA_BITS, u64::from(word & ((1 << DELTA_BITS) - 1))),
            };
            match kind {
                PADDING if delta == 0 => {
                    self.at = self.data.len();
                    return Ok(None);
                }
                PADDING => {
                    // An event that was thrown away after the writer had taken its time.
                    let Some(length) = self.word(at + 4).and_then(|length| usize::try_from(length).ok()) else {
                        return self.stop(beyond);
                    };
                    self.time_ns = self.time_ns.wrapping_add(delta);
                    self.at = at.saturating_add(4).saturating_add(length.max(4));
                }
                TIME_EXTEND | TIME_STAMP => {
                    let Some(high) = self.word(at + 4) else { return self.stop(beyond) };
                    let value = (u64::from(high) << DELTA_BITS).wrapping_add(delta);
                    self.time_ns = if kind == TIME_EXTEND {
                        self.time_ns.wrapping_add(value)
                    } else {
                        absolute(value, self.time_ns)
                    };
                    self.at = at + 8;
                }
                _ => {
                    let (start, length) = if kind == 0 {
                        // The length counts its own four bytes.
                        let Some(length) = self.word(at + 4).and_then(|length| usize::try_from(length).ok()) else {
                            return self.stop(beyond);
                        };
                        (at + 8, length.saturating_sub(4))
                    } else {
                        (at + 4, usize::try_from(kind * 4).unwrap_or(0))
                    };
                    let end = start.saturating_add(length);
                    let Some(data) = self.data.get(start..end) else { return self.stop(beyond) };
                    let window = self.data.get(start..).and_then(|rest| rest.first_chunk());
                    self.time_ns = self.time_ns.wrapping_add(delta);
                    self.at = end.saturating_add(3) & !3;
                    return Ok(Some(Record { time_ns: self.time_ns, data, window }));
                }
            }
        }
    }

    #[inline(always)]
    fn word(&self, at: usize) -> Option<u32> {
        array(self.data, at).map(|bytes| self.endian.u32(bytes))
    }

    #[cold]
    fn stop(&mut self, error: PageError) -> Result<Option<Record<'page>>, PageError> {
        self.at = self.data.len();
        Err(error)
    }
}

/// An absolute time from its lower 59 bits and the time before it.
fn absolute(lower: u64, before: u64) -> u64 {
    let mask = (1 << STAMP_BITS) - 1;
    if before & !mask == 0 {
        return lower;
    }
    let whole = (before & !mask) | (lower & mask);
    // Time does not run backwards: the lower bits went round.
    if whole < before { whole.wrapping_add(1 << STAMP_BITS) } else { whole }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER_64: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    const HEADER_32: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n";

    /// One thing to write into a page.
    #[derive(Clone, Debug)]
    enum Item {
        Data(u64, Vec<u8>),
        Long(u64, Vec<u8>),
        Extend(u64),
        Stamp(u64),
        Thrown(u64, u32),
    }

    struct Writer {
        endian: Endian,
        data: Vec<u8>,
    }

    impl Writer {
        fn u32(&mut self, value: u32) {
            self.data.extend(match self.endian {
                Endian::Little => value.to_le_bytes(),
                Endian::Big => value.to_be_bytes(),
            });
        }

        fn head(&mut self, kind: u32, delta: u64) {
            let delta = u32::try_from(delta).unwrap();
            self.u32(match self.endian {
                Endian::Little => delta << 5 | kind,
                Endian::Big => kind << 27 | delta,
            });
        }

        fn item(&mut self, item: &Item) {
            match item {
                Item::Data(delta, bytes) => {
                    self.head(u32::try_from(bytes.len() / 4).unwrap(), *delta);
                    self.data.extend(bytes);
                }
                Item::Long(delta, bytes) => {
                    self.head(0, *delta);
                    self.u32(u32::try_from(bytes.len() + 4).unwrap());
                    self.data.extend(bytes);
                }
                Item::Extend(delta) | Item::Stamp(delta) => {
                    let kind = if matches!(item, Item::Extend(_)) { TIME_EXTEND } else { TIME_STAMP };
                    self.head(kind, delta & ((1 << 27) - 1));
                    self.u32(u32::try_from(delta >> 27 & u64::from(u32::MAX)).unwrap());
                }
                Item::Thrown(delta, words) => {
                    self.head(PADDING, *delta);
                    self.u32(words * 4);
                    self.data.extend(vec![0xee; usize::try_from(words * 4 - 4).unwrap()]);
                }
            }
        }

        fn page(self, layout: &PageLayout, time_ns: u64, flags: u64, behind: u64) -> Vec<u8> {
            let commit = u64::try_from(self.data.len()).unwrap() | flags;
            let long = |value: u64| match (self.endian, layout.commit_size) {
                (Endian::Little, 8) => value.to_le_bytes().to_vec(),
                (Endian::Big, 8) => value.to_be_bytes().to_vec(),
                (Endian::Little, _) => u32::try_from(value).unwrap().to_le_bytes().to_vec(),
                (Endian::Big, _) => u32::try_from(value).unwrap().to_be_bytes().to_vec(),
            };
            let mut page = match self.endian {
                Endian::Little => time_ns.to_le_bytes().to_vec(),
                Endian::Big => time_ns.to_be_bytes().to_vec(),
            };
            page.extend(long(commit));
            page.extend(self.data);
            page.extend(long(behind));
            page.resize(page.len().max(layout.page_bytes()), 0);
            page
        }
    }

    fn layouts() -> [PageLayout; 4] {
        let layout = |text, endian| PageLayout::parse(text, endian).unwrap();
        [
            layout(HEADER_64, Endian::Little),
            layout(HEADER_64, Endian::Big),
            layout(HEADER_32, Endian::Little),
            layout(HEADER_32, Endian::Big),
        ]
    }

    fn all(records: &mut Records<'_>) -> Vec<(u64, Vec<u8>)> {
        std::iter::from_fn(|| records.next_record().unwrap()).map(|r| (r.time_ns, r.data.to_vec())).collect()
    }

    #[test]
    fn times_add_up_over_every_kind_of_record_in_both_orders_of_bytes() {
        let items = [
            Item::Data(5, vec![1; 8]),
            Item::Extend(1 << 40 | 77),
            Item::Data(3, vec![2; 112]),
            Item::Long(10, vec![3; 200]),
            Item::Thrown(7, 3),
            Item::Data(1, vec![4; 4]),
            Item::Stamp(1 << 50 | 9),
            Item::Data(2, vec![5; 4]),
        ];
        for layout in layouts() {
            let mut writer = Writer { endian: layout.endian(), data: Vec::new() };
            items.iter().for_each(|item| writer.item(item));
            let page = writer.page(&layout, 1_000, 0, 0);
            let mut records = layout.records(&page).unwrap();
            assert_eq!(records.lost(), Lost::Nothing);
            let base = 1_005 + (1 << 40 | 77);
            let expected = [
                (1_005, vec![1; 8]),
                (base + 3, vec![2; 112]),
                (base + 13, vec![3; 200]),
                (base + 21, vec![4; 4]),
                ((1 << 50 | 9) + 2, vec![5; 4]),
            ];
            assert_eq!(all(&mut records), expected);
        }
    }

    #[test]
    fn lost_events_are_told_and_counted_where_the_kernel_did() {
        for layout in layouts() {
            for (flags, expected) in [(LOST, Lost::Some), (LOST | LOST_IS_COUNTED, Lost::Events(42))] {
                let mut writer = Writer { endian: layout.endian(), data: Vec::new() };
                writer.item(&Item::Data(5, vec![1; 8]));
                let page = writer.page(&layout, 0, flags, 42);
                let mut records = layout.records(&page).unwrap();
                assert_eq!(records.lost(), expected);
                assert_eq!(all(&mut records).len(), 1);
            }
        }
    }

    #[test]
    fn a_page_that_lies_about_its_length_is_an_error() {
        let layout = layouts()[0];
        assert_eq!(layout.records(&[0; 10]).unwrap_err(), PageError::Short { bytes: 10 });
        let mut page = vec![0; 64];
        page[8] = 200;
        assert_eq!(layout.records(&page).unwrap_err(), PageError::Length { says: 200, bytes: 48 });
        // A record of 28 words in a page of which eight bytes are in use.
        page[8] = 8;
        page[16] = 28;
        let mut records = layout.records(&page).unwrap();
        assert_eq!(records.next_record(), Err(PageError::Record { at: 0 }));
        assert_eq!(records.next_record(), Ok(None));
    }

    #[test]
    fn upper_bits_of_absolute_times_come_from_the_time_before() {
        let above = 5 << STAMP_BITS;
        assert_eq!(absolute(77, 50), 77);
        assert_eq!(absolute(77, above | 50), above | 77);
        assert_eq!(absolute(7, above | 50), (6 << STAMP_BITS) | 7);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            which in 0..4_usize,
            items in proptest::collection::vec((1_u64..1 << 27, 1..28_usize, any::<u8>()), 0..30),
        ) {
            let layout = layouts()[which];
            let mut writer = Writer { endian: layout.endian(), data: Vec::new() };
            let mut expected = Vec::new();
            let mut time_ns = 0;
            for (delta, words, byte) in items {
                writer.item(&Item::Data(delta, vec![byte; words * 4]));
                time_ns += delta;
                expected.push((time_ns, vec![byte; words * 4]));
            }
            let page = writer.page(&layout, 0, 0, 0);
            prop_assert_eq!(all(&mut layout.records(&page).unwrap()), expected);
        }

        #[test]
        fn odd_bytes_are_no_panic(
            which in 0..4_usize,
            used in any::<u8>(),
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let layout = layouts()[which];
            let mut page = vec![0; 16];
            page[if layout.endian() == Endian::Little { 8 } else { layout.data_offset - 1 }] = used;
            page.truncate(layout.data_offset);
            page.extend(&bytes);
            if let Ok(mut records) = layout.records(&page) {
                // Each step takes at least four bytes, so this ends.
                let mut steps = 0;
                while let Ok(Some(_)) = records.next_record() {
                    steps += 1;
                    prop_assert!(steps <= 300);
                }
            }
        }
    }
}
