//! Runs whose rhythm is known beforehand.

mod calibration;
mod simulate;
