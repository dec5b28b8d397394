//! What a TCP connection does by itself.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Has the kernel end a connection whose other end takes nothing of what was sent for so long (`TCP_USER_TIMEOUT`, RFC 5482; also where
/// it is there and has no room).
///
/// # Errors
/// Where the kernel refuses.
pub fn end_where_nothing_is_taken(socket: impl AsFd, for_so_long: Duration) -> io::Result<()> {
    let timeout_ms = u32::try_from(for_so_long.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(socket, timeout_ms)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_whose_other_end_reads_nothing_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _other_end = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        end_where_nothing_is_taken(&socket, Duration::from_secs(1)).unwrap();
        let bytes = vec![0; 1 << 20];
        // More than any buffer holds; without the option it would wait for ever.
        let ended = (0..1_000).map(|_| socket.write_all(&bytes)).find_map(Result::err);
        assert_eq!(ended.map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
    }
}
