//! One place where values were set, and the four places together.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::error::Place;
use super::webhook::Webhook;
use crate::ids::{AgentId, BubbleId};
use crate::rules::{BubbleKind, ContextMode, DriverKind, HookKind, Permissions, PromptBy, WorkMode};

/// Makes a layer out of the list of keys, so that a key is merged and explained from the moment it is listed.
macro_rules! layer {
    (
        $(#[$doc:meta])* $layer:ident, $(#[$list_doc:meta])* $list:ident $(, $more:ident: $inner:ident = $table:literal)?;
        $($field:ident: $kind:ty = $key:literal,)*
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
        }
    };
}

layer! {
    /// The values that one place sets; what it leaves out is left to the places below.
    Layer,
    /// Every key, in the order in which files are written and values explained; a dot follows a table.
    KEYS, custom: CustomLayer = "agent";
    id: BubbleId = "id",
    repo_path: String = "repo_path",
    base_branch: String = "base_branch",
    bubble_branch: String = "bubble_branch",
    work_mode: WorkMode = "work_mode",
    quality_mode: QualityMode = "quality_mode",
    reviewer_context_mode: ContextMode = "reviewer_context_mode",
    watchdog_timeout_minutes: u32 = "watchdog_timeout_minutes",
    max_turn_minutes: u32 = "max_turn_minutes",
    max_rounds: u32 = "max_rounds",
    ask_unproven_after: u32 = "ask_unproven_after",
    commit_requires_approval: bool = "commit_requires_approval",
    open_command: String = "open_command",
    driver: DriverKind = "driver",
    script: String = "script",
    permissions: Permissions = "permissions",
    capture_output: bool = "capture_output",
    check_timeout_secs: u64 = "check_timeout_secs",
    no_tests: bool = "no_tests",
    manual_checks: Vec<String> = "manual_checks",
    kind: BubbleKind = "kind",
    documents: Vec<String> = "documents",
    prd: String = "prd",
    implementer: AgentId = "agents.implementer",
    reviewer: AgentId = "agents.reviewer",
    second_reviewer: AgentId = "agents.second_reviewer",
    test: String = "commands.test",
    typecheck: String = "commands.typecheck",
    lint: String = "commands.lint",
    setup: String = "commands.setup",
    red_green: bool = "evidence.red_green",
    notifications_enabled: bool = "notifications.enabled",
    bell: bool = "notifications.bell",
    desktop: bool = "notifications.desktop",
    waiting_human_sound: String = "notifications.waiting_human_sound",
    converged_sound: String = "notifications.converged_sound",
    webhook: Webhook = "notifications.webhook",
    risk_paths: Vec<String> = "risk.paths",
    scope_allow: Vec<String> = "scope.allow",
    scope_deny: Vec<String> = "scope.deny",
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
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A file set it.
    File(Source, Place),
    /// The command line set it.
    Flag,
}

/// Where the value of a key came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The key, with its table.
    pub key: String,
    /// The value; null if there is none.
    pub value: serde_json::Value,
    /// `flag`, `file:line` or `default`.
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
            Self::File(Source::Bubble, _) => 3,
            Self::Flag => 4,
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
            Self::Default | Self::Flag => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::File(_, place) => f.pad(&format!("{}:{}", place.file, place.line)),
            Self::Flag => f.pad("flag"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
