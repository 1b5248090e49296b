//! What agents show and note down, as the real programs did it: dialogs on screens, and turns that failed.

use pairflow_agents::Drivers;
use pairflow_agents::spec::{dialog_on, spec_of};
use pairflow_core::time::Timestamp;
use pairflow_engine::driver::{AgentDriver, PaneScreen, Trouble, TroubleKind};

/// Screens of Claude Code 2.1.325 and Codex 0.166.0, without empty lines and rules.
const SCREENS: &[(&str, &str, &str)] = &[
    (
        "claude",
        "trust",
        " Accessing workspace:\n /work/fix-it\n Quick safety check: Is this a project you created or one you trust?\n \
         ❯ No, exit\n   Yes, I trust this folder\n Enter to confirm · Esc to cancel",
    ),
    (
        "claude",
        "key",
        "  Detected a custom API key in your environment\n  ANTHROPIC_API_KEY: sk-ant-...nothing\n  Do you want to use \
         this API key?\n    Yes\n  ❯ No (recommended)\n  Enter to confirm · Esc to cancel",
    ),
    (
        "claude",
        "settings",
        "  Settings Warning\n  /home/ada/.claude/settings.json\n  └ permissions.allow: Invalid permission rule\n  \
         ❯ 1. Continue\n    2. Fix with Claude\n    3. Exit and fix manually\n  Enter to confirm · Esc to cancel",
    ),
    (
        "claude",
        "mcp",
        "  New MCP server found in this project: demo\n  MCP servers may execute code or access system resources. All \
         tool calls require approval.\n    Use this MCP server\n  ❯ Continue without using this MCP server\n  Enter to \
         confirm · Esc to cancel",
    ),
    (
        "claude",
        "imports",
        "  Allow external CLAUDE.md file imports?\n  External imports:\n    /etc/hostname\n  ❯ No, disable external \
         imports\n    Yes, allow external imports\n  Enter to confirm · Esc to cancel",
    ),
    (
        "claude",
        "permission",
        " Bash command\n ./check.sh\n This command requires approval\n Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, and \
         don’t ask again for: ./check.sh *\n   4. No\n Esc to cancel · Tab to amend",
    ),
    (
        "claude",
        "permission",
        " Bash command\n ./check.sh\n This command requires approval\n Do you want to proceed?\n   1. Yes\n   2. Yes, and \
         don’t ask again for: ./check.sh *\n ❯ 4. No\n Esc to cancel · Tab to amend",
    ),
    (
        "claude",
        "agents",
        "Your conversation moved to the\nbackground — enter opens it · esc\nNeeds input\n✻ [Request interrupted by…  repo      \
         2s\n❯ describe a task for a new session\n  ⏸ plan mode · enter to return · ? for…",
    ),
    (
        "claude",
        "agents",
        "▝▜██████▀  New sessions: Opus 5.5 · medium effort · /work\n ▝▝   ▝▝   2 awaiting input · 0 working · 0 completed\nNeeds \
         input\n❯ abc\n  ⏸ plan mode · enter to create · esc×2 to clear · ctrl+f to find",
    ),
    (
        "codex",
        "trust",
        "  Folder access\n  /work/fix-it\n  Trust this folder? Codex can read, edit, and run files here.\n› 1. Trust and \
         continue\n  2. Quit\n  enter continue · esc quit",
    ),
    (
        "codex",
        "login",
        "  Welcome to Codex, OpenAI's command-line coding agent\n  Choose how you want to use Codex.\n> 1. Sign in with \
         ChatGPT\n  2. Sign in with Device Code\n  3. Use an OpenAI API key\n  Press enter to continue",
    ),
    (
        "codex",
        "hooks",
        "  Hooks need review\n  1 hook is new or changed.\n› 1. Review hooks\n  2. Trust all and continue\n  3. Continue \
         without trusting (hooks won't run)\n  enter confirm · esc skip",
    ),
    (
        "codex",
        "model",
        "  Approaching rate limits\n  Switch to gpt-6-luna for lower credit usage?\n› 1. Switch to gpt-6-luna\n  2. Keep \
         current model\n  3. Keep current model (never show again)\n  enter select · esc back",
    ),
    (
        "codex",
        "permission",
        "  Would you like to run the following command?\n  Environment: local\n  $ touch made-by-agent\n› 1. Yes, proceed \
         (y)\n  3. No, and tell Codex what to do differently (esc)\n  Press enter to confirm or esc to cancel",
    ),
];

/// Screens, with their rules cut short, on which the next prompt is typed.
const PROMPTS: &[(&str, &str)] = &[
    ("claude", "❯ hello\n\n✻ Scampering…\n\n──────────\n❯\n──────────\n  ⏵⏵ accept edits on · esc to interrupt"),
    (
        "claude",
        "❯ one queued line of text\n  ctrl+x ctrl+s to send now\n\n· Scampering…\n\n──────────\n❯ Press up to edit queued \
         messages\n──────────\n  ⏵⏵ accept edits on (shift+tab to cycle) · esc to interrupt",
    ),
    ("claude", "● all done\n──────────\n❯\u{a0}[Pasted text #1 +5 lines]\n──────────\n  paste again to expand"),
    (
        "claude",
        "  ⎿  Interrupted · What should Claude do instead?\n──────────\n❯\n──────────\n  Press Ctrl-C again to exit",
    ),
    // A pane of 40 columns and 11 lines, full of what was typed; one of six lines.
    ("claude", "✻ Brewed for 0s\n\n──────────\n❯\u{a0}154 155 156 157\n  163 164 165 166\n  172 173 174 175"),
    ("claude", "✻ Brewed for 0s\n\n          ◐ medium · /effort\n──────────\n❯"),
    (
        "codex",
        "› hello\n\n• Working (3s • esc to interrupt)\n\n› Ask Codex to do anything\n\n  mock-model default · /work",
    ),
    (
        "codex",
        "› hello\n› one queued line of text\n◦ Working (8s • esc to interrupt)\n\n› line 1 of a long text\n  line 2 of a long \
         text\n\n  line 4 of it\n\n  mock-model default · /work\n  tab to queue message",
    ),
    (
        "codex",
        "■ Conversation interrupted - use /feedback if something went wrong\n\n› Ask Codex to do anything\n\n  mock-model \
         default · /work\n  ? for shortcuts              ⚠ 2 · f2",
    ),
    (
        "codex",
        "◦ Working\n› line 3 of a long text                ↑\n  line 4 of a long text\n\n  mock-model default · /wo…",
    ),
];

/// Screens with their weights, rules cut short, and what a person has typed on them.
const TYPED: &[(&str, &str, &str)] = &[
    ("claude", "● done\n──────────\n❯\u{a0}\u{1b}[7m \u{1b}[0m\n──────────\n  ⏵⏵ accept edits on", ""),
    (
        "claude",
        "──────────\n\u{1b}[38;5;246m❯\u{a0}\u{1b}[7m\u{1b}[39mP\u{1b}[0;2mress up to edit queued messages\n\u{1b}[0m──────────\n  \
         ⏵⏵ accept edits on · esc to interrupt",
        "",
    ),
    (
        "claude",
        "  \u{1b}[38;5;153m❯ /\u{1b}[1mmo\u{1b}[0mdel      Set the AI model\n  \u{1b}[38;5;246m  /mobile  Show QR code\n──────────\n\
         \u{1b}[39m❯\u{a0}/mo\u{1b}[7m \u{1b}[0m\n──────────\n  ⏵⏵ accept edits on",
        "/mo",
    ),
    (
        "claude",
        "──────────\n❯\u{a0}\u{1b}[38;5;153m/clear\u{1b}[39m \u{1b}[7m \u{1b}[0m\u{1b}[38;5;246m[name]\u{1b}[39m\n──────────\n  ⏵⏵ accept",
        "/clear  [name]",
    ),
    (
        "codex",
        "• done\n\n\u{1b}[1m›\u{1b}[0m \u{1b}[2mAsk Codex to do anything\n\u{1b}[0m\n  mock-model default · /work\n  ? for shortcuts",
        "",
    ),
    (
        "codex",
        "\u{1b}[1;7m› /model  \u{1b}[0;7mchoose what model to use\u{1b}[0m\n\n\u{1b}[1m›\u{1b}[0m /mo\n\n  mock-model default · /work",
        "/mo",
    ),
    (
        "codex",
        "• done\n\n\u{1b}[1m›\u{1b}[0m \u{1b}[38;5;6m/clear\u{1b}[39m \n\n  mock-model default · /work",
        "/clear",
    ),
    ("codex", "• done\n\n\u{1b}[1m›\n\u{1b}[0m  second\n\n  mock-model default · /work", "second"),
];

/// Screens on which a text would go somewhere else, and whether they show the cursor.
const ELSEWHERE: &[(&str, bool, &str)] = &[
    (
        "claude",
        false,
        "❯ [[ask]] hello there\n──────────\n ☐ Colour\n\nWhich colour?\n\n❯ 1. Red\n     warm\n  2. Blue\n     cold\n  3. Type \
         something.\n──────────\n  4. Chat about this\n\nEnter to select · ↑/↓ to navigate · Esc to cancel",
    ),
    (
        "claude",
        false,
        "❯ hello there\n▔▔▔▔▔▔▔▔▔▔\n  ────────\n   Exit plan mode?\n\n    Claude wants to exit plan mode\n\n    ❯ 1. Yes, and \
         switch to default\n      2. No",
    ),
    (
        "claude",
        false,
        "❯ a\n● all done\n──────────\n  Showing detailed transcript · ctrl+o to toggle · ? for shortcuts",
    ),
    ("claude", false, "❯ a\n● all done\n──────────\n! ls\n──────────\n  ! for shell mode"),
    (
        "codex",
        false,
        "  Would you like to run the following\n  command?\n\n  [… 30 lines] ^a view all\n\n› 1. Yes, proceed (y)\n  2. Yes, and \
         don't ask again\n\n  Press enter to confirm or esc to\n  cancel",
    ),
    (
        "codex",
        false,
        "› now\n\n  Question 1/1 (1 unanswered)\n  Which colour?\n\n  › 1. Red                warm\n    2. Blue               \
         cold\n\n  tab to add notes | enter to submit answer | esc to interrupt",
    ),
    (
        "codex",
        true,
        "› now\n\n  Question 1/1 (1 unanswered)\n  Which colour?\n\n  › 1. Red\n    2. Blue\n\n  › Add notes\n\n  tab or esc to \
         clear notes | enter to submit answer",
    ),
    ("codex", false, "› now\n\n  Something that lets a person choose without any mark\n  enter continue"),
    ("codex", true, "To continue this session, run:\n  codex resume 01a1e479-5fcd-7870-8046-5f29ca74e571"),
];

/// Screens on which nobody is asked anything.
const AT_WORK: &[(&str, &str)] = &[
    (
        "claude",
        "❯ fix it\n  Ran 2 shell commands\n● done\n✻ Cooked for 4s\n❯ \n  ⏵⏵ accept edits on (shift+tab to cycle)",
    ),
    ("claude", "  ⎿  You've hit your 5-hour limit · resets 6:31am\n❯ \n  ⚠ Usage limit reached · limit resets 6:31am"),
    ("codex", "› fix it\n• Ran pairflow pass\n• done\n› Ask Codex to do anything\n  mock-model default · /work/fix-it"),
    ("codex", "■ You’ve hit your usage limit. Try again at 5:24 AM.\n› Ask Codex to do anything\n  ? for shortcuts"),
];

fn shown(agent: &str, screen: &str) -> Option<String> {
    let dialogs = spec_of(&agent.parse().unwrap(), None).unwrap().dialogs;
    dialog_on(screen, &dialogs).map(|dialog| dialog.name.clone())
}

#[test]
fn every_dialog_is_known_by_its_words() {
    for (agent, name, screen) in SCREENS {
        assert_eq!(shown(agent, screen).as_deref(), Some(*name), "{screen}");
        let narrow = screen.split(' ').collect::<Vec<_>>().join("\n   ");
        assert_eq!(shown(agent, &narrow).as_deref(), Some(*name), "a narrow pane breaks the lines elsewhere");
    }
}

#[test]
fn an_agent_that_works_or_rests_shows_no_dialog() {
    for (agent, screen) in AT_WORK {
        assert_eq!(shown(agent, screen), None, "{screen}");
    }
}

/// Whether a prompt may be typed on a screen.
fn takes_prompt(agent: &str, text: &str, cursor: bool) -> bool {
    let composer = spec_of(&agent.parse().unwrap(), None).unwrap().composer.unwrap();
    composer.input(&PaneScreen::read(text, cursor)).is_some()
}

#[test]
fn a_prompt_is_known_by_what_stands_around_it() {
    for (agent, screen) in PROMPTS {
        assert!(takes_prompt(agent, screen, *agent == "codex"), "{screen}");
        assert_eq!(shown(agent, screen), None, "{screen}");
    }
    for (agent, cursor, screen) in ELSEWHERE {
        assert!(!takes_prompt(agent, screen, *cursor), "{screen}");
    }
}

#[test]
fn what_a_person_has_typed_is_told_from_a_hint() {
    for (agent, screen, typed) in TYPED {
        let composer = spec_of(&agent.parse().unwrap(), None).unwrap().composer.unwrap();
        assert_eq!(composer.input(&PaneScreen::read(screen, *agent == "codex")).as_deref(), Some(*typed), "{screen}");
    }
}

#[test]
fn no_dialog_looks_like_a_prompt() {
    for (agent, name, screen) in SCREENS.iter().filter(|(_, name, _)| *name != "agents") {
        assert!(![false, true].iter().any(|cursor| takes_prompt(agent, screen, *cursor)), "{name}: {screen}");
    }
}

#[test]
fn every_dialog_says_what_to_do() {
    for agent in ["claude", "codex"] {
        let dialogs = spec_of(&agent.parse().unwrap(), None).unwrap().dialogs;
        for dialog in dialogs {
            assert!(dialog.advice.ends_with('.') && dialog.advice.contains("in its pane"), "{dialog:?}");
            assert!(!dialog.marks.is_empty(), "{dialog:?}");
        }
    }
}

fn trouble(agent: &str, record: &str) -> Option<Trouble> {
    Drivers::default().trouble(&agent.parse().unwrap(), None, record)
}

fn at(secs: i64) -> Option<Timestamp> {
    Some(Timestamp::from_millis(secs * 1000))
}

#[test]
fn claude_notes_why_a_turn_failed() {
    let prompt = r#"{"type":"user","message":{"role":"user","content":"go"}}"#;
    let limit = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"You've hit your 5-hour limit"}]},"quotaLimits":{"status":"rejected","resetsAt":1794807088},"error":"rate_limit","isApiErrorMessage":true}"#;
    let aside = r#"{"type":"system","subtype":"turn_duration"}"#;
    let found = trouble("claude", &[prompt, limit, aside, "{\"cut"].join("\n")).unwrap();
    assert_eq!((found.kind, found.until), (TroubleKind::Limit, at(1_794_807_088)));
    assert_eq!(found.text, "You've hit your 5-hour limit");
    let absurd = limit.replace("1794807088", "9223372036854775807");
    assert_eq!(trouble("claude", &absurd).unwrap().until, None, "no time at all");
    assert_eq!(trouble("claude", &[limit, prompt].join("\n")), None, "the next turn has begun");
    assert_eq!(trouble("claude", ""), None);
    let key = limit.replace("rate_limit", "authentication_failed").replace("quotaLimits", "else");
    let found = trouble("claude", &key).unwrap();
    assert_eq!((found.kind, found.until), (TroubleKind::Account, None));
    assert_eq!(
        trouble("claude", &key.replace("authentication_failed", "server_error")).unwrap().kind,
        TroubleKind::Model
    );
    assert_eq!(trouble("claude", &limit.replace(",\"isApiErrorMessage\":true", "")), None, "the model may quote it");
}

#[test]
fn codex_notes_why_a_turn_failed() {
    let line = |payload: &str| format!(r#"{{"timestamp":"x","type":"event_msg","payload":{payload}}}"#);
    let begun = line(r#"{"type":"task_started","turn_id":"1"}"#);
    let used = line(
        r#"{"type":"token_count","info":null,"rate_limits":{"primary":{"used_percent":100.0,"resets_at":1794806816},"secondary":{"used_percent":40.0,"resets_at":1795000000}}}"#,
    );
    let over = |error: &str| line(&format!(r#"{{"type":"task_complete","turn_id":"1","error":{error}}}"#));
    let limit = over(r#"{"message":"You’ve hit your usage limit.","codex_error_info":"usage_limit_exceeded"}"#);
    let record = [begun.as_str(), &used, &limit].join("\n");
    let found = trouble("codex", &record).unwrap();
    assert_eq!((found.kind, found.until), (TroubleKind::Limit, at(1_794_806_816)));
    assert_eq!(found.text, "You’ve hit your usage limit.");
    let absurd = record.replace("1794806816", "9223372036854775807");
    assert_eq!(trouble("codex", &absurd).unwrap().until, None, "no time at all");
    assert_eq!(trouble("codex", &[record.as_str(), &begun].join("\n")), None, "the next turn has begun");
    assert_eq!(trouble("codex", &over("null")), None);
    assert_eq!(trouble("codex", &line(r#"{"type":"task_complete","turn_id":"1"}"#)), None);
    let other =
        over(r#"{"message":"unexpected status 500","codex_error_info":{"http_connection_failed":{"status":500}}}"#);
    let found = trouble("codex", &[used.as_str(), &other].join("\n")).unwrap();
    assert_eq!((found.kind, found.until), (TroubleKind::Model, None), "only a limit ends with its window");
}

#[test]
fn nothing_is_known_of_the_records_of_other_programs() {
    let limit = r#"{"type":"assistant","error":"rate_limit","isApiErrorMessage":true}"#;
    assert_eq!(trouble("gemini", limit), None);
}
