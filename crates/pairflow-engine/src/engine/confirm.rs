//! Which check commands a person has confirmed for a repository: asked once, remembered, asked again when they change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pairflow_core::hash::sha256;
use pairflow_core::rules::Rules;

use crate::engine::{Engine, EngineError};

impl Engine {
    /// Whether a person has said yes to exactly these commands for the repository at `repo`.
    pub fn is_confirmed(&self, repo: &Path, rules: &Rules) -> bool {
        self.confirmed().get(&name(repo)).is_some_and(|hash| *hash == fingerprint(rules))
    }

    /// Remembers that a person said yes to these commands for the repository at `repo`.
    pub fn remember_confirmed(&self, repo: &Path, rules: &Rules) -> Result<(), EngineError> {
        let mut all = self.confirmed();
        all.insert(name(repo), fingerprint(rules));
        let path = self.confirmed_file();
        let json = serde_json::to_vec_pretty(&all).expect("a map of texts is always writable as JSON");
        let staged = path.with_extension(format!("{}.new", std::process::id()));
        std::fs::create_dir_all(&self.dirs.state)
            .and_then(|()| crate::regular::write(&staged, json))
            .and_then(|()| std::fs::rename(&staged, &path))
            .map_err(|error| EngineError::world(format!("cannot write {}", path.display()), error))
    }

    /// What was confirmed so far. A file that is missing or damaged only means that a person is asked again.
    fn confirmed(&self) -> BTreeMap<String, String> {
        let bytes = crate::regular::read(&self.confirmed_file()).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn confirmed_file(&self) -> PathBuf {
        self.dirs.state.join("confirmed.json")
    }
}

fn name(repo: &Path) -> String {
    repo.display().to_string()
}

/// A hash of every command that would be run.
fn fingerprint(rules: &Rules) -> String {
    let mut text = String::new();
    for check in &rules.checks {
        text.push_str(&format!("{}\0{}\0", check.name, check.command));
    }
    text.push_str(&format!("setup\0{}\0", rules.setup.as_deref().unwrap_or_default()));
    sha256(text.as_bytes())
}
