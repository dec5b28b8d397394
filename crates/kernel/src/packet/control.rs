//! Control messages of sockets: what stands beside a payload (`cmsg(3)`), in the kernel's own layout.

/// `struct cmsghdr` of the kernel (include/linux/socket.h): its length is of the machine's word on every C library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Header {
    length: usize,
    level: libc::c_int,
    kind: libc::c_int,
}

const HEADER_BYTES: usize = size_of::<Header>();

/// One message to send with; its size is what `CMSG_SPACE` gives.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<const BYTES: usize> {
    header: Header,
    /// The value in the machine's byte order.
    pub(super) value: [u8; BYTES],
}

impl<const BYTES: usize> Message<BYTES> {
    /// A message of level `SOL_SOCKET`.
    pub(super) const fn new(kind: libc::c_int) -> Self {
        let header = Header { length: HEADER_BYTES + BYTES, level: libc::SOL_SOCKET, kind };
        Self { header, value: [0; BYTES] }
    }
}

/// Room for what the kernel says with a received payload, aligned as it writes it.
#[repr(C, align(8))]
#[derive(Debug)]
pub(super) struct Room([u8; ROOM_BYTES]);

/// Far more than the messages that any end asks for: 3 stamps (64), an error with its sender's address (64), a tag (40).
const ROOM_BYTES: usize = 384;

impl Room {
    pub(super) const BYTES: usize = ROOM_BYTES;

    pub(super) const fn new() -> Self {
        Self([0; ROOM_BYTES])
    }

    pub(super) const fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }

    /// The messages in the first `filled` bytes.
    #[inline]
    pub(super) fn messages(&self, filled: usize) -> Messages<'_> {
        Messages { rest: &self.0[..filled.min(ROOM_BYTES)] }
    }
}

/// One message that the kernel wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said<'a> {
    pub(super) level: libc::c_int,
    pub(super) kind: libc::c_int,
    pub(super) data: &'a [u8],
}

impl Said<'_> {
    /// The 8 bytes at an offset as a signed number; 0 where there are fewer.
    #[inline]
    pub(super) fn i64_at(&self, offset: usize) -> i64 {
        self.bytes_at(offset).map_or(0, i64::from_ne_bytes)
    }

    /// The 4 bytes at an offset; 0 where there are fewer.
    #[inline]
    pub(super) fn u32_at(&self, offset: usize) -> u32 {
        self.bytes_at(offset).map_or(0, u32::from_ne_bytes)
    }

    /// The 2 bytes at an offset; 0 where there are fewer.
    #[inline]
    pub(super) fn u16_at(&self, offset: usize) -> u16 {
        self.bytes_at(offset).map_or(0, u16::from_ne_bytes)
    }

    #[inline]
    fn bytes_at<const BYTES: usize>(&self, offset: usize) -> Option<[u8; BYTES]> {
        self.data.get(offset..offset + BYTES)?.try_into().ok()
    }
}

/// The messages one after the other; ends at one that is damaged.
#[derive(Debug)]
pub(super) struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Messages<'a> {
    type Item = Said<'a>;

    #[inline]
    fn next(&mut self) -> Option<Said<'a>> {
        const WORD: usize = size_of::<usize>();
        // One comparison for all three.
        let header = self.rest.first_chunk::<HEADER_BYTES>()?;
        let (length, numbers) = header.split_first_chunk::<WORD>()?;
        let number = |at: usize| {
            numbers.get(at..).and_then(<[u8]>::first_chunk::<4>).map(|four| libc::c_int::from_ne_bytes(*four))
        };
        let (length, level, kind) = (usize::from_ne_bytes(*length), number(0)?, number(4)?);
        let data = self.rest.get(HEADER_BYTES..length)?;
        self.rest = self.rest.get(length.next_multiple_of(WORD)..).unwrap_or_default();
        Some(Said { level, kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_as_long_as_the_c_library_s_macros_say() {
        // SAFETY: the macros compute with their argument alone.
        let spaces = unsafe { [libc::CMSG_SPACE(4), libc::CMSG_SPACE(8), libc::CMSG_LEN(8)] };
        let ours = [size_of::<Message<4>>(), size_of::<Message<8>>(), Message::<8>::new(1).header.length];
        assert_eq!(spaces.map(|space| usize::try_from(space).unwrap()), ours);
        assert_eq!(HEADER_BYTES, size_of::<usize>() + 8);
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let mut room = Room::new();
        let mut write = |at: usize, kind: libc::c_int, data: &[u8]| {
            let bytes = &mut room.0[at..];
            bytes[..size_of::<usize>()].copy_from_slice(&(HEADER_BYTES + data.len()).to_ne_bytes());
            bytes[size_of::<usize>()..][..4].copy_from_slice(&1_i32.to_ne_bytes());
            bytes[size_of::<usize>() + 4..][..4].copy_from_slice(&kind.to_ne_bytes());
            bytes[HEADER_BYTES..][..data.len()].copy_from_slice(data);
            at + (HEADER_BYTES + data.len()).next_multiple_of(size_of::<usize>())
        };
        let second = write(0, 7, &5_u32.to_ne_bytes());
        let end = write(second, 8, &(-9_i64).to_ne_bytes());
        let said: Vec<_> = room.messages(end).collect();
        assert_eq!(said.len(), 2);
        assert_eq!((said[0].level, said[0].kind, said[0].u32_at(0), said[0].i64_at(0)), (1, 7, 5, 0));
        assert_eq!((said[1].kind, said[1].i64_at(0)), (8, -9));
        // A cut or impossible length ends the walk.
        assert_eq!(room.messages(end - 1).count(), 1);
        assert_eq!(room.messages(3).count(), 0);
        room.0[..size_of::<usize>()].copy_from_slice(&1_usize.to_ne_bytes());
        assert_eq!(room.messages(end).count(), 0);
        room.0[..size_of::<usize>()].copy_from_slice(&usize::MAX.to_ne_bytes());
        assert_eq!(room.messages(end).count(), 0);
    }
}
