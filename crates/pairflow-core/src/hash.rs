//! Bytes as hexadecimal text, and the hash that everything of pairflow is named by.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `bytes` in hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns `bytes` in hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}
