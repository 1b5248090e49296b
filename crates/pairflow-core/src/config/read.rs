//! Values of a TOML file as the types that keys have.

use std::str::FromStr;

use toml::Spanned;
use toml::de::DeValue;

use super::check;
use super::error::Complaint;
use super::layer::QualityMode;
use crate::rules::{BubbleKind, ChecksIn, ContextMode, DriverKind, HookKind, Permissions, PromptBy, WorkMode};

/// What is wrong with a value, and with which part of it.
pub(super) type Wrong = Vec<(Complaint, std::ops::Range<usize>)>;

/// A value of a file, with its key.
pub(super) struct Given<'a, 'i> {
    pub(super) key: &'a str,
    pub(super) value: &'a Spanned<DeValue<'i>>,
}

impl Given<'_, '_> {
    /// Reads a text that `check` accepts.
    pub(super) fn text<T>(&self, check: impl Fn(&str, &str) -> Result<T, Complaint>) -> Result<T, Wrong> {
        let text = self.value.get_ref().as_str().ok_or_else(|| self.mistyped("a text in quotes"))?;
        check(self.key, text).map_err(|complaint| self.wrong(complaint))
    }

    /// Reads a name of the type `T`.
    pub(super) fn name<T: FromStr<Err: std::fmt::Display>>(&self) -> Result<T, Wrong> {
        self.text(|key, text| text.parse().map_err(|why| Complaint::new(format!("{key} = {text:?}: {why}"))))
    }

    /// Reads one of the words that `choices` lists.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, Wrong> {
        self.text(|key, text| {
            let found = choices.iter().find(|(word, _)| *word == text);
            let words = choices.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(" or ");
            found
                .map(|(_, value)| *value)
                .ok_or_else(|| Complaint::new(format!("{key} = {text:?} is unknown; it is {words}")))
        })
    }

    /// Reads a whole number within `range`.
    pub(super) fn number(&self, range: &std::ops::RangeInclusive<u64>) -> Result<u64, Wrong> {
        let given = self.value.get_ref().as_integer().ok_or_else(|| self.mistyped("a whole number"))?;
        // Nothing that exceeds 128 bits is in any range, whatever its exact value.
        let number = i128::from_str_radix(given.as_str(), given.radix()).unwrap_or(i128::MAX);
        check::number(self.key, number, range).map_err(|complaint| self.wrong(complaint))
    }

    /// Reads true or false.
    pub(super) fn truth(&self) -> Result<bool, Wrong> {
        self.value.get_ref().as_bool().ok_or_else(|| self.mistyped("true or false"))
    }

    /// Reads a list of texts, each of which `check` accepts. All bad ones are reported.
    pub(super) fn list(&self, check: fn(&str, &str) -> Result<String, Complaint>) -> Result<Vec<String>, Wrong> {
        let list = self.value.get_ref().as_array().ok_or_else(|| self.mistyped("a list of texts in brackets"))?;
        let (mut good, mut wrong) = (Vec::new(), Vec::new());
        for value in list.iter() {
            match (Given { key: self.key, value }).text(check) {
                Ok(text) => good.push(text),
                Err(more) => wrong.extend(more),
            }
        }
        if wrong.is_empty() { Ok(good) } else { Err(wrong) }
    }

    /// Reads the words of a command line: a program that has a name, and its arguments.
    pub(super) fn command_line(&self) -> Result<Vec<String>, Wrong> {
        let words = self.list(check::argument)?;
        match words.first() {
            Some(program) => check::text(self.key, program).map_err(|complaint| self.wrong(complaint))?,
            None => {
                let hint = format!("write the program first, such as {} = [\"my-agent\"]", self.key);
                return Err(self.wrong(Complaint::new(format!("{} names no program", self.key)).hint(hint)));
            }
        };
        Ok(words)
    }

    pub(super) fn work_mode(&self) -> Result<WorkMode, Wrong> {
        self.choice(&[("worktree", WorkMode::Worktree), ("clone", WorkMode::Clone)])
    }

    pub(super) fn checks_in(&self) -> Result<ChecksIn, Wrong> {
        self.choice(&[("checkout", ChecksIn::Checkout), ("worktree", ChecksIn::Worktree)])
    }

    pub(super) fn kind(&self) -> Result<BubbleKind, Wrong> {
        self.choice(&[
            ("code", BubbleKind::Code),
            ("implementation", BubbleKind::Implementation),
            ("document", BubbleKind::Document),
        ])
    }

    pub(super) fn context_mode(&self) -> Result<ContextMode, Wrong> {
        self.choice(&[("fresh", ContextMode::Fresh), ("persistent", ContextMode::Persistent)])
    }

    pub(super) fn driver(&self) -> Result<DriverKind, Wrong> {
        self.choice(&[("tmux", DriverKind::Tmux), ("external", DriverKind::External), ("script", DriverKind::Script)])
    }

    pub(super) fn permissions(&self) -> Result<Permissions, Wrong> {
        self.choice(&[("ask", Permissions::Ask), ("edits", Permissions::Edits), ("all", Permissions::All)])
    }

    pub(super) fn prompt(&self) -> Result<PromptBy, Wrong> {
        self.choice(&[("argument", PromptBy::Argument), ("paste", PromptBy::Paste)])
    }

    pub(super) fn hooks(&self) -> Result<HookKind, Wrong> {
        self.choice(&[("claude", HookKind::Claude), ("codex", HookKind::Codex), ("none", HookKind::None)])
    }

    pub(super) fn quality_mode(&self) -> Result<QualityMode, Wrong> {
        self.text(|key, text| match text {
            "strict" => Ok(QualityMode::Strict),
            _ => Err(Complaint::new(format!("{key} = {text:?} is out of scope; only \"strict\" exists"))),
        })
    }

    /// Reads a truth that may not be false.
    pub(super) fn only_true(&self) -> Result<bool, Wrong> {
        let no = || Complaint::new(format!("{} = false is refused: nothing is committed without approval", self.key));
        let hint = "leave the key out, and approve with `pairflow approve`";
        if self.truth()? { Ok(true) } else { Err(self.wrong(no().hint(hint))) }
    }

    fn mistyped(&self, wanted: &str) -> Wrong {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.wrong(Complaint::new(format!("{} must be {wanted}, not {found}", self.key)))
    }

    fn wrong(&self, complaint: Complaint) -> Wrong {
        vec![(complaint, self.value.span())]
    }
}
