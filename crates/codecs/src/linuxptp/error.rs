//! Why bytes are no message of linuxptp, and why a request cannot be encoded.

/// Why bytes were refused. `at` counts bytes from the start of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside a field.
    #[error("{what} at byte {at} needs {needed} bytes, but {available} are left")]
    Truncated {
        /// The structure or field that does not fit.
        what: &'static str,
        /// Offset of its first byte.
        at: usize,
        /// Bytes that it takes.
        needed: usize,
        /// Bytes that are left for it.
        available: usize,
    },
    /// The length in the header differs from the number of bytes received.
    #[error("the header at byte 2 declares {declared} bytes, but {received} were received")]
    MessageLength {
        /// Length in the header.
        declared: usize,
        /// Bytes received.
        received: usize,
    },
    /// A structure has another length than its layout.
    #[error("{what} at byte {at} has {found} bytes, expected {expected}")]
    Length {
        /// The structure.
        what: &'static str,
        /// Offset of its first byte.
        at: usize,
        /// Bytes that it has.
        found: usize,
        /// Bytes that its layout has.
        expected: usize,
    },
    /// The length of a TLV is odd (IEEE 1588-2019, 14.1.1 asks for an even one).
    #[error("the TLV length at byte {at} is {found}, expected an even number")]
    OddLength {
        /// Offset of the length field.
        at: usize,
        /// The length found.
        found: usize,
    },
    /// The records of a TLV are not a whole number of records.
    #[error("{what} at byte {at} have {found} bytes, expected a multiple of {record}")]
    PartialRecord {
        /// The records.
        what: &'static str,
        /// Offset of the first record.
        at: usize,
        /// Bytes of all records.
        found: usize,
        /// Bytes of one record.
        record: usize,
    },
    /// A field has a value outside its range.
    #[error("{what} at byte {at} is {found}, expected {expected}")]
    Value {
        /// The field.
        what: &'static str,
        /// Offset of its first byte.
        at: usize,
        /// The value found.
        found: u64,
        /// Values that the field may have.
        expected: &'static str,
    },
}

/// Why a request cannot be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A field of four bits was given more.
    #[error("{what} is {found}, expected 0 to 15")]
    FourBits {
        /// The field.
        what: &'static str,
        /// The value given.
        found: u8,
    },
}

/// Why text is no clock or port identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// The text has another form than linuxptp prints.
    #[error("'{0}' is no clock identity; expected 16 hexadecimal digits as in 02005e.fffe.005301")]
    Clock(String),
    /// The port number is missing or out of range.
    #[error("'{0}' is no port identity; expected a clock identity, '-' and 0 to 65535, as in 02005e.fffe.005301-1")]
    Port(String),
}
