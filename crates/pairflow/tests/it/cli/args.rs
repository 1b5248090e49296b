//! Every command's arguments: what is understood, what is a usage error, and what its help shows.

use clap::error::ErrorKind;
use clap::{Args, Command, FromArgMatches};
use pairflow::args::{BubbleArg, DecisionArg, DriverArg, IntentArg, WorkModeArg};
use pairflow::commands::*;
use pairflow_core::facts::Severity;

fn parse<A: Args + FromArgMatches>(args: &[&str]) -> Result<A, clap::Error> {
    let command = A::augment_args(Command::new("test").no_binary_name(true));
    A::from_arg_matches(&command.try_get_matches_from(args)?)
}

fn refused<A: Args + FromArgMatches>(args: &[&str]) -> ErrorKind {
    parse::<A>(args).err().unwrap_or_else(|| panic!("{args:?} must be a usage error")).kind()
}

#[test]
fn the_bubble_is_named_by_option_or_position_but_not_both() {
    assert_eq!(parse::<BubbleArg>(&["login"]).unwrap().typed(), Some("login"));
    assert_eq!(parse::<BubbleArg>(&["--id", "login"]).unwrap().typed(), Some("login"));
    assert_eq!(parse::<BubbleArg>(&[]).unwrap().typed(), None);
    assert_eq!(refused::<BubbleArg>(&["login", "--id", "login"]), ErrorKind::ArgumentConflict);
    assert_eq!(parse::<BubbleArg>(&["--repo", "/r"]).unwrap().repo.unwrap().to_str(), Some("/r"));
}

/// Every command that is about one bubble, with the arguments that it cannot do without.
#[test]
fn every_bubble_command_takes_the_id_both_ways_and_a_repository() {
    fn both<A: Args + FromArgMatches>(typed: fn(&A) -> Option<&str>, needed: &[&str]) {
        for id in [&["b1"][..], &["--id", "b1"]] {
            let args = [id, needed, &["--repo", "/r"]].concat();
            assert_eq!(typed(&parse::<A>(&args).unwrap()), Some("b1"), "{args:?}");
        }
    }
    both::<start::StartArgs>(|args| args.bubble.typed(), &[]);
    both::<status::StatusArgs>(|args| args.bubble.typed(), &["--json"]);
    both::<inbox::InboxArgs>(|args| args.bubble.typed(), &["--json"]);
    both::<reply::ReplyArgs>(|args| args.bubble.typed(), &["--message", "yes"]);
    both::<approve::ApproveArgs>(|args| args.bubble.typed(), &[]);
    both::<approve::RequestReworkArgs>(|args| args.bubble.typed(), &["--message", "no"]);
    both::<commit::CommitArgs>(|args| args.bubble.typed(), &[]);
    both::<open::OpenArgs>(|args| args.bubble.typed(), &[]);
    both::<stop::StopArgs>(|args| args.bubble.typed(), &["--yes"]);
    both::<pause::ResumeArgs>(|args| args.bubble.typed(), &[]);
    both::<pause::PauseArgs>(|args| args.bubble.typed(), &[]);
    both::<watchdog::WatchdogArgs>(|args| args.bubble.typed(), &["--json"]);
    both::<log::LogArgs>(|args| args.bubble.typed(), &["--json"]);
    both::<diff::DiffArgs>(|args| args.bubble.typed(), &["--json", "--stat"]);
    both::<env::EnvArgs>(|args| args.bubble.typed(), &["--agent", "codex", "--json"]);
    both::<update::UpdateArgs>(|args| args.bubble.typed(), &[]);
    both::<merge::MergeArgs>(|args| args.bubble.typed(), &["--here"]);
    both::<delete::DeleteArgs>(|args| args.bubble.typed(), &["--yes"]);
    both::<verify::VerifyArgs>(|args| args.bubble.typed(), &["--json"]);
    both::<ok::OkArgs>(|args| args.bubble.typed(), &["--merge", "--yes"]);
}

#[test]
fn create_takes_every_flag_that_the_key_table_names() {
    let command = create::CreateArgs::augment_args(Command::new("test"));
    for key in pairflow_core::config::KEYS {
        let Some(flag) = key.flag else { continue };
        let known = command.get_arguments().any(|argument| argument.get_long() == flag.strip_prefix("--"));
        assert!(known, "{flag} of {}", key.name);
    }
}

#[test]
fn create_takes_the_line_of_the_specification() {
    let line = ["--id", "b_legal_search_01", "--repo", "/r", "--base", "main", "--task", "do it"];
    let args: create::CreateArgs = parse(&line).unwrap();
    assert_eq!(args.id.unwrap().as_str(), "b_legal_search_01");
    assert_eq!(args.task.as_deref(), Some("do it"));
    assert_eq!(args.setup.base.as_deref(), Some("main"));
    assert!(!args.start && !args.setup.checks.yes);
}

#[test]
fn create_takes_every_other_option() {
    let line = "--test t --typecheck c --lint l --setup s --kind code --policy strict --pair codex,claude,gemini --yes \
                --work-mode clone --driver script --script a.yaml --max-rounds 4 --start --manual-check one \
                --manual-check two";
    let args: create::CreateArgs = parse(&line.split_whitespace().collect::<Vec<_>>()).unwrap();
    let setup = args.setup;
    assert_eq!(
        setup.pair.unwrap().all().map(|agent| agent.as_str()).collect::<Vec<_>>(),
        ["codex", "claude", "gemini"]
    );
    assert_eq!((setup.work_mode, setup.driver), (Some(WorkModeArg::Clone), Some(DriverArg::Script)));
    assert_eq!((setup.max_rounds, args.start), (Some(4), true));
    assert_eq!(setup.checks.manual_check, ["one", "two"]);
    assert_eq!(setup.checks.test.as_deref(), Some("t"));
}

#[test]
fn create_refuses_what_makes_no_sense() {
    use create::CreateArgs;
    assert_eq!(refused::<CreateArgs>(&["--id", "../x"]), ErrorKind::ValueValidation);
    assert_eq!(refused::<CreateArgs>(&["--task", " "]), ErrorKind::ValueValidation);
    assert_eq!(refused::<CreateArgs>(&["--no-tests"]), ErrorKind::MissingRequiredArgument);
    assert_eq!(
        refused::<CreateArgs>(&["--no-tests", "--manual-check", "m", "--test", "t"]),
        ErrorKind::ArgumentConflict
    );
    assert_eq!(refused::<CreateArgs>(&["--pair", "codex"]), ErrorKind::ValueValidation);
    assert_eq!(refused::<CreateArgs>(&["--pair", "codex,human"]), ErrorKind::ValueValidation);
    assert_eq!(refused::<CreateArgs>(&["--policy", "lax"]), ErrorKind::InvalidValue);
    assert_eq!(refused::<CreateArgs>(&["--kind", "prd"]), ErrorKind::InvalidValue);
    assert_eq!(refused::<CreateArgs>(&["--max-rounds", "0"]), ErrorKind::ValueValidation);
    assert_eq!(refused::<CreateArgs>(&["--driver", "telepathy"]), ErrorKind::InvalidValue);
}

#[test]
fn pass_takes_the_line_of_the_specification() {
    let line = [
        "--summary",
        "done",
        "--ref",
        "b.md",
        "--ref",
        "a.md",
        "--intent",
        "fix_request",
        "--finding",
        "P1:no rollback",
        "--finding",
        "P3: typo: here",
    ];
    let args: pass::PassArgs = parse(&line).unwrap();
    assert_eq!(args.refs, ["b.md", "a.md"], "refs keep their order");
    assert_eq!(args.intent, Some(IntentArg::FixRequest));
    assert_eq!(
        (args.review.findings[0].severity, args.review.findings[0].title.as_str()),
        (Severity::P1, "no rollback")
    );
    assert_eq!(args.review.findings[1].title, "typo: here");
    assert!(
        parse::<pass::PassArgs>(&["--summary", "ok", "--no-findings", "--key", "k1", "--json"])
            .unwrap()
            .review
            .no_findings
    );
}

#[test]
fn a_text_may_begin_with_a_dash_as_lists_do() {
    let args: pass::PassArgs = parse(&["--summary", "- added the lock\n- and a test", "--no-findings"]).unwrap();
    assert!(args.summary.starts_with("- added") && args.review.no_findings);
    assert_eq!(parse::<reply::ReplyArgs>(&["-m", "-1 is fine"]).unwrap().message.as_deref(), Some("-1 is fine"));
}

#[test]
fn pass_refuses_what_makes_no_sense() {
    use pass::PassArgs;
    assert_eq!(refused::<PassArgs>(&[]), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused::<PassArgs>(&["--summary", "  \n"]), ErrorKind::ValueValidation);
    assert_eq!(refused::<PassArgs>(&["--summary", "x", "--intent", "shrug"]), ErrorKind::InvalidValue);
    for finding in ["P4:x", "P1:", "P1", "x", ":x", "p1:x"] {
        assert_eq!(refused::<PassArgs>(&["--summary", "x", "--finding", finding]), ErrorKind::ValueValidation);
    }
    let both = ["--summary", "x", "--finding", "P1:x", "--no-findings"];
    assert_eq!(refused::<PassArgs>(&both), ErrorKind::ArgumentConflict);
}

#[test]
fn the_other_agent_verbs_need_their_text() {
    assert_eq!(parse::<pass::AskHumanArgs>(&["--question", "may I?"]).unwrap().question, "may I?");
    assert_eq!(refused::<pass::AskHumanArgs>(&["--question", ""]), ErrorKind::ValueValidation);
    assert_eq!(refused::<pass::AskHumanArgs>(&[]), ErrorKind::MissingRequiredArgument);
    assert_eq!(parse::<pass::ConvergedArgs>(&["--summary", "done"]).unwrap().summary, "done");
    assert_eq!(refused::<pass::ConvergedArgs>(&["--summary", " "]), ErrorKind::ValueValidation);
}

#[test]
fn human_decisions_are_typed() {
    let args: reply::ReplyArgs = parse(&["-m", "go", "--question", "msg_1", "--decision", "continue"]).unwrap();
    assert_eq!((args.decision, args.question.as_deref()), (Some(DecisionArg::Continue), Some("msg_1")));
    assert_eq!(refused::<reply::ReplyArgs>(&["-m", "go", "--decision", "maybe"]), ErrorKind::InvalidValue);
    assert_eq!(refused::<reply::ReplyArgs>(&["b1"]), ErrorKind::MissingRequiredArgument);
    let line = ["b1", "-m", "again", "--reject", "--finding", "F3", "--finding", "F12"];
    let args: approve::RequestReworkArgs = parse(&line).unwrap();
    assert_eq!(args.findings.iter().map(ToString::to_string).collect::<Vec<_>>(), ["F3", "F12"]);
    assert!(args.reject);
    assert_eq!(refused::<approve::RequestReworkArgs>(&["-m", "x", "--finding", "3"]), ErrorKind::ValueValidation);
}

#[test]
fn commit_overrides_the_scope_only_with_a_reason() {
    use commit::CommitArgs;
    assert_eq!(refused::<CommitArgs>(&["b1", "--override-scope"]), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused::<CommitArgs>(&["b1", "--reason", "x"]), ErrorKind::MissingRequiredArgument);
    let args: CommitArgs = parse(&["b1", "--override-scope", "--reason", "x", "--hooks", "-m", "msg"]).unwrap();
    assert!(args.override_scope && args.hooks);
}

#[test]
fn start_diff_and_env_take_their_values() {
    let args: start::StartArgs = parse(&["b1", "--driver", "external", "--script", "a.yaml"]).unwrap();
    assert_eq!(args.driver, Some(DriverArg::External));
    assert_eq!(parse::<diff::DiffArgs>(&["--round", "3"]).unwrap().round, Some(3));
    assert_eq!(refused::<diff::DiffArgs>(&["--round", "0"]), ErrorKind::ValueValidation);
    assert_eq!(refused::<env::EnvArgs>(&["b1"]), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused::<env::EnvArgs>(&["b1", "--agent", "human"]), ErrorKind::ValueValidation);
}

#[test]
fn new_takes_words_with_or_without_quotes() {
    assert_eq!(parse::<create::NewArgs>(&["fix login race"]).unwrap().text, ["fix login race"]);
    assert_eq!(parse::<create::NewArgs>(&["fix", "login", "--pair", "a,b"]).unwrap().text, ["fix", "login"]);
    assert!(parse::<create::NewArgs>(&[]).unwrap().text.is_empty());
}

#[test]
fn commands_without_a_bubble_take_their_flags() {
    assert!(parse::<list::ListArgs>(&["--json", "--repo", "/r"]).unwrap().json);
    assert!(parse::<home::HomeArgs>(&["--json"]).unwrap().json);
    assert!(parse::<doctor::DoctorArgs>(&["--repair"]).unwrap().repair);
    assert!(parse::<init::InitArgs>(&["--yes"]).unwrap().yes);
    assert!(parse::<demo::DemoArgs>(&["--keep", "--slow"]).unwrap().slow);
    assert!(parse::<supervisor::SuperviseArgs>(&["--once"]).unwrap().once);
    assert_eq!(refused::<supervisor::SuperviseArgs>(&["--once", "--foreground"]), ErrorKind::ArgumentConflict);
    assert!(parse::<next::NextArgs>(&[]).unwrap().repo.repo.is_none());
    assert_eq!(refused::<reference::ManArgs>(&["a", "b"]), ErrorKind::UnknownArgument);
    assert_eq!(refused::<reference::CompletionsArgs>(&["tcsh"]), ErrorKind::InvalidValue);
    let line = ["--script", "a.yaml", "--agent", "codex", "--nth", "2"];
    assert_eq!(parse::<launch::ScriptAgentArgs>(&line).unwrap().nth, 2);
}

#[test]
fn commands_with_a_second_word_insist_on_it() {
    use supervisor::SupervisorCommand;
    let args: supervisor::SupervisorArgs = parse(&["status", "--json"]).unwrap();
    assert!(matches!(args.command, SupervisorCommand::Status { json: true }));
    let stop = parse::<supervisor::SupervisorArgs>(&["stop"]).unwrap().command;
    assert!(matches!(stop, SupervisorCommand::Stop { json: false }));
    assert_eq!(refused::<supervisor::SupervisorArgs>(&["dance"]), ErrorKind::InvalidSubcommand);
    let explain = parse::<config::ConfigArgs>(&["explain", "b1"]).unwrap().command;
    assert!(matches!(explain, config::ConfigCommand::Explain(args) if args.bubble.typed() == Some("b1")));
    let set = parse::<config::ConfigArgs>(&["set", "b1", "max_rounds=3", "commands.test=make test"]).unwrap().command;
    assert!(matches!(set, config::ConfigCommand::Set(args) if args.id == "b1" && args.settings.len() == 2));
    assert_eq!(refused::<config::ConfigArgs>(&["set", "b1"]), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused::<config::ConfigArgs>(&["set", "b1", "max_rounds"]), ErrorKind::ValueValidation);
}

#[test]
fn every_command_of_the_table_has_an_about_and_an_example() {
    for entry in pairflow::TABLE {
        let mut command = entry.build();
        assert_eq!(
            command.get_about().map(ToString::to_string).as_deref(),
            Some(entry.about().as_str()),
            "{}",
            entry.name
        );
        let help = command.render_long_help().to_string();
        assert!(help.contains("Example") && help.contains("  pairflow"), "{} has no example:\n{help}", entry.name);
        command.debug_assert();
    }
}

/// Shared arguments must not bring their own heading into a command's help.
#[test]
fn every_command_explains_itself_with_an_example() {
    fn explained<A: Args>(name: &'static str) {
        let mut command = A::augment_args(Command::new(name));
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty() && !about.starts_with("Which ") && !about.ends_with('.'), "{name}: {about:?}");
        let help = command.render_long_help().to_string();
        let example = if name == "home" { "  pairflow".to_owned() } else { format!("pairflow {name}") };
        assert!(help.contains("Example") && help.contains(&example), "{name} has no example:\n{help}");
        command.debug_assert();
    }
    explained::<approve::ApproveArgs>("approve");
    explained::<pass::AskHumanArgs>("ask-human");
    explained::<commit::CommitArgs>("commit");
    explained::<reference::CompletionsArgs>("completions");
    explained::<config::ConfigArgs>("config");
    explained::<pass::ConvergedArgs>("converged");
    explained::<create::CreateArgs>("create");
    explained::<delete::DeleteArgs>("delete");
    explained::<demo::DemoArgs>("demo");
    explained::<diff::DiffArgs>("diff");
    explained::<doctor::DoctorArgs>("doctor");
    explained::<env::EnvArgs>("env");
    explained::<home::HomeArgs>("home");
    explained::<inbox::InboxArgs>("inbox");
    explained::<init::InitArgs>("init");
    explained::<judge::JudgeArgs>("judge");
    explained::<list::ListArgs>("list");
    explained::<log::LogArgs>("log");
    explained::<reference::ManArgs>("man");
    explained::<merge::MergeArgs>("merge");
    explained::<create::NewArgs>("new");
    explained::<next::NextArgs>("next");
    explained::<ok::OkArgs>("ok");
    explained::<open::OpenArgs>("open");
    explained::<pass::PassArgs>("pass");
    explained::<pause::PauseArgs>("pause");
    explained::<reply::ReplyArgs>("reply");
    explained::<approve::RequestReworkArgs>("request-rework");
    explained::<pause::ResumeArgs>("resume");
    explained::<launch::ScriptAgentArgs>("script-agent");
    explained::<start::StartArgs>("start");
    explained::<status::StatusArgs>("status");
    explained::<stop::StopArgs>("stop");
    explained::<supervisor::SuperviseArgs>("supervise");
    explained::<supervisor::SupervisorArgs>("supervisor");
    explained::<update::UpdateArgs>("update");
    explained::<verify::VerifyArgs>("verify");
    explained::<watchdog::WatchdogArgs>("watchdog");
}
