//! One socket of AF_XDP: a queue of an interface, with its memory and its rings, in a half that receives and one that
//! sends.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::address::socket_length;
use super::super::error::{SendError, last_errno};
use super::super::options::{self, BusyPoll, set};
use super::super::{OpenError, options::failed};
use super::abi::{
    self, Descriptor, OFFSET_WORDS, Offsets, STATISTICS_RX_DROPPED, STATISTICS_RX_RING_FULL, Statistics,
    UmemRegistration,
};
use super::ring::Ring;
use super::umem::Umem;

/// Frames on their way out, for each of which there is room in the rings.
const SEND_FRAMES: usize = 64;
const SEND_RING: u32 = 64;
/// After the last socket of a queue was closed, the kernel lets go of the queue a while later.
const BUSY_PATIENCE: Duration = Duration::from_secs(3);

/// What a queue is opened with.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuePlan {
    pub(super) interface_index: u32,
    pub(super) queue: u32,
    /// Of how many bytes a chunk of memory is.
    pub(super) chunk_bytes: usize,
    /// A power of two.
    pub(super) receive_slots: u32,
    pub(super) is_zero_copy: bool,
    pub(super) sends: bool,
    pub(super) busy_poll: Option<BusyPoll>,
}

/// What both halves of a bound socket need.
#[derive(Clone, Debug)]
struct Shared {
    socket: Arc<OwnedFd>,
    umem: Arc<Umem>,
}

/// The half that receives.
#[derive(Debug)]
pub(super) struct ReceiveQueue {
    rx: Ring<Descriptor>,
    fill: Ring<u64>,
    shared: Shared,
}

/// The half that sends.
#[derive(Debug)]
pub(super) struct SendQueue {
    tx: Ring<Descriptor>,
    completion: Ring<u64>,
    shared: Shared,
    is_zero_copy: bool,
    /// Places of chunks that are free, of which the first `free_count` count.
    free: [u64; SEND_FRAMES],
    free_count: usize,
}

/// How sockets are refused, apart from words.
#[derive(Debug)]
pub(super) enum QueueError {
    /// The mode or the queue is not to be had: another mode may be.
    Bind(io::Error),
    /// Anything else.
    Open(OpenError),
}

/// Opens a socket and binds it, which is tried again for a while where the queue is still held by one that was closed.
pub(super) fn open(plan: QueuePlan) -> Result<(ReceiveQueue, Option<SendQueue>), QueueError> {
    let step = |action| move |error| QueueError::Open(failed(action, error));
    let socket = options::open(abi::AF_XDP, libc::SOCK_RAW, 0).map_err(|error| {
        let needs = "it takes a kernel with CONFIG_XDP_SOCKETS";
        QueueError::Open(OpenError::refused("open a socket of AF_XDP", "CAP_NET_RAW", needs, error))
    })?;
    let slots = usize::try_from(plan.receive_slots).unwrap_or(0);
    let umem = Umem::new(slots + SEND_FRAMES, plan.chunk_bytes).map_err(step("get memory for frames"))?;
    let registration = UmemRegistration {
        address: umem.address(),
        bytes: umem.bytes() as u64,
        chunk_bytes: u32::try_from(plan.chunk_bytes).unwrap_or(0),
        headroom_bytes: 0,
        flags: 0,
        tx_metadata_bytes: 0,
    };
    let file = socket.as_fd();
    // `ENOBUFS` where the limit on locked memory is reached.
    set(file, abi::SOL_XDP, abi::UMEM_REG, &registration)
        .map_err(step("register memory for frames (`ulimit -l` bounds it without CAP_IPC_LOCK)"))?;
    let receive_slots = plan.receive_slots;
    for (option, entries) in [
        (abi::FILL_RING, receive_slots),
        (abi::COMPLETION_RING, SEND_RING),
        (abi::RX_RING, receive_slots),
        (abi::TX_RING, SEND_RING),
    ] {
        if plan.sends || option != abi::TX_RING {
            set(file, abi::SOL_XDP, option, &entries).map_err(step("make a ring of AF_XDP"))?;
        }
    }
    let Some(offsets) = options::get::<Offsets>(file, abi::SOL_XDP, abi::MMAP_OFFSETS) else {
        return Err(step("read where rings of AF_XDP lie (it takes Linux 5.4)")(io::Error::last_os_error()));
    };
    let [rx_at, tx_at, fill_at, completion_at] =
        [0, 1, 2, 3].map(|ring| &offsets[ring * OFFSET_WORDS..(ring + 1) * OFFSET_WORDS]);
    let map = step("map a ring of AF_XDP");
    let rx = Ring::map(&socket, abi::RX_RING_AT, rx_at, receive_slots).map_err(map)?;
    let mut fill = Ring::map(&socket, abi::FILL_RING_AT, fill_at, receive_slots).map_err(map)?;
    let sending = if plan.sends {
        let tx = Ring::map(&socket, abi::TX_RING_AT, tx_at, SEND_RING).map_err(map)?;
        Some((tx, Ring::map(&socket, abi::COMPLETION_RING_AT, completion_at, SEND_RING).map_err(map)?))
    } else {
        None
    };
    let place = |chunk: usize| (chunk * plan.chunk_bytes) as u64;
    for chunk in 0..slots {
        fill.push(place(chunk));
    }
    if let Some(busy_poll) = plan.busy_poll {
        busy_poll.apply(file).map_err(QueueError::Open)?;
    }
    bind(&socket, plan)?;
    let shared = Shared { socket: Arc::new(socket), umem: Arc::new(umem) };
    let sending = sending.map(|(tx, completion)| SendQueue {
        tx,
        completion,
        shared: shared.clone(),
        is_zero_copy: plan.is_zero_copy,
        free: std::array::from_fn(|frame| place(slots + frame)),
        free_count: SEND_FRAMES,
    });
    Ok((ReceiveQueue { rx, fill, shared }, sending))
}

impl ReceiveQueue {
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.shared.socket
    }

    /// Whether a frame has come.
    #[inline]
    pub(super) fn has_any(&mut self) -> bool {
        self.rx.has_any()
    }

    /// Hands one received frame to `take`, if there is one, and gives its memory back to the kernel.
    #[inline]
    pub(super) fn receive<R>(&mut self, take: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let descriptor = self.rx.pop()?;
        let taken = take(self.shared.umem.frame(descriptor.address, descriptor.bytes));
        // There is always room: the ring is as large as the number of frames that the kernel was given.
        self.fill.push(self.shared.umem.chunk_of(descriptor.address));
        Some(taken)
    }

    /// Whether the driver waits to be told that there is memory for received frames again.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        self.fill.needs_wakeup()
    }

    /// Has the kernel look for received frames; with busy polling it polls the driver.
    #[inline]
    pub(super) fn wake(&self) {
        // SAFETY: no buffer is given, and so none is written to.
        let _ = unsafe {
            libc::recvfrom(
                self.shared.socket.as_raw_fd(),
                std::ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
    }

    /// How many frames for this socket the kernel dropped for want of room.
    pub(super) fn dropped(&self) -> u64 {
        let statistics = options::get::<Statistics>(self.shared.socket.as_fd(), abi::SOL_XDP, abi::STATISTICS);
        statistics.map_or(0, |counts| counts[STATISTICS_RX_DROPPED] + counts[STATISTICS_RX_RING_FULL])
    }

    /// The error that the kernel left on the socket, such as that its interface is gone.
    pub(super) fn pending_errno(&self) -> Option<i32> {
        options::get::<libc::c_int>(self.shared.socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR)
            .filter(|&errno| errno != 0)
    }
}

impl SendQueue {
    /// Sends the frame that `build` writes into a chunk; it returns the length, or `None` where it does not fit.
    #[inline]
    pub(super) fn send(&mut self, build: impl FnOnce(&mut [u8]) -> Option<usize>) -> Result<(), SendError> {
        let Self { tx, completion, shared: Shared { socket, umem }, is_zero_copy, free, free_count } = self;
        while *free_count < SEND_FRAMES {
            let Some(place) = completion.pop() else { break };
            free[*free_count] = umem.chunk_of(place);
            *free_count += 1;
        }
        if !*is_zero_copy && tx.has_untaken() {
            // What the call for an earlier frame left behind goes first; where it cannot, neither can this one.
            match wake_sender(socket.as_raw_fd()) {
                Ok(()) | Err(libc::EBUSY) => {}
                Err(errno) => return Err(refusal(errno)),
            }
        }
        if *free_count == 0 {
            let _ = wake_sender(socket.as_raw_fd());
            return Err(SendError::Full);
        }
        let place = free[*free_count - 1];
        let most_bytes = umem.chunk_bytes();
        // SAFETY: it is one of the chunks that this half alone has, and a free one: never sent, or completed.
        let chunk = unsafe { umem.chunk_mut(place) };
        let bytes = build(chunk).and_then(|bytes| u32::try_from(bytes).ok());
        let Some(bytes) = bytes else { return Err(SendError::TooLarge { bytes: most_bytes + 1, most_bytes }) };
        if !tx.push(Descriptor { address: place, bytes, options: 0 }) {
            let _ = wake_sender(socket.as_raw_fd());
            return Err(SendError::Full);
        }
        *free_count -= 1;
        if !tx.needs_wakeup() {
            return Ok(());
        }
        let Err(errno) = wake_sender(socket.as_raw_fd()) else { return Ok(()) };
        // With `EBUSY` the interface took the frame and dropped it. Otherwise the call, within which alone frames are copied,
        // left it in the ring, where it cannot be taken back: it becomes one that nobody takes.
        if errno != libc::EBUSY && !*is_zero_copy {
            // SAFETY: the kernel reads it only within a call, of this thread or of one that waits for received frames. Should
            // the latter come meanwhile, a frame with a wrong checksum leaves.
            make_void(unsafe { umem.chunk_mut(place) });
        }
        Err(refusal(errno))
    }
}

const fn refusal(errno: i32) -> SendError {
    match errno {
        libc::EAGAIN | libc::EBUSY | libc::ENOBUFS => SendError::Full,
        errno => SendError::Refused { errno },
    }
}

/// Makes a frame one to ourselves, of no EtherType and with nothing in it, which every switch and every node drops.
fn make_void(frame: &mut [u8]) {
    if let Some(rest) = frame.get_mut(12..) {
        rest.fill(0);
        frame.copy_within(6..12, 0);
    }
}

#[inline]
fn wake_sender(socket: RawFd) -> Result<(), i32> {
    // SAFETY: no buffer is given, and so none is read.
    let status = unsafe { libc::sendto(socket, std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
    if status < 0 { Err(last_errno()) } else { Ok(()) }
}

fn bind(socket: &OwnedFd, plan: QueuePlan) -> Result<(), QueueError> {
    let mode = if plan.is_zero_copy { abi::ZERO_COPY } else { abi::COPY };
    let address = abi::Address {
        family: u16::try_from(abi::AF_XDP).unwrap_or(0),
        flags: mode | abi::USE_NEED_WAKEUP,
        interface_index: plan.interface_index,
        queue: plan.queue,
        shared_umem: 0,
    };
    let began = Instant::now();
    loop {
        let length = socket_length(size_of::<abi::Address>());
        // SAFETY: the address is valid for reads of its length for the length of the call.
        if unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EBUSY) || began.elapsed() > BUSY_PATIENCE {
            return Err(QueueError::Bind(error));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_void_frame_goes_to_its_sender_and_holds_nothing() {
        let mut frame: Vec<u8> = (0..40).collect();
        make_void(&mut frame);
        assert_eq!(frame[..12], [6, 7, 8, 9, 10, 11, 6, 7, 8, 9, 10, 11]);
        assert!(frame[12..].iter().all(|&byte| byte == 0));
    }
}
