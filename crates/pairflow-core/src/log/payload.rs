//! What a log has to know of the payloads in its lines, whatever machine they belong to.

use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeOwned, Deserializer};

/// What the lines of a log say: one payload for each message type.
pub trait Payload: Clone + fmt::Debug + PartialEq {
    /// The message type, as it stands in a line.
    type Kind: Copy + Serialize + DeserializeOwned;

    /// The number of the format of these logs, which the first line of each names. It rises when lines that were written before
    /// cannot be read any more, or would be read as something else.
    const FORMAT: u32;

    /// Returns the message type of this payload.
    fn kind(&self) -> Self::Kind;

    /// Writes the payload as JSON.
    fn to_json(&self) -> String;

    /// Reads the payload of a message of type `kind`.
    fn read<'de, D: Deserializer<'de>>(kind: Self::Kind, json: D) -> Result<Self, D::Error>;

    /// Whether this fact makes the log another user's: their seals begin with it.
    fn adopts(&self) -> bool;
}
