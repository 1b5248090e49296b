//! `pairflow hook`: what the CLIs report arrives, what they are told is what they understand, and whatever is wrong,
//! nobody notices.

use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pairflow_engine::agent_socket::{HookAnswer, HookCall, HookName};
use pairflow_testkit::home::Ran;
use pairflow_testkit::wait::PATIENCE;
use serde_json::{Value, json};

use crate::support::bubbles::{home, started};
use crate::support::log::whole_lines;
use crate::support::seat::{Seat, ended, fed, seat};

/// Runs a hook and answers it; returns what it was about and what it printed.
fn hook(seat: &Seat<'_>, event: &str, input: &[u8], answer: HookAnswer) -> (HookCall, Ran) {
    let command = seat.command(&["hook", event]);
    std::thread::scope(|scope| {
        let ran = scope.spawn(|| fed(command, input));
        let call = seat.calls.recv_timeout(PATIENCE).unwrap();
        assert_eq!(call.agent.as_str(), "codex");
        // One that waits for nothing is gone by now.
        let _ = call.answer.send(answer);
        (call.call, ran.join().unwrap())
    })
}

fn silent(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

fn printed(ran: &Ran) -> Value {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    ran.json()
}

#[test]
fn every_event_arrives_with_what_is_known_of_it() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let before = whole_lines(&home, "b1");
    let input = json!({
        "session_id": "0199-a", "transcript_path": "/t.jsonl", "cwd": "/w", "hook_event_name": "whatever",
        "prompt": "[pairflow 12] Round 2: go", "tool_name": "Bash", "tool_input": {"command": "ls"},
        "stop_hook_active": true, "error": "rate_limit", "message": "waiting", "reason": "other",
    });
    let events = [
        ("SessionStart", HookName::SessionStart),
        ("user-prompt-submit", HookName::UserPromptSubmit),
        ("pre_tool_use", HookName::PreToolUse),
        ("POSTTOOLUSE", HookName::PostToolUse),
        ("PermissionRequest", HookName::PermissionRequest),
        ("stop", HookName::Stop),
        ("StopFailure", HookName::StopFailure),
        ("interrupt", HookName::Interrupt),
        ("Notification", HookName::Notification),
        ("SessionEnd", HookName::SessionEnd),
    ];
    for (typed, event) in events {
        let (call, ran) = hook(&codex, typed, input.to_string().as_bytes(), HookAnswer::Nothing);
        silent(&ran);
        let expected = HookCall {
            session: Some("0199-a".to_owned()),
            transcript: Some("/t.jsonl".into()),
            prompt: Some("[pairflow 12] Round 2: go".to_owned()),
            tool: Some("Bash".to_owned()),
            tool_text: Some("ls".to_owned()),
            tool_text_whole: event == HookName::PermissionRequest,
            message: Some("waiting".to_owned()),
            error: Some("rate_limit".to_owned()),
            stop_hook_active: true,
            reason: Some("other".to_owned()),
            ..HookCall::new(event)
        };
        assert_eq!(call, expected, "{typed}");
    }
    assert_eq!(whole_lines(&home, "b1"), before, "a report is no verb");
}

#[test]
fn answers_are_what_the_clis_understand() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let reason = "run `pairflow pass`\n\u{1b}[1m\u{202e}\"now\"";
    let block = HookAnswer::Block { reason: reason.to_owned() };
    let (_, ran) = hook(&codex, "Stop", b"{}", block.clone());
    assert_eq!(printed(&ran), json!({"decision": "block", "reason": reason}));
    let permission =
        |decision: Value| json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
    let (_, ran) = hook(&codex, "PermissionRequest", b"{}", HookAnswer::Allow);
    assert_eq!(printed(&ran), permission(json!({"behavior": "allow"})));
    let deny = HookAnswer::Deny { message: "not now".to_owned() };
    let (_, ran) = hook(&codex, "PermissionRequest", b"{}", deny.clone());
    assert_eq!(printed(&ran), permission(json!({"behavior": "deny", "message": "not now"})));
    for (event, answer) in [
        ("Stop", HookAnswer::Nothing),
        ("Stop", HookAnswer::Allow),
        ("Stop", deny),
        ("PermissionRequest", HookAnswer::Nothing),
        ("PermissionRequest", block.clone()),
        ("UserPromptSubmit", block.clone()),
        ("PreToolUse", block),
    ] {
        silent(&hook(&codex, event, b"{}", answer).1);
    }
}

/// Waits for the end of a hook: it may take seconds, but not the minutes for which a permission is waited for.
#[track_caller]
fn ended_in_time(child: Child, event: &str) -> Ran {
    let began = Instant::now();
    let ran = ended(child);
    assert!(began.elapsed() < Duration::from_secs(120), "{event} took {:?}", began.elapsed());
    ran
}

#[test]
fn an_event_that_was_dealt_with_keeps_no_hook_waiting() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    for event in ["Stop", "PermissionRequest", "UserPromptSubmit"] {
        let child = codex.spawn(&["hook", event]);
        drop(codex.calls.recv_timeout(PATIENCE).unwrap());
        silent(&ended_in_time(child, event));
    }
}

#[test]
fn garbage_and_floods_on_stdin_are_taken_in_silence() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    for input in [&b""[..], b"\xff\xfe\0", b"null", b"[[[[", b"{\"session_id\":", b"{\"prompt\":\"\\ud800\"}"] {
        let (call, ran) = hook(&codex, "Stop", input, HookAnswer::Nothing);
        silent(&ran);
        assert_eq!((call.event, call.session), (HookName::Stop, None));
    }
    let flood = [br#"{"session_id":"s","prompt":"[pairflow 5] "#.to_vec(), vec![b'x'; 50_000_000]].concat();
    let (call, ran) = hook(&codex, "UserPromptSubmit", &flood, HookAnswer::Nothing);
    silent(&ran);
    assert_eq!(call.session.as_deref(), Some("s"));
    assert!(call.prompt.is_some_and(|text| text.starts_with("[pairflow 5] xx") && text.len() <= 2048));
}

#[test]
fn without_a_seat_a_hook_does_nothing() {
    let home = home();
    let bare = |args: &[&str]| home.command(&[&["hook"], args].concat());
    let with = |mut command: Command, socket: &str| {
        command.env("PAIRFLOW_SOCKET", socket);
        command
    };
    for args in [&["Stop"][..], &[], &["Sub"], &["--what"], &["Stop", "-x", "--json"], &["PreToolUse"]] {
        silent(&fed(bare(args), b"{}"));
        silent(&home.finish(with(bare(args), "")));
    }
    for socket in ["/", "/dev/null", "relative", &"/x".repeat(200), "/nowhere/seat.sock"] {
        silent(&fed(with(bare(&["PreToolUse"]), socket), &vec![b'x'; 3_000_000]));
    }
    let mut lost = with(bare(&["Stop"]), "/nowhere/seat.sock");
    lost.env_remove("HOME").current_dir("/");
    silent(&fed(lost, b"{}"));
    let ran = fed(bare(&["--help"]), b"");
    assert!(ran.code == 0 && ran.stdout.contains("EVENT"), "{ran:?}");
}

#[test]
fn a_supervisor_that_stands_still_stops_no_agent() {
    let home = home();
    let path = home.root().join("still.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let start = |event: &&str| {
        let mut command = home.command(&["hook", event]);
        command.env("PAIRFLOW_SOCKET", &path).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let events = ["PreToolUse", "PostToolUse", "Notification", "UserPromptSubmit", "Stop"];
    let children: Vec<_> = events.iter().map(start).collect();
    for (child, event) in children.into_iter().zip(events) {
        silent(&ended_in_time(child, event));
    }
}

/// Waits for the one event that a hook reports after the seat was opened again.
fn arrives(codex: &mut Seat<'_>, child: Child, event: HookName) {
    codex.reopen();
    let call = codex.calls.recv_timeout(PATIENCE).unwrap();
    assert_eq!(call.call.event, event);
    drop(call);
    silent(&ended(child));
    assert!(codex.calls.try_recv().is_err(), "it is reported once");
}

#[test]
fn what_must_not_get_lost_waits_for_a_supervisor_that_starts_again() {
    let home = home();
    started(&home, "b1");
    let mut codex = seat(&home, "b1", "codex");
    let events = [
        ("UserPromptSubmit", HookName::UserPromptSubmit),
        ("Stop", HookName::Stop),
        ("PermissionRequest", HookName::PermissionRequest),
    ];
    for (typed, event) in events {
        codex.close();
        let child = codex.spawn(&["hook", typed]);
        arrives(&mut codex, child, event);
        // A supervisor that ends while it has the event, but has not dealt with it.
        codex.calls = std::sync::mpsc::channel().1;
        let child = codex.spawn(&["hook", typed]);
        codex.close();
        arrives(&mut codex, child, event);
    }
}
