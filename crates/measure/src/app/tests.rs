//! Threads as they live, by synthetic events.
