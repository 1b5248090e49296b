//! Reads the conversation out of a request's body, for each of the two protocols.

use serde_json::Value;

use super::seen::{Kind, Said, Seen, ToolResult};

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
