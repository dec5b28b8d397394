//! One program for all tests of pages: each test program is linked anew, which takes longer than most tests.

mod same_numbers;
mod schema;
