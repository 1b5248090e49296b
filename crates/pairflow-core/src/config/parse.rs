//! A file's text as a layer, or every mistake in it.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check;
use super::custom::{AGENT, is_misplaced};
use super::error::{Complaint, ConfigError, ConfigErrors, Place};
use super::keys::{TABLES, belongs_to_agent, misplaced, unknown};
use super::layer::{KEYS, Layer, Origin, Set, Source};
use super::read::{Given, Wrong};
use super::webhook::Webhook;

/// How many mistakes of one file are reported.
const MOST_ERRORS: usize = 50;

impl Layer {
    /// Reads `text`, the content of the file that messages call `file`.
    ///
    /// # Errors
    ///
    /// Every mistake of the file: broken TOML, unknown keys, wrong types, values out of range.
    pub fn parse(file: &str, text: &str, source: Source) -> Result<Self, ConfigErrors> {
        let (table, broken) = DeTable::parse_recoverable(text);
        let mut reading = Reading { file, text, source, layer: Self::default(), errors: Vec::new() };
        if broken.is_empty() {
            reading.table(table.get_ref());
            reading.require(table.get_ref());
        }
        for error in broken {
            reading.complain(Complaint::new(error.message()), error.span().unwrap_or(0..0));
        }
        reading.finish()
    }

    /// Reads `bytes`, which a file claims to be text.
    ///
    /// # Errors
    ///
    /// As [`Layer::parse`]; also if the bytes are no UTF-8, with the first bad byte.
    pub fn parse_bytes(file: &str, bytes: &[u8], source: Source) -> Result<Self, ConfigErrors> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(file, text, source),
            Err(error) => {
                let at = error.valid_up_to();
                let place = Place::of(file, &String::from_utf8_lossy(bytes), at..at + 1);
                Err(ConfigErrors(vec![ConfigError::new(place, &format!("byte {at} is no UTF-8 text"))]))
            }
        }
    }
}

/// A file that is being read.
pub(super) struct Reading<'a> {
    file: &'a str,
    text: &'a str,
    pub(super) source: Source,
    pub(super) layer: Layer,
    errors: Vec<ConfigError>,
}

impl Reading<'_> {
    fn table(&mut self, table: &DeTable<'_>) {
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            match value.get_ref() {
                DeValue::Table(inner) if name == AGENT => self.agents(inner),
                DeValue::Table(inner) if TABLES.contains(&name) => self.inner(name, inner),
                _ if TABLES.contains(&name) => {
                    let complaint = Complaint::new(format!("{name} must be a table"));
                    let title = if name == AGENT { "agent.NAME" } else { name };
                    self.complain(complaint.hint(format!("write [{title}] on a line of its own")), value.span());
                }
                _ => self.entry(name, key.span(), value),
            }
        }
    }

    fn inner(&mut self, table: &str, entries: &DeTable<'_>) {
        for (key, value) in entries.iter() {
            self.entry(&format!("{table}.{}", key.get_ref()), key.span(), value);
        }
    }

    fn entry(&mut self, key: &str, key_span: Range<usize>, value: &Spanned<DeValue<'_>>) {
        if self.is_full() {
            return;
        }
        if !KEYS.contains(&key) {
            let complaint = if is_misplaced(key, value) { belongs_to_agent(key) } else { unknown(key) };
            self.complain(complaint, key_span);
        } else if let Some(complaint) = misplaced(key, self.source) {
            self.complain(complaint, key_span);
        } else {
            self.set(&Given { key, value });
        }
    }

    /// Stores one value. One line a key.
    fn set(&mut self, given: &Given<'_, '_>) {
        let small = |number: u64| u32::try_from(number).expect("the ranges of these keys fit into 32 bits");
        match given.key {
            "id" => self.layer.id = self.keep(given, given.name()),
            "repo_path" => self.layer.repo_path = self.keep(given, given.text(check::absolute)),
            "base_branch" => self.layer.base_branch = self.keep(given, given.text(check::branch)),
            "bubble_branch" => self.layer.bubble_branch = self.keep(given, given.text(check::branch)),
            "work_mode" => self.layer.work_mode = self.keep(given, given.work_mode()),
            "quality_mode" => self.layer.quality_mode = self.keep(given, given.quality_mode()),
            "reviewer_context_mode" => self.layer.reviewer_context_mode = self.keep(given, given.context_mode()),
            "watchdog_timeout_minutes" => {
                self.layer.watchdog_timeout_minutes = self.keep(given, given.number(&check::MINUTES).map(small));
            }
            "max_turn_minutes" => {
                self.layer.max_turn_minutes = self.keep(given, given.number(&check::TURN_MINUTES).map(small));
            }
            "max_rounds" => self.layer.max_rounds = self.keep(given, given.number(&check::ROUNDS).map(small)),
            "commit_requires_approval" => self.layer.commit_requires_approval = self.keep(given, given.only_true()),
            "open_command" => self.layer.open_command = self.keep(given, given.text(check::open_command)),
            "driver" => self.layer.driver = self.keep(given, given.driver()),
            "script" => self.layer.script = self.keep(given, given.text(check::text)),
            "permissions" => self.layer.permissions = self.keep(given, given.permissions()),
            "capture_output" => self.layer.capture_output = self.keep(given, given.truth()),
            "check_timeout_secs" => self.layer.check_timeout_secs = self.keep(given, given.number(&check::SECONDS)),
            "checks_in" => self.layer.checks_in = self.keep(given, given.checks_in()),
            "check_env" => self.layer.check_env = self.keep(given, given.list(check::variable)),
            "no_tests" => self.layer.no_tests = self.keep(given, given.truth()),
            "manual_checks" => self.layer.manual_checks = self.keep(given, given.list(check::text)),
            "kind" => self.layer.kind = self.keep(given, given.kind()),
            "documents" => self.layer.documents = self.keep(given, given.list(check::inside)),
            "prd" => self.layer.prd = self.keep(given, given.text(check::text)),
            "evidence.red_green" => self.layer.red_green = self.keep(given, given.truth()),
            "risk.paths" => self.layer.risk_paths = self.keep(given, given.list(check::glob)),
            "agents.implementer" => self.layer.implementer = self.keep(given, given.name()),
            "agents.reviewer" => self.layer.reviewer = self.keep(given, given.name()),
            "agents.second_reviewer" => self.layer.second_reviewer = self.keep(given, given.name()),
            "commands.test" => self.layer.test = self.keep(given, given.text(check::text)),
            "commands.typecheck" => self.layer.typecheck = self.keep(given, given.text(check::text)),
            "commands.lint" => self.layer.lint = self.keep(given, given.text(check::text)),
            "commands.setup" => self.layer.setup = self.keep(given, given.text(check::text)),
            "notifications.enabled" => self.layer.notifications_enabled = self.keep(given, given.truth()),
            "notifications.bell" => self.layer.bell = self.keep(given, given.truth()),
            "notifications.desktop" => self.layer.desktop = self.keep(given, given.truth()),
            "notifications.webhook" => self.layer.webhook = self.keep(given, given.text(Webhook::read)),
            "notifications.waiting_human_sound" => {
                self.layer.waiting_human_sound = self.keep(given, given.text(check::text));
            }
            "notifications.converged_sound" => self.layer.converged_sound = self.keep(given, given.text(check::text)),
            "scope.allow" => self.layer.scope_allow = self.keep(given, given.list(check::glob)),
            "scope.deny" => self.layer.scope_deny = self.keep(given, given.list(check::glob)),
            key => self.complain(unknown(key), given.value.span()),
        }
    }

    pub(super) fn keep<T>(&mut self, given: &Given<'_, '_>, read: Result<T, Wrong>) -> Option<Set<T>> {
        match read {
            Ok(value) => {
                let origin = match self.source {
                    Source::Setting => Origin::Flag,
                    source => Origin::File(source, Place::of(self.file, self.text, given.value.span())),
                };
                Some(Set { value, origin })
            }
            Err(wrong) => {
                wrong.into_iter().for_each(|(complaint, span)| self.complain(complaint, span));
                None
            }
        }
    }

    /// Complains about what a bubble's own file has to say and does not.
    fn require(&mut self, table: &DeTable<'_>) {
        let needed = [
            ("id", "id = \"my-bubble\""),
            ("repo_path", "repo_path = \"/path/of/the/repository\""),
            ("base_branch", "base_branch = \"main\""),
        ];
        let missing = |(key, _): &(&str, &str)| self.source == Source::Bubble && !table.contains_key(*key);
        for (key, example) in needed.into_iter().filter(missing).collect::<Vec<_>>() {
            let complaint = Complaint::new(format!("a bubble.toml needs {key}"));
            self.complain(complaint.hint(format!("add a line such as {example}")), 0..0);
        }
    }

    /// Whether nobody reads on after so many mistakes; a hostile file must not cost more than this.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MOST_ERRORS
    }

    pub(super) fn complain(&mut self, complaint: Complaint, span: Range<usize>) {
        if self.is_full() {
            return;
        }
        // A command line has no lines to point to.
        let place = (self.source != Source::Setting).then(|| Place::of(self.file, self.text, span));
        self.errors.push(complaint.at(place));
    }

    fn finish(mut self) -> Result<Layer, ConfigErrors> {
        self.errors.sort_by_key(|error| error.place.as_ref().map(|place| place.span.start));
        ConfigErrors::unless_any(self.errors, self.layer)
    }
}
