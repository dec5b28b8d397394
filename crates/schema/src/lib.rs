//! schemars, or nothing in its place.
//!
//! Only tests make JSON Schemas. Deriving them for every document was a fourth of the time that the compiler takes for `record`,
//! which each new user waited for. So the crates depend on this one under the name of schemars, and derive `JsonSchema` as ever;
//! without the feature `made` the derive adds nothing.
#![forbid(unsafe_code)]

#[cfg(feature = "made")]
pub use derived::*;
#[cfg(not(feature = "made"))]
pub use schema_off::JsonSchema;

/// What is there only where schemas are made: implementations by hand, and functions that make one.
#[cfg(feature = "made")]
#[macro_export]
macro_rules! only_where_made {
    ($($item:item)*) => { $($item)* };
}

/// What is there only where schemas are made: here nothing.
#[cfg(not(feature = "made"))]
#[macro_export]
macro_rules! only_where_made {
    ($($item:item)*) => {};
}
