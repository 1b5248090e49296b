//! OpenAI Responses: items that are messages or function calls. The finished item is what counts.

use serde_json::{Value, json};

use super::reply::Shell;
use super::wire::{Ids, Wire, tokens};

/// How long Codex may wait for a command before it reports that the command still runs: the most that it grants.
const YIELD_MS: u32 = 30_000;

/// An answer to Codex.
pub(super) struct Codex {
    ids: Ids,
    /// All finished items.
    items: Vec<Value>,
    /// The text that still grows.
    open: Option<String>,
}

impl Codex {
    pub(super) fn new(ids: Ids) -> Self {
        Self { ids, items: Vec::new(), open: None }
    }

    fn message(&self, text: Option<&str>) -> Value {
        let content = text.map(|text| json!({"type": "output_text", "text": text, "annotations": []}));
        json!({
            "type": "message", "role": "assistant", "id": self.id("msg"),
            "status": if text.is_some() { "completed" } else { "in_progress" },
            "content": content.into_iter().collect::<Vec<_>>(),
        })
    }

    fn id(&self, what: &str) -> String {
        format!("{what}_{}_{}", self.ids.unique, self.items.len())
    }

    fn added(&self, item: &Value) -> Value {
        json!({"type": "response.output_item.added", "output_index": self.items.len(), "item": item})
    }

    fn done(&mut self, item: Value) -> Value {
        let event = json!({"type": "response.output_item.done", "output_index": self.items.len(), "item": item});
        self.items.push(item);
        event
    }

    fn close(&mut self) -> Option<Value> {
        let text = self.open.take()?;
        let message = self.message(Some(&text));
        Some(self.done(message))
    }
}

impl Wire for Codex {
    fn begin(&mut self) -> Vec<Value> {
        let id = format!("resp_{}", self.ids.unique);
        vec![json!({"type": "response.created", "response": {"id": id, "status": "in_progress", "output": []}})]
    }

    fn text(&mut self, text: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if self.open.is_none() {
            events.push(self.added(&self.message(None)));
        }
        self.open.get_or_insert_default().push_str(text);
        events.push(json!({
            "type": "response.output_text.delta", "item_id": self.id("msg"), "output_index": self.items.len(),
            "content_index": 0, "delta": text,
        }));
        events
    }

    fn shell(&mut self, shell: &Shell) -> Vec<Value> {
        let mut events: Vec<Value> = self.close().into_iter().collect();
        let mut arguments = json!({"cmd": shell.command, "yield_time_ms": YIELD_MS});
        if let Some(why) = &shell.escalated {
            arguments["sandbox_permissions"] = json!("require_escalated");
            arguments["justification"] = json!(why);
        }
        let item = json!({
            "type": "function_call", "id": self.id("fc"), "call_id": self.id("call"), "name": "exec_command",
            "arguments": arguments.to_string(), "status": "completed",
        });
        events.push(self.added(&item));
        events.push(self.done(item));
        events
    }

    fn read(&mut self, path: &str) -> Vec<Value> {
        self.shell(&Shell { command: format!("cat '{path}'"), escalated: None })
    }

    fn end(&mut self) -> Vec<Value> {
        let mut events: Vec<Value> = self.close().into_iter().collect();
        let spent = tokens(&Value::Array(self.items.clone()).to_string());
        events.push(json!({
            "type": "response.completed",
            "response": {
                "id": format!("resp_{}", self.ids.unique), "status": "completed", "output": self.items,
                "usage": {
                    "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
                    "output_tokens": spent, "output_tokens_details": {"reasoning_tokens": 0},
                    "total_tokens": 10 + spent.as_u64().unwrap_or_default(),
                },
            },
        }));
        events
    }

    fn beat(&self) -> String {
        ": still there\n\n".to_owned()
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let kind = if status == 429 { "rate_limit_exceeded" } else { "mock_error" };
        json!({"error": {"message": message, "type": kind, "code": kind, "param": null}})
    }
}
