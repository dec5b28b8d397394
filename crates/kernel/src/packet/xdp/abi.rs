//! Structures and numbers of AF_XDP, include/uapi/linux/if_xdp.h.

pub(super) const AF_XDP: libc::c_int = 44;
pub(super) const SOL_XDP: libc::c_int = 283;
pub(super) const MMAP_OFFSETS: libc::c_int = 1;
pub(super) const RX_RING: libc::c_int = 2;
pub(super) const TX_RING: libc::c_int = 3;
pub(super) const UMEM_REG: libc::c_int = 4;
pub(super) const FILL_RING: libc::c_int = 5;
pub(super) const COMPLETION_RING: libc::c_int = 6;
pub(super) const STATISTICS: libc::c_int = 7;
pub(super) const RX_RING_AT: u64 = 0;
pub(super) const TX_RING_AT: u64 = 0x8000_0000;
pub(super) const FILL_RING_AT: u64 = 0x1_0000_0000;
pub(super) const COMPLETION_RING_AT: u64 = 0x1_8000_0000;
/// Flags of a binding.
pub(super) const COPY: u16 = 1 << 1;
pub(super) const ZERO_COPY: u16 = 1 << 2;
pub(super) const USE_NEED_WAKEUP: u16 = 1 << 3;
/// Flag of a ring: the kernel has to be called for it to go on.
pub(super) const NEED_WAKEUP: u32 = 1;
/// The kernel keeps so many bytes before each received frame (`XDP_PACKET_HEADROOM`).
pub(super) const HEADROOM_BYTES: usize = 256;

/// `struct xdp_umem_reg`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct UmemRegistration {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) chunk_bytes: u32,
    pub(super) headroom_bytes: u32,
    pub(super) flags: u32,
    pub(super) tx_metadata_bytes: u32,
}

/// `struct sockaddr_xdp`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub(super) family: u16,
    pub(super) flags: u16,
    pub(super) interface_index: u32,
    pub(super) queue: u32,
    pub(super) shared_umem: u32,
}

/// `struct xdp_desc`: where a frame lies.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) address: u64,
    pub(super) bytes: u32,
    pub(super) options: u32,
}

/// `struct xdp_ring_offset`, in words: where within its mapping a ring has its parts.
pub(super) const OFFSET_WORDS: usize = 4;
/// `struct xdp_mmap_offsets` in words: of the rings for received and sent frames, for empty ones, and for completed ones.
pub(super) type Offsets = [u64; 4 * OFFSET_WORDS];

/// `struct xdp_statistics` in words; which of them are packets that did not arrive.
pub(super) type Statistics = [u64; 6];
pub(super) const STATISTICS_RX_DROPPED: usize = 0;
pub(super) const STATISTICS_RX_RING_FULL: usize = 3;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn structures_are_the_kernel_s() {
        assert_eq!((size_of::<UmemRegistration>(), offset_of!(UmemRegistration, tx_metadata_bytes)), (32, 28));
        assert_eq!((size_of::<Address>(), offset_of!(Address, queue)), (16, 8));
        assert_eq!((size_of::<Descriptor>(), offset_of!(Descriptor, options)), (16, 12));
        assert_eq!((size_of::<Offsets>(), size_of::<Statistics>()), (128, 48));
    }
}
