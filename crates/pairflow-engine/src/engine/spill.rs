//! Long texts: what does not fit a line of the log becomes an artifact, written first and named by its hash.

use crate::engine::{Bubble, EngineError};

/// The longest text that stands in a line itself, in bytes.
pub const INLINE_LIMIT: usize = 32 * 1024;
/// How much of a longer text stands in the line.
const HEAD: usize = 2000;

impl Bubble {
    /// Returns `text` as it goes into a line. A long one is stored, and `refs` gets the artifact's name.
    pub fn inline(&self, text: &str, refs: &mut Vec<String>) -> Result<String, EngineError> {
        if text.len() <= INLINE_LIMIT {
            return Ok(text.to_owned());
        }
        let name = self.log.artifacts().put_hashed("text", "txt", text.as_bytes())?;
        let uri = format!("artifact://{name}");
        let head: String = text.chars().take(HEAD).collect();
        let cut = format!("{head} … [cut: all {} bytes are in {uri}]", text.len());
        refs.push(uri);
        Ok(cut)
    }
}
