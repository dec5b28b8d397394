//! What the kernel knows of the system clock.

use super::PlaceKind;

/// TAI less UTC.
pub(super) struct TaiOffset;

impl<'a> PlaceKind<'a> for TaiOffset {
    fn path(&self) -> &'a str {
        "CLOCK_TAI less CLOCK_REALTIME"
    }

    fn by(&self) -> Option<String> {
        Some("adjtimex".to_owned())
    }

    fn is_known(&self) -> bool {
        true
    }
}
