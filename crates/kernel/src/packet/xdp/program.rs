//! The program that hands our packets to the sockets and passes all others on, and how it is attached.
//!
//! It is attached by a link of the kernel's, which is a file: the program leaves the interface with the process that holds
//! it, however that ends.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd as _, OwnedFd};

use flight::instruction::{Condition, Helper, Instruction, R0, R1, R2, R3, R4, R6, R7, Width, Writer};

use super::headers::{ReceiveFilter, TAGGED, UDP, V4, V4_WITHOUT_OPTIONS, V6};
use crate::bpf::{self, Refused, address, bpf, owned};

const MAP_UPDATE_ELEMENT: libc::c_long = 2;
const PROG_GET_FD_BY_ID: libc::c_long = 13;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
/// By which programs of ours are known.
pub(super) const NAME: &str = "punctual";
/// The two modes of attaching, include/uapi/linux/if_link.h.
pub(super) const GENERIC: u32 = 1 << 1;
pub(super) const NATIVE: u32 = 1 << 2;
/// `XDP_PASS`: the network stack gets the packet.
const PASS: i32 = 2;
/// Offsets within `struct xdp_md`: where the packet begins and ends, and the queue that it came by.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const RX_QUEUE: i16 = 16;

#[repr(C)]
#[derive(Default)]
struct MapUpdate {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    program: u32,
    interface_index: u32,
    attach_type: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct GetById {
    id: u32,
    next_id: u32,
    open_flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct GetInfo {
    file: u32,
    bytes: u32,
    info: u64,
}

/// The beginning of `struct bpf_prog_info`, up to the program's name.
#[repr(C)]
#[derive(Default)]
struct ProgramInfo {
    before: [u64; 8],
    name: [u8; 16],
}

/// Where the sockets of each queue stand, for the program.
#[derive(Debug)]
pub(super) struct SocketMap(OwnedFd);

impl SocketMap {
    pub(super) fn new(queues: u32) -> io::Result<Self> {
        bpf::make_map(MAP_TYPE_XSKMAP, 4, queues, 0).map(Self)
    }

    /// Has packets of a queue go to a socket.
    pub(super) fn set(&self, queue: u32, socket: &OwnedFd) -> io::Result<()> {
        let socket = number(socket);
        let mut attributes = MapUpdate {
            map: number(&self.0),
            key: address(&raw const queue),
            value: address(&raw const socket),
            ..MapUpdate::default()
        };
        bpf(MAP_UPDATE_ELEMENT, &mut attributes).map(drop)
    }
}

/// Loads the program for what is wanted.
pub(super) fn load(map: &SocketMap, wanted: ReceiveFilter) -> Result<OwnedFd, Refused> {
    bpf::load(PROG_TYPE_XDP, ATTACH_TYPE_XDP, 0, &instructions(map.0.as_raw_fd(), wanted))
}

/// Attaches the program to an interface; it stays until the link is dropped.
pub(super) fn attach(program: &OwnedFd, interface_index: u32, mode: u32) -> io::Result<OwnedFd> {
    let mut attributes =
        LinkCreate { program: number(program), interface_index, attach_type: ATTACH_TYPE_XDP, flags: mode };
    Ok(owned(bpf(LINK_CREATE, &mut attributes)?))
}

/// The name of a program by its number.
///
/// # Errors
/// `ENOENT` where it is gone, `EPERM` where the right to look is missing (CAP_SYS_ADMIN).
pub(super) fn name_of(id: u32) -> io::Result<String> {
    let mut attributes = GetById { id, ..GetById::default() };
    let program = owned(bpf(PROG_GET_FD_BY_ID, &mut attributes)?);
    let mut info = ProgramInfo::default();
    let mut attributes = GetInfo {
        file: number(&program),
        bytes: u32::try_from(size_of::<ProgramInfo>()).unwrap_or(0),
        info: address(&raw mut info),
    };
    bpf(OBJ_GET_INFO_BY_FD, &mut attributes)?;
    let name = info.name.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

fn number(file: &OwnedFd) -> u32 {
    u32::try_from(file.as_raw_fd()).unwrap_or(u32::MAX)
}

/// A number of two bytes as a program reads it from a packet.
fn in_packet(value: u16) -> i32 {
    u16::from_ne_bytes(value.to_be_bytes()).into()
}

fn instructions(map: i32, wanted: ReceiveFilter) -> Vec<Instruction> {
    let mut writer = Writer::default();
    let (pass, is_untagged) = (writer.label(), writer.label());
    // R6: the context; R3: the end; R7: the start, moved on by a tag, so that what follows lies at the same offsets.
    writer.copy(R6, R1).load(Width::U32, R7, R6, DATA).load(Width::U32, R3, R6, DATA_END);
    let needs = |writer: &mut Writer, bytes: i32| {
        writer.copy(R4, R7).add(R4, bytes).jump_if_register(R3, Condition::Less, R4, pass);
    };
    needs(&mut writer, 14);
    writer.load(Width::U16, R1, R7, 12).jump_if(R1, Condition::NotEqual, in_packet(TAGGED), is_untagged).add(R7, 4);
    needs(&mut writer, 14);
    writer.load(Width::U16, R1, R7, 12).place(is_untagged);
    let ethertype = match wanted {
        ReceiveFilter::Link(ethertype) => ethertype,
        ReceiveFilter::Udp(SocketAddr::V4(_), _) => V4,
        ReceiveFilter::Udp(SocketAddr::V6(_), _) => V6,
    };
    writer.jump_if(R1, Condition::NotEqual, in_packet(ethertype), pass);
    if let ReceiveFilter::Udp(local, _) = wanted {
        let (protocol_at, address_at, octets) = match local.ip() {
            IpAddr::V4(ip) => {
                needs(&mut writer, 14 + 20 + 8);
                // Without options and not a part of a larger packet: anything else is the stack's.
                writer
                    .load(Width::U8, R1, R7, 14)
                    .jump_if(R1, Condition::NotEqual, V4_WITHOUT_OPTIONS.into(), pass)
                    .load(Width::U16, R1, R7, 20)
                    .and(R1, in_packet(0x3fff))
                    .jump_if(R1, Condition::NotEqual, 0, pass);
                (23, 30, ip.octets().to_vec())
            }
            IpAddr::V6(ip) => {
                needs(&mut writer, 14 + 40 + 8);
                (20, 38, ip.octets().to_vec())
            }
        };
        writer.load(Width::U8, R1, R7, protocol_at).jump_if(R1, Condition::NotEqual, UDP.into(), pass);
        let mut at = address_at;
        for four in octets.chunks_exact(4) {
            let four = u32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
            // The immediate of a comparison would be taken with its sign.
            writer.load(Width::U32, R1, R7, at).set_wide(R2, four.into());
            writer.jump_if_register(R1, Condition::NotEqual, R2, pass);
            at += 4;
        }
        // The destination's port comes second.
        writer.load(Width::U16, R1, R7, at + 2).jump_if(R1, Condition::NotEqual, in_packet(local.port()), pass);
    }
    // What has no socket is passed on as well.
    writer
        .load(Width::U32, R2, R6, RX_QUEUE)
        .set_map(R1, map)
        .set(R3, PASS)
        .call(Helper::RedirectMap)
        .exit_with_r0()
        .place(pass)
        .set(R0, PASS)
        .exit_with_r0();
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn attributes_lie_where_the_kernel_reads_them() {
        assert_eq!((size_of::<MapUpdate>(), offset_of!(MapUpdate, flags)), (32, 24));
        assert_eq!((size_of::<LinkCreate>(), offset_of!(LinkCreate, flags)), (16, 12));
        assert_eq!((size_of::<GetById>(), size_of::<GetInfo>()), (12, 16));
        assert_eq!((size_of::<ProgramInfo>(), offset_of!(ProgramInfo, name)), (80, 64));
    }

    #[test]
    fn programs_are_short() {
        let length = |wanted| instructions(3, wanted).len();
        assert_eq!(length(ReceiveFilter::Link(0x88b5)), 22);
        assert_eq!(length(ReceiveFilter::Udp("192.0.2.1:7".parse().unwrap(), 1)), 38);
        assert_eq!(length(ReceiveFilter::Udp("[fe80::1]:7".parse().unwrap(), 1)), 45);
    }
}
