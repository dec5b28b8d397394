//! One program for all tests of imports and exports: each test program is linked anew, which takes longer than most tests.

mod clocks;
mod fixtures;
mod isochron;
mod parquet;
mod round_trip;
