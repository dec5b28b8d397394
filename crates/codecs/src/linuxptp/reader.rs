//! A cursor that knows where in the message it is, so that each error names its byte.

use super::error::DecodeError;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads `bytes`, the first of which is byte `at` of the message.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { rest: bytes, at }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.truncated(what, N));
        };
        self.rest = rest;
        self.at += N;
        Ok(*head)
    }

    pub(crate) fn slice(&mut self, what: &'static str, len: usize) -> Result<&'a [u8], DecodeError> {
        let Some((head, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.truncated(what, len));
        };
        self.rest = rest;
        self.at += len;
        Ok(head)
    }

    fn truncated(&self, what: &'static str, needed: usize) -> DecodeError {
        DecodeError::Truncated { what, at: self.at, needed, available: self.rest.len() }
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array(what).map(u8::from_be_bytes)
    }

    pub(crate) fn i8(&mut self, what: &'static str) -> Result<i8, DecodeError> {
        self.array(what).map(i8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_be_bytes)
    }

    pub(crate) fn i16(&mut self, what: &'static str) -> Result<i16, DecodeError> {
        self.array(what).map(i16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_be_bytes)
    }

    pub(crate) fn i32(&mut self, what: &'static str) -> Result<i32, DecodeError> {
        self.array(what).map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// A truth value that linuxptp writes as a 32-bit 0 or 1.
    pub(crate) fn bool32(&mut self, what: &'static str) -> Result<bool, DecodeError> {
        let at = self.at;
        match self.u32(what)? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(DecodeError::Value { what, at, found: found.into(), expected: "0 or 1" }),
        }
    }

    /// Refuses what follows the last field of `what`, whose layout has `expected` bytes and begins at byte `start`.
    pub(crate) fn end(&self, what: &'static str, start: usize, expected: usize) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(DecodeError::Length { what, at: start, found: expected + more, expected }),
        }
    }
}
