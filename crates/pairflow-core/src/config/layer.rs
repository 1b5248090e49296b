//! One place where values were set, and the four places together.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::error::Place;
use super::webhook::Webhook;
use crate::ids::{AgentId, BubbleId};
use crate::rules::{BubbleKind, ChecksIn, ContextMode, DriverKind, HookKind, Permissions, PromptBy, WorkMode};

/// Makes a layer out of the list of keys, so that a key is merged and explained from the moment it is listed.
macro_rules! layer {
    (
        $(#[$doc:meta])* $layer:ident, $(#[$list_doc:meta])* $list:ident $(, $more:ident: $inner:ident = $table:literal)?;
        $($field:ident: $kind:ty = $key:literal $([$($mark:ident),*])?,)*
    ) => {
        $(#[$list_doc])*
        pub const $list: &[&str] = &[$($key),*];

        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct $layer {
            $(#[doc = concat!("`", $key, "`")] pub $field: Option<Set<$kind>>,)*
            $(#[doc = concat!("`[", $table, ".NAME]`")] pub $more: BTreeMap<AgentId, $inner>,)?
        }

        impl $layer {
            /// Fills what this layer leaves out with what `weaker` sets.
            pub(super) fn or(self, weaker: &Self) -> Self {
                $(let mut $more = self.$more;
                for (name, below) in &weaker.$more {
                    let above = $more.remove(name).unwrap_or_default();
                    $more.insert(name.clone(), above.or(below));
                })?
                Self { $($field: self.$field.or_else(|| weaker.$field.clone()),)* $($more)? }
            }

            /// Says for every key what is set and where; `table` stands before its name.
            pub(super) fn explain(&self, table: &str) -> Vec<Explained> {
                let rows = vec![$(Explained::of(format!("{table}{}", $key), self.$field.as_ref())),*];
                $(let inner = self.$more.iter().flat_map(|(name, one)| one.explain(&format!("{}.{name}.", $table)));
                let rows = rows.into_iter().chain(inner.filter(|row| !row.value.is_null())).collect();)?
                rows
            }

            /// Returns the marks of a key; none for one that is the person's own, or unknown.
            #[allow(dead_code, reason = "the keys of an agent have no marks")]
            pub(super) fn marks(key: &str) -> &'static [Mark] {
                match key {
                    $($key => &[$($(Mark::$mark),*)?],)*
                    _ => &[],
                }
            }

            /// Takes back the value of a key.
            #[allow(dead_code, reason = "the keys of an agent are not changed one by one")]
            pub(super) fn unset(&mut self, key: &str) {
                match key {
                    $($key => self.$field = None,)*
                    _ => {}
                }
            }
        }
    };
}

/// What is special about a key. Without a mark a key is the person's own: it is set in the person's own file or in the
/// `bubble.toml`, and stays as it was when the bubble was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A repository's `pairflow.toml` may set it, too.
    Repository,
    /// It belongs to one bubble, so no shared file may set it.
    OneBubble,
    /// Only the person's own file may set it: it is a secret, or decides where one goes.
    PersonOnly,
    /// It can be changed while the bubble is under way.
    Live,
}

layer! {
    /// The values that one place sets; what it leaves out is left to the places below.
    Layer,
    /// Every key, in the order in which files are written and values explained; a dot follows a table. A key without
    /// `Repository` behind it is an error in a repository's file.
    KEYS, custom: CustomLayer = "agent";
    id: BubbleId = "id" [OneBubble],
    repo_path: String = "repo_path" [OneBubble],
    base_branch: String = "base_branch" [Repository],
    bubble_branch: String = "bubble_branch" [OneBubble],
    work_mode: WorkMode = "work_mode" [Repository],
    quality_mode: QualityMode = "quality_mode" [Repository],
    reviewer_context_mode: ContextMode = "reviewer_context_mode" [Repository],
    watchdog_timeout_minutes: u32 = "watchdog_timeout_minutes" [Repository, Live],
    max_turn_minutes: u32 = "max_turn_minutes" [Repository, Live],
    max_rounds: u32 = "max_rounds" [Repository, Live],
    commit_requires_approval: bool = "commit_requires_approval" [Repository],
    open_command: String = "open_command" [Live],
    driver: DriverKind = "driver",
    script: String = "script",
    permissions: Permissions = "permissions",
    capture_output: bool = "capture_output",
    check_timeout_secs: u64 = "check_timeout_secs" [Repository, Live],
    checks_in: ChecksIn = "checks_in" [Live],
    check_env: Vec<String> = "check_env" [PersonOnly],
    no_tests: bool = "no_tests",
    manual_checks: Vec<String> = "manual_checks" [Repository, Live],
    kind: BubbleKind = "kind" [OneBubble],
    documents: Vec<String> = "documents" [OneBubble],
    prd: String = "prd" [OneBubble],
    implementer: AgentId = "agents.implementer" [Repository],
    reviewer: AgentId = "agents.reviewer" [Repository],
    second_reviewer: AgentId = "agents.second_reviewer" [Repository],
    test: String = "commands.test" [Repository, Live],
    typecheck: String = "commands.typecheck" [Repository, Live],
    lint: String = "commands.lint" [Repository, Live],
    setup: String = "commands.setup" [Repository, Live],
    red_green: bool = "evidence.red_green" [Repository, Live],
    notifications_enabled: bool = "notifications.enabled" [Live],
    bell: bool = "notifications.bell" [Live],
    desktop: bool = "notifications.desktop" [Live],
    waiting_human_sound: String = "notifications.waiting_human_sound" [Live],
    converged_sound: String = "notifications.converged_sound" [Live],
    webhook: Webhook = "notifications.webhook" [PersonOnly],
    risk_paths: Vec<String> = "risk.paths" [Repository, Live],
    scope_allow: Vec<String> = "scope.allow" [Repository, Live],
    scope_deny: Vec<String> = "scope.deny" [Repository, Live],
}

layer! {
    /// What one place says about how an agent is started.
    CustomLayer,
    /// Every key of an `[agent.NAME]`.
    CUSTOM_KEYS;
    command: Vec<String> = "command",
    args: Vec<String> = "args",
    resume: Vec<String> = "resume",
    prompt: PromptBy = "prompt",
    hooks: HookKind = "hooks",
    env: Vec<String> = "env",
}

/// The four places that values come from, the strongest first. An absent file is an empty layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layers {
    /// The command line.
    pub flags: Layer,
    /// The bubble's own `bubble.toml`.
    pub bubble: Layer,
    /// The repository's `pairflow.toml`.
    pub repo: Layer,
    /// The person's own `config.toml`.
    pub user: Layer,
}

/// A value, and where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub origin: Origin,
}

/// A kind of file that sets values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The person's own `config.toml`.
    User,
    /// The repository's `pairflow.toml`.
    Repository,
    /// The bubble's own `bubble.toml`.
    Bubble,
    /// No file: the command line of `config set`.
    Setting,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A file set it.
    File(Source, Place),
    /// It is recorded in the bubble's log.
    Log(Recorded),
    /// The command line set it.
    Flag,
}

/// The line of a log that a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Its number.
    pub seq: u64,
    /// The command that led to it.
    pub by: &'static str,
}

/// Where the value of a key came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The key, with its table.
    pub key: String,
    /// The value; null if there is none.
    pub value: serde_json::Value,
    /// `flag`, `file:line`, `log #seq (command)` or `default`.
    pub source: Origin,
}

/// How strict the loop is. There is one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QualityMode {
    /// Two different agents have to review the same snapshot clean.
    Strict,
}

impl<T> Set<T> {
    /// Returns a value that the command line set.
    pub fn flag(value: T) -> Self {
        Self { value, origin: Origin::Flag }
    }

    /// Returns a value that nobody set.
    pub fn default(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }
}

impl Explained {
    fn of<T: Serialize>(key: String, set: Option<&Set<T>>) -> Self {
        let json = |value| serde_json::to_value(value).expect("names, numbers, truths and lists of texts are JSON");
        let value = set.map_or(serde_json::Value::Null, |set| json(&set.value));
        Self { key, value, source: set.map_or(Origin::Default, |set| set.origin.clone()) }
    }
}

impl Origin {
    /// Ranks origins: the higher number wins.
    pub(super) fn strength(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File(Source::User, _) => 1,
            Self::File(Source::Repository, _) => 2,
            Self::File(Source::Bubble, _) | Self::Log(_) => 3,
            Self::Flag | Self::File(Source::Setting, _) => 4,
        }
    }

    /// Whether a value from here was chosen for one bubble, not for all of them.
    pub(super) fn is_for_one_bubble(&self) -> bool {
        self.strength() >= 3
    }

    /// Returns the place in a file, if the value came from one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::File(_, place) => Some(place),
            Self::Default | Self::Log(_) | Self::Flag => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::File(_, place) => f.pad(&format!("{}:{}", place.file, place.line)),
            Self::Log(line) => f.pad(&format!("log #{} ({})", line.seq, line.by)),
            Self::Flag => f.pad("flag"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
