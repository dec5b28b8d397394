//! One program for all tests of measurements that the library takes: each test program is linked anew, which takes longer than most tests.

mod alignment;
mod orders;
mod packet;
mod pulse;
