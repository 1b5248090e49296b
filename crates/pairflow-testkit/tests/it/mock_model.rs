//! The mock model as a CLI sees it: both protocols byte by byte, scripts, gates, failures, and the record.

use pairflow_testkit::model::{Answered, Kind, Mock, Reply, Scripts};
use serde_json::{Value, json};

use crate::support::{Client, user};

fn claude_turn(id: &str, output: &str) -> [Value; 2] {
    [
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]}),
    ]
}

fn codex_turn(id: &str, output: &str) -> [Value; 2] {
    [
        json!({"type": "function_call", "call_id": id, "name": "exec_command", "arguments": "{\"cmd\":\"true\"}"}),
        json!({"type": "function_call_output", "call_id": id, "output": output}),
    ]
}

fn fix() -> Scripts {
    Scripts::new().named("fix", [Reply::text("I look. ").then(Reply::shell("make 'x'")), Reply::text("done")])
}

#[test]
fn claude_gets_a_text_and_a_call_of_bash_as_blocks() {
    let mock = Mock::start(fix());
    let answer = Client::new(&mock.url()).claude("s1", json!([user("[[fix]] please")]));
    assert_eq!(
        answer.types(),
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let events = answer.events();
    assert_eq!(events[2]["delta"], json!({"type": "text_delta", "text": "I look. "}));
    assert_eq!(
        (&events[4]["content_block"]["name"], &events[4]["content_block"]["input"]),
        (&json!("Bash"), &json!({}))
    );
    let input: Value = serde_json::from_str(events[5]["delta"]["partial_json"].as_str().unwrap()).unwrap();
    assert_eq!(input["command"], "make 'x'");
    assert_eq!(events[7]["delta"]["stop_reason"], "tool_use");
}

#[test]
fn codex_gets_a_text_and_a_call_of_exec_command_as_items() {
    let mock = Mock::start(fix());
    let answer = Client::new(&mock.url()).codex("t1", json!([user("[[fix]] please")]));
    assert_eq!(
        answer.types(),
        [
            "response.created",
            "response.output_item.added",
            "response.output_text.delta",
            "response.output_item.done",
            "response.output_item.added",
            "response.output_item.done",
            "response.completed"
        ]
    );
    let events = answer.events();
    assert_eq!(events[3]["item"]["content"][0]["text"], "I look. ");
    assert_eq!(events[5]["item"]["name"], "exec_command");
    let arguments: Value = serde_json::from_str(events[5]["item"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments["cmd"], "make 'x'");
    assert!(events[6]["response"]["usage"]["total_tokens"].is_u64());
}

#[test]
fn a_command_that_leaves_the_sandbox_is_one_that_codex_has_to_ask_for() {
    let mock = Mock::start(Scripts::new().named("out", [Reply::escalated("git push", "it needs the network")]));
    let events = Client::new(&mock.url()).codex("t1", json!([user("[[out]]")])).events();
    let arguments: Value = serde_json::from_str(events[2]["item"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments["sandbox_permissions"], "require_escalated");
    assert_eq!(arguments["justification"], "it needs the network");
}

#[test]
fn the_number_of_turns_since_the_last_marker_picks_the_step() {
    let mock = Mock::start(fix());
    let mut client = Client::new(&mock.url());
    let mut messages =
        vec![user("old [[fix]]"), json!({"role": "assistant", "content": "done"}), user("[[fix]] again")];
    messages.extend(claude_turn("c1", "built"));
    let ended = client.claude("s1", json!(messages));
    assert_eq!(ended.events()[2]["delta"]["text"], "done");
    assert_eq!(ended.events()[4]["delta"]["stop_reason"], "end_turn");
    let mut input = vec![user("[[fix]]")];
    input.extend(codex_turn("c1", "Process exited with code 0"));
    assert_eq!(client.codex("t1", json!(input)).events()[3]["item"]["content"][0]["text"], "done");
}

#[test]
fn a_request_without_tools_gets_a_title_and_takes_no_step() {
    let mock = Mock::start(fix().by(|seen| panic!("{seen:?} is not for a script")));
    let body = json!({"stream": true, "messages": [user("[[fix]]")]}).to_string();
    let answer = Client::new(&mock.url()).ask("POST /v1/messages", &[], &body);
    assert_eq!(answer.events()[2]["delta"]["text"], r#"{"title":"Mock title"}"#);
    assert!(mock.requests()[0].turn().is_none());
}

#[test]
fn what_no_script_answers_fails_and_says_so() {
    let mock = Mock::start(fix());
    let mut client = Client::new(&mock.url());
    let answer = client.claude("s1", json!([user("[[unknown]]")]));
    assert_eq!((answer.status, &answer.json()["error"]["type"]), (400, &json!("invalid_request_error")));
    let done = [user("[[fix]]"), json!({"role": "assistant", "content": "1"}), user("?")];
    let mut input = done.to_vec();
    input.extend([json!({"role": "assistant", "content": "2"}), user("and?")]);
    let answer = client.claude("s1", json!(input));
    assert_eq!(answer.json()["error"]["message"], "the script [[fix]] has no step 3");
    let ended = mock.wait_for(|all| all.iter().filter(|one| one.answered().is_some()).count() == 2);
    assert!(ended.iter().all(|one| one.answered() == Some(Answered::Refused)));
}

#[test]
fn a_function_of_the_request_plays_both_agents_of_a_bubble() {
    let mock = Mock::start(Scripts::new().by(|seen| {
        let notice = seen.last_with("Your brief: ")?;
        let (_, brief) = notice.text.split_once("Your brief: ")?;
        let who = if seen.kind == Kind::Claude { "reviewer" } else { "implementer" };
        match notice.turns {
            0 => Some(Reply::shell(format!("cat {brief}"))),
            _ => Some(Reply::text(format!("{who} {} read {:?}", seen.session, notice.results[0].text))),
        }
    }));
    let mut client = Client::new(&mock.url());
    let mut messages = vec![user("Your brief: /b/1.md")];
    let call = client.codex("t1", json!(messages)).events();
    assert!(call[2]["item"]["arguments"].as_str().unwrap().contains("cat /b/1.md"));
    messages.extend(claude_turn("c1", "# Brief\n"));
    let said = client.claude("s1", json!(messages)).events();
    assert_eq!(said[2]["delta"]["text"], r##"reviewer s1 read "# Brief\n""##);
}

#[test]
fn a_stream_waits_at_its_gate_until_the_test_opens_it() {
    let mock = Mock::start(
        Scripts::new().named("busy", [Reply::text("long ").then(Reply::gate("g")).then(Reply::text("work"))]),
    );
    let mut client = Client::new(&mock.url());
    let body = json!({"stream": true, "tools": [{}], "messages": [user("[[busy]]")]}).to_string();
    client.send("POST /v1/messages", &[], &body);
    client.head();
    let before: Vec<String> = (0..3).map(|_| client.chunk().unwrap()).collect();
    assert!(before[2].contains("long "), "{before:?}");
    mock.gate("g").wait_until_reached();
    assert_eq!(mock.requests()[0].answered(), None);
    mock.gate("g").open();
    let mut after = String::new();
    while let Some(chunk) = client.chunk().filter(|chunk| !chunk.is_empty()) {
        after += &chunk;
    }
    assert!(after.contains("work") && after.contains("message_stop"), "{after}");
    assert_eq!(after.matches("content_block_start").count(), 0, "it is still the same text:\n{after}");
    mock.wait_for(|all| all[0].answered() == Some(Answered::Whole));
}

#[test]
fn who_goes_away_while_the_stream_waits_is_noticed() {
    let mock = Mock::start(Scripts::new().named("busy", [Reply::gate("g")]));
    for (line, key) in [("POST /v1/messages", "messages"), ("POST /v1/responses", "input")] {
        let mut client = Client::new(&mock.url());
        let body = json!({"stream": true, "tools": [{}], key: [user("[[busy]]")]}).to_string();
        client.send(line, &[], &body);
        client.head();
        mock.gate("g").wait_until_reached();
        drop(client);
        mock.wait_for(|all| all.last().unwrap().answered() == Some(Answered::Abandoned));
        assert_eq!(mock.gate("g").waiting(), 0);
    }
}

#[test]
fn failures_are_served_once_and_the_retry_goes_on() {
    let limit = || Reply::status(429).header("retry-after", "7");
    let steps = [limit(), Reply::status(500), Reply::text("half").cut(), Reply::text("whole")];
    let mock = Mock::start(Scripts::new().named("rough", steps));
    for ask in [Client::claude, Client::codex] {
        let again = || ask(&mut Client::new(&mock.url()), "s", json!([user("[[rough]]")]));
        let limited = again();
        assert_eq!(limited.status, 429);
        assert!(limited.headers.contains(&("retry-after".to_owned(), "7".to_owned())));
        assert_eq!(again().status, 500);
        let cut = again();
        assert!(!cut.whole && cut.body.contains("half"), "{cut:?}");
        let whole = again();
        assert!(whole.whole && whole.body.contains("whole"), "{whole:?}");
    }
    let all = mock.wait_for(|all| all.iter().filter(|one| one.answered().is_some()).count() == 8);
    let attempts: Vec<usize> = all.iter().map(|one| one.turn().unwrap().attempt).collect();
    assert_eq!(attempts, [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn every_request_is_kept_as_it_came() {
    let mock = Mock::start(fix());
    let text = "brief: größer \u{1b}[31m #{pane_id}\n\"quoted\" [[fix]]";
    let mut client = Client::new(&mock.url());
    client.ask("HEAD /api/hello", &[], "");
    let mut messages = vec![json!({"role": "system", "content": "be brief"}), user(text)];
    messages.extend(claude_turn("c1", "built"));
    messages[2]["content"].as_array_mut().unwrap().insert(0, json!({"type": "text", "text": "ok"}));
    client.claude("s1", json!(messages));
    let all = mock.requests();
    assert_eq!((all[0].method.as_str(), all[0].path.as_str()), ("HEAD", "/api/hello"));
    assert_eq!((all[1].path.as_str(), all[1].query.as_str()), ("/v1/messages", "beta=true"));
    assert_eq!(all[1].header("x-claude-code-session-id"), Some("s1"));
    assert_eq!(all[1].json()["messages"], json!(messages));
    assert!(all[1].has_user_text(text));
    let seen = all[1].turn().unwrap();
    assert_eq!((seen.user_texts(), seen.system_texts()), (vec![text], vec!["be brief"]));
    assert_eq!(seen.tool_results()[0].text, "built");
    mock.forget();
    client.ask("GET /v1/models", &[], "");
    assert_eq!(mock.requests()[0].number, 2);
}

#[test]
fn what_is_asked_beside_the_model_is_answered_too() {
    let mock = Mock::start(Scripts::new());
    let mut client = Client::new(&mock.url());
    let count = client.ask("POST /v1/messages/count_tokens?beta=true", &[], "{\"messages\":[]}");
    assert!(count.json()["input_tokens"].is_u64());
    assert_eq!(client.ask("GET /nothing", &[], "").status, 404);
    assert_eq!(client.ask("CONNECT api.example.org:443", &[], "").status, 403);
    assert_eq!(mock.requests()[2].path, "api.example.org:443");
}

#[test]
fn a_body_in_chunks_and_an_answer_without_stream_work_as_well() {
    let mock = Mock::start(fix());
    let mut client = Client::new(&mock.url());
    let body = json!({"model": "m", "tools": [{}], "messages": [user("[[fix]]")]}).to_string();
    let (first, second) = body.split_at(10);
    client.write("POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.write(&format!("a\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n", second.len()));
    let message = client.answer().json();
    assert_eq!((&message["stop_reason"], &message["content"][0]["text"]), (&json!("tool_use"), &json!("I look. ")));
    assert_eq!(message["content"][1]["input"]["command"], "make 'x'");
}

#[test]
fn dropping_the_mock_ends_its_streams() {
    let mock = Mock::start(Scripts::new().named("busy", [Reply::gate("g")]));
    let mut client = Client::new(&mock.url());
    let body = json!({"stream": true, "tools": [{}], "messages": [user("[[busy]]")]}).to_string();
    client.send("POST /v1/messages", &[], &body);
    mock.gate("g").wait_until_reached();
    let url = mock.url();
    drop(mock);
    client.answer();
    assert!(std::net::TcpStream::connect(url.strip_prefix("http://").unwrap()).is_err());
}
