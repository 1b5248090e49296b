//! The two protocols: Anthropic Messages and OpenAI Responses, read and written.
//!
//! An answer is a row of server-sent events, made part by part.

use serde_json::{Value, json};

use super::record::{Kind, Said, Seen, ToolResult};
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

/// Estimates the number of tokens.
pub(super) fn tokens(text: &str) -> Value {
    json!(text.len() / 4 + 1)
}

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

/// Reads a request of Claude Code.
pub(super) fn claude(body: &Value, session: &str) -> Seen {
    let mut said: Vec<Said> = texts(&body["system"]).into_iter().map(Said::System).collect();
    for message in list(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or_default();
        match &message["content"] {
            Value::String(text) => said.extend(spoken(role, text)),
            content => said.extend(list(content).iter().filter_map(|block| claude_block(role, block))),
        }
    }
    Seen { kind: Kind::Claude, session: session.to_owned(), said, side: has_no_tools(body), attempt: 0 }
}

fn claude_block(role: &str, block: &Value) -> Option<Said> {
    match block["type"].as_str()? {
        "text" => spoken(role, block["text"].as_str()?),
        "tool_use" => {
            Some(Said::Call { id: word(&block["id"]), name: word(&block["name"]), input: block["input"].clone() })
        }
        "tool_result" => Some(Said::Result(ToolResult {
            call: word(&block["tool_use_id"]),
            text: texts(&block["content"]).join("\n"),
            is_error: block["is_error"] == true,
        })),
        _ => None,
    }
}

/// Reads a request of Codex.
pub(super) fn codex(body: &Value, session: &str) -> Seen {
    let mut said: Vec<Said> = texts(&body["instructions"]).into_iter().map(Said::System).collect();
    match &body["input"] {
        Value::String(text) => said.push(Said::User(text.clone())),
        input => said.extend(list(input).iter().flat_map(codex_item)),
    }
    Seen { kind: Kind::Codex, session: session.to_owned(), said, side: has_no_tools(body), attempt: 0 }
}

fn codex_item(item: &Value) -> Vec<Said> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => {
            let role = item["role"].as_str().unwrap_or_default();
            texts(&item["content"]).iter().filter_map(|text| spoken(role, text)).collect()
        }
        "function_call" => {
            let arguments = item["arguments"].as_str().unwrap_or_default();
            let input = serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()));
            vec![Said::Call { id: word(&item["call_id"]), name: word(&item["name"]), input }]
        }
        "function_call_output" => {
            let text = texts(&item["output"]).join("\n");
            vec![Said::Result(ToolResult { call: word(&item["call_id"]), text, is_error: false })]
        }
        _ => Vec::new(),
    }
}

fn spoken(role: &str, text: &str) -> Option<Said> {
    let text = text.to_owned();
    match role {
        "user" => Some(Said::User(text)),
        "assistant" => Some(Said::Assistant(text)),
        "system" | "developer" => Some(Said::System(text)),
        _ => None,
    }
}

/// Returns the texts of a field that is a text itself or a list of parts with a text each.
fn texts(field: &Value) -> Vec<String> {
    match field {
        Value::String(text) => vec![text.clone()],
        field => list(field).iter().filter_map(|part| part["text"].as_str().map(str::to_owned)).collect(),
    }
}

fn list(field: &Value) -> &[Value] {
    field.as_array().map_or(&[], Vec::as_slice)
}

fn word(field: &Value) -> String {
    field.as_str().unwrap_or_default().to_owned()
}

fn has_no_tools(body: &Value) -> bool {
    list(&body["tools"]).is_empty()
}
