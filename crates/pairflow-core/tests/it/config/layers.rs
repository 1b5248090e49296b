//! Configuration as a person meets it: files and flags in, rules or located mistakes out.

use pairflow_core::config::{
    CUSTOM_KEYS, ConfigErrors, ConfigSetting, ConfigSource, FilePlace, KEYS, Layer, Layers, Origin, Resolved, Set,
    Subject, Until, changes, changes_until, render_bubble_toml, resolve,
};
use pairflow_core::rules::{BubbleKind, ChecksIn, ContextMode, DriverKind, Permissions, ReviewDepth, WorkMode};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The sample of the specification.
const SAMPLE: &str = r#"id = "b_legal_search_01"
repo_path = "/abs/path/to/repo"
base_branch = "main"
bubble_branch = "bubble/b_legal_search_01"
work_mode = "worktree" # worktree|clone
quality_mode = "strict" # MVP: strict only
reviewer_context_mode = "fresh" # fresh|persistent (default: fresh)
watchdog_timeout_minutes = 5
max_rounds = 8
commit_requires_approval = true
open_command = "cursor {{worktree_path}}"

[agents]
implementer = "codex"
reviewer = "claude"

[commands]
test = "cd 05_finder && npm test"
typecheck = "cd 05_finder && npx tsc --noEmit"

[notifications]
enabled = true
waiting_human_sound = "/System/Library/Sounds/Ping.aiff"
converged_sound = "/System/Library/Sounds/Glass.aiff"
"#;

const MINIMAL: &str = "id = \"b1\"\nrepo_path = \"/repo\"\nbase_branch = \"main\"\n";

/// One line for every key of a `bubble.toml`, each with a value that is not the default.
const EVERY_KEY: &str = r#"id = "b2"
repo_path = "/other"
base_branch = "trunk"
bubble_branch = "work/b2"
work_mode = "clone"
quality_mode = "strict"
reviewer_context_mode = "persistent"
watchdog_timeout_minutes = 7
max_turn_minutes = 90
max_rounds = 3
review_depth = "thorough"
min_looks = 5
commit_requires_approval = true
open_command = "code {{worktree_path}}"
driver = "script"
script = "agents/demo.yaml"
permissions = "ask"
capture_output = true
check_timeout_secs = 60
checks_in = "worktree"
no_tests = false
manual_checks = ["open it", "close it"]
kind = "implementation"
documents = []
prd = "docs/prd.md"
agents.implementer = "gemini"
agents.reviewer = "codex"
agents.second_reviewer = "claude"
commands.test = "make test"
commands.typecheck = "make types"
commands.lint = "make lint"
commands.setup = "make deps"
evidence.red_green = true
notifications.enabled = false
notifications.bell = false
notifications.desktop = true
notifications.waiting_human_sound = "/a.wav"
notifications.converged_sound = "/b.wav"
risk.paths = ["src/auth/**"]
scope.allow = ["src/**"]
scope.deny = ["src/gen/**"]
agent.gemini.command = ["gemini", ""]
agent.gemini.args = ["--model", "pro"]
agent.gemini.resume = ["gemini", "--resume", "{session}"]
agent.gemini.prompt = "paste"
agent.gemini.hooks = "claude"
agent.gemini.env = ["GEMINI_API_KEY"]
"#;

fn bubble(text: &str) -> Layer {
    Layer::parse("bubble.toml", text, ConfigSource::Bubble).unwrap()
}

fn repo(text: &str) -> Layer {
    Layer::parse("pairflow.toml", text, ConfigSource::Repository).unwrap()
}

fn user(text: &str) -> Layer {
    Layer::parse("config.toml", text, ConfigSource::User).unwrap()
}

fn only(text: &str) -> Resolved {
    resolve(&Layers { bubble: bubble(text), ..Layers::default() }).unwrap()
}

fn with(lines: &str) -> Resolved {
    only(&format!("{MINIMAL}{lines}"))
}

fn explained(layers: &Layers, key: &str) -> (Value, String) {
    let row = layers.explain().into_iter().find(|row| row.key == key).unwrap();
    (row.value, row.source.to_string())
}

fn messages(errors: &ConfigErrors) -> Vec<String> {
    errors.0.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    let errors = Layer::parse("bubble.toml", text, ConfigSource::Bubble).unwrap_err();
    assert_eq!(messages(&errors), expected);
}

/// Adds `line` as the fourth line of a good file and expects one mistake at `column` of it.
#[track_caller]
fn bad_value(line: &str, column: usize, message: &str) {
    let text = format!("{MINIMAL}{line}\n");
    let errors = Layer::parse("bubble.toml", &text, ConfigSource::Bubble).unwrap_err().0;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].message, message);
    let place = errors[0].place.as_ref().unwrap();
    assert_eq!((place.line, place.column), (4, column), "{line}");
    assert_eq!(place.span.start, MINIMAL.len() + column - 1, "{line}");
    assert_eq!(place.line_text, line);
}

/// As [`bad_value`], where the bad part is what follows `=`.
#[track_caller]
fn bad(key: &str, value: &str, message: &str) {
    bad_value(&format!("{key} = {value}"), key.len() + 4, message);
}

#[test]
fn the_sample_of_the_specification_loads_unchanged() {
    let resolved = only(SAMPLE);
    let rules = &resolved.rules;
    assert_eq!(rules.bubble_branch, "bubble/b_legal_search_01");
    let checks: Vec<_> = rules.checks.iter().map(|check| (check.name.as_str(), check.command.as_str())).collect();
    assert_eq!(checks, [("test", "cd 05_finder && npm test"), ("typecheck", "cd 05_finder && npx tsc --noEmit")]);
    assert_eq!(resolved.rules.notifications.waiting_human_sound.as_deref(), Some("/System/Library/Sounds/Ping.aiff"));
    assert_eq!(resolved.rules.notifications.converged_sound.as_deref(), Some("/System/Library/Sounds/Glass.aiff"));
    assert!(resolved.can_be_checked());
}

#[test]
fn the_defaults_are_those_of_the_specification() {
    let resolved = only(MINIMAL);
    let rules = &resolved.rules;
    assert_eq!(rules.base_branch, "main");
    assert_eq!(rules.bubble_branch, "bubble/b1");
    assert_eq!(rules.work_mode, WorkMode::Worktree);
    assert_eq!(rules.reviewer_context_mode, ContextMode::Fresh);
    assert_eq!((rules.watchdog_timeout_minutes, rules.max_rounds), (5, 8));
    assert_eq!(rules.open_command, "cursor {{worktree_path}}");
    assert_eq!((rules.agents.implementer.as_str(), rules.agents.reviewer.as_str()), ("codex", "claude"));
    assert_eq!((rules.agents.second_reviewer.as_ref(), rules.setup.as_ref()), (None, None));
    assert_eq!((rules.driver, rules.script.as_ref(), rules.check_timeout_secs), (DriverKind::Tmux, None, 1800));
    assert_eq!((rules.permissions, rules.max_turn_minutes), (Permissions::Edits, 60));
    assert!(!rules.capture_output && rules.agents_custom.is_empty());
    assert!(rules.checks.is_empty() && rules.manual_checks.is_empty() && !resolved.can_be_checked());
    assert!(rules.scope.allow.is_empty() && rules.scope.deny.is_empty());
    assert!(!resolved.no_tests);
    assert!(rules.notifications.enabled && rules.notifications.bell && !rules.notifications.desktop);
    assert_eq!(resolved.rules.notifications.waiting_human_sound, None);
    assert_eq!(resolved.rules.notifications.converged_sound, None);
}

#[test]
fn every_key_has_an_effect() {
    let resolved = only(EVERY_KEY);
    let rules = &resolved.rules;
    assert_eq!((rules.base_branch.as_str(), rules.bubble_branch.as_str()), ("trunk", "work/b2"));
    assert_eq!((rules.work_mode, rules.reviewer_context_mode), (WorkMode::Clone, ContextMode::Persistent));
    assert_eq!((rules.watchdog_timeout_minutes, rules.max_rounds, rules.check_timeout_secs), (7, 3, 60));
    assert_eq!((rules.review_depth, rules.min_looks), (ReviewDepth::Thorough, 5));
    assert_eq!(rules.open_command, "code {{worktree_path}}");
    assert_eq!((rules.driver, rules.script.as_deref()), (DriverKind::Script, Some("/other/agents/demo.yaml")));
    assert_eq!(rules.manual_checks, ["open it", "close it"]);
    let names: Vec<_> = rules.agents.all().map(|agent| agent.as_str()).collect();
    assert_eq!(names, ["gemini", "codex", "claude"]);
    let checks: Vec<_> = rules.checks.iter().map(|check| format!("{}: {}", check.name, check.command)).collect();
    assert_eq!(checks, ["test: make test", "typecheck: make types", "lint: make lint", "red-green: make test"]);
    assert_eq!(
        (rules.kind, rules.risk.as_slice()),
        (BubbleKind::Implementation, ["src/auth/**".to_owned()].as_slice())
    );
    assert_eq!(rules.prd.as_ref().map(|prd| prd.source.as_str()), Some("docs/prd.md"));
    assert_eq!(rules.setup.as_deref(), Some("make deps"));
    assert_eq!((rules.scope.allow.as_slice(), rules.scope.deny.len()), (["src/**".to_owned()].as_slice(), 1));
    assert_eq!((rules.permissions, rules.max_turn_minutes), (Permissions::Ask, 90));
    assert!(rules.capture_output);
    assert_eq!(rules.checks_in, ChecksIn::Worktree);
    assert!(!rules.notifications.enabled && !rules.notifications.bell && rules.notifications.desktop);
    assert_eq!(resolved.rules.notifications.waiting_human_sound.as_deref(), Some("/a.wav"));
    assert_eq!(resolved.rules.notifications.converged_sound.as_deref(), Some("/b.wav"));
}

#[test]
fn a_repository_can_ask_for_more_review_than_the_person_but_not_for_less() {
    let layer = |text: &str, source| Layer::parse("x.toml", text, source).unwrap();
    let (less, more) = ("review_depth = \"standard\"\nmin_looks = 1\n", "review_depth = \"thorough\"\nmin_looks = 4\n");
    for (repo, own) in [(less, more), (more, less), (more, ""), ("", more)] {
        let (repo, user) = (layer(repo, ConfigSource::Repository), layer(own, ConfigSource::User));
        let resolved = resolve(&Layers { bubble: bubble(MINIMAL), repo, user, ..Layers::default() }).unwrap();
        assert_eq!((resolved.rules.review_depth, resolved.rules.min_looks), (ReviewDepth::Thorough, 4));
    }
    let own = layer(more, ConfigSource::User);
    let mine = Layers { bubble: bubble(&format!("{MINIMAL}{less}")), user: own, ..Layers::default() };
    assert_eq!(resolve(&mine).unwrap().rules.min_looks, 1, "the person's own bubble is as the person wants it");
}

#[test]
fn every_key_is_explained_with_its_line() {
    let layers = Layers { bubble: bubble(EVERY_KEY), ..Layers::default() };
    let rows = layers.explain();
    let custom: Vec<_> = CUSTOM_KEYS.iter().map(|key| format!("agent.gemini.{}", key.name)).collect();
    let keys: Vec<_> = KEYS.iter().map(|key| key.name).chain(custom.iter().map(String::as_str)).collect();
    assert_eq!(rows.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), keys);
    for (index, row) in
        rows.iter().filter(|row| !["notifications.webhook", "check_env"].contains(&row.key.as_str())).enumerate()
    {
        assert_eq!(row.source.to_string(), format!("bubble.toml:{}", index + 1), "{}", row.key);
        assert_ne!(row.value, Value::Null, "{}", row.key);
    }
    assert_eq!(resolve(&layers).unwrap().explained, rows);
    assert_eq!(
        serde_json::to_value(&rows[9]).unwrap(),
        json!({"key": "max_rounds", "value": 3, "source": "bubble.toml:10"})
    );
}

#[test]
fn how_long_a_key_can_change_is_looked_up_in_both_tables() {
    for key in KEYS {
        assert_eq!(changes_until(key.name), key.until, "{}", key.name);
    }
    for key in CUSTOM_KEYS {
        assert_eq!(changes_until(&format!("agent.gemini.{}", key.name)), key.until, "{}", key.name);
    }
    for unknown in ["nothing", "agent.gemini", "agent.gemini.nothing", "agent.gemini.max_rounds", "command"] {
        assert_eq!(changes_until(unknown), Until::Creation, "{unknown}");
    }
}

#[test]
fn every_key_can_be_left_to_its_default() {
    let layers = Layers::default();
    assert!(layers.explain().iter().all(|row| row.source == Origin::Default));
    assert_eq!(explained(&layers, "bubble_branch"), (json!("bubble/<id>"), "default".to_owned()));
    assert_eq!(explained(&layers, "quality_mode"), (json!("strict"), "default".to_owned()));
    assert_eq!(explained(&layers, "commit_requires_approval"), (json!(true), "default".to_owned()));
    assert_eq!(explained(&layers, "commands.test"), (Value::Null, "default".to_owned()));
}

#[test]
fn each_layer_wins_over_the_ones_below_it_for_every_shared_key() {
    let own = ["id ", "repo_path ", "bubble_branch ", "kind ", "documents ", "prd "];
    for line in EVERY_KEY.lines().filter(|line| !own.iter().any(|key| line.starts_with(key))) {
        let key = line.split(" = ").next().unwrap();
        let mut layers = Layers { user: user(&format!("\n{line}\n")), ..Layers::default() };
        assert_eq!(explained(&layers, key).1, "config.toml:2", "{key}");
        match Layer::parse("pairflow.toml", &format!("\n\n{line}\n"), ConfigSource::Repository) {
            Ok(repo) => {
                layers.repo = repo;
                assert_eq!(explained(&layers, key).1, "pairflow.toml:3", "{key}");
            }
            Err(errors) => assert!(errors.0[0].message.ends_with("a repository's file must not set it"), "{errors}"),
        }
        let own = if key == "base_branch" { "id = \"b1\"\nrepo_path = \"/repo\"\n\n" } else { MINIMAL };
        layers.bubble = bubble(&format!("{own}{line}\n"));
        assert_eq!(explained(&layers, key).1, "bubble.toml:4", "{key}");
    }
}

#[test]
fn a_flag_wins_over_every_file() {
    let text = |text: &str| Some(Set::flag(text.to_owned()));
    let agent = |name: &str| Some(Set::flag(name.parse().unwrap()));
    let flags = Layer {
        id: Some(Set::flag("b3".parse().unwrap())),
        repo_path: text("/third"),
        base_branch: text("dev"),
        work_mode: Some(Set::flag(WorkMode::Worktree)),
        max_rounds: Some(Set::flag(4)),
        driver: Some(Set::flag(DriverKind::External)),
        script: text("/s.yaml"),
        manual_checks: Some(Set::flag(vec!["try it".to_owned()])),
        kind: Some(Set::flag(BubbleKind::Implementation)),
        prd: text("prd"),
        implementer: agent("claude"),
        reviewer: agent("claude"),
        second_reviewer: agent("codex"),
        test: text("t"),
        typecheck: text("y"),
        lint: text("l"),
        setup: text("s"),
        ..Layer::default()
    };
    let layers = Layers { flags: Layer::from_flags(flags).unwrap(), bubble: bubble(EVERY_KEY), ..Layers::default() };
    let by_flag = layers.explain().into_iter().filter(|row| row.source == Origin::Flag).count();
    assert_eq!(by_flag, 17);
    let rules = resolve(&layers).unwrap().rules;
    assert_eq!((rules.max_rounds, rules.script.as_deref(), rules.base_branch.as_str()), (4, Some("/s.yaml"), "dev"));
    assert!(rules.agents.same_model());
}

#[test]
fn an_unknown_key_is_reported_with_file_line_and_span() {
    let text = format!("{MINIMAL}max_round = 3\n");
    let errors = Layer::parse("bubble.toml", &text, ConfigSource::Bubble).unwrap_err().0;
    let start = MINIMAL.len();
    let place = FilePlace {
        file: "bubble.toml".to_owned(),
        line: 4,
        column: 1,
        span: start..start + 9,
        width: 9,
        line_text: "max_round = 3".to_owned(),
    };
    assert_eq!(errors[0].place.as_ref(), Some(&place));
    assert_eq!(errors[0].message, "unknown key `max_round`");
    assert_eq!(errors[0].hint.as_deref(), Some("did you mean `max_rounds`?"));
}

#[test]
fn balanced_quality_is_out_of_scope() {
    let message = "quality_mode = \"balanced\" is out of scope; only \"strict\" exists";
    bad("quality_mode", "\"balanced\"", message);
    let error =
        Layer::parse("pairflow.toml", "quality_mode = \"balanced\"", ConfigSource::Repository).unwrap_err().0.remove(0);
    let excerpt = format!(
        "error: {message}\n --> pairflow.toml:1:16\n  |\n1 | quality_mode = \"balanced\"\n  |                ^^^^^^^^^^\n"
    );
    assert_eq!(error.excerpt(), excerpt);
}

#[test]
fn every_bad_value_is_refused_at_its_place() {
    bad("work_mode", "\"copy\"", "work_mode = \"copy\" is unknown; it is \"worktree\" or \"clone\"");
    bad(
        "reviewer_context_mode",
        "\"new\"",
        "reviewer_context_mode = \"new\" is unknown; it is \"fresh\" or \"persistent\"",
    );
    let driver = "driver = \"screen\" is unknown; it is \"tmux\" or \"external\" or \"script\"";
    bad("driver", "\"screen\"", driver);
    let permissions = "permissions = \"yolo\" is unknown; it is \"ask\" or \"edits\" or \"all\"";
    bad("permissions", "\"yolo\"", permissions);
    bad("max_turn_minutes", "0", "max_turn_minutes = 0 is out of range; it goes from 1 to 1440");
    bad("max_turn_minutes", "1441", "max_turn_minutes = 1441 is out of range; it goes from 1 to 1440");
    bad("max_rounds", "0", "max_rounds = 0 is out of range; it goes from 1 to 1000");
    bad("max_rounds", "0x3e9", "max_rounds = 1001 is out of range; it goes from 1 to 1000");
    bad("max_rounds", "-4", "max_rounds = -4 is out of range; it goes from 1 to 1000");
    bad("watchdog_timeout_minutes", "0", "watchdog_timeout_minutes = 0 is out of range; it goes from 1 to 10080");
    bad(
        "watchdog_timeout_minutes",
        "10081",
        "watchdog_timeout_minutes = 10081 is out of range; it goes from 1 to 10080",
    );
    bad("check_timeout_secs", "0", "check_timeout_secs = 0 is out of range; it goes from 1 to 86400");
    bad("bubble_branch", "\"a b\"", "bubble_branch = \"a b\" is no name that git allows for a branch");
    bad("open_command", "\"x {{dir}}\"", "open_command holds the unknown placeholder \"{{dir}}\"");
    bad("script", "\"\"", "script is empty");
    bad("commands.test", "\" \"", "commands.test is empty");
    bad("commands.typecheck", "\"\"", "commands.typecheck is empty");
    bad("commands.lint", "\"a\\u0000\"", "commands.lint contains a NUL character");
    bad("commands.setup", "\"\"", "commands.setup is empty");
    bad("notifications.waiting_human_sound", "\"\"", "notifications.waiting_human_sound is empty");
    bad("notifications.converged_sound", "\"\"", "notifications.converged_sound is empty");
    let approval = "commit_requires_approval = false is refused: nothing is committed without approval";
    bad("commit_requires_approval", "false", approval);
    let glob = "scope.allow holds the bad glob \"/etc\": paths are relative to the root of the repository";
    bad_value("scope.allow = [\"src/**\", \"/etc\"]", 26, glob);
    bad_value("manual_checks = [\"a\", \"\"]", 23, "manual_checks is empty");
}

#[test]
fn bad_names_say_what_a_name_is() {
    for key in ["agents.implementer", "agents.reviewer", "agents.second_reviewer"] {
        let line = format!("{key} = \"Human\"");
        let errors = Layer::parse("f", &format!("{MINIMAL}{line}"), ConfigSource::Bubble).unwrap_err().0;
        assert!(errors[0].message.starts_with(&format!("{key} = \"Human\": an agent name has")), "{}", errors[0]);
        assert_eq!(errors[0].place.as_ref().map(|place| (place.line, place.column)), Some((4, key.len() + 4)));
    }
    let errors = Layer::parse("f", "id = \"../x\"\nrepo_path = \"/r\"\nbase_branch = \"main\"", ConfigSource::Bubble)
        .unwrap_err();
    assert!(errors.to_string().starts_with("f:1:6: id = \"../x\": a bubble id has"), "{errors}");
}

#[test]
fn every_wrong_type_is_refused_at_its_place() {
    let texts =
        ["bubble_branch", "work_mode", "quality_mode", "reviewer_context_mode", "open_command", "driver", "script"];
    let nested =
        ["agents.implementer", "agents.reviewer", "agents.second_reviewer", "commands.test", "commands.typecheck"];
    let more =
        ["commands.lint", "commands.setup", "notifications.waiting_human_sound", "notifications.converged_sound"];
    for key in texts.into_iter().chain(nested).chain(more) {
        bad(key, "3", &format!("{key} must be a text in quotes, not a whole number"));
    }
    for key in ["max_rounds", "watchdog_timeout_minutes", "max_turn_minutes", "check_timeout_secs"] {
        bad(key, "\"8\"", &format!("{key} must be a whole number, not a text"));
        bad(key, "8.5", &format!("{key} must be a whole number, not a number with a fraction"));
    }
    let truths = ["capture_output", "notifications.enabled", "notifications.bell", "notifications.desktop"];
    for key in truths.into_iter().chain(["commit_requires_approval", "no_tests"]) {
        bad(key, "1979-05-27", &format!("{key} must be true or false, not a date"));
    }
    for key in ["manual_checks", "scope.allow", "scope.deny"] {
        bad(key, "\"x\"", &format!("{key} must be a list of texts in brackets, not a text"));
        bad_value(
            &format!("{key} = [true]"),
            key.len() + 5,
            &format!("{key} must be a text in quotes, not true or false"),
        );
    }
    bad("agents", "\"codex\"", "agents must be a table");
    bad_value("[max_rounds]", 1, "max_rounds must be a whole number, not a table");
}

#[test]
fn all_mistakes_of_a_file_are_reported_at_once() {
    refused(
        "repo_path = \"repo\"\nbase_branch = 3\nmax_rounds = 0\n[agent]\nx = 1\n[commands]\ntests = \"x\"\n",
        &[
            "bubble.toml:1:1: a bubble.toml needs id (add a line such as id = \"my-bubble\")",
            "bubble.toml:1:13: repo_path = \"repo\" is a relative path (write the whole path, such as repo_path = \"/home/me/repo\")",
            "bubble.toml:2:15: base_branch must be a text in quotes, not a whole number",
            "bubble.toml:3:14: max_rounds = 0 is out of range; it goes from 1 to 1000",
            "bubble.toml:5:1: unknown key `agent.x` (who sits where belongs into [agents]; how an agent NAME is started, into [agent.NAME])",
            "bubble.toml:7:1: unknown key `commands.tests` (did you mean `test`?)",
        ],
    );
}

#[test]
fn a_bubble_file_needs_its_three_keys() {
    refused(
        "",
        &[
            "bubble.toml:1:1: a bubble.toml needs id (add a line such as id = \"my-bubble\")",
            "bubble.toml:1:1: a bubble.toml needs repo_path (add a line such as repo_path = \"/path/of/the/repository\")",
            "bubble.toml:1:1: a bubble.toml needs base_branch (add a line such as base_branch = \"main\")",
        ],
    );
    assert_eq!((repo(""), user("")), (Layer::default(), Layer::default()));
}

#[test]
fn shared_files_cannot_name_one_bubble() {
    for source in [ConfigSource::Repository, ConfigSource::User] {
        let text = "id = \"b1\"\nrepo_path = \"/repo\"\nbubble_branch = \"b\"\n";
        let errors = Layer::parse("shared.toml", text, source).unwrap_err().0;
        let places: Vec<_> =
            errors.iter().map(|e| e.place.as_ref().map(|p| (p.line, p.span.clone())).unwrap()).collect();
        assert_eq!(places, [(1, 0..2), (2, 10..19), (3, 30..43)]);
        assert_eq!(errors[0].message, "id belongs to one bubble, and this file is shared by all of them");
    }
}

#[test]
fn a_repository_sets_only_what_is_marked_for_it() {
    let own = [
        ("open_command = \"sh -c x\"", "open_command"),
        ("driver = \"script\"", "driver"),
        ("script = \"a.yaml\"", "script"),
        ("permissions = \"all\"", "permissions"),
        ("capture_output = true", "capture_output"),
        ("no_tests = true", "no_tests"),
        ("notifications.enabled = false", "notifications.enabled"),
        ("notifications.converged_sound = \"/x\"", "notifications.converged_sound"),
        ("agent.codex.command = [\"/bin/sh\", \"-c\", \"x\"]", "[agent.codex]"),
        ("agent.codex.env = [\"AWS_SECRET_ACCESS_KEY\"]", "[agent.codex]"),
    ];
    let belongs =
        "if you want it, move it to your own ~/.config/pairflow/config.toml, or for one bubble to its bubble.toml";
    for (line, key) in own {
        let errors = Layer::parse("pairflow.toml", &format!("\n{line}\n"), ConfigSource::Repository).unwrap_err().0;
        assert_eq!(errors[0].message, format!("{key} is yours to set; a repository's file must not set it"));
        assert_eq!(errors[0].place.as_ref().map(|place| place.line), Some(2), "{line}");
        assert_eq!(errors[0].hint.as_deref(), Some(belongs));
        assert!(Layer::parse("config.toml", line, ConfigSource::User).is_ok(), "{line}");
    }
    let webhook = "notifications.webhook = \"https://h/s3cret\"";
    let refused = |source, text: &str| Layer::parse("f.toml", text, source).unwrap_err().to_string();
    let shared = refused(ConfigSource::Repository, webhook);
    assert!(shared.contains("yours to set") && !shared.contains("bubble.toml"), "{shared}");
    let one = refused(ConfigSource::Bubble, &format!("{MINIMAL}{webhook}\n"));
    assert!(one.contains("f.toml:4:15: notifications.webhook is taken from your own configuration only"), "{one}");
    let env = "check_env = [\"DATABASE_URL\"]";
    assert!(Layer::parse("config.toml", env, ConfigSource::User).is_ok());
    assert!(refused(ConfigSource::Repository, env).contains("f.toml:1:1: check_env is yours to set"));
    assert!(refused(ConfigSource::Bubble, &format!("{MINIMAL}{env}\n")).contains("check_env is taken from your own"));
    assert!(refused(ConfigSource::User, "check_env = [\"A=b\"]").contains("no name of a variable"));
}

#[test]
fn settings_change_recorded_rules() {
    let before = only(EVERY_KEY).rules;
    let id = "b2".parse().unwrap();
    let subject = Subject { id: &id, repo: "/other", rules: &before };
    let set = |settings: &[&str]| {
        let settings: Vec<ConfigSetting> = settings.iter().map(|text| text.parse().unwrap()).collect();
        subject.with(&settings)
    };
    assert_eq!(set(&[]).unwrap(), before, "rules survive being read as configuration");
    let after = set(&["commands.test=make test # all", "max_rounds=12", "scope.allow=[\"a/**\"]", "commands.lint="]);
    let told: Vec<_> = changes(&before, &after.unwrap()).into_iter().map(|one| (one.key, one.old, one.new)).collect();
    let expected = [
        ("max_rounds", json!(3), json!(12)),
        ("commands.test", json!("make test"), json!("make test # all")),
        ("commands.lint", json!("make lint"), Value::Null),
        ("scope.allow", json!(["src/**"]), json!(["a/**"])),
    ];
    assert_eq!(told, expected.map(|(key, old, new)| (key.to_owned(), old, new)));
    for text in ["commands.test=true", "commands.test=\"true\""] {
        assert_eq!(set(&[text]).unwrap().checks[0].command, "true", "{text}");
    }
    let refused = |setting: &str| set(&[setting]).unwrap_err().to_string();
    let fixed = "was fixed when the bubble was started and cannot be changed (make a new bubble; one that is not started yet takes it from its bubble.toml)";
    assert_eq!(refused("base_branch=other"), format!("base_branch {fixed}"));
    assert_eq!(refused("base_branch="), format!("base_branch {fixed}"));
    assert_eq!(refused("agent.gemini.args=[\"x\"]"), format!("agent.gemini {fixed}"));
    assert_eq!(refused("max_round=3"), "unknown key `max_round` (did you mean `max_rounds`?)");
    assert_eq!(refused("max_rounds=many"), "max_rounds must be a whole number, not a text");
    assert_eq!(refused("max_rounds=0"), "max_rounds = 0 is out of range; it goes from 1 to 1000");
    assert!(refused("notifications.webhook=https://h/x").starts_with("notifications.webhook is taken from your own"));
    assert!("max_rounds".parse::<ConfigSetting>().is_err() && "=3".parse::<ConfigSetting>().is_err());
}

#[test]
fn broken_toml_is_reported_with_line_and_column() {
    let errors =
        Layer::parse("pairflow.toml", "max_rounds = 3\nmax_rounds = 4\n", ConfigSource::Repository).unwrap_err();
    let place = errors.0[0].place.as_ref().unwrap();
    assert_eq!((place.line, place.column), (2, 1), "{errors}");
    let errors = Layer::parse("pairflow.toml", "a = 1\nb = \"x\n", ConfigSource::Repository).unwrap_err();
    assert_eq!(errors.0[0].place.as_ref().unwrap().line, 2, "{errors}");
    let errors = Layer::parse_bytes("pairflow.toml", b"# ok\nx = \"\xff\"\n", ConfigSource::Repository).unwrap_err();
    assert_eq!(messages(&errors), ["pairflow.toml:2:6: byte 10 is no UTF-8 text"]);
}

#[test]
fn a_hostile_file_costs_a_bounded_number_of_reports() {
    let many: String = (0..20_000).map(|number| format!("key{number} = 1\n")).collect();
    assert_eq!(Layer::parse("f", &many, ConfigSource::User).unwrap_err().0.len(), 50);
    let bad = format!("manual_checks = [{}]", "1,".repeat(50_000));
    assert_eq!(Layer::parse("f", &bad, ConfigSource::User).unwrap_err().0.len(), 50);
}

#[test]
fn one_agent_in_both_seats_has_to_be_on_purpose() {
    let same = "[agents]\nimplementer = \"claude\"\nreviewer = \"claude\"\n";
    let flags = |pair: Option<(&str, &str)>| {
        let agent = |name: &str| Set::flag(name.parse().unwrap());
        let (implementer, reviewer) = pair.map(|(one, two)| (agent(one), agent(two))).unzip();
        Layer::from_flags(Layer { implementer, reviewer, ..Layer::default() }).unwrap()
    };
    let layers = Layers { bubble: bubble(MINIMAL), repo: repo(same), ..Layers::default() };
    let hint = "set agents.implementer and agents.reviewer to different agents, or pass `--pair claude,claude`";
    let message =
        format!("pairflow.toml:3:12: claude would be implementer and reviewer, and review its own work ({hint})");
    assert_eq!(messages(&resolve(&layers).unwrap_err()), [message]);
    // Half a pair that happens to equal the default is no purpose either.
    let half = Layers { bubble: bubble(MINIMAL), user: user("agents.implementer = \"claude\""), ..Layers::default() };
    assert!(resolve(&half).unwrap_err().to_string().starts_with("config.toml:1:22: claude would be"));
    let half = Layers { bubble: bubble(&format!("{MINIMAL}agents.implementer = \"claude\"")), ..Layers::default() };
    assert!(resolve(&half).is_err());

    assert!(
        resolve(&Layers { flags: flags(Some(("claude", "claude"))), ..layers.clone() })
            .unwrap()
            .rules
            .agents
            .same_model()
    );
    assert!(!resolve(&Layers { flags: flags(Some(("claude", "codex"))), ..layers }).unwrap().rules.agents.same_model());
    assert!(with(same).rules.agents.same_model());
}

#[test]
fn a_second_reviewer_is_a_third_agent() {
    for taken in ["codex", "claude"] {
        let text = format!("{MINIMAL}agents.second_reviewer = \"{taken}\"");
        let errors = resolve(&Layers { bubble: bubble(&text), ..Layers::default() }).unwrap_err();
        assert!(
            errors.to_string().starts_with(&format!("bubble.toml:4:26: agents.second_reviewer = \"{taken}\" already"))
        );
    }
    assert_eq!(with("agents.second_reviewer = \"gemini\"").rules.agents.all().count(), 3);
}

#[test]
fn going_without_tests_needs_something_to_try_by_hand() {
    let layers = Layers { bubble: bubble(&format!("{MINIMAL}no_tests = true\n")), ..Layers::default() };
    assert!(
        resolve(&layers).unwrap_err().to_string().starts_with("bubble.toml:4:12: without tests, at least one manual")
    );
    let resolved = with("no_tests = true\nmanual_checks = [\"log in\"]\ncommands.lint = \"x\"\n");
    assert!(resolved.no_tests && resolved.can_be_checked());
    assert_eq!(resolved.rules.checks.len(), 1);
}

#[test]
fn the_stronger_of_a_test_and_no_tests_wins() {
    let test = "commands.test = \"make test\"\n";
    let none = "no_tests = true\nmanual_checks = [\"log in\"]\n";
    let without =
        resolve(&Layers { bubble: bubble(&format!("{MINIMAL}{none}")), repo: repo(test), ..Layers::default() });
    assert!(without.as_ref().unwrap().no_tests && without.unwrap().rules.checks.is_empty());
    let tested =
        resolve(&Layers { bubble: bubble(&format!("{MINIMAL}{test}")), user: user(none), ..Layers::default() });
    assert!(!tested.as_ref().unwrap().no_tests && tested.unwrap().rules.checks.len() == 1);
    let both = resolve(&Layers { bubble: bubble(&format!("{MINIMAL}{none}{test}")), ..Layers::default() });
    let message = "bubble.toml:4:12: no_tests = true contradicts the test command beside it (remove one of the two)";
    assert_eq!(messages(&both.unwrap_err()), [message]);
}

#[test]
fn the_script_driver_needs_a_script() {
    let layers = Layers { bubble: bubble(&format!("{MINIMAL}driver = \"script\"\n")), ..Layers::default() };
    let message = "bubble.toml:4:10: driver = \"script\" needs the script that the agents follow (pass `--script <file>`, or set script)";
    assert_eq!(messages(&resolve(&layers).unwrap_err()), [message]);
    assert_eq!(with("script = \"./a.yaml\"").rules.script.as_deref(), Some("/repo/a.yaml"));
    assert_eq!(with("script = \"/x/a.yaml\"").rules.script.as_deref(), Some("/x/a.yaml"));
}

#[test]
fn a_bubble_needs_an_id_and_a_base_branch_from_somewhere() {
    let errors = resolve(&Layers::default()).unwrap_err();
    let base = "no base branch is named (pass `--base <branch>`, or set base_branch in pairflow.toml)";
    assert_eq!(messages(&errors), ["no bubble is named (pass `--id <id>`)", base]);
    let flags = Layer::from_flags(Layer { id: Some(Set::flag("b9".parse().unwrap())), ..Layer::default() }).unwrap();
    let layers = Layers { flags, repo: repo("base_branch = \"trunk\""), ..Layers::default() };
    let rules = resolve(&layers).unwrap().rules;
    assert_eq!((rules.base_branch.as_str(), rules.bubble_branch.as_str()), ("trunk", "bubble/b9"));
}

#[test]
fn the_written_file_reads_like_the_sample() {
    let id = "b_legal_search_01".parse().unwrap();
    let written = render_bubble_toml(&only(SAMPLE), &id, "/abs/path/to/repo");
    let expected = r#"# What this bubble was created with. A flag wins over this file.
id = "b_legal_search_01"
repo_path = "/abs/path/to/repo"
base_branch = "main"
bubble_branch = "bubble/b_legal_search_01"
work_mode = "worktree" # worktree|clone
quality_mode = "strict" # only strict exists
reviewer_context_mode = "fresh" # fresh|persistent
watchdog_timeout_minutes = 5
max_turn_minutes = 60
max_rounds = 8 # rounds before a person decides
commit_requires_approval = true # always
open_command = "cursor {{worktree_path}}"
driver = "tmux" # tmux|external|script
permissions = "edits" # ask|edits|all
capture_output = false
check_timeout_secs = 1800

[agents]
implementer = "codex"
reviewer = "claude"

[commands]
test = "cd 05_finder && npm test"
typecheck = "cd 05_finder && npx tsc --noEmit"

[notifications]
enabled = true
bell = true
desktop = false
waiting_human_sound = "/System/Library/Sounds/Ping.aiff"
converged_sound = "/System/Library/Sounds/Glass.aiff"
"#;
    assert_eq!(written, expected);
}

#[track_caller]
fn survives_a_round_trip(resolved: &Resolved) {
    let again = only(&render_bubble_toml(resolved, &"b2".parse().unwrap(), "/other"));
    assert_eq!(again.rules, resolved.rules);
    assert_eq!(again.no_tests, resolved.no_tests);
}

#[test]
fn the_written_file_gives_the_same_rules_again() {
    survives_a_round_trip(&only(EVERY_KEY));
    survives_a_round_trip(&only(SAMPLE));
    survives_a_round_trip(&only(MINIMAL));
    survives_a_round_trip(&with("no_tests = true\nmanual_checks = [\"log in\"]\n"));
    survives_a_round_trip(&with("agents = { implementer = \"claude\", reviewer = \"claude\" }\n"));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for source in [ConfigSource::Bubble, ConfigSource::Repository, ConfigSource::User] {
            if let Err(errors) = Layer::parse_bytes("f.toml", &bytes, source) {
                prop_assert!(!errors.0.is_empty());
                errors.0.iter().for_each(|error| { error.excerpt(); });
            }
        }
    }

    #[test]
    fn a_damaged_sample_never_panics(at in 0..SAMPLE.len(), cut in 0usize..9, put in "[\\x00-\\x7fä\u{202e}\"'\\[\\]=#\n]{0,6}") {
        let mut text = SAMPLE.to_owned();
        text.replace_range(at..(at + cut).min(SAMPLE.len()), &put);
        match Layer::parse("f.toml", &text, ConfigSource::Bubble) {
            Ok(bubble) => drop(resolve(&Layers { bubble, ..Layers::default() })),
            Err(errors) => for error in &errors.0 {
                let place = error.place.as_ref().expect("a mistake in a file has a place");
                prop_assert!(text.get(place.span.clone()).is_some());
                error.excerpt();
            }
        }
    }

    #[test]
    fn any_command_survives_a_round_trip(command in "[^\\x00]{0,40}[a-z]") {
        let flags = Layer { test: Some(Set::flag(command)), manual_checks: Some(Set::flag(vec!["\"'''\\".to_owned()])), ..Layer::default() };
        let layers = Layers { flags: Layer::from_flags(flags).unwrap(), bubble: bubble(EVERY_KEY), ..Layers::default() };
        survives_a_round_trip(&resolve(&layers).unwrap());
    }

    #[test]
    fn any_task_has_readable_criteria(task in "([#\\-*1.: \na-c`_]|Acceptance criteria|\n## ){0,60}") {
        let criteria = pairflow_core::config::acceptance_criteria(&task);
        prop_assert!(criteria.iter().all(|entry| !entry.trim().is_empty() && !entry.contains('\n')));
    }
}

#[test]
fn what_a_bubble_makes_decides_what_it_has_to_name() {
    let errors = |text: &str| {
        let layers = Layers { bubble: bubble(&format!("{MINIMAL}{text}\n")), ..Layers::default() };
        resolve(&layers).unwrap_err().0.iter().map(|error| error.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        errors("kind = \"implementation\"\ncommands.test = \"t\""),
        ["an implementation follows an approved document, and none is named"]
    );
    assert_eq!(
        errors("prd = \"x\"\ncommands.test = \"t\""),
        ["prd belongs to `--kind implementation`, and this is code"]
    );
    assert_eq!(
        errors("documents = [\"a.md\"]\ncommands.test = \"t\""),
        ["documents belong to `--kind document`, and this is code"]
    );
    assert_eq!(
        errors("evidence.red_green = true"),
        ["evidence.red_green = true needs a test command that can be run on the base"]
    );
}

#[test]
fn a_document_is_checked_by_pairflow_itself_and_needs_no_test_command() {
    let rules =
        only(&format!("{MINIMAL}kind = \"document\"\ndocuments = [\"docs/prd.md\"]\ncommands.test = \"t\"\n")).rules;
    let names: Vec<_> = rules.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["document:completeness", "document:ambiguity", "document:consistency", "document:traceability"]);
    assert!(rules.checks.iter().all(pairflow_core::rules::Check::is_own));
}
