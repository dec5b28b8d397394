//! Which form a file has.

use super::{
    LogicCapture, LogicError, kernel_events, qemu_port, saleae_binary, saleae_csv, sigrok_csv, sigrok_session, vcd,
};

/// Reads a capture in any of the forms that are known, which its first bytes tell apart; no form is guessed by the file's name. `name`,
/// that of the file, is the name of the line where the form has none.
///
/// # Errors
/// Where it begins like none of them, with their names; and where it cannot be read in the form that it begins like.
pub fn read(bytes: &[u8], name: &str) -> Result<LogicCapture, LogicError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match text.trim_ascii_start() {
        _ if bytes.starts_with(b"<SALEAE>") => saleae_binary::parse(bytes, name),
        _ if bytes.starts_with(b"PK") => sigrok_session::parse(bytes),
        [b';', ..] => sigrok_csv::parse(bytes),
        [b'$', ..] => vcd::parse(bytes),
        text if [&b"Time [s]"[..], b"Time[s]"].iter().any(|begin| text.starts_with(begin)) => saleae_csv::parse(bytes),
        _ if kernel_events::is_edges(bytes) => kernel_events::parse(bytes),
        text if qemu_port::is_log(text) => qemu_port::parse(&[(bytes, name)]),
        [] => Err(LogicError::Empty),
        _ => Err(LogicError::Unknown),
    }
}
