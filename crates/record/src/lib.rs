//! The record of a run: schema, histogram, validity.

#![forbid(unsafe_code)]
