//! One program for all tests of two programs that trust each other: each test program is linked anew, which takes longer than most tests.

mod channel;
mod hostile;
mod support;
mod token_file;
mod trust;
