//! The rules of a loop, one policy a file.

pub mod strict;
