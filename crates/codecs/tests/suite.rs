//! One program for all tests of what time services say: each test program is linked anew, which takes longer than most tests.

mod capture;
mod chrony;
mod chrony_log;
mod linuxptp;
mod linuxptp_log;
mod logic;
