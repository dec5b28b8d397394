//! What is read from a node, the parsers that read it, and the findings about it.

#![forbid(unsafe_code)]
