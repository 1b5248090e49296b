//! What a person can say about agents in panes and about notifications, and what becomes of it.

use pairflow_core::config::{ConfigSource, Layer, Layers, Resolved, Set, render_bubble_toml, resolve};
use pairflow_core::rules::{CustomAgent, DriverKind, HookKind, Notifications, Permissions, PromptBy, Rules};
use serde_json::{Value, json};

const MINIMAL: &str = "id = \"b1\"\nrepo_path = \"/repo\"\nbase_branch = \"main\"\n";
const SECRET: &str = "https://hooks.slack.com/services/T0/B0/s3cret";

fn layer(file: &str, source: ConfigSource, text: &str) -> Layer {
    Layer::parse(file, text, source).unwrap()
}

fn bubble(text: &str) -> Layer {
    layer("bubble.toml", ConfigSource::Bubble, &format!("{MINIMAL}{text}"))
}

fn with(text: &str) -> Resolved {
    resolve(&Layers { bubble: bubble(text), ..Layers::default() }).unwrap()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The first mistake of a file whose fourth line is `line`: its column, its sentence and its advice.
#[track_caller]
fn mistake(line: &str) -> (usize, String, Option<String>) {
    let error =
        Layer::parse("bubble.toml", &format!("{MINIMAL}{line}\n"), ConfigSource::Bubble).unwrap_err().0.remove(0);
    let place = error.place.unwrap();
    assert_eq!(place.line, 4, "{line}");
    (place.column, error.message, error.hint)
}

#[track_caller]
fn bad(line: &str, column: usize, message: &str) {
    let (at, said, _) = mistake(line);
    assert_eq!((at, said.as_str()), (column, message));
}

#[test]
fn every_driver_and_every_level_of_permission_can_be_named() {
    for (name, kind) in [("tmux", DriverKind::Tmux), ("external", DriverKind::External)] {
        assert_eq!(with(&format!("driver = \"{name}\"\n")).rules.driver, kind);
    }
    assert_eq!(with("driver = \"script\"\nscript = \"/a\"\n").rules.driver, DriverKind::Script);
    let levels = [("ask", Permissions::Ask), ("edits", Permissions::Edits), ("all", Permissions::All)];
    for (name, level) in levels {
        let resolved = with(&format!("permissions = \"{name}\"\n"));
        assert_eq!(resolved.rules.permissions, level);
        let again = render_bubble_toml(&resolved, &"b1".parse().unwrap(), "/repo");
        assert!(again.contains(&format!("permissions = \"{name}\" # ask|edits|all\n")), "{again}");
    }
}

#[test]
fn naming_a_script_on_the_command_line_has_it_played() {
    let flags = Layer { script: Some(Set::flag("/a.yaml".to_owned())), ..Layer::default() };
    let layers = Layers {
        flags: Layer::from_flags(flags).unwrap(),
        bubble: bubble("driver = \"external\"\n"),
        ..Layers::default()
    };
    let rules = resolve(&layers).unwrap().rules;
    assert_eq!((rules.driver, rules.script.as_deref()), (DriverKind::Script, Some("/a.yaml")));
}

#[test]
fn an_agent_of_ones_own_is_started_as_its_table_says() {
    let text = "[agent.gemini]\ncommand = [\"gemini\", \"\"]\nargs = [\"--model\", \"pro\"]\n\
        resume = [\"gemini\", \"--resume\", \"{session}\"]\nprompt = \"paste\"\nhooks = \"codex\"\nenv = [\"KEY_1\", \"_k\"]\n\
        [agent.codex]\nenv = [\"MOCK_API_KEY\"]\n";
    let rules = with(text).rules;
    let gemini = CustomAgent {
        command: words(&["gemini", ""]),
        args: words(&["--model", "pro"]),
        resume: words(&["gemini", "--resume", "{session}"]),
        prompt: PromptBy::Paste,
        hooks: Some(HookKind::Codex),
        env: words(&["KEY_1", "_k"]),
    };
    assert_eq!(rules.agents_custom.get(&"gemini".parse().unwrap()), Some(&gemini));
    let codex = CustomAgent { env: words(&["MOCK_API_KEY"]), ..CustomAgent::default() };
    assert_eq!(rules.agents_custom.get(&"codex".parse().unwrap()), Some(&codex));
    assert_eq!(rules.agents_custom.len(), 2);
    let written = render_bubble_toml(&with(text), &"b1".parse().unwrap(), "/repo");
    assert!(written.contains("\n[agent.codex]\nenv = [\"MOCK_API_KEY\"]\n\n[agent.gemini]\n"), "{written}");
    let again = Layers { bubble: layer("bubble.toml", ConfigSource::Bubble, &written), ..Layers::default() };
    assert_eq!(resolve(&again).unwrap().rules, rules);
}

#[test]
fn that_an_agent_is_to_have_no_hooks_is_told_from_saying_nothing() {
    let codex = |rules: &Rules| rules.agents_custom[&"codex".parse().unwrap()].hooks;
    let text = "[agent.codex]\nhooks = \"none\"\n";
    let resolved = with(text);
    assert_eq!(codex(&resolved.rules), Some(HookKind::None));
    let written = render_bubble_toml(&resolved, &"b1".parse().unwrap(), "/repo");
    assert!(written.contains("\n[agent.codex]\nhooks = \"none\""), "{written}");
    let again = Layers { bubble: layer("bubble.toml", ConfigSource::Bubble, &written), ..Layers::default() };
    let shown = again.explain().into_iter().find(|row| row.key == "agent.codex.hooks").unwrap();
    assert_eq!(shown.value, json!("none"));
    assert_eq!(resolve(&again).unwrap().rules, resolved.rules);
    let logged = serde_json::to_value(&resolved.rules).unwrap();
    assert_eq!(serde_json::from_value::<Rules>(logged.clone()).unwrap(), resolved.rules);
    assert_eq!(logged["agents_custom"]["codex"]["hooks"], json!("none"));
    let silent = with("[agent.codex]\nenv = [\"KEY\"]\n");
    assert_eq!(codex(&silent.rules), None, "a known agent keeps its own");
}

#[test]
fn tables_of_an_agent_are_joined_key_by_key_and_each_key_names_its_file() {
    let layers = Layers {
        bubble: bubble("agent.gemini.prompt = \"paste\"\nagent.gemini.command = [\"g2\"]\n"),
        user: layer(
            "config.toml",
            ConfigSource::User,
            "[agent.gemini]\ncommand = [\"g1\"]\nenv = [\"K\"]\nargs = [\"-x\"]\n[agent.amp]\nargs = []\n",
        ),
        ..Layers::default()
    };
    let rows: Vec<_> = layers.explain().into_iter().filter(|row| row.key.starts_with("agent.")).collect();
    let shown: Vec<_> = rows.iter().map(|row| (row.key.as_str(), &row.value, row.source.to_string())).collect();
    let expected = [
        ("agent.amp.args", json!([]), "config.toml:6"),
        ("agent.gemini.command", json!(["g2"]), "bubble.toml:5"),
        ("agent.gemini.args", json!(["-x"]), "config.toml:4"),
        ("agent.gemini.prompt", json!("paste"), "bubble.toml:4"),
        ("agent.gemini.env", json!(["K"]), "config.toml:3"),
    ];
    assert_eq!(shown, expected.each_ref().map(|(key, value, source)| (*key, value, (*source).to_owned())));
    let gemini = &resolve(&layers).unwrap().rules.agents_custom[&"gemini".parse().unwrap()];
    assert_eq!((gemini.command.as_slice(), gemini.hooks), (["g2".to_owned()].as_slice(), None));
}

#[test]
fn a_mistake_in_the_table_of_an_agent_is_told_with_its_place_and_what_was_meant() {
    let hint = |line: &str| mistake(line).2.unwrap_or_default();
    bad("agent.gemini.comand = [\"g\"]", 14, "unknown key `agent.gemini.comand`");
    assert_eq!(hint("agent.gemini.comand = [\"g\"]"), "did you mean `command`?");
    assert_eq!(hint("agent.gemini.max_rounds = 3"), "`max_rounds` belongs above the first [table] of the file");
    assert_eq!(hint("[agents.gemini]"), "how gemini is started belongs into [agent.gemini]");
    let seats = "who sits where belongs into [agents]; how an agent NAME is started, into [agent.NAME]";
    assert_eq!(hint("agent.implementer = \"codex\""), seats);
    assert_eq!(hint("agent = 3"), "write [agent.NAME] on a line of its own");
    bad("agent.gemini.command = []", 24, "agent.gemini.command names no program");
    bad("agent.gemini.command = [\" \"]", 24, "agent.gemini.command is empty");
    bad("agent.gemini.resume = []", 23, "agent.gemini.resume names no program");
    bad("agent.gemini.command = \"g\"", 24, "agent.gemini.command must be a list of texts in brackets, not a text");
    bad("agent.gemini.args = [\"a\\u0000\"]", 22, "agent.gemini.args contains a NUL character");
    bad(
        "agent.gemini.prompt = \"stdin\"",
        23,
        "agent.gemini.prompt = \"stdin\" is unknown; it is \"argument\" or \"paste\"",
    );
    bad("agent.gemini.hooks = true", 22, "agent.gemini.hooks must be a text in quotes, not true or false");
    for name in ["A=b", "1A", "", "A B"] {
        let line = format!("agent.gemini.env = [\"{name}\"]");
        bad(&line, 21, &format!("agent.gemini.env holds {name:?}, which is no name of a variable"));
    }
    let own = "agent.gemini.env holds \"PAIRFLOW_TOKEN\", which only pairflow itself sets";
    bad("agent.gemini.env = [\"PAIRFLOW_TOKEN\"]", 21, own);
    assert!(mistake("[agent.Human]").1.starts_with("[agent.Human]: an agent name has"));
}

#[test]
fn a_hostile_list_of_agents_costs_a_bounded_number_of_reports() {
    let many: String = (0..20_000).map(|number| format!("agent.a.key{number} = 1\n")).collect();
    assert_eq!(Layer::parse("f", &many, ConfigSource::User).unwrap_err().0.len(), 50);
}

#[test]
fn the_address_of_a_webhook_is_used_and_never_shown() {
    let user = layer("config.toml", ConfigSource::User, &format!("[notifications]\nwebhook = \"{SECRET}\"\n"));
    let layers = Layers { bubble: bubble(""), user, ..Layers::default() };
    assert_eq!(layers.webhook().unwrap().secret(), SECRET);
    assert!(!format!("{layers:?}").contains("services"), "{layers:?}");
    let resolved = resolve(&layers).unwrap();
    let row = resolved.explained.iter().find(|row| row.key == "notifications.webhook").unwrap();
    assert_eq!((&row.value, row.source.to_string()), (&json!("https://hooks.slack.com/…"), "config.toml:2".to_owned()));
    // Neither the log nor the bubble's own file gets a copy: the file that has it goes on saying it.
    let written = render_bubble_toml(&resolved, &"b1".parse().unwrap(), "/repo");
    let logged = serde_json::to_string(&resolved.rules).unwrap();
    for text in [&written, &logged] {
        assert!(!text.contains("slack") && !text.contains("webhook"), "{text}");
    }
}

#[test]
fn a_mistake_on_the_line_of_a_webhook_is_shown_without_it() {
    let lines = [
        "notifications.webhook = \"hooks.slack.com/s3cret\"",
        "notifications.webhook = [\"https://h/s3cret\"]",
        "notifications.webhok = \"https://h/s3cret\"",
        "notifications.webhook = \"https://h/s3cret",
    ];
    for line in lines {
        let errors = Layer::parse("f", &format!("{MINIMAL}{line}\n"), ConfigSource::Bubble).unwrap_err();
        let shown: String = errors.0.iter().map(|error| error.excerpt()).collect();
        assert!(!shown.contains("s3cret") && !errors.to_string().contains("s3cret"), "{shown}");
        assert!(shown.contains("4 | notifications.webho"), "{shown}");
    }
}

#[test]
fn rules_of_before_are_read_with_the_defaults_of_today() {
    let mut old = serde_json::to_value(Rules::default()).unwrap();
    let fields = old.as_object_mut().unwrap();
    for key in ["permissions", "capture_output", "max_turn_minutes", "notifications"] {
        assert!(fields.remove(key).is_some(), "{key}");
    }
    assert!(!fields.contains_key("agents_custom"));
    assert_eq!(serde_json::from_value::<Rules>(old).unwrap(), Rules::default());
    let half: Notifications = serde_json::from_value(json!({"desktop": true})).unwrap();
    assert_eq!(half, Notifications { desktop: true, ..Notifications::default() });
}

#[test]
fn rules_survive_the_log() {
    let text = "permissions = \"all\"\ncapture_output = true\nmax_turn_minutes = 5\n[notifications]\nenabled = false\n\
        bell = false\ndesktop = true\nconverged_sound = \"/c.wav\"\n[agent.amp]\ncommand = [\"amp\"]\nhooks = \"claude\"\n";
    let rules = with(text).rules;
    let value: Value = serde_json::to_value(&rules).unwrap();
    assert_eq!(value["agents_custom"]["amp"]["command"], json!(["amp"]));
    assert_eq!(serde_json::from_value::<Rules>(value).unwrap(), rules);
}
