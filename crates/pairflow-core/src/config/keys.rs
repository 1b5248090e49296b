//! The key table: a key is one entry, and there is no other place to list it.
//!
//! An entry says what the value means (`help`), who may set it (`who`), how long it can change (`until`), how it is written
//! and which values are good (`form`), what holds where nobody sets it (`default`), and which test shows its effect
//! (`effect`, which `cargo xtask tidy` looks up). These may follow: where the log records it (`rules`), the flag that sets
//! it for one bubble, an example for where the default is none (`sample`), and what a `bubble.toml` says beside it
//! (`note`) or whether it has it only if it differs (`written`). The order is that of files and explanations.

use std::collections::BTreeMap;

use super::check;
use super::check::Webhook;
use super::origin::{Explained, QualityMode, Set, json};
use super::table::{
    Address, Checking, CommandLineForm, FileReading, GivenValue, Name, Number, OneOf, OnlyStrict, OnlyTrue, Text,
    TextList, Truth, ValueForm,
};
use super::table::{ConfigKey, Keyed, Until, Who, Written, keys};
use crate::ids::{AgentId, BubbleId};
use crate::rules::{
    BubbleKind, ChecksIn, ContextMode, CustomAgent, DriverKind, HookKind, Permissions, PromptBy, ReviewDepth, Rules,
    WorkMode,
};

keys! {
    /// The values that one place sets; what it leaves out is left to the places below.
    Layer,
    /// Every key but those of an `[agent.NAME]`; a dot follows a table.
    KEYS, recorded in Rules, custom: CustomLayer = "agent";

    id: BubbleId = "id" {
        help: "the name of the bubble",
        who: Bubble,
        until: Creation,
        form: Name,
        default: None,
        flag: "--id",
        sample: "\"my-bubble\"",
        effect: "pairflow-engine config::tests::the_id_has_to_be_that_of_the_directory",
    }
    repo_path: String = "repo_path" {
        help: "the root of the repository",
        who: Bubble,
        until: Creation,
        form: Text(check::absolute),
        default: None,
        flag: "--repo",
        sample: "\"/path/of/the/repository\"",
        effect: "pairflow spec::config::a_repository_that_was_moved_is_named_with_the_fix",
    }
    base_branch: String = "base_branch" {
        help: "the branch that bubbles are cut from; without it the current one",
        who: Repository,
        until: Start,
        form: Text(check::branch),
        default: None,
        rules: base_branch,
        flag: "--base",
        sample: "\"main\"",
        effect: "pairflow spec::config::the_base_branch_is_what_the_bubble_is_cut_from",
    }
    bubble_branch: String = "bubble_branch" {
        help: "the branch that the bubble works on",
        who: Bubble,
        until: Start,
        form: Text(check::branch),
        default: Some("bubble/<id>".to_owned()),
        rules: bubble_branch,
        effect: "pairflow spec::config::the_bubble_branch_can_be_chosen",
    }
    work_mode: WorkMode = "work_mode" {
        help: "how the bubble is kept apart from the repository",
        who: Repository,
        until: Start,
        form: OneOf(&[WorkMode::Worktree, WorkMode::Clone]),
        default: Some(WorkMode::Worktree),
        rules: work_mode,
        flag: "--work-mode",
        effect: "pairflow spec::config::each_work_mode_makes_its_own_kind_of_workspace",
    }
    quality_mode: QualityMode = "quality_mode" {
        help: "two clean reviews of the same tree, by different agents",
        who: Repository,
        until: Start,
        form: OnlyStrict,
        default: Some(QualityMode::Strict),
        note: "only strict exists",
        effect: "pairflow-core config::layers::balanced_quality_is_out_of_scope",
    }
    reviewer_context_mode: ContextMode = "reviewer_context_mode" {
        help: "whether a reviewer starts each review with a new conversation",
        who: Repository,
        until: Start,
        form: OneOf(&[ContextMode::Fresh, ContextMode::Persistent]),
        default: Some(ContextMode::Fresh),
        rules: reviewer_context_mode,
        effect: "pairflow panes::turns::a_fresh_reviewer_is_a_new_process_for_each_review_and_a_persistent_one_is_not",
    }
    watchdog_timeout_minutes: u32 = "watchdog_timeout_minutes" {
        help: "how long an agent may be silent before you are asked",
        who: Repository,
        until: Approval,
        form: Number(check::MINUTES),
        default: Some(5),
        rules: watchdog_timeout_minutes,
        effect: "pairflow spec::config::the_watchdog_waits_as_long_as_it_is_told",
    }
    max_turn_minutes: u32 = "max_turn_minutes" {
        help: "how long a turn may take before you are asked, however busy the agent is",
        who: Repository,
        until: Approval,
        form: Number(check::TURN_MINUTES),
        default: Some(60),
        rules: max_turn_minutes,
        effect: "pairflow verbs::terminal::the_watchdog_says_what_it_asks_about_a_turn_that_takes_too_long",
    }
    max_rounds: u32 = "max_rounds" {
        help: "how many rounds there may be before you are asked",
        who: Repository,
        until: Approval,
        form: Number(check::ROUNDS),
        default: Some(8),
        rules: max_rounds,
        flag: "--max-rounds",
        note: "rounds before a person decides",
        effect: "pairflow faults::cli::max_rounds_is_honoured_with_a_question_to_the_person",
    }
    review_depth: ReviewDepth = "review_depth" {
        help: "\"thorough\": the reviewer's agent first writes acceptance tests from the task, and every agent takes a first look",
        who: Repository,
        until: Start,
        form: OneOf(&[ReviewDepth::Standard, ReviewDepth::Thorough]),
        default: Some(ReviewDepth::Standard),
        rules: review_depth,
        written: IfChanged,
        effect: "pairflow-engine proofs::a_thorough_bubble_begins_with_acceptance_tests_of_the_reviewers_agent",
    }
    min_looks: u32 = "min_looks" {
        help: "the fewest reviews before work is accepted; the size and risk of the work may need more",
        who: Repository,
        until: Approval,
        form: Number(check::LOOKS),
        default: Some(0),
        rules: min_looks,
        written: IfChanged,
        effect: "pairflow-engine proofs::a_small_change_needs_as_many_looks_as_are_configured",
    }
    commit_requires_approval: bool = "commit_requires_approval" {
        help: "always: nothing is committed without your approval",
        who: Repository,
        until: Start,
        form: OnlyTrue,
        default: Some(true),
        note: "always",
        effect: "pairflow-core config::layers::every_bad_value_is_refused_at_its_place",
    }
    open_command: String = "open_command" {
        help: "what `pairflow open` runs; `{{worktree_path}}` is replaced",
        who: Person,
        until: End,
        form: Text(check::open_command),
        default: Some("cursor {{worktree_path}}".to_owned()),
        rules: open_command,
        effect: "pairflow verbs::life::open_runs_the_configured_command_with_the_path_as_one_argument",
    }
    driver: DriverKind = "driver" {
        help: "how agents are run: \"tmux\" in panes; \"external\": they join by themselves; \"script\": from a file",
        who: Person,
        until: Start,
        form: OneOf(&[DriverKind::Tmux, DriverKind::External, DriverKind::Script]),
        default: Some(DriverKind::Tmux),
        rules: driver,
        flag: "--driver",
        effect: "pairflow verbs::create::agents_run_in_panes_unless_something_else_is_said",
    }
    script: String = "script" {
        help: "what scripted agents do; a relative path starts at the repository",
        who: Person,
        until: Start,
        form: Text(check::text),
        default: None,
        rules: script,
        flag: "--script",
        sample: "\"/path/to/agents.yaml\"",
        effect: "pairflow spec::config::scripted_agents_do_what_the_configured_script_says",
    }
    permissions: Permissions = "permissions" {
        help: "what agents in panes may do unasked: \"ask\" nothing, \"edits\" files and checks, \"all\" everything, and only in a sandbox",
        who: Person,
        until: Start,
        form: OneOf(&[Permissions::Ask, Permissions::Edits, Permissions::All]),
        default: Some(Permissions::default()),
        rules: permissions,
        effect: "pairflow-agents specs::claude_is_started_with_settings_of_its_bubble",
    }
    capture_output: bool = "capture_output" {
        help: "true: the first 8 MiB that each program shows are kept in files, for diagnostics",
        who: Person,
        until: Start,
        form: Truth,
        default: Some(false),
        rules: capture_output,
        effect: "pairflow panes::verbs::the_output_of_panes_is_copied_only_where_it_is_wanted",
    }
    check_timeout_secs: u64 = "check_timeout_secs" {
        help: "how long one check may run",
        who: Repository,
        until: Approval,
        form: Number(check::SECONDS),
        default: Some(1800),
        rules: check_timeout_secs,
        effect: "pairflow evidence::checkout::a_check_that_runs_longer_than_it_may_is_stopped",
    }
    checks_in: ChecksIn = "checks_in" {
        help: "where checks run; \"worktree\": where the agents work, for repositories too large to check out twice",
        who: Person,
        until: Approval,
        form: OneOf(&[ChecksIn::Checkout, ChecksIn::Worktree]),
        default: Some(ChecksIn::Checkout),
        rules: checks_in,
        written: IfChanged,
        effect: "pairflow evidence::checkout::checks_run_where_the_agents_work_if_the_person_says_so_and_everything_says_so",
    }
    check_env: Vec<String> = "check_env" {
        help: "variables of yours that checks, reproducers and the setup command get",
        who: PersonsFile,
        until: End,
        form: TextList(check::variable),
        default: None,
        sample: "[\"DATABASE_URL\"]",
        effect: "pairflow trust::config::checks_get_the_variables_that_the_persons_own_file_names",
    }
    no_tests: bool = "no_tests" {
        help: "true: there is nothing to run; needs manual_checks",
        who: Person,
        until: Start,
        form: Truth,
        default: Some(false),
        flag: "--no-tests",
        note: "the manual checks stand in",
        written: IfChanged,
        effect: "pairflow spec::config::how_the_commands_were_confirmed_is_on_the_log",
    }
    manual_checks: Vec<String> = "manual_checks" {
        help: "what a person has to try by hand",
        who: Repository,
        until: Approval,
        form: TextList(check::text),
        default: Some(Vec::new()),
        rules: manual_checks,
        flag: "--manual-check",
        sample: "[\"open the page and log in\"]",
        effect: "pairflow spec::config::what_has_to_be_tried_by_hand_is_told_to_the_agents_and_to_the_person",
    }
    kind: BubbleKind = "kind" {
        help: "what the bubble makes",
        who: Bubble,
        until: Start,
        form: OneOf(&[BubbleKind::Code, BubbleKind::Implementation, BubbleKind::Document]),
        default: Some(BubbleKind::Code),
        rules: kind,
        flag: "--kind",
        written: IfChanged,
        effect: "pairflow evidence::documents::a_document_goes_through_checks_steps_and_the_persons_understanding",
    }
    documents: Vec<String> = "documents" {
        help: "the files that a document bubble is about; without any, the Markdown files that it changes",
        who: Bubble,
        until: Start,
        form: TextList(check::inside),
        default: Some(Vec::new()),
        rules: documents,
        flag: "--document",
        sample: "[\"docs/prd.md\"]",
        effect: "pairflow evidence::documents::only_the_documents_that_are_named_are_checked",
    }
    prd: String = "prd" {
        help: "the approved document that an implementation follows: a document bubble, or a file",
        who: Bubble,
        until: Creation,
        form: Text(check::text),
        default: None,
        flag: "--prd",
        sample: "\"docs/prd.md\"",
        effect: "pairflow evidence::documents::an_implementation_follows_an_approved_document_that_is_pinned_by_its_hash",
    }
    implementer: AgentId = "agents.implementer" {
        help: "the agent that works first; pairflow or your own configuration has to know it",
        who: Repository,
        until: Start,
        form: Name,
        default: Some(agent("codex")),
        rules: agents.implementer,
        flag: "--pair",
        effect: "pairflow spec::config::the_configured_agents_get_the_seats",
    }
    reviewer: AgentId = "agents.reviewer" {
        help: "the agent that reviews first",
        who: Repository,
        until: Start,
        form: Name,
        default: Some(agent("claude")),
        rules: agents.reviewer,
        flag: "--pair",
        effect: "pairflow spec::config::the_configured_agents_get_the_seats",
    }
    second_reviewer: AgentId = "agents.second_reviewer" {
        help: "a third agent that takes the second review; the seats then stay",
        who: Repository,
        until: Start,
        form: Name,
        default: None,
        rules: agents.second_reviewer,
        flag: "--pair",
        sample: "\"gemini\"",
        effect: "pairflow-core scenarios::rounds::a_third_agent_takes_the_second_review_and_the_seats_stay",
    }
    test: String = "commands.test" {
        help: "the command that tests the work",
        who: Repository,
        until: Approval,
        form: Text(check::text),
        default: None,
        flag: "--test",
        sample: "\"make test\"",
        effect: "pairflow evidence::findings::test_and_typecheck_are_run_by_pairflow_on_the_tree_and_kept_for_every_round",
    }
    typecheck: String = "commands.typecheck" {
        help: "the command that checks its types",
        who: Repository,
        until: Approval,
        form: Text(check::text),
        default: None,
        flag: "--typecheck",
        sample: "\"make typecheck\"",
        effect: "pairflow evidence::findings::test_and_typecheck_are_run_by_pairflow_on_the_tree_and_kept_for_every_round",
    }
    lint: String = "commands.lint" {
        help: "the command that lints it",
        who: Repository,
        until: Approval,
        form: Text(check::text),
        default: None,
        flag: "--lint",
        sample: "\"make lint\"",
        effect: "pairflow evidence::checkout::every_configured_command_is_run_as_a_check",
    }
    setup: String = "commands.setup" {
        help: "the command that runs once in a new worktree",
        who: Repository,
        until: Approval,
        form: Text(check::text),
        default: None,
        rules: setup,
        flag: "--setup",
        sample: "\"make deps\"",
        effect: "pairflow evidence::checkout::what_a_setup_command_changes_in_the_tree_is_put_back_before_a_check_runs",
    }
    red_green: bool = "evidence.red_green" {
        help: "true: new tests have to fail on the tree that the bubble was cut from",
        who: Repository,
        until: Approval,
        form: Truth,
        default: Some(false),
        note: "new tests have to fail on the base",
        written: IfChanged,
        effect: "pairflow evidence::findings::new_tests_have_to_fail_on_the_base_where_that_is_asked_for",
    }
    notifications_enabled: bool = "notifications.enabled" {
        help: "false: no sound, no bell, no desktop, no webhook",
        who: Person,
        until: End,
        form: Truth,
        default: Some(true),
        rules: notifications.enabled,
        effect: "pairflow supervisor::notifications::what_is_switched_off_is_silent_and_what_is_on_appears_on_the_desktop",
    }
    bell: bool = "notifications.bell" {
        help: "the status view rings when no sound can be played",
        who: Person,
        until: End,
        form: Truth,
        default: Some(true),
        rules: notifications.bell,
        effect: "pairflow-core views::notify::the_bell_rings_for_news_where_it_is_wanted",
    }
    desktop: bool = "notifications.desktop" {
        help: "true: a notification on the desktop, too",
        who: Person,
        until: End,
        form: Truth,
        default: Some(false),
        rules: notifications.desktop,
        effect: "pairflow supervisor::notifications::a_question_is_told_once",
    }
    waiting_human_sound: String = "notifications.waiting_human_sound" {
        help: "the sound file for a question",
        who: Person,
        until: End,
        form: Text(check::text),
        default: None,
        rules: notifications.waiting_human_sound,
        sample: "\"/path/to/question.wav\"",
        effect: "pairflow supervisor::notifications::a_question_is_told_once",
    }
    converged_sound: String = "notifications.converged_sound" {
        help: "the sound file for work that is up for approval",
        who: Person,
        until: End,
        form: Text(check::text),
        default: None,
        rules: notifications.converged_sound,
        sample: "\"/path/to/converged.wav\"",
        effect: "pairflow supervisor::notifications::convergence_plays_its_own_sound",
    }
    webhook: Webhook = "notifications.webhook" {
        help: "gets a JSON POST with \"text\"; a secret, so it can stand in your own file only",
        who: PersonsFile,
        until: End,
        form: Address,
        default: None,
        sample: "\"https://hooks.example.com/secret\"",
        effect: "pairflow supervisor::notifications::a_webhook_gets_the_question_as_json_once_whatever_it_answers",
    }
    risk_paths: Vec<String> = "risk.paths" {
        help: "globs of core logic, security, data: minor findings here have to be answered, too",
        who: Repository,
        until: Approval,
        form: TextList(check::glob),
        default: Some(Vec::new()),
        rules: risk,
        sample: "[\"src/auth/**\"]",
        effect: "pairflow-core scenarios::risk::a_p2_in_a_risky_path_has_to_be_answered",
    }
    scope_allow: Vec<String> = "scope.allow" {
        help: "globs of the files that may change; without any, all may",
        who: Repository,
        until: Approval,
        form: TextList(check::glob),
        default: Some(Vec::new()),
        rules: scope.allow,
        sample: "[\"src/**\", \"tests/**\"]",
        effect: "pairflow-core scenarios::commit::with_an_allow_list_everything_else_is_out_of_scope",
    }
    scope_deny: Vec<String> = "scope.deny" {
        help: "globs of files that may not change",
        who: Repository,
        until: Approval,
        form: TextList(check::glob),
        default: Some(Vec::new()),
        rules: scope.deny,
        sample: "[\"**/*.lock\"]",
        effect: "pairflow spec::config::the_scope_is_told_to_every_agent_and_held_against_every_round",
    }
}

keys! {
    /// What one place says about how an agent is started.
    CustomLayer,
    /// Every key of an `[agent.NAME]`.
    CUSTOM_KEYS, recorded in CustomAgent;

    command: Vec<String> = "command" {
        help: "the program and its arguments; claude and codex need none",
        who: Person,
        until: Start,
        form: CommandLineForm,
        default: None,
        rules: command,
        sample: "[\"gemini\"]",
        effect: "pairflow-agents specs::other_programs_are_described_by_the_configuration",
    }
    args: Vec<String> = "args" {
        help: "arguments that are added to every start",
        who: Person,
        until: Start,
        form: TextList(check::argument),
        default: None,
        rules: args,
        sample: "[\"--model\", \"pro\"]",
        effect: "pairflow-agents specs::other_programs_are_described_by_the_configuration",
    }
    resume: Vec<String> = "resume" {
        help: "how an earlier conversation goes on",
        who: Person,
        until: Start,
        form: CommandLineForm,
        default: None,
        rules: resume,
        sample: "[\"gemini\", \"--resume\", \"{session}\"]",
        effect: "pairflow-agents specs::other_programs_are_described_by_the_configuration",
    }
    prompt: PromptBy = "prompt" {
        help: "the first prompt is the last argument, or is pasted",
        who: Person,
        until: Start,
        form: OneOf(&[PromptBy::Argument, PromptBy::Paste]),
        default: Some(PromptBy::Argument),
        rules: prompt,
        effect: "pairflow-agents specs::other_programs_are_described_by_the_configuration",
    }
    hooks: HookKind = "hooks" {
        help: "whose hooks it understands; claude and codex have their own",
        who: Person,
        until: Start,
        form: OneOf(&[HookKind::Claude, HookKind::Codex, HookKind::None]),
        default: None,
        rules: hooks,
        sample: "\"none\"",
        effect: "pairflow-agents specs::a_program_with_known_hooks_is_that_program_under_another_name",
    }
    env: Vec<String> = "env" {
        help: "variables of yours that it gets as well",
        who: Person,
        until: Start,
        form: TextList(check::variable),
        default: None,
        rules: env,
        sample: "[\"GEMINI_API_KEY\"]",
        effect: "pairflow-agents specs::the_environment_is_what_was_named_and_nothing_else",
    }
}

fn agent(name: &str) -> AgentId {
    name.parse().expect("the default agents have good names")
}

/// Returns how long a key can change, one of an `agent.NAME` included. What is no key is fixed from the start on.
pub fn changes_until(name: &str) -> Until {
    let of_agent = name.strip_prefix("agent.").and_then(|rest| rest.split_once('.'));
    let (keys, name) = of_agent.map_or((KEYS, name), |(_, field)| (CUSTOM_KEYS, field));
    keys.iter().find(|key| key.name == name).map_or(Until::Creation, |key| key.until)
}
