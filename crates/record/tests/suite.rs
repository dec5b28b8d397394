//! One program for all tests of the record: each test program is linked anew, which takes longer than most tests.

mod documents;
