//! pcap and pcapng files, taken apart as their bytes come in, in bounded memory.
//!
//! The formats are those of draft-ietf-opsawg-pcap (microseconds and nanoseconds, both byte orders) and
//! draft-ietf-opsawg-pcapng (sections of both byte orders, several interfaces, resolutions and offsets of time stamps).

/// Longer frames are in no capture; a larger length is a damaged or hostile file (bytes).
pub const MOST_FRAME_BYTES: u32 = 1 << 20;
/// Longer blocks of a pcapng file are refused; what is skipped needs no memory (bytes).
const MOST_BLOCK_BYTES: u32 = 16 << 20;
/// More interfaces are in no capture.
const MOST_INTERFACES: usize = 4_096;

/// Why a capture cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The first bytes are of no known format.
    #[error("it is no pcap or pcapng file: it begins with the bytes {0:02x?}")]
    Foreign([u8; 4]),
    /// A length cannot be right.
    #[error(
        "byte {at}: a length of {length} bytes, where at most {most} are possible: the file is damaged from here on; capture again, \
         or cut it off before that byte"
    )]
    Length {
        /// Where the record or block begins in the file (bytes).
        at: u64,
        /// The stated length (bytes).
        length: u32,
        /// The largest that is taken (bytes).
        most: u32,
    },
    /// A field has a value that the format does not allow.
    #[error("byte {at}: {what}; the file is damaged from here on")]
    Field {
        /// Where the record or block begins in the file (bytes).
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
}

/// A frame of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When it was captured (ns since 1970), where the file says it.
    pub at_ns: Option<i64>,
    /// How much later it can have been, since the file has coarser stamps (ns).
    pub resolution_ns: i64,
    /// What its first header is: a number of the registry of link types.
    pub link_type: u16,
    /// Whether this machine sent it; `None` if the file does not say.
    pub is_outgoing: Option<bool>,
    /// Whether bytes at the end were not captured.
    pub is_cut: bool,
    /// What was captured of it.
    pub bytes: &'a [u8],
}

/// The unit of an interface's time stamps.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u16,
    /// Units in a second.
    per_second: u64,
    offset_s: i64,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    /// Not known yet.
    Unknown,
    Pcap {
        is_big: bool,
        is_nano: bool,
        link_type: u16,
    },
    Pcapng {
        is_big: bool,
    },
}

/// Reads a capture as its bytes come in.
#[derive(Clone, Debug)]
pub struct CaptureReader {
    format: Format,
    interfaces: Vec<Interface>,
    /// Bytes of a record that has not come in whole.
    held: Vec<u8>,
    /// Where the first byte that is not taken apart stands in the file.
    at: u64,
    /// Bytes that belong to nothing that is wanted.
    skip: u64,
}

impl Default for CaptureReader {
    fn default() -> Self {
        Self { format: Format::Unknown, interfaces: Vec::new(), held: Vec::new(), at: 0, skip: 0 }
    }
}

/// Whether a file begins as a capture.
#[must_use]
pub fn is_capture(head: &[u8]) -> bool {
    head.first_chunk::<4>().is_some_and(|magic| {
        matches!(
            magic,
            [0xa1, 0xb2, 0xc3, 0xd4] | [0xd4, 0xc3, 0xb2, 0xa1] | [0xa1, 0xb2, 0x3c, 0x4d] | [0x4d, 0x3c, 0xb2, 0xa1]
        ) || *magic == SECTION
    })
}

const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Numbers at places in bytes, in the byte order of the file.
#[derive(Clone, Copy)]
struct Fields<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

impl<'a> Fields<'a> {
    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..)?.first_chunk::<N>().copied()
    }

    fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(if self.is_big { u16::from_be_bytes } else { u16::from_le_bytes })
    }

    fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(if self.is_big { u32::from_be_bytes } else { u32::from_le_bytes })
    }

    /// Each option of a block with its number, until they end or make no sense.
    fn options(self, at: usize) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut at = at;
        std::iter::from_fn(move || {
            let (number, length) = (self.u16(at)?, usize::from(self.u16(at + 2)?));
            let value = self.bytes.get(at + 4..at + 4 + length)?;
            at += 4 + length.next_multiple_of(4);
            (number != 0).then_some((number, value))
        })
    }
}

fn size(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

impl CaptureReader {
    /// Takes the next bytes, and hands over every frame that is whole.
    ///
    /// # Errors
    /// If the file is no capture, or damaged; frames before that place were handed over.
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(&Frame<'_>)) -> Result<(), CaptureError> {
        let mut bytes = bytes;
        if self.skip > 0 {
            let skipped = bytes.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            bytes = bytes.get(skipped..).unwrap_or(&[]);
            self.skip -= skipped as u64;
            self.at += skipped as u64;
        }
        // What is whole in the bytes that came is taken apart where it is.
        let mut held = std::mem::take(&mut self.held);
        if held.is_empty() {
            let used = self.records(bytes, take)?;
            held.extend_from_slice(bytes.get(used..).unwrap_or(&[]));
        } else {
            held.extend_from_slice(bytes);
            let used = self.records(&held, take)?;
            held.drain(..used);
        }
        self.held = held;
        Ok(())
    }

    /// Bytes at the end that are no whole record: the file was cut off.
    #[must_use]
    pub fn left_over(&self) -> u64 {
        self.held.len() as u64 + self.skip
    }

    /// Takes apart all records that are whole; how many bytes they have.
    fn records(&mut self, bytes: &[u8], take: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, CaptureError> {
        let mut used = 0;
        while let Some(length) = self.record(bytes.get(used..).unwrap_or(&[]), take)? {
            let there = length.min(bytes.len() - used);
            self.skip = (length - there) as u64;
            self.at += there as u64;
            used += there;
            if self.skip > 0 {
                break;
            }
        }
        Ok(used)
    }

    /// Takes one record apart; its length, or `None` if more bytes are needed. One that is not wanted need not be whole.
    fn record(&mut self, bytes: &[u8], take: &mut dyn FnMut(&Frame<'_>)) -> Result<Option<usize>, CaptureError> {
        match self.format {
            Format::Unknown => self.header(bytes),
            Format::Pcap { is_big, is_nano, link_type } => self.packet(bytes, is_big, is_nano, link_type, take),
            Format::Pcapng { is_big } => self.block(bytes, is_big, take),
        }
    }

    fn header(&mut self, bytes: &[u8]) -> Result<Option<usize>, CaptureError> {
        let Some(magic) = bytes.first_chunk::<4>() else { return Ok(None) };
        if *magic == SECTION {
            self.format = Format::Pcapng { is_big: false };
            return Ok(Some(0));
        }
        let (is_big, is_nano) = match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, false),
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, false),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, true),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, true),
            _ => return Err(CaptureError::Foreign(*magic)),
        };
        let fields = Fields { bytes, is_big };
        let Some(link) = fields.u32(20) else { return Ok(None) };
        // Above the link type stand the length of a checksum at the end of each frame, which is not looked at.
        let link_type = u16::try_from(link & 0xffff).unwrap_or(0);
        self.format = Format::Pcap { is_big, is_nano, link_type };
        Ok(Some(24))
    }

    fn packet(
        &mut self,
        bytes: &[u8],
        is_big: bool,
        is_nano: bool,
        link_type: u16,
        take: &mut dyn FnMut(&Frame<'_>),
    ) -> Result<Option<usize>, CaptureError> {
        let fields = Fields { bytes, is_big };
        let (Some(seconds), Some(fraction), Some(length), Some(original)) =
            (fields.u32(0), fields.u32(4), fields.u32(8), fields.u32(12))
        else {
            return Ok(None);
        };
        if length > MOST_FRAME_BYTES {
            return Err(CaptureError::Length { at: self.at, length, most: MOST_FRAME_BYTES });
        }
        let unit_ns = if is_nano { 1 } else { 1_000 };
        let fraction_ns = i64::from(fraction) * unit_ns;
        if fraction_ns >= 1_000_000_000 {
            return Err(CaptureError::Field { at: self.at, what: "the fraction of a time stamp is a second or more" });
        }
        let end = 16 + size(length);
        let Some(captured) = bytes.get(16..end) else { return Ok(None) };
        take(&Frame {
            at_ns: Some(i64::from(seconds) * 1_000_000_000 + fraction_ns),
            resolution_ns: if is_nano { 0 } else { unit_ns },
            link_type,
            is_outgoing: None,
            is_cut: original > length,
            bytes: captured,
        });
        Ok(Some(end))
    }

    fn block(
        &mut self,
        bytes: &[u8],
        is_big: bool,
        take: &mut dyn FnMut(&Frame<'_>),
    ) -> Result<Option<usize>, CaptureError> {
        let mut fields = Fields { bytes, is_big };
        let (Some(kind), Some(mut length)) = (fields.u32(0), fields.u32(4)) else { return Ok(None) };
        let is_section = bytes.first_chunk::<4>() == Some(&SECTION);
        if is_section {
            // Its byte order stands behind its length.
            fields.is_big = match fields.array::<4>(8) {
                None => return Ok(None),
                Some([0x1a, 0x2b, 0x3c, 0x4d]) => true,
                Some([0x4d, 0x3c, 0x2b, 0x1a]) => false,
                Some(_) => {
                    return Err(CaptureError::Field { at: self.at, what: "a section has no byte order" });
                }
            };
            length = fields.u32(4).unwrap_or(length);
        }
        let is_wanted = is_section || matches!(kind, INTERFACE | OLD_PACKET | SIMPLE_PACKET | ENHANCED_PACKET);
        let most = if is_wanted { MOST_BLOCK_BYTES } else { u32::MAX };
        if length < 12 || length % 4 != 0 || length > most {
            return Err(CaptureError::Length { at: self.at, length, most });
        }
        if !is_wanted {
            return Ok(Some(size(length)));
        }
        let Some(whole) = bytes.get(..size(length)) else { return Ok(None) };
        let body = Fields { bytes: whole.get(8..size(length) - 4).unwrap_or(&[]), is_big: fields.is_big };
        let at = self.at;
        let damaged = |what| CaptureError::Field { at, what };
        if is_section {
            self.format = Format::Pcapng { is_big: fields.is_big };
            self.interfaces.clear();
        } else if kind == INTERFACE {
            let interface =
                described(body).ok_or(damaged("an interface is described by too few or impossible values"))?;
            if self.interfaces.len() == MOST_INTERFACES {
                return Err(damaged("it has more interfaces than any machine"));
            }
            self.interfaces.push(interface);
        } else {
            let frame = match kind {
                ENHANCED_PACKET => self.enhanced(body, 0),
                OLD_PACKET => self.enhanced(body, 2),
                _ => self.simple(body),
            };
            take(&frame.ok_or(damaged("a packet is longer than its block, or of an interface that is not described"))?);
        }
        Ok(Some(size(length)))
    }

    /// A packet of a block; the old kind has 16 bits of drops within the number of its interface.
    fn enhanced<'a>(&self, body: Fields<'a>, interface_bytes: usize) -> Option<Frame<'a>> {
        let interface = if interface_bytes == 2 { u32::from(body.u16(0)?) } else { body.u32(0)? };
        let interface = self.interfaces.get(size(interface))?;
        let stamp = u64::from(body.u32(4)?) << 32 | u64::from(body.u32(8)?);
        let (length, original) = (body.u32(12)?, body.u32(16)?);
        let end = 20_usize.checked_add(size(length))?;
        let bytes = body.bytes.get(20..end)?;
        let flags = body.options(end.next_multiple_of(4)).find(|(number, _)| *number == 2);
        let flags = flags.and_then(|(_, value)| Fields { bytes: value, is_big: body.is_big }.u32(0));
        let is_outgoing = match flags.unwrap_or(0) & 3 {
            1 => Some(false),
            2 => Some(true),
            _ => None,
        };
        let (at_ns, resolution_ns) = interface.time(stamp);
        let link_type = interface.link_type;
        Some(Frame { at_ns, resolution_ns, link_type, is_outgoing, is_cut: original > length, bytes })
    }

    /// A packet without a time stamp.
    fn simple<'a>(&self, body: Fields<'a>) -> Option<Frame<'a>> {
        let interface = self.interfaces.first()?;
        let original = body.u32(0)?;
        let there = body.bytes.get(4..)?;
        let bytes = there.get(..size(original)).unwrap_or(there);
        let link_type = interface.link_type;
        let is_cut = size(original) > bytes.len();
        Some(Frame { at_ns: None, resolution_ns: 0, link_type, is_outgoing: None, is_cut, bytes })
    }
}

fn described(body: Fields<'_>) -> Option<Interface> {
    let mut interface = Interface { link_type: body.u16(0)?, per_second: 1_000_000, offset_s: 0 };
    body.u32(4)?;
    for (number, value) in body.options(8) {
        match (number, value) {
            // The highest bit chooses between powers of two and of ten.
            (9, [power, ..]) if power & 0x80 != 0 => {
                interface.per_second = 1_u64.checked_shl(u32::from(power & 0x7f))?;
            }
            (9, [power, ..]) => interface.per_second = 10_u64.checked_pow(u32::from(*power))?,
            (14, value) => {
                let bytes = value.first_chunk::<8>().copied()?;
                interface.offset_s = if body.is_big { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
            }
            _ => {}
        }
    }
    Some(interface)
}

impl Interface {
    /// A stamp in ns since 1970, and how much later it can have been; no time if it is out of range.
    fn time(&self, stamp: u64) -> (Option<i64>, i64) {
        let per_second = u128::from(self.per_second);
        let ns = u128::from(stamp) * 1_000_000_000 / per_second;
        let exact = 1_000_000_000 % per_second == 0 && per_second == 1_000_000_000;
        let resolution_ns =
            if exact { 0 } else { i64::try_from(1_000_000_000 / per_second).unwrap_or(i64::MAX).max(1) };
        let offset_ns = i128::from(self.offset_s) * 1_000_000_000;
        let at_ns = i128::try_from(ns).ok().and_then(|ns| i64::try_from(ns + offset_ns).ok());
        (at_ns, resolution_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type FrameFields = (Option<i64>, i64, u16, Option<bool>, bool, Vec<u8>);

    fn frames(file: &[u8], piece: usize) -> Result<(Vec<FrameFields>, u64), CaptureError> {
        let mut reader = CaptureReader::default();
        let mut seen = Vec::new();
        for bytes in file.chunks(piece) {
            reader.feed(bytes, &mut |frame| {
                let Frame { at_ns, resolution_ns, link_type, is_outgoing, is_cut, bytes } = *frame;
                seen.push((at_ns, resolution_ns, link_type, is_outgoing, is_cut, bytes.to_vec()));
            })?;
        }
        Ok((seen, reader.left_over()))
    }

    /// Numbers in one byte order.
    fn put(to: &mut Vec<u8>, is_big: bool, values: &[u32]) {
        for value in values {
            to.extend(if is_big { value.to_be_bytes() } else { value.to_le_bytes() });
        }
    }

    fn pcap(is_big: bool, magic: u32) -> Vec<u8> {
        let mut file = Vec::new();
        put(&mut file, is_big, &[magic, if is_big { 0x0002_0004 } else { 0x0004_0002 }, 0, 0, 65_535, 1]);
        put(&mut file, is_big, &[5, 7, 3, 9]);
        file.extend(b"abc");
        file
    }

    fn block(is_big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut whole = Vec::new();
        let length = u32::try_from(body.len().next_multiple_of(4) + 12).unwrap();
        put(&mut whole, is_big, &[kind, length]);
        whole.extend(body);
        whole.resize(usize::try_from(length).unwrap() - 4, 0);
        put(&mut whole, is_big, &[length]);
        whole
    }

    fn halves(is_big: bool, values: &[u16]) -> Vec<u8> {
        values.iter().flat_map(|value| if is_big { value.to_be_bytes() } else { value.to_le_bytes() }).collect()
    }

    fn pcapng(is_big: bool) -> Vec<u8> {
        let mut section = Vec::new();
        put(&mut section, is_big, &[0x1a2b_3c4d, if is_big { 0x0001_0000 } else { 1 }, u32::MAX, u32::MAX]);
        let mut file = block(is_big, 0x0a0d_0d0a, &section);
        // A block that nobody knows is skipped.
        file.extend(block(is_big, 0x0bad, &[9; 40]));
        let mut interface = halves(is_big, &[276, 0]);
        put(&mut interface, is_big, &[0]);
        interface.extend(halves(is_big, &[9, 1]));
        interface.extend([9, 0, 0, 0]);
        file.extend(block(is_big, 1, &interface));
        let stamp: u64 = 1_700_000_000_000_000_123;
        let mut packet = Vec::new();
        let (high, low) = (u32::try_from(stamp >> 32).unwrap(), u32::try_from(stamp & 0xffff_ffff).unwrap());
        put(&mut packet, is_big, &[0, high, low, 5, 5]);
        packet.extend(b"hello\0\0\0");
        packet.extend(halves(is_big, &[2, 4]));
        put(&mut packet, is_big, &[2]);
        file.extend(block(is_big, 6, &packet));
        file
    }

    #[test]
    fn both_byte_orders_and_both_resolutions_are_read_however_the_bytes_come() {
        for piece in [1, 7, 1_000] {
            for is_big in [false, true] {
                let (micro, left) = frames(&pcap(is_big, 0xa1b2_c3d4), piece).unwrap();
                assert_eq!(micro, [(Some(5_000_007_000), 1_000, 1, None, true, b"abc".to_vec())]);
                assert_eq!(left, 0);
                let (nano, _) = frames(&pcap(is_big, 0xa1b2_3c4d), piece).unwrap();
                assert_eq!(nano, [(Some(5_000_000_007), 0, 1, None, true, b"abc".to_vec())]);
                let (sections, left) = frames(&pcapng(is_big), piece).unwrap();
                let expected = (Some(1_700_000_000_000_000_123), 0, 276, Some(true), false, b"hello".to_vec());
                assert_eq!((sections, left), (vec![expected], 0), "{is_big} {piece}");
            }
        }
    }

    #[test]
    fn a_file_that_was_cut_gives_its_whole_frames_and_says_what_is_left() {
        let file = pcap(false, 0xa1b2_c3d4);
        assert_eq!(frames(&file[..file.len() - 1], 9).unwrap(), (Vec::new(), 18));
        let file = pcapng(true);
        let (seen, left) = frames(&file[..file.len() - 3], 64).unwrap();
        assert!(seen.is_empty() && left > 0, "{left}");
        assert_eq!(frames(b"", 1).unwrap(), (Vec::new(), 0));
    }

    #[test]
    fn hostile_lengths_are_refused_with_their_place() {
        let mut file = pcap(false, 0xa1b2_c3d4);
        file[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
        let error = frames(&file, 1_000).unwrap_err();
        assert_eq!(error, CaptureError::Length { at: 24, length: u32::MAX, most: MOST_FRAME_BYTES });
        for length in [0, 11, 13, u32::MAX] {
            let mut file = pcapng(false);
            file[4..8].copy_from_slice(&u32::to_le_bytes(length));
            assert!(matches!(frames(&file, 1_000), Err(CaptureError::Length { at: 0, .. })), "{length}");
        }
        assert_eq!(frames(b"hello", 5).unwrap_err(), CaptureError::Foreign(*b"hell"));
        assert!(is_capture(&pcapng(true)) && is_capture(&file) && !is_capture(b"ptp4l[1.000]"));
    }
}
