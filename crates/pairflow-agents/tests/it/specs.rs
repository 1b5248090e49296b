//! How agents are started in panes, word by word, and how their screens and records are read.

use std::path::PathBuf;
use std::process::Command;

use pairflow_agents::Drivers;
use pairflow_agents::spec::spec_of;
use pairflow_core::facts::Seat;
use pairflow_core::rules::{Check, CustomAgent, HookKind, Permissions, PromptBy};
use pairflow_engine::driver::{AgentDriver, Launch, LaunchFile, PaneStart, Session};

/// The name of a new conversation.
const SESSION: &str = "5f0c8a52-1c0e-4f0e-9b58-7a3a2f6d1e01";

/// A directory with programs of the known names, and one for a bubble's files.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        for name in ["bin", "runtime"] {
            std::fs::create_dir(bench.path(name)).unwrap();
        }
        let make = r#"for one; do printf '#!/bin/sh\nexit 1\n' > "$one" && chmod 755 "$one"; done"#;
        let programs = ["claude", "codex", "other"].map(|name| bench.path(&format!("bin/{name}")));
        assert!(Command::new("sh").args(["-c", make, "sh"]).args(programs).status().unwrap().success());
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn seat(&self, agent: &str) -> PaneStart {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
        };
        let path = format!("{}:/usr/bin", self.path("bin").display());
        PaneStart {
            bubble_id: "fix-it".parse().unwrap(),
            repo: "/home/ada/repo".into(),
            agent: agent.parse().unwrap(),
            seat: Seat::Reviewer,
            worktree: "/home/ada/work/fix-it".into(),
            runtime_dir: self.path("runtime"),
            artifacts: "/home/ada/repo/.pairflow/bubbles/fix-it/artifacts".into(),
            scratch: None,
            env: pairs(&[("PAIRFLOW_AGENT", agent), ("PAIRFLOW_SOCKET", "/run/a \"seat\".sock"), ("PORT", "4000")]),
            person: pairs(&[("PATH", &path), ("HOME", "/home/ada")]),
            session: Session::Fresh(SESSION.to_owned()),
            prompt: "[pairflow 3] Round 1: read the brief.".to_owned(),
            permissions: Permissions::Edits,
            allowed: vec!["cargo test".to_owned()],
            program: "/opt/pair flow/pairflow".into(),
            spec: None,
        }
    }

    /// Writes down a start without the names of this test's directories.
    fn words(&self, seat: &PaneStart) -> String {
        self.plain(&Drivers::default().launch(seat).unwrap().argv.join("\n"))
    }

    fn refusal(&self, seat: &PaneStart) -> String {
        self.plain(&Drivers::default().launch(seat).unwrap_err().to_string())
    }

    fn plain(&self, text: &str) -> String {
        text.replace(self.dir.path().to_str().unwrap(), "DIR")
    }
}

fn env_of(launch: &Launch, name: &str) -> Option<String> {
    let mut found = launch.env.iter().filter(|(one, _)| one == name);
    let value = found.next().map(|(_, value)| value.clone());
    assert_eq!(found.next(), None, "{name} is there twice");
    value
}

fn resumed(mut seat: PaneStart, prompt: &str) -> PaneStart {
    seat.session = Session::Resume("an-earlier-one".to_owned());
    seat.prompt = prompt.to_owned();
    seat
}

#[test]
fn claude_may_hand_over_ask_read_and_run_the_checks_without_a_question() {
    let bench = Bench::new();
    Drivers::default().launch(&bench.seat("claude")).unwrap();
    let settings: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("runtime/claude.settings.json")).unwrap()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&settings["permissions"]).unwrap(), @r#"
    {
      "allow": [
        "Bash(cargo test:*)",
        "Bash(pairflow ask-human:*)",
        "Bash(pairflow brief:*)",
        "Bash(pairflow converged:*)",
        "Bash(pairflow diff:*)",
        "Bash(pairflow findings:*)",
        "Bash(pairflow inbox:*)",
        "Bash(pairflow judge:*)",
        "Bash(pairflow log:*)",
        "Bash(pairflow pass:*)",
        "Bash(pairflow status:*)",
        "Read(//home/ada/repo/.pairflow/bubbles/fix-it/artifacts/**)"
      ],
      "deny": [
        "AskUserQuestion"
      ]
    }
    "#);
}

#[test]
fn the_agent_that_writes_acceptance_tests_may_write_where_they_go() {
    let bench = Bench::new();
    let scratch = "/home/ada/.pairflow-worktrees/repo/.acceptance-fix-it";
    let writing = |agent: &str| PaneStart { scratch: Some(scratch.into()), ..bench.seat(agent) };
    let permissions = |seat: &PaneStart| {
        Drivers::default().launch(seat).unwrap();
        let settings = std::fs::read(bench.path("runtime/claude.settings.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&settings).unwrap()["permissions"].clone()
    };
    assert_eq!(permissions(&writing("claude"))["additionalDirectories"], serde_json::json!([scratch]));
    assert_eq!(permissions(&bench.seat("claude")).get("additionalDirectories"), None);
    let root = format!("sandbox_workspace_write.writable_roots=[\"{scratch}\"]");
    let codex = |seat: &PaneStart| bench.words(seat).lines().any(|word| word == root);
    assert!(codex(&writing("codex")));
    assert!(!codex(&bench.seat("codex")), "only in that turn");
    assert!(!codex(&PaneStart { permissions: Permissions::Ask, ..writing("codex") }), "a sandbox that reads asks");
}

#[test]
fn claude_is_started_with_settings_of_its_bubble() {
    let bench = Bench::new();
    let mut seat = bench.seat("claude");
    insta::assert_snapshot!(bench.words(&seat), @r"
    DIR/bin/claude
    --session-id
    5f0c8a52-1c0e-4f0e-9b58-7a3a2f6d1e01
    --permission-mode
    acceptEdits
    --settings
    DIR/runtime/claude.settings.json
    [pairflow 3] Round 1: read the brief.
    ");
    insta::assert_snapshot!(bench.words(&resumed(seat.clone(), "go on")), @r"
    DIR/bin/claude
    --resume
    an-earlier-one
    --permission-mode
    acceptEdits
    --settings
    DIR/runtime/claude.settings.json
    go on
    ");
    let settings = || -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(bench.path("runtime/claude.settings.json")).unwrap()).unwrap()
    };
    insta::assert_snapshot!(serde_json::to_string_pretty(&settings()["hooks"]["Stop"]).unwrap(), @r#"
    [
      {
        "hooks": [
          {
            "command": "'/opt/pair flow/pairflow' hook Stop",
            "timeout": 15,
            "type": "command"
          }
        ]
      }
    ]
    "#);
    let hooks: Vec<_> = settings()["hooks"].as_object().unwrap().keys().cloned().collect();
    insta::assert_snapshot!(hooks.join(" "), @"Notification PermissionRequest PostToolUse PreToolUse SessionEnd SessionStart Stop StopFailure UserPromptSubmit");
    seat.permissions = Permissions::Ask;
    insta::assert_snapshot!(bench.words(&seat), @r"
    DIR/bin/claude
    --session-id
    5f0c8a52-1c0e-4f0e-9b58-7a3a2f6d1e01
    --permission-mode
    default
    --settings
    DIR/runtime/claude.settings.json
    [pairflow 3] Round 1: read the brief.
    ");
    insta::assert_snapshot!(settings()["permissions"]["allow"], @r#"["Bash(pairflow ask-human:*)","Bash(pairflow brief:*)","Bash(pairflow converged:*)","Bash(pairflow diff:*)","Bash(pairflow findings:*)","Bash(pairflow inbox:*)","Bash(pairflow judge:*)","Bash(pairflow log:*)","Bash(pairflow pass:*)","Bash(pairflow status:*)","Read(//home/ada/repo/.pairflow/bubbles/fix-it/artifacts/**)"]"#);
}

#[test]
fn checks_of_several_commands_are_allowed_one_by_one() {
    let bench = Bench::new();
    let mut seat = bench.seat("claude");
    seat.allowed = [
        "cargo fmt --check && cargo test; npm run 'a;b' | sh || make",
        "cat x |& sh -s",
        "./check.sh",
        "echo \"$(rm -rf /)\"",
        "make > out.txt",
        "pairflow",
        Check::BUILT_IN,
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    Drivers::default().launch(&seat).unwrap();
    let text = std::fs::read_to_string(bench.path("runtime/claude.settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&settings["permissions"]["allow"]).unwrap(), @r#"
    [
      "Bash(./check.sh:*)",
      "Bash(cargo fmt --check:*)",
      "Bash(cargo test:*)",
      "Bash(cat x:*)",
      "Bash(make)",
      "Bash(npm run 'a;b':*)",
      "Bash(pairflow ask-human:*)",
      "Bash(pairflow brief:*)",
      "Bash(pairflow converged:*)",
      "Bash(pairflow diff:*)",
      "Bash(pairflow findings:*)",
      "Bash(pairflow inbox:*)",
      "Bash(pairflow judge:*)",
      "Bash(pairflow log:*)",
      "Bash(pairflow pass:*)",
      "Bash(pairflow status:*)",
      "Bash(pairflow)",
      "Read(//home/ada/repo/.pairflow/bubbles/fix-it/artifacts/**)"
    ]
    "#);
}

/// What Codex 0.166.0 itself says of these hooks: `codex app-server`, `hooks/list`.
const HASHES: [(&str, &str); 8] = [
    ("session_start", "1b17534e798a0eb07c4d3cd50c8d14da6a3492e89d91849c7779c905088d00b4"),
    ("user_prompt_submit", "c88b0ce48e2ce0668c1aa56ec3f7d3dacae65bb6d08951d5076c1c6ddf3a03fe"),
    ("pre_tool_use", "8bba66bbf438bfbf3ac79dc54d45890f2bf6def7091f504a990078780c030b40"),
    ("post_tool_use", "0b4bce8c45b93660179042d0782e4934be14e6ce53c1daa74cfef625d3b2c872"),
    ("permission_request", "44f0c8404b6ec9214f89409e43ab5e7a7717236bec87a864ec4094fa587fa9a7"),
    ("stop", "4eb3788759230ef7c277c13114385fc48b5422087c728be110b200ca3a58033c"),
    ("session_end", "13f656178f2622831d7e492b8d3a6c405ece3dc54998681ab10f1532dd57f777"),
    ("interrupt", "6a8ff8a1066e916be3e140dd349d89a5107c632620f5dadafd0d3fd4b62c60a3"),
];

#[test]
fn codex_trusts_exactly_our_hooks() {
    let bench = Bench::new();
    let argv = Drivers::default().launch(&bench.seat("codex")).unwrap().argv;
    let state = argv.iter().find_map(|word| word.strip_prefix("hooks.state=")).unwrap();
    let entry = |(label, hash): (&str, &str)| {
        format!("\"/<session-flags>/config.toml:{label}:0:0\"={{trusted_hash=\"sha256:{hash}\"}}")
    };
    assert_eq!(state, format!("{{{}}}", HASHES.map(entry).join(",")));
    let hooks = argv.iter().filter(|word| word.starts_with("hooks.") && !word.starts_with("hooks.state"));
    assert_eq!(hooks.count(), HASHES.len());
    assert!(!argv.iter().any(|word| word.contains("bypass")));
}

#[test]
fn codex_is_started_in_its_own_sandbox() {
    let bench = Bench::new();
    let mut seat = bench.seat("codex");
    let words = |seat: &PaneStart| {
        let all = bench.words(seat).replace("-c\n", "-c ");
        let shown = |line: &&str| !line.starts_with("-c hooks.") || line.starts_with("-c hooks.Stop=");
        all.lines().filter(shown).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(words(&seat), @r#"
    DIR/bin/codex
    --no-daemon
    -c allow_login_shell=false
    -c check_for_update_on_startup=false
    -c notice.hide_rate_limit_model_nudge=true
    -a
    on-request
    -s
    workspace-write
    -c sandbox_workspace_write.network_access=true
    -c hooks.Stop=[{hooks=[{type="command",command="'/opt/pair flow/pairflow' hook Stop",timeout=15}]}]
    -c shell_environment_policy.set.PAIRFLOW_AGENT="codex"
    -c shell_environment_policy.set.PAIRFLOW_SOCKET="/run/a \"seat\".sock"
    [pairflow 3] Round 1: read the brief.
    "#);
    insta::assert_snapshot!(words(&resumed(seat.clone(), "go on")), @r#"
    DIR/bin/codex
    resume
    --no-daemon
    -c allow_login_shell=false
    -c check_for_update_on_startup=false
    -c notice.hide_rate_limit_model_nudge=true
    -a
    on-request
    -s
    workspace-write
    -c sandbox_workspace_write.network_access=true
    -c hooks.Stop=[{hooks=[{type="command",command="'/opt/pair flow/pairflow' hook Stop",timeout=15}]}]
    -c shell_environment_policy.set.PAIRFLOW_AGENT="codex"
    -c shell_environment_policy.set.PAIRFLOW_SOCKET="/run/a \"seat\".sock"
    an-earlier-one
    go on
    "#);
    seat.permissions = Permissions::Ask;
    let asking = words(&seat);
    assert!(!asking.contains("workspace-write"), "{asking}");
    insta::assert_snapshot!(asking.lines().skip(5).take(4).collect::<Vec<_>>().join("\n"), @r#"
    -a
    on-request
    -c permissions.pairflow={extends=":read-only",network={enabled=true}}
    -c default_permissions="pairflow"
    "#);
}

#[test]
fn codex_alone_chooses_the_name_of_its_conversation() {
    let bench = Bench::new();
    let session = |seat: &PaneStart| Drivers::default().launch(seat).unwrap().session;
    assert_eq!(session(&bench.seat("claude")).as_deref(), Some(SESSION));
    assert_eq!(session(&bench.seat("codex")), None);
    assert_eq!(session(&resumed(bench.seat("codex"), "")).as_deref(), Some("an-earlier-one"));
}

#[test]
fn everything_without_a_question_needs_a_sandbox() {
    let bench = Bench::new();
    for agent in ["claude", "codex"] {
        let mut seat = bench.seat(agent);
        seat.permissions = Permissions::All;
        assert!(bench.refusal(&seat).contains("needs a sandbox around the agent"), "{}", bench.refusal(&seat));
    }
    let custom = |args: &[&str]| {
        let args = args.iter().map(|word| (*word).to_owned()).collect();
        Some(CustomAgent { args, ..CustomAgent::default() })
    };
    let words: [(&str, &[&str]); 6] = [
        ("claude", &["--dangerously-skip-permissions"]),
        ("claude", &["--permission-mode", "bypassPermissions"]),
        ("claude", &["--permission-mode=bypassPermissions"]),
        ("codex", &["--dangerously-bypass-hook-trust"]),
        ("codex", &["-c", "sandbox_mode=\"danger-full-access\""]),
        ("codex", &["--yolo"]),
    ];
    for (agent, args) in words {
        let seat = PaneStart { spec: custom(args), ..bench.seat(agent) };
        assert!(bench.refusal(&seat).contains("there is no sandbox around it"), "{args:?}");
    }
}

#[test]
fn the_environment_is_what_was_named_and_nothing_else() {
    let bench = Bench::new();
    let mut seat = bench.seat("claude");
    let outer = "TERM=xterm COLORTERM=truecolor LC_ALL=C.UTF-8 SSH_AUTH_SOCK=/ssh https_proxy=p NODE_EXTRA_CA_CERTS=/ca \
        XDG_CONFIG_HOME=/c CARGO_HOME=/cargo ANTHROPIC_API_KEY=k CLAUDE_CONFIG_DIR=/cc DISABLE_TELEMETRY=1 \
        CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=s CLAUDE_CODE_ENTRYPOINT=e CLAUDE_CODE_MESSAGING_TOKEN=t CLAUDE_PID=1 \
        OPENAI_API_KEY=o CODEX_HOME=/x CODEX_THREAD_ID=t CODEX_SANDBOX_NETWORK_DISABLED=1 AWS_SECRET_ACCESS_KEY=a \
        GOOGLE_APPLICATION_CREDENTIALS=g GITHUB_TOKEN=h TMUX=/t,1,0 TMUX_PANE=%1 PAIRFLOW_TOKEN=w PAIRFLOW_AGENT=me \
        LD_PRELOAD=/evil GIT_DIR=/g PORT=1";
    let pairs = outer.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    seat.person.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let render = |seat: &PaneStart| {
        let env = Drivers::default().launch(seat).unwrap().env;
        let lines = env.iter().map(|(name, value)| format!("{name}={value}"));
        bench.plain(&lines.collect::<Vec<_>>().join("\n"))
    };
    insta::assert_snapshot!(render(&seat), @r#"
    ANTHROPIC_API_KEY=k
    CARGO_HOME=/cargo
    CLAUDE_CONFIG_DIR=/cc
    COLORTERM=truecolor
    DISABLE_TELEMETRY=1
    HOME=/home/ada
    LC_ALL=C.UTF-8
    NODE_EXTRA_CA_CERTS=/ca
    PAIRFLOW_AGENT=claude
    PAIRFLOW_SOCKET=/run/a "seat".sock
    PATH=/opt/pair flow:DIR/bin:/usr/bin
    PORT=4000
    TERM=screen-256color
    XDG_CONFIG_HOME=/c
    https_proxy=p
    "#);
    seat.person.push(("CLAUDE_CODE_USE_BEDROCK".to_owned(), "1".to_owned()));
    assert!(render(&seat).contains("AWS_SECRET_ACCESS_KEY=a"));
    assert!(!render(&seat).contains("GOOGLE_"));
    seat.agent = "codex".parse().unwrap();
    insta::assert_snapshot!(render(&seat), @r#"
    CARGO_HOME=/cargo
    CODEX_HOME=/x
    COLORTERM=truecolor
    HOME=/home/ada
    LC_ALL=C.UTF-8
    NODE_EXTRA_CA_CERTS=/ca
    OPENAI_API_KEY=o
    PAIRFLOW_AGENT=claude
    PAIRFLOW_SOCKET=/run/a "seat".sock
    PATH=/opt/pair flow:DIR/bin:/usr/bin
    PORT=4000
    TERM=screen-256color
    XDG_CONFIG_HOME=/c
    https_proxy=p
    "#);
    let env = ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "CODEX_THREAD_ID", "PAIRFLOW_TOKEN"].map(str::to_owned).to_vec();
    seat.spec = Some(CustomAgent { env, ..CustomAgent::default() });
    let launch = Drivers::default().launch(&seat).unwrap();
    assert_eq!(env_of(&launch, "GITHUB_TOKEN").as_deref(), Some("h"));
    assert_eq!(env_of(&launch, "SSH_AUTH_SOCK").as_deref(), Some("/ssh"), "who wants agents to sign says so");
    assert_eq!(env_of(&launch, "CODEX_THREAD_ID").as_deref(), Some("t"), "who names it wants it");
    assert_eq!(env_of(&launch, "PAIRFLOW_TOKEN"), None, "what pairflow says about itself is not for sale");
    assert_eq!(env_of(&launch, "PAIRFLOW_AGENT").as_deref(), Some("claude"));
}

#[test]
fn other_programs_are_described_by_the_configuration() {
    let bench = Bench::new();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut seat = bench.seat("gemini");
    insta::assert_snapshot!(bench.refusal(&seat), @r#"cannot start gemini: pairflow does not know this agent; add `command = ["…"]` to `[agent.gemini]`"#);
    seat.spec = Some(CustomAgent::default());
    insta::assert_snapshot!(bench.refusal(&seat), @r#"cannot start gemini: `[agent.gemini]` does not say how it is started; add `command = ["…"]`"#);
    let mut other = CustomAgent { command: words(&["other", "--chat", "{session}"]), ..CustomAgent::default() };
    seat.spec = Some(other.clone());
    insta::assert_snapshot!(bench.words(&seat), @r"
    DIR/bin/other
    --chat
    5f0c8a52-1c0e-4f0e-9b58-7a3a2f6d1e01
    [pairflow 3] Round 1: read the brief.
    ");
    let launch = Drivers::default().launch(&seat).unwrap();
    assert_eq!((launch.hooks, launch.prompted, launch.session.as_deref()), (false, true, Some(SESSION)));
    other.resume = words(&["other", "--go-on={session}"]);
    other.args = words(&["-v"]);
    other.prompt = PromptBy::Paste;
    seat.spec = Some(other.clone());
    insta::assert_snapshot!(bench.words(&resumed(seat.clone(), "go on")), @r"
    DIR/bin/other
    --go-on=an-earlier-one
    -v
    ");
    assert!(!Drivers::default().launch(&seat).unwrap().prompted);
    other.command = words(&["missing"]);
    seat.spec = Some(other);
    insta::assert_snapshot!(bench.refusal(&seat), @"cannot start gemini: `missing` is not installed, or not on the PATH of the person who started the bubble");
}

#[test]
fn a_program_with_known_hooks_is_that_program_under_another_name() {
    let bench = Bench::new();
    let mut seat = bench.seat("work-claude");
    let command = vec!["/opt/claude-at-work".to_owned()];
    seat.spec = Some(CustomAgent { command, hooks: Some(HookKind::Claude), ..CustomAgent::default() });
    insta::assert_snapshot!(bench.words(&seat), @r"
    /opt/claude-at-work
    --session-id
    5f0c8a52-1c0e-4f0e-9b58-7a3a2f6d1e01
    --permission-mode
    acceptEdits
    --settings
    DIR/runtime/work-claude.settings.json
    [pairflow 3] Round 1: read the brief.
    ");
    insta::assert_snapshot!(bench.words(&resumed(seat.clone(), "")), @r"
    /opt/claude-at-work
    --resume
    an-earlier-one
    --permission-mode
    acceptEdits
    --settings
    DIR/runtime/work-claude.settings.json
    ");
    let launch = Drivers::default().launch(&seat).unwrap();
    assert!(launch.hooks);
    let spec = spec_of(&"claude".parse().unwrap(), None).unwrap();
    assert_eq!((launch.dialogs, launch.composer), (spec.dialogs, spec.composer));
}

#[test]
fn a_launch_file_is_read_once_and_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let file = LaunchFile::from(&Drivers::default().launch(&bench.seat("claude")).unwrap());
    let path = bench.path("runtime/claude.launch");
    file.write(&path).unwrap();
    file.write(&path).unwrap();
    let settings = bench.path("runtime/claude.settings.json");
    for one in [&path, &settings] {
        assert_eq!(one.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(LaunchFile::take(&path).unwrap(), file);
    assert_eq!(LaunchFile::take(&path).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    pairflow_engine::driver::private_file(&path, b"{").unwrap();
    assert!(LaunchFile::take(&path).is_err());
    assert!(!path.exists(), "what makes no sense may still hold secrets");
}

#[test]
fn a_known_program_can_be_had_without_its_hooks_and_keeps_everything_else() {
    let bench = Bench::new();
    for name in ["claude", "codex"] {
        let mut seat = bench.seat(name);
        let hooked = Drivers::default().launch(&seat).unwrap();
        seat.spec = Some(CustomAgent { hooks: Some(HookKind::None), ..CustomAgent::default() });
        let mute = Drivers::default().launch(&seat).unwrap();
        assert_eq!((hooked.hooks, mute.hooks), (true, false), "{name}");
        assert_eq!((&mute.dialogs, mute.prompted, &mute.env), (&hooked.dialogs, true, &hooked.env));
        let ours = |word: &&String| word.starts_with("hooks.");
        let rest = |argv: &[String]| {
            let mut rest: Vec<String> = Vec::new();
            for word in argv {
                match ours(&word) {
                    // The `-c` before it.
                    true => drop(rest.pop()),
                    false => rest.push(word.clone()),
                }
            }
            rest
        };
        assert_eq!(mute.argv, rest(&hooked.argv), "{name}: nothing else is left out");
    }
    let settings = std::fs::read_to_string(bench.seat("claude").runtime_dir.join("claude.settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["hooks"], serde_json::json!({}));
    assert!(settings["permissions"]["allow"].to_string().contains("Bash(pairflow pass:*)"), "{settings}");
}

#[test]
fn a_known_name_can_be_that_of_the_other_program_which_has_to_be_named() {
    let bench = Bench::new();
    let mut seat = bench.seat("codex");
    seat.spec = Some(CustomAgent { hooks: Some(HookKind::Codex), ..CustomAgent::default() });
    assert_eq!(Drivers::default().launch(&seat).unwrap(), Drivers::default().launch(&bench.seat("codex")).unwrap());
    seat.spec = Some(CustomAgent { hooks: Some(HookKind::Claude), ..CustomAgent::default() });
    insta::assert_snapshot!(bench.refusal(&seat), @r#"cannot start codex: `[agent.codex]` gives it the hooks of another program and does not name that program; add `command = ["…"]`, or take `hooks` out"#);
    let command = vec!["/opt/claude-at-work".to_owned()];
    seat.spec = Some(CustomAgent { command, hooks: Some(HookKind::Claude), ..CustomAgent::default() });
    insta::assert_snapshot!(bench.words(&seat), @r"
    /opt/claude-at-work
    --session-id
    5f0c8a52-1c0e-4f0e-9b58-7a3a2f6d1e01
    --permission-mode
    acceptEdits
    --settings
    DIR/runtime/codex.settings.json
    [pairflow 3] Round 1: read the brief.
    ");
}
