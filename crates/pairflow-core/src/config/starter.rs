//! The `pairflow.toml` that a repository begins with: what was detected is set, everything else is shown as a comment
//! with its default.

use toml::Value;

/// A command that a new `pairflow.toml` sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StarterCommand {
    /// Its key beneath `[commands]`.
    pub key: &'static str,
    /// The command line; nothing if none was found.
    pub command: Option<String>,
    /// What speaks for it.
    pub because: String,
}

const HEAD: &str = r#"# How pairflow works in this repository. Everything here is optional; a flag and a bubble's own
# bubble.toml win over this file. See what is in force, and why: pairflow config explain
#
# Everybody who works in this repository shares this file, so it can set nothing that is yours: agents, permissions,
# notifications and your editor belong into ~/.config/pairflow/config.toml.

# base_branch = "main"                # the branch that bubbles are cut from; without it the current one
# work_mode = "worktree"              # or "clone"
# quality_mode = "strict"             # two clean reviews of the same tree, by different agents
# reviewer_context_mode = "fresh"     # or "persistent"
# watchdog_timeout_minutes = 5        # how long an agent may be silent before you are asked
# max_turn_minutes = 60               # how long a turn may take before you are asked, however busy the agent is
# max_rounds = 8                      # how many reviews there may be before you are asked
# commit_requires_approval = true     # always
# check_timeout_secs = 1800           # how long one check may run
# manual_checks = ["open the page and log in"]

[agents]
# implementer = "codex"               # agents that pairflow or your own configuration knows
# reviewer = "claude"
# second_reviewer = "gemini"          # takes the second review; the seats then stay
"#;

const TAIL: &str = r#"
[evidence]
# red_green = false                   # true: new tests have to fail on the tree that the bubble was cut from

[risk]
# paths = ["src/auth/**"]             # core logic, security, data: minor findings here have to be answered, too

[scope]
# allow = ["src/**", "tests/**"]      # only these may change; without it everything may
# deny = ["**/*.lock"]                # never these
"#;

/// What stands in for a command that was not found.
const SAMPLES: [(&str, &str); 4] =
    [("test", "make test"), ("typecheck", "make typecheck"), ("lint", "make lint"), ("setup", "make deps")];

/// Writes a `pairflow.toml` with `commands`, the rest as comments.
pub fn render_pairflow_toml(commands: &[StarterCommand]) -> String {
    let mut text = format!("{HEAD}\n[commands]\n");
    text.push_str(
        "# pairflow runs test, typecheck and lint itself on every tree; setup runs once in a new worktree.\n\
         # Each person is asked once whether to trust them, and again when they change: pairflow trust\n",
    );
    for (key, sample) in SAMPLES {
        let given = commands.iter().find(|one| one.key == key);
        match given.and_then(|one| Some((one.command.as_deref()?, &one.because))) {
            Some((command, because)) => {
                let because: String = because.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                text.push_str(&format!("{key} = {} # found in {because}\n", Value::from(command)));
            }
            None => text.push_str(&format!("# {key} = {}\n", Value::from(sample))),
        }
    }
    text.push_str(TAIL);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{KEYS, Layer, Mark, Source};

    fn found(command: &str) -> Vec<StarterCommand> {
        let because = "Makefile target \"test\"\n".to_owned();
        vec![StarterCommand { key: "test", command: Some(command.to_owned()), because }]
    }

    #[test]
    fn what_was_detected_is_set_and_nothing_else() {
        for command in ["make test", "sh -c 'a \"b\" \\ # c'", "say \u{1b}\n\u{fc}"] {
            let text = render_pairflow_toml(&found(command));
            let layer = Layer::parse_bytes("pairflow.toml", text.as_bytes(), Source::Repository).unwrap();
            assert_eq!(layer.test.as_ref().map(|set| set.value.as_str()), Some(command), "{text}");
            assert_eq!(Layer { test: None, ..layer }, Layer::default());
        }
    }

    #[test]
    fn every_key_of_a_repository_is_shown_and_good_as_it_stands() {
        let text = render_pairflow_toml(&[]);
        let key_line = |line: &&str| line.starts_with("# ") && line.contains(" = ");
        let open: String = text
            .lines()
            .filter(|line| line.starts_with('[') || key_line(line))
            .map(|line| format!("{}\n", line.trim_start_matches("# ")))
            .collect();
        let layer = Layer::parse_bytes("pairflow.toml", open.as_bytes(), Source::Repository);
        assert!(layer.is_ok(), "{layer:?}\n{open}");
        let own = include_str!("../../../../docs/configuration.md").split("```toml\n").nth(1).unwrap();
        let sample = Layer::parse("config.toml", own.split("```").next().unwrap(), Source::User);
        let sample = sample.unwrap().explain("");
        for key in KEYS {
            let marks = Layer::marks(key);
            let shared = marks.contains(&Mark::Repository) || marks.contains(&Mark::OneBubble);
            let shown = sample.iter().any(|row| row.key == *key && !row.value.is_null());
            assert_eq!(shown, !shared, "{key} in docs/configuration.md");
            let name = key.rsplit('.').next().unwrap_or(key);
            let own = Layer::marks(key).contains(&Mark::Repository);
            assert_eq!(text.contains(&format!("# {name} = ")), own, "{key}");
        }
    }
}
