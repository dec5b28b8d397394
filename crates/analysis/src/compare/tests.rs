//! Whole comparisons of synthetic runs: what must be found is, what must not be is not more often than stated.

mod calibration;
mod cases;
mod gates;
mod signed_cases;
mod synthetic;
