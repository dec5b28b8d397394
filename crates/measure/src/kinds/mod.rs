//! The kinds of measurement, a folder each. None knows the insides of another; what two of them need stands outside.

pub mod answer;
pub mod app;
pub mod clock;
pub mod event;
pub mod gpio;
pub mod noise;
pub mod packet;
pub mod pulse;
pub mod response;
pub mod sync;
pub mod wakeup;
