//! The whole environment of an agent: little of the person's, and what pairflow tells it.
//!
//! Nothing that is not named gets through, so that no secret of the person, no variable of an agent in whose terminal
//! pairflow was called and nothing of pairflow's own ends up in an agent's hands by accident.

use std::path::Path;

use pairflow_engine::process::may_inherit;

/// What agents get beyond what every command of a bubble gets. Keys that sign in the person's name are not among it.
const PERSON: [&str; 5] = ["NODE_EXTRA_CA_CERTS", "ALL_PROXY", "all_proxy", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];

/// The terminal that tmux is; every terminal database has it.
const TERMINAL: &str = "screen-256color";

/// Where programs are looked for if the person has no `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Which variables of the person an agent program gets, beyond what all of them get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvNames {
    /// These.
    pub names: &'static [&'static str],
    /// Those that begin so.
    pub prefixes: &'static [&'static str],
    /// Those that begin so, if the variable before them is set: credentials of one of several providers.
    pub with: &'static [(&'static str, &'static [&'static str])],
    /// Never those that begin so: they are about the conversation that pairflow itself was called in.
    pub outer: &'static [&'static str],
    /// What the person has added, by name. It wins over everything but pairflow's own variables.
    pub added: Vec<String>,
}

impl EnvNames {
    fn admit(&self, name: &str, person: &[(String, String)]) -> bool {
        if name.starts_with("PAIRFLOW_") {
            return false;
        }
        if self.added.iter().any(|added| added == name) {
            return true;
        }
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let set = |flag: &str| person.iter().any(|(name, value)| name == flag && !value.is_empty());
        let named = self.names.contains(&name) || begins(self.prefixes);
        let provided = || self.with.iter().any(|(flag, prefixes)| begins(prefixes) && set(flag));
        let person = may_inherit(name) || name.starts_with("XDG_") || PERSON.contains(&name);
        !begins(self.outer) && (person || named || provided())
    }
}

/// Returns the environment of an agent: what `names` admits of the person's, then `ours`, with the directory of
/// `program` before everything else in `PATH`.
pub fn environment(
    names: &EnvNames,
    person: &[(String, String)],
    ours: &[(String, String)],
    program: &Path,
) -> Vec<(String, String)> {
    let is_ours = |name: &str| ours.iter().any(|(one, _)| one == name);
    let own = |name: &str| matches!(name, "PATH" | "TERM") || is_ours(name);
    let mut env: Vec<_> = person.iter().filter(|(name, _)| !own(name) && names.admit(name, person)).cloned().collect();
    let path = person.iter().find(|(name, value)| name == "PATH" && !value.is_empty());
    let path = path.map_or(USUAL_PATH, |(_, value)| value);
    env.push(("PATH".to_owned(), with_first(program, path)));
    env.push(("TERM".to_owned(), TERMINAL.to_owned()));
    env.extend(ours.iter().cloned());
    env.sort();
    env.dedup_by(|later, first| later.0 == first.0);
    env
}

/// The agent has to find the same pairflow that started it, whatever else is installed.
fn with_first(program: &Path, path: &str) -> String {
    let dir = program.parent().map(|dir| dir.display().to_string()).filter(|dir| !dir.is_empty());
    match dir {
        Some(dir) => format!("{dir}:{path}"),
        None => path.to_owned(),
    }
}
