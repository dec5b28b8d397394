//! One HTML file from records: the viewer with its data inside.

#![forbid(unsafe_code)]
