//! One program for all tests of reading a host: each test program is linked anew, which takes longer than most tests.

mod capture;
mod common;
mod damaged;
mod fixtures;
mod hash;
mod quota;
mod timekeeping;
