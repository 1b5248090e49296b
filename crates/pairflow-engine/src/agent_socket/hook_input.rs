//! Reads what a program gives its hooks on stdin: a JSON object that may be incomplete.
//!
//! Every field is optional. What cannot be read is left out, and nothing here fails.

use std::fmt;
use std::path::PathBuf;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::Value;
use serde_json::value::RawValue;

use super::hook::{HookCall, HookName, floor};

/// The fields that are kept.
const KEPT: [&str; 14] = [
    "session_id",
    "transcript_path",
    "prompt",
    "tool_name",
    "tool_input",
    "message",
    "error",
    "error_details",
    "last_assistant_message",
    "stop_hook_active",
    "reason",
    "source",
    "notification_type",
    "type",
];

/// The inputs of a tool that say what it will do, best first.
const TOOL_INPUTS: [&str; 8] = ["command", "cmd", "file_path", "path", "url", "query", "pattern", "description"];

/// Other inputs of a tool that need not be shown.
const HARMLESS: [&str; 4] = ["description", "timeout", "limit", "offset"];

/// How much of the end of a cut text may be an incomplete escape.
const HALF_ESCAPE: usize = 12;

impl HookCall {
    /// Reads the event out of `input`, which may be cut anywhere, or be anything at all.
    pub fn read(event: HookName, input: &[u8]) -> Self {
        let text = String::from_utf8_lossy(input);
        let fields = JsonFields::of(&text);
        let kind = ["reason", "source", "notification_type"];
        // With any other event this field has the agent's own words, which decide nothing.
        let failed = ["last_assistant_message", "error_details"].into_iter().filter(|_| event == HookName::StopFailure);
        Self {
            session: fields.text("session_id"),
            transcript: fields.text("transcript_path").map(PathBuf::from),
            prompt: fields.text("prompt"),
            tool: fields.text("tool_name"),
            tool_text: fields.raw("tool_input").map(tool_text),
            // A person must not decide on a text that is cut, or that is not all of it.
            tool_text_whole: event == HookName::PermissionRequest
                && serde_json::from_str::<IgnoredAny>(&text).is_ok()
                && fields.raw("tool_input").is_some_and(says_all),
            message: ["message"].into_iter().chain(failed).find_map(|name| fields.text(name)),
            error: fields.text("error"),
            stop_hook_active: fields.raw("stop_hook_active") == Some("true"),
            reason: kind.into_iter().find_map(|name| fields.text(name)),
            ..Self::new(event)
        }
        .bounded()
    }
}

/// The fields of an object, each as it was written.
#[derive(Default)]
struct JsonFields(Vec<(String, String)>);

impl JsonFields {
    fn of(text: &str) -> Self {
        let mut whole = Self::default();
        if whole.take(text) {
            return whole;
        }
        // Long inputs are cut in the middle of a text; its beginning counts. An escape may be cut, too.
        for cut in 0..=HALF_ESCAPE.min(text.len()) {
            let head = &text[..floor(text, text.len() - cut)];
            let mut repaired = Self::default();
            repaired.take(&format!("{head}\""));
            if repaired.0.len() > whole.0.len() {
                return repaired;
            }
        }
        whole
    }

    /// Takes every field up to the first error; returns whether there was none.
    fn take(&mut self, text: &str) -> bool {
        self.deserialize(&mut serde_json::Deserializer::from_str(text)).is_ok()
    }

    fn raw(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(one, _)| one == name).map(|(_, raw)| raw.as_str())
    }

    /// Returns a field's text unless it is blank; a value that is no text is returned as it was written.
    fn text(&self, name: &str) -> Option<String> {
        let raw = self.raw(name).filter(|raw| *raw != "null")?;
        let text = serde_json::from_str::<LossyString>(raw).map_or_else(|_| raw.to_owned(), |text| text.0);
        Some(text).filter(|text| !text.trim().is_empty())
    }
}

impl<'de> DeserializeSeed<'de> for &mut JsonFields {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut JsonFields {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(LossyString(key)) = map.next_key()? {
            if KEPT.contains(&key.as_str()) {
                self.0.push((key, map.next_value::<&RawValue>()?.get().to_owned()));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// A text that may contain half of a surrogate pair.
struct LossyString(String);

impl<'de> Deserialize<'de> for LossyString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(LossyVisitor)
    }
}

struct LossyVisitor;

impl Visitor<'_> for LossyVisitor {
    type Value = LossyString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<LossyString, E> {
        Ok(LossyString(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<LossyString, E> {
        Ok(LossyString(text.to_owned()))
    }
}

/// Returns what a tool will do.
fn tool_text(raw: &str) -> String {
    let Ok(Value::Object(input)) = serde_json::from_str(raw) else { return raw.to_owned() };
    let shown = TOOL_INPUTS.iter().find_map(|name| match input.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => words
            .iter()
            .map(Value::as_str)
            .collect::<Option<Vec<_>>>()
            .filter(|words| plain(words))
            .map(|words| words.join(" ")),
        _ => None,
    });
    shown.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| raw.to_owned())
}

/// Whether words can be told apart after they are joined.
fn plain(words: &[&str]) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '=' | ':' | ',' | '+');
    words.iter().all(|word| !word.is_empty() && word.chars().all(plain))
}

/// Whether the text of a tool leaves out nothing that matters. Joined words of a list may be ambiguous.
fn says_all(raw: &str) -> bool {
    let Ok(Value::Object(input)) = serde_json::from_str(raw) else { return true };
    let shown = TOOL_INPUTS.iter().find(|name| input.contains_key(**name));
    let beside = |name: &&String| Some(&name.as_str()) != shown && !HARMLESS.contains(&name.as_str());
    shown.is_none_or(|name| input[*name].is_string()) && !input.keys().any(|name| beside(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(event: HookName, text: &str) -> HookCall {
        HookCall::read(event, text.as_bytes())
    }

    #[test]
    fn the_fields_of_both_clis_are_read() {
        let call = read(
            HookName::PermissionRequest,
            r#"{"session_id":"abc-1","transcript_path":"/home/a/t.jsonl","cwd":"/w","hook_event_name":"PermissionRequest",
               "permission_mode":"default","tool_name":"Bash","tool_input":{"description":"see","command":"ls -l"}}"#,
        );
        assert_eq!((call.session.as_deref(), call.tool.as_deref()), (Some("abc-1"), Some("Bash")));
        assert_eq!(call.transcript, Some(PathBuf::from("/home/a/t.jsonl")));
        assert_eq!(call.tool_text.as_deref(), Some("ls -l"));
        let list = read(HookName::PreToolUse, r#"{"tool_input":{"command":["bash","-lc","make"]}}"#);
        assert_eq!(list.tool_text.as_deref(), Some("bash -lc make"));
        let words = read(HookName::PreToolUse, r#"{"tool_input":{"command":["bash","-lc","make  x"]}}"#);
        assert_eq!(words.tool_text.as_deref(), Some(r#"{"command":["bash","-lc","make  x"]}"#), "a blank is no end");
        let stop = read(HookName::Stop, r#"{"stop_hook_active":true,"last_assistant_message":"I am done"}"#);
        assert_eq!((stop.stop_hook_active, stop.message), (true, None), "what the agent printed goes nowhere");
        let failed = read(HookName::StopFailure, r#"{"error":"rate_limit","last_assistant_message":"resets at 3pm"}"#);
        assert_eq!((failed.error.as_deref(), failed.message.as_deref()), (Some("rate_limit"), Some("resets at 3pm")));
        let started = read(HookName::SessionStart, r#"{"source":"resume","reason":null}"#);
        assert_eq!(started.reason.as_deref(), Some("resume"));
    }

    #[test]
    fn whatever_is_cut_off_leaves_the_rest() {
        let text = r#"{"session_id":"s1","prompt":"[pairflow 3] go\n\ud83d\ude00 on","tool_response":{"a":[1,2]}}"#;
        let whole = read(HookName::UserPromptSubmit, text);
        assert_eq!(whole.prompt.as_deref(), Some("[pairflow 3] go\n😀 on"));
        for end in text.find("go").unwrap() + 2..text.len() {
            let cut = read(HookName::UserPromptSubmit, &text[..end]);
            let prompt = cut.prompt.unwrap_or_else(|| panic!("nothing is left of {:?}", &text[..end]));
            assert!(prompt.starts_with("[pairflow 3] g"), "{prompt:?}");
            assert_eq!(cut.session.as_deref(), Some("s1"));
        }
    }

    #[test]
    fn what_a_tool_is_to_do_is_whole_only_if_all_of_it_can_be_shown() {
        let asks = |command: &str| {
            let input = serde_json::json!({"tool_name": "Bash", "tool_input": {"command": command}}).to_string();
            let call = read(HookName::PermissionRequest, &input);
            assert_eq!(call.clone().bounded(), call, "it may be bounded as often as one likes");
            assert!(
                !read(HookName::PermissionRequest, &input[..input.len() - 2]).tool_text_whole,
                "its end is missing"
            );
            (call.tool_text.unwrap_or_default(), call.tool_text_whole)
        };
        for command in ["rm  -rf build\n", "true # \nrm -rf ~", "ls \u{202e}txt", "ls \u{1b}[8m; rm x", " \t ls"] {
            assert_eq!(asks(command), (command.to_owned(), true), "it is handed on byte for byte");
        }
        assert!(asks(&"x".repeat(1000)).1);
        let with = |input: serde_json::Value| {
            let input = serde_json::json!({"tool_name": "Bash", "tool_input": input}).to_string();
            read(HookName::PermissionRequest, &input).tool_text_whole
        };
        assert!(with(serde_json::json!({"command": "ls", "description": "see", "timeout": 5})));
        assert!(!with(serde_json::json!({"command": "ls", "dangerouslyDisableSandbox": true})));
        assert!(!with(serde_json::json!({"file_path": "/home/a/.bashrc", "content": "rm -rf ~"})));
        assert!(!with(serde_json::json!({"command": ["ls", "a b"]})), "where a word ends cannot be seen");
        for long in ["x".repeat(1001), "\u{202e}".repeat(200)] {
            assert!(!asks(&long).1, "{long:?}");
        }
    }

    #[test]
    fn odd_texts_are_taken_as_they_are() {
        let lone = read(HookName::UserPromptSubmit, r#"{"prompt":"a\ud800b [pairflow 4]","session_id":"s"}"#);
        assert!(lone.prompt.is_some_and(|text| text.ends_with("b [pairflow 4]")));
        assert_eq!(lone.session.as_deref(), Some("s"));
        let list = read(HookName::UserPromptSubmit, r#"{"prompt":["[pairflow 5]"],"session_id":7}"#);
        assert_eq!((list.prompt.as_deref(), list.session.as_deref()), (Some(r#"["[pairflow 5]"]"#), Some("7")));
        for nothing in ["", "null", "[1]", "\"x\"", "{", "}", "\u{0}", "{\"a\"", &"[".repeat(100_000)] {
            assert_eq!(read(HookName::Stop, nothing), HookCall::new(HookName::Stop), "{nothing:.20}");
        }
        let not_text = HookCall::read(HookName::Stop, b"{\"session_id\":\"s\",\"error\":\"\xff\"}");
        assert_eq!((not_text.session.as_deref(), not_text.error.as_deref()), (Some("s"), Some("\u{fffd}")));
    }
}
