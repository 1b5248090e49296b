//! The real Claude Code and the real Codex, started exactly as agents in panes are: by the driver's launch and
//! `pairflow launch`, in tmux, against the mock model. Nothing of the machine's own configuration is read.

use pairflow_agents::Drivers;
use pairflow_core::rules::Permissions;
use pairflow_core::time::Timestamp;
use pairflow_engine::driver::{AgentDriver, PaneScreen, Session, Trouble, TroubleKind};
use pairflow_testkit::model::{Reply, Scripts};
use serde_json::{Value, json};

use crate::support::real_agent::{OUTER, Pane, Place, SESSION};

/// When the account that is used up may be used again.
const RESET: i64 = 4_102_444_800;

fn scripts() -> Scripts {
    let done = || Reply::text("all done");
    Scripts::new()
        .named("verb", [Reply::shell("pairflow pass --summary x"), Reply::shell("./check.sh"), done()])
        .named(
            "change",
            [
                Reply::shell("pairflow pass --summary x"),
                Reply::shell("touch made-by-agent || echo cannot-touch"),
                Reply::escalated("touch made-by-agent", "to make a file"),
            ],
        )
        .named("later", [Reply::text("as you said before")])
}

/// Returns what tools gave back in the last request.
fn results(place: &Place) -> Vec<String> {
    let all = place.mock.requests();
    let last = all.iter().rev().find_map(|request| request.turn()).unwrap();
    last.tool_results().iter().map(|result| result.text.clone()).collect()
}

/// A first turn: both commands run without a question, every hook reports, and nothing of an outer world is seen.
fn plays_a_turn(place: &Place, pane: &Pane<'_>, agent: &str) {
    let prompt = pane.hook("UserPromptSubmit", 1);
    assert_eq!(prompt["prompt"], "[[verb]] please");
    assert_eq!(pane.hook("Stop", 1)["last_assistant_message"], "all done");
    for (name, count) in [("SessionStart", 1), ("PreToolUse", 2), ("PostToolUse", 2)] {
        assert_eq!(pane.hook(name, count)["session_id"], prompt["session_id"], "{name}");
    }
    assert!(place.events().iter().all(|event| event["hook_event_name"] != "PermissionRequest"));
    let results = results(place);
    assert!(results[0].contains(&format!("pairflow-ran as {agent}: pass --summary x")), "{results:#?}");
    assert!(results[0].contains("network-open"), "pairflow is reached through a socket: {results:#?}");
    assert!(results[1].contains("check-ran"), "{results:#?}");
    assert!(results[1].contains("PAIRFLOW_BUBBLE=fix-it"), "{results:#?}");
    for (name, value) in OUTER.into_iter().filter(|(name, _)| *name != "CLAUDECODE") {
        assert!(!results[1].contains(&format!("{name}={value}")), "{name} is the business of someone else");
    }
}

/// Ends the program and goes on with its conversation in a new one.
fn goes_on(place: &Place, pane: Pane<'_>, agent: &str) {
    let session = pane.hook("Stop", 1)["session_id"].as_str().unwrap().to_owned();
    pane.close();
    let mut seat = place.seat(agent, "[[later]] go on");
    seat.session = Session::Resume(session.clone());
    let pane = place.launch(&seat);
    assert_eq!(pane.launch.session.as_ref(), Some(&session));
    pane.model_sees(|request| request.has_user_text("[[verb]] please") && request.has_user_text("[[later]] go on"));
    assert_eq!(pane.hook("UserPromptSubmit", 2)["session_id"], session.as_str());
    assert_eq!(pane.hook("Stop", 2)["last_assistant_message"], "as you said before");
}

fn works_and_goes_on(agent: &str) {
    let place = Place::new(scripts());
    let before = place.persons_files();
    let pane = place.launch(&place.seat(agent, "[[verb]] please"));
    plays_a_turn(&place, &pane, agent);
    if agent == "claude" {
        assert_eq!(pane.launch.session.as_deref(), Some(SESSION));
        assert_eq!(pane.hook("Stop", 1)["session_id"], SESSION);
        let tools = place.mock.requests().iter().any(|request| request.json().to_string().contains("AskUserQuestion"));
        assert!(!tools, "a question that is asked in the pane would not be recorded");
    }
    goes_on(&place, pane, agent);
    let (unmarked, marked) = place.unmarked();
    assert!(unmarked.is_empty() && marked >= 8, "every hook says whose it is: {marked} and {unmarked:?}");
    assert_eq!(place.persons_files(), before);
}

#[test]
fn claude_works_without_a_question_and_goes_on_with_its_conversation() {
    works_and_goes_on("claude");
}

#[test]
fn codex_works_without_a_question_and_goes_on_with_its_conversation() {
    works_and_goes_on("codex");
}

/// With `ask`, pairflow runs without a question and no change is made without one.
fn asks_before_a_change(agent: &str) -> Vec<String> {
    let place = Place::new(scripts());
    let mut seat = place.seat(agent, "[[change]] please");
    seat.permissions = Permissions::Ask;
    let pane = place.launch(&seat);
    let asked = pane.hook("PermissionRequest", 1);
    assert!(asked["tool_input"]["command"].as_str().unwrap().starts_with("touch made-by-agent"), "{asked}");
    assert_eq!(pane.dialog(), "permission");
    assert!(!place.worktree.join("made-by-agent").exists());
    let results = results(&place);
    assert!(results[0].contains("pairflow-ran"), "{results:#?}");
    assert!(results[0].contains("network-open"), "{results:#?}");
    results
}

#[test]
fn claude_that_may_do_nothing_still_calls_pairflow() {
    assert_eq!(asks_before_a_change("claude").len(), 1, "the second command is the one it asks about");
}

#[test]
fn codex_that_may_do_nothing_still_calls_pairflow() {
    let results = asks_before_a_change("codex");
    assert!(results[1].contains("cannot-touch"), "its sandbox is the permission: {results:#?}");
}

#[test]
fn folders_that_are_not_trusted_are_the_persons_business() {
    for agent in ["claude", "codex"] {
        let mut place = Place::new(scripts());
        place.home.repos.clear();
        place.home.write().unwrap();
        let pane = place.launch(&place.seat(agent, "[[verb]] please"));
        assert_eq!(pane.dialog(), "trust");
        assert_eq!(place.events(), Vec::<Value>::new());
    }
}

/// Starts an agent in a home in which one file is another, and returns the dialog that it waits in.
fn dialog_of(agent: &str, file: &str, change: impl Fn(&Place, &str) -> String) -> String {
    let place = Place::new(scripts());
    let path = place.home.home.join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(&path, change(&place, &text)).unwrap();
    place.launch(&place.seat(agent, "[[verb]] please")).dialog()
}

#[test]
fn questions_of_claude_at_its_start_are_known() {
    let unknown_key = |_: &Place, text: &str| {
        let mut state: Value = serde_json::from_str(text).unwrap();
        state["customApiKeyResponses"] = json!({"approved": [], "rejected": []});
        state.to_string()
    };
    assert_eq!(dialog_of("claude", ".claude.json", unknown_key), "key");
    let broken = |_: &Place, _: &str| json!({"permissions": {"allow": ["Nope(("]}}).to_string();
    assert_eq!(dialog_of("claude", ".claude/settings.json", broken), "settings");
    let server = |place: &Place, text: &str| {
        let server = json!({"mcpServers": {"demo": {"type": "stdio", "command": "true", "args": []}}});
        std::fs::write(place.worktree.join(".mcp.json"), server.to_string()).unwrap();
        text.to_owned()
    };
    assert_eq!(dialog_of("claude", ".claude.json", server), "mcp");
    let import = |place: &Place, text: &str| {
        std::fs::write(place.worktree.join("CLAUDE.md"), "@/etc/hostname\n").unwrap();
        text.to_owned()
    };
    assert_eq!(dialog_of("claude", ".claude.json", import), "imports");
}

#[test]
fn questions_of_codex_at_its_start_are_known() {
    assert_eq!(dialog_of("codex", ".codex/config.toml", |_, _| String::new()), "login");
    let own = |_: &Place, _: &str| {
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": 5}]}]}}).to_string()
    };
    assert_eq!(dialog_of("codex", ".codex/hooks.json", own), "hooks");
}

/// Waits until the program has noted its trouble.
fn trouble(pane: &Pane<'_>, agent: &str) -> Trouble {
    let record = pane.hook("UserPromptSubmit", 1)["transcript_path"].as_str().unwrap().to_owned();
    let found = || {
        let text = std::fs::read_to_string(&record).ok()?;
        Drivers::default().trouble(&agent.parse().unwrap(), None, &text)
    };
    pane.wait(found)
}

#[test]
fn an_account_of_claude_that_is_used_up_says_until_when() {
    let limit = Reply::status(429)
        .header("anthropic-ratelimit-unified-status", "rejected")
        .header("anthropic-ratelimit-unified-representative-claim", "five_hour")
        .header("anthropic-ratelimit-unified-reset", RESET.to_string());
    let place = Place::new(Scripts::new().named("limit", [limit]));
    let mut seat = place.seat("claude", "[[limit]]");
    // Only accounts with a subscription have such limits.
    seat.person.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
    seat.person.push(("CLAUDE_CODE_OAUTH_TOKEN".to_owned(), "sk-ant-oat01-opens-nothing".to_owned()));
    let pane = place.launch(&seat);
    assert_eq!(pane.hook("StopFailure", 1)["error"], "rate_limit");
    let trouble = trouble(&pane, "claude");
    assert_eq!((trouble.kind, trouble.until), (TroubleKind::Limit, Some(Timestamp::from_millis(RESET * 1000))));
    assert!(trouble.text.contains("limit"), "{trouble:?}");
}

#[test]
fn an_account_of_codex_that_is_used_up_says_until_when_and_offers_nothing() {
    let body =
        json!({"error": {"type": "usage_limit_reached", "message": "x", "plan_type": "plus", "resets_at": RESET}});
    let limit = Reply::status(429)
        .header("x-codex-primary-used-percent", "100")
        .header("x-codex-primary-window-minutes", "300")
        .header("x-codex-primary-reset-at", RESET.to_string())
        .body(body.to_string());
    let place = Place::new(Scripts::new().named("limit", [limit]).named("later", [Reply::text("again")]));
    let pane = place.launch(&place.seat("codex", "[[limit]]"));
    let found = trouble(&pane, "codex");
    assert_eq!((found.kind, found.until), (TroubleKind::Limit, Some(Timestamp::from_millis(RESET * 1000))));
    // An offer of another model would take the Enter for itself.
    pane.say("[[later]] go on");
    assert_eq!(pane.hook("Stop", 1)["last_assistant_message"], "again");
}

#[test]
fn a_turn_that_failed_is_trouble_until_the_next_one() {
    let scripts = || Scripts::new().named("auth", [Reply::status(401)]).named("later", [Reply::text("again")]);
    for agent in ["claude", "codex"] {
        let place = Place::new(scripts());
        let pane = place.launch(&place.seat(agent, "[[auth]]"));
        let found = trouble(&pane, agent);
        assert_eq!(found.until, None);
        assert_ne!(found.kind, TroubleKind::Limit, "{found:?}");
        pane.say("[[later]] go on");
        let record = pane.hook("Stop", 1)["transcript_path"].as_str().unwrap().to_owned();
        let over = || {
            let text = std::fs::read_to_string(&record).ok()?;
            Drivers::default().trouble(&agent.parse().unwrap(), None, &text).is_none().then_some(())
        };
        pane.wait(over);
    }
}

/// What stands typed where the next prompt is taken, once it is `wanted`.
#[track_caller]
fn has_typed(pane: &Pane<'_>, wanted: &str) {
    let composer = pane.launch.composer.clone().unwrap();
    let typed = || composer.input(&PaneScreen::read(&pane.styled(), pane.cursor()));
    pane.wait(|| typed().filter(|typed| typed == wanted || (!wanted.is_empty() && typed.starts_with(wanted))));
}

#[test]
fn what_a_person_has_typed_is_told_from_an_empty_input_line() {
    for (agent, colours) in [("claude", true), ("codex", true), ("claude", false), ("codex", false)] {
        let slow = [Reply::gate("slow").then(Reply::text("done"))];
        let place = Place::new(scripts().named("slow", slow));
        let mut seat = place.seat(agent, "[[later]] go on");
        seat.person.extend((!colours).then(|| ("NO_COLOR".to_owned(), "1".to_owned())));
        let pane = place.launch(&seat);
        pane.hook("Stop", 1);
        for text in ["/mo", "/clear ", "half a line"] {
            has_typed(&pane, "");
            pane.type_keys(text);
            has_typed(&pane, text.trim_end());
            pane.press("C-u");
        }
        has_typed(&pane, "");
        pane.paste("[pairflow 7] Round 3: you are the reviewer of bubble fix-it. Run `pairflow brief`.");
        has_typed(&pane, "[pairflow 7] Round 3");
        pane.press("C-u");
        has_typed(&pane, "");
        pane.say("[[slow]] go");
        pane.hook("UserPromptSubmit", 2);
        has_typed(&pane, "");
        pane.say("one queued line");
        has_typed(&pane, "");
    }
}
