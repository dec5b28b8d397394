//! x
pub(crate) const PLACEHOLDER: () = ();
