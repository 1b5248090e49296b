//! What the command line may set, checked by the same rules as a file.

use super::check;
use super::error::{Complaint, ConfigError, ConfigErrors};
use super::layer::{Layer, Set};
use crate::ids::{AgentId, BubbleId};
use crate::rules::{BubbleKind, DriverKind, WorkMode};

/// The values of the command line. An empty list or `false` means: not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is the key of the same name, explained in the documentation of the files")]
pub struct Flags {
    pub id: Option<BubbleId>,
    pub repo_path: Option<String>,
    pub base_branch: Option<String>,
    pub work_mode: Option<WorkMode>,
    pub max_rounds: Option<u32>,
    pub driver: Option<DriverKind>,
    /// An absolute path: only the caller knows which directory a relative one starts from.
    pub script: Option<String>,
    pub no_tests: bool,
    pub manual_checks: Vec<String>,
    pub kind: Option<BubbleKind>,
    pub documents: Vec<String>,
    pub prd: Option<String>,
    /// Implementer and reviewer. Naming one agent twice is on purpose here, and only here.
    pub pair: Option<(AgentId, AgentId)>,
    pub second_reviewer: Option<AgentId>,
    pub test: Option<String>,
    pub typecheck: Option<String>,
    pub lint: Option<String>,
    pub setup: Option<String>,
}

impl Layer {
    /// Returns the layer of the command line.
    ///
    /// # Errors
    ///
    /// Every flag whose value no file could hold either.
    pub fn from_flags(flags: Flags) -> Result<Self, ConfigErrors> {
        let (implementer, reviewer) = flags.pair.unzip();
        // A script that is named is to be played.
        let driver = flags.driver.or(flags.script.as_ref().map(|_| DriverKind::Script));
        let mut checking = Checking { errors: Vec::new() };
        let layer = Self {
            id: flags.id.map(Set::flag),
            repo_path: checking.text("--repo", flags.repo_path, check::absolute),
            base_branch: checking.text("--base", flags.base_branch, check::branch),
            work_mode: flags.work_mode.map(Set::flag),
            max_rounds: checking.number("--max-rounds", flags.max_rounds, &check::ROUNDS),
            driver: driver.map(Set::flag),
            script: checking.text("--script", flags.script, check::absolute),
            no_tests: flags.no_tests.then(|| Set::flag(true)),
            manual_checks: checking.list("--manual-check", flags.manual_checks, check::text),
            kind: flags.kind.map(Set::flag),
            documents: checking.list("--document", flags.documents, check::inside),
            prd: checking.text("--prd", flags.prd, check::text),
            implementer: implementer.map(Set::flag),
            reviewer: reviewer.map(Set::flag),
            second_reviewer: flags.second_reviewer.map(Set::flag),
            test: checking.text("--test", flags.test, check::text),
            typecheck: checking.text("--typecheck", flags.typecheck, check::text),
            lint: checking.text("--lint", flags.lint, check::text),
            setup: checking.text("--setup", flags.setup, check::text),
            ..Self::default()
        };
        ConfigErrors::unless_any(checking.errors, layer)
    }
}

type TextCheck = fn(&str, &str) -> Result<String, Complaint>;

struct Checking {
    errors: Vec<ConfigError>,
}

impl Checking {
    fn text(&mut self, flag: &str, given: Option<String>, check: TextCheck) -> Option<Set<String>> {
        let checked = given.map(|text| check(flag, &text))?;
        self.keep(checked).map(Set::flag)
    }

    fn number<T>(&mut self, flag: &str, given: Option<T>, range: &std::ops::RangeInclusive<u64>) -> Option<Set<T>>
    where
        T: Copy + Into<u64>,
    {
        let given = given?;
        self.keep(check::number(flag, i128::from(given.into()), range)).map(|_| Set::flag(given))
    }

    fn list(&mut self, flag: &str, given: Vec<String>, check: TextCheck) -> Option<Set<Vec<String>>> {
        let good = given.iter().filter_map(|text| self.keep(check(flag, text))).collect::<Vec<_>>();
        (!given.is_empty()).then(|| Set::flag(good))
    }

    fn keep<T>(&mut self, checked: Result<T, Complaint>) -> Option<T> {
        checked.map_err(|complaint| self.errors.push(complaint.at(None))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_held_to_the_rules_of_a_file() {
        let flags = Flags {
            repo_path: Some("here".to_owned()),
            base_branch: Some("a b".to_owned()),
            max_rounds: Some(0),
            test: Some(" ".to_owned()),
            ..Flags::default()
        };
        let errors = Layer::from_flags(flags).unwrap_err().0;
        let messages: Vec<_> = errors.iter().map(|error| error.message.split(':').next().unwrap()).collect();
        let expected = [
            "--repo = \"here\" is a relative path",
            "--base = \"a b\" is no name that git allows for a branch",
            "--max-rounds = 0 is out of range; it goes from 1 to 1000",
            "--test is empty",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_script_is_played_unless_another_driver_is_named() {
        let driver = |driver: Option<DriverKind>, script: Option<&str>| {
            let flags = Flags { driver, script: script.map(str::to_owned), ..Flags::default() };
            Layer::from_flags(flags).unwrap().driver.map(|set| set.value)
        };
        assert_eq!(driver(None, Some("/a.yaml")), Some(DriverKind::Script));
        assert_eq!(driver(Some(DriverKind::External), Some("/a.yaml")), Some(DriverKind::External));
        assert_eq!(driver(None, None), None);
    }

    #[test]
    fn no_flags_are_an_empty_layer() {
        assert_eq!(Layer::from_flags(Flags::default()), Ok(Layer::default()));
    }
}
