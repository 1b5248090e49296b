//! Anthropic Messages: blocks of text and tool use, as events or as one message.

use serde_json::{Value, json};

use super::reply::Shell;
use super::wire::{Ids, Wire, event, tokens};

/// An answer to Claude Code.
pub(super) struct Claude {
    ids: Ids,
    /// All blocks so far, as a whole message has them.
    blocks: Vec<Value>,
    /// Whether the last block is a text that still grows.
    open: bool,
}

impl Claude {
    pub(super) fn new(ids: Ids) -> Self {
        Self { ids, blocks: Vec::new(), open: false }
    }

    /// Returns the message as it stands, for a CLI that did not ask for a stream.
    pub(super) fn message(&self) -> Value {
        let mut message = self.head();
        message["content"] = Value::Array(self.blocks.clone());
        message["stop_reason"] = json!(self.reason());
        message["usage"]["output_tokens"] = self.spent();
        message
    }

    fn head(&self) -> Value {
        json!({
            "id": format!("msg_{}", self.ids.unique), "type": "message", "role": "assistant", "model": self.ids.model,
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {
                "input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1,
            },
        })
    }

    fn reason(&self) -> &'static str {
        let calls = self.blocks.iter().any(|block| block["type"] == "tool_use");
        if calls { "tool_use" } else { "end_turn" }
    }

    fn spent(&self) -> Value {
        tokens(&Value::Array(self.blocks.clone()).to_string())
    }

    fn start(&mut self, block: Value) -> Value {
        self.blocks.push(block.clone());
        json!({"type": "content_block_start", "index": self.last(), "content_block": block})
    }

    fn delta(&self, delta: &Value) -> Value {
        json!({"type": "content_block_delta", "index": self.last(), "delta": delta})
    }

    fn stop(&mut self) -> Value {
        self.open = false;
        json!({"type": "content_block_stop", "index": self.last()})
    }

    fn last(&self) -> usize {
        self.blocks.len().saturating_sub(1)
    }

    fn tool(&mut self, name: &str, input: Value) -> Vec<Value> {
        let mut events = if self.open { vec![self.stop()] } else { Vec::new() };
        let id = format!("toolu_{}_{}", self.ids.unique, self.blocks.len());
        events.push(self.start(json!({"type": "tool_use", "id": id, "name": name, "input": {}})));
        events.push(self.delta(&json!({"type": "input_json_delta", "partial_json": input.to_string()})));
        if let Some(block) = self.blocks.last_mut() {
            block["input"] = input;
        }
        events.push(self.stop());
        events
    }
}

impl Wire for Claude {
    fn begin(&mut self) -> Vec<Value> {
        vec![json!({"type": "message_start", "message": self.head()})]
    }

    fn text(&mut self, text: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if !self.open {
            events.push(self.start(json!({"type": "text", "text": ""})));
            self.open = true;
        }
        events.push(self.delta(&json!({"type": "text_delta", "text": text})));
        if let Some(Value::String(all)) = self.blocks.last_mut().map(|block| &mut block["text"]) {
            all.push_str(text);
        }
        events
    }

    fn shell(&mut self, shell: &Shell) -> Vec<Value> {
        self.tool("Bash", json!({"command": shell.command, "description": "Run a command"}))
    }

    fn read(&mut self, path: &str) -> Vec<Value> {
        self.tool("Read", json!({"file_path": path}))
    }

    fn end(&mut self) -> Vec<Value> {
        let mut events = if self.open { vec![self.stop()] } else { Vec::new() };
        events.push(json!({
            "type": "message_delta", "delta": {"stop_reason": self.reason(), "stop_sequence": null},
            "usage": {"output_tokens": self.spent()},
        }));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn beat(&self) -> String {
        event(&json!({"type": "ping"}))
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": message}})
    }
}
