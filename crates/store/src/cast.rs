//! The bits of a number with a sign as one without, and back: SQLite knows numbers with a sign alone. (Rust 1.87 has these itself.)

/// Of a number without a sign.
pub(crate) trait WithSign {
    /// The same bits with a sign.
    fn with_sign(self) -> i64;
}

/// Of a number with a sign.
pub(crate) trait WithoutSign {
    /// The same bits without a sign.
    fn without_sign(self) -> u64;
}

impl WithSign for u64 {
    fn with_sign(self) -> i64 {
        i64::from_ne_bytes(self.to_ne_bytes())
    }
}

impl WithoutSign for i64 {
    fn without_sign(self) -> u64 {
        u64::from_ne_bytes(self.to_ne_bytes())
    }
}
