//! Lines of the files that chronyd writes.
