//! What every line has around its content: the hash of the line before it and a checksum of itself.
//!
//! Both end the line, always in the same place, so that damage is found before any JSON is read. Nothing here knows the
//! fields of an envelope.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The most bytes that a line may have, its newline included.
pub const MAX_LINE: usize = 1 << 20;

/// The first 16 bytes of the SHA-256 of a line without its newline: what the next line carries as `prev`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LineHash(pub [u8; 16]);

/// Why some bytes are not the line that should stand there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Longer than any line that is ever written.
    #[error("the line has more than {MAX_LINE} bytes")]
    TooLong,
    /// Cut off, or never a line of this log.
    #[error("the line does not end in a checksum")]
    NoChecksum,
    /// Changed after it was written.
    #[error("the checksum says {stated}, but the bytes give {computed}")]
    Checksum {
        /// What stands in the line.
        stated: String,
        /// What its bytes give.
        computed: String,
    },
    /// Passed through a tool that ends lines as another system does.
    #[error("the line ends in a carriage return")]
    CarriageReturn,
    /// Never written, or wiped.
    #[error("byte {at} of the line is NUL")]
    Nul {
        /// Where in the line, from 0.
        at: usize,
    },
    /// Half a character, or no text at all.
    #[error("the line is not UTF-8 from byte {at} on")]
    NotUtf8 {
        /// Where in the line, from 0.
        at: usize,
    },
    /// The newline between two records is gone.
    #[error("a second record begins at byte {at} of the line")]
    Glued {
        /// Where in the line, from 0.
        at: usize,
    },
    /// The checksum holds, but this is no envelope.
    #[error("the line is no envelope: {what}, at byte {at}")]
    NotAnEnvelope {
        /// Where in the line, from 0.
        at: usize,
        /// What is wrong there.
        what: String,
    },
    /// A line of another bubble's log.
    #[error("the line belongs to bubble {found}")]
    Foreign {
        /// The bubble that the line names.
        found: String,
    },
    /// Lines are missing, repeated or in another order.
    #[error("the line has number {found} where {expected} was expected")]
    Gap {
        /// The number that should stand here.
        expected: u64,
        /// The number that does.
        found: u64,
    },
    /// The line before this one is not the one that this one was written after.
    #[error("the line was written after a line with hash {found}, but the one before it has {expected}")]
    Chain {
        /// The hash of the line before.
        expected: LineHash,
        /// The hash that the line carries.
        found: String,
    },
    /// The name does not fit number and date.
    #[error("the line is named {found}, which does not match its number and time")]
    WrongId {
        /// The name that the line carries.
        found: String,
    },
    /// The lines of one append do not count down to its end.
    #[error("the line does not continue its append")]
    OutOfAppend,
    /// The first line of a log that another version of pairflow wrote.
    #[error("the log has format {found}, and this pairflow reads format {read}")]
    OtherFormat {
        /// The number of its format.
        found: u32,
        /// The number that this pairflow reads.
        read: u32,
    },
    /// Acknowledged lines are gone.
    #[error("the log ends here, but lines up to byte {acknowledged_to} were acknowledged")]
    CutOff {
        /// How far the log once reached.
        acknowledged_to: u64,
    },
}

const PREV: &[u8] = b",\"prev\":\"";
const CRC: &[u8] = b",\"crc\":\"";
const END: &[u8] = b"\"}";
/// `,"crc":"xxxxxxxx"}`
const CRC_LEN: usize = CRC.len() + 8 + END.len();
/// `,"prev":"…"` with 32 digits
const PREV_LEN: usize = PREV.len() + 32 + 1;
/// How every line begins; seen again inside a line, it says that two records stand on one line.
const START: &[u8] = b"{\"seq\":";

/// Whether these bytes are a whole, undamaged line.
pub(super) fn is_whole(line: &[u8]) -> bool {
    check_sum(line).is_ok()
}

/// Returns what stands before `prev` in a line, and the digits of `prev`.
pub(super) fn split_end(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (body, _) = line.split_at_checked(line.len().checked_sub(CRC_LEN)?)?;
    let (content, field) = body.split_at_checked(body.len().checked_sub(PREV_LEN)?)?;
    Some((content, field.strip_prefix(PREV)?.strip_suffix(b"\"")?))
}

/// Returns where a second record begins in this line.
pub(super) fn glued_at(line: &[u8]) -> Option<usize> {
    memchr::memmem::find(line.get(1..)?, START).map(|at| at + 1)
}

/// Checks the shape of the end of a line, and its checksum.
pub(super) fn check_sum(line: &[u8]) -> Result<(), LineError> {
    if line.len() >= MAX_LINE {
        return Err(LineError::TooLong);
    }
    let Some((body, tail)) = line.split_at_checked(line.len().wrapping_sub(CRC_LEN)) else {
        return Err(diagnose(line).unwrap_or(LineError::NoChecksum));
    };
    let (Some(stated), true) = (tail.strip_prefix(CRC).and_then(|rest| rest.strip_suffix(END)), ends_in_prev(body))
    else {
        return Err(diagnose(line).unwrap_or(LineError::NoChecksum));
    };
    let computed = hex(crc32c::crc32c(body).to_be_bytes());
    if stated == computed.as_flattened() {
        return Ok(());
    }
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Err(diagnose(line)
        .unwrap_or_else(|| LineError::Checksum { stated: text(stated), computed: text(computed.as_flattened()) }))
}

fn ends_in_prev(body: &[u8]) -> bool {
    let start = body.len().checked_sub(PREV_LEN);
    start.is_some_and(|start| body[start..].starts_with(PREV) && body.ends_with(b"\""))
}

/// Says what happened to a line whose checksum does not hold, if its bytes show it.
fn diagnose(line: &[u8]) -> Option<LineError> {
    if let Some(at) = memchr::memchr(0, line) {
        return Some(LineError::Nul { at });
    }
    if let Some(at) = glued_at(line) {
        return Some(LineError::Glued { at });
    }
    if let Err(bad) = std::str::from_utf8(line) {
        return Some(LineError::NotUtf8 { at: bad.valid_up_to() });
    }
    line.ends_with(b"\r").then_some(LineError::CarriageReturn)
}

impl LineError {
    /// Returns the byte of the line that is wrong, where one can be named.
    pub fn byte(&self) -> Option<usize> {
        match self {
            Self::Nul { at } | Self::NotUtf8 { at } | Self::Glued { at } | Self::NotAnEnvelope { at, .. } => Some(*at),
            _ => None,
        }
    }
}

impl LineHash {
    /// What the first line carries: there is no line before it.
    pub const NONE: Self = Self([0; 16]);

    /// Returns the hash of a line; `line` has no newline.
    pub fn of(line: &[u8]) -> Self {
        let digest = Sha256::digest(line);
        Self(*digest.first_chunk().expect("a SHA-256 has 32 bytes"))
    }

    pub(super) fn hex(&self) -> [u8; 32] {
        *hex(self.0).as_flattened().first_chunk().expect("16 bytes are 32 digits")
    }
}

/// Writes each byte as two lower-case digits.
fn hex<const N: usize>(bytes: [u8; N]) -> [[u8; 2]; N] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&self.hex()).expect("hexadecimal digits are ASCII"))
    }
}

impl fmt::Debug for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LineHash({self})")
    }
}

/// Why a text is no line hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the hash of a line has 32 digits out of 0-9 and a-f")]
pub struct BadLineHash;

impl FromStr for LineHash {
    type Err = BadLineHash;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = u128::from_str_radix(text, 16).map_err(|_| BadLineHash)?;
        let hash = Self(number.to_be_bytes());
        // The one spelling only: no sign, no capitals, no missing zeros.
        if hash.hex() == text.as_bytes() { Ok(hash) } else { Err(BadLineHash) }
    }
}

impl TryFrom<String> for LineHash {
    type Error = BadLineHash;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<LineHash> for String {
    fn from(hash: LineHash) -> String {
        hash.to_string()
    }
}
