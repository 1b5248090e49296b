//! The log: single lines and whole files.

mod line;
mod scan;
