//! What the two protocols have in common: an answer is a row of server-sent events, made part by part.

use serde_json::{Value, json};

use super::reply::Shell;

/// A protocol, in the middle of one answer. Every method returns the events that have to be sent.
pub(super) trait Wire {
    /// The answer begins.
    fn begin(&mut self) -> Vec<Value>;
    /// More text; a run of texts is one text for the CLI.
    fn text(&mut self, text: &str) -> Vec<Value>;
    /// A call of the shell.
    fn shell(&mut self, shell: &Shell) -> Vec<Value>;
    /// A look into a file.
    fn read(&mut self, path: &str) -> Vec<Value>;
    /// The answer is whole.
    fn end(&mut self) -> Vec<Value>;
    /// A sign of life that says nothing.
    fn beat(&self) -> String;
    /// The body of an error.
    fn error(&self, status: u16, message: &str) -> Value;
}

/// What an answer is made from, beside its parts.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    /// Unique in the conversation, and among all answers of this server.
    pub(super) unique: String,
    /// The model that was asked for.
    pub(super) model: String,
}

/// Renders an event. Both protocols repeat its type before the data.
pub(super) fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or("message"))
}

/// Counts tokens as roughly as anybody does without a model.
pub(super) fn tokens(text: &str) -> Value {
    json!(text.len() / 4 + 1)
}
