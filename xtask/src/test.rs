//! `cargo xtask test`: everything a change has to pass, in one command.
//!
//! [`STEPS`] is the whole list; a new step is one line in it. Steps run in order and the first failure ends the run,
//! cheap ones first, so that a missing doc line is not found after minutes of tests. A step that only computes is begun
//! together with the one before it.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail, ensure};

use crate::ahead::Ahead;
use crate::{deny, kill, say, tidy, tools};

/// One step of the run.
struct Step {
    name: &'static str,
    action: Action,
}

/// What a step does.
enum Action {
    /// Runs cargo with these arguments.
    Cargo(&'static [&'static str]),
    /// Runs another command of the workshop in this process.
    Call(fn(&[String]) -> anyhow::Result<()>),
    /// Runs a proof of the workshop, begun together with the step before it.
    Ahead,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", action: Action::Cargo(&["fmt", "--all", "--check"]) },
    Step { name: "tidy", action: Action::Call(tidy::run) },
    Step { name: "deny", action: Action::Call(deny::run) },
    Step {
        name: "clippy",
        action: Action::Cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Step { name: "tools", action: Action::Call(tools::run) },
    Step { name: "test", action: Action::Cargo(&["test", "--quiet", "--workspace"]) },
    Step { name: "sim", action: Action::Ahead },
    Step { name: "kill", action: Action::Call(kill::run) },
];

/// Where chance begins in property tests, unless the environment says otherwise: the same tree passes or fails always.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20260221");

/// Runs all steps, or the one after `--only`; `--list` names them.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => run_steps(STEPS.iter()),
        ["--list"] => {
            STEPS.iter().for_each(|step| say::line(format_args!("{:<7} {}", step.name, step.shown())));
            Ok(())
        }
        ["--only", name] => run_steps(find(name)?),
        _ => bail!("usage: cargo xtask test [--only STEP | --list]"),
    }
}

fn find(name: &str) -> anyhow::Result<std::slice::Iter<'static, Step>> {
    let at = STEPS.iter().position(|step| step.name == name);
    let at = at.with_context(|| format!("there is no step `{name}`; `cargo xtask test --list` names them"))?;
    Ok(STEPS[at..=at].iter())
}

fn run_steps(steps: std::slice::Iter<'_, Step>) -> anyhow::Result<()> {
    let began = Instant::now();
    let (mut steps, mut ahead) = (steps.peekable(), None);
    while let Some(step) = steps.next() {
        say::line(format_args!("==> {}: {}", step.name, step.shown()));
        let began = Instant::now();
        let begun = ahead.take();
        if let Some(next) = steps.peek().filter(|next| matches!(next.action, Action::Ahead)) {
            ahead = Some(Ahead::begin(next.name)?);
        }
        let outcome = step.perform(begun);
        let secs = began.elapsed().as_secs_f32();
        if let Err(error) = outcome {
            bail!(
                "step `{}` failed after {secs:.1} s: {error:#}\n       repeat it with: cargo xtask test --only {}",
                step.name,
                step.name
            );
        }
        say::line(format_args!("    {} passed in {secs:.1} s", step.name));
    }
    say::line(format_args!("passed in {:.1} s", began.elapsed().as_secs_f32()));
    Ok(())
}

impl Step {
    /// The command line that does the same.
    fn shown(&self) -> String {
        match self.action {
            Action::Cargo(arguments) => format!("cargo {}", arguments.join(" ")),
            Action::Call(_) | Action::Ahead => format!("cargo xtask {}", self.name),
        }
    }

    fn perform(&self, begun: Option<Ahead>) -> anyhow::Result<()> {
        match self.action {
            Action::Ahead => begun.map_or_else(|| Ahead::begin(self.name), Ok)?.finish(),
            Action::Call(run) => run(&[]),
            Action::Cargo(arguments) => cargo(arguments),
        }
    }
}

fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    if std::env::var_os(SEED.0).is_none() {
        cargo.env(SEED.0, SEED.1);
    }
    let status = cargo.args(arguments).current_dir(tidy::root()).status();
    let status = status.context("cannot start cargo")?;
    ensure!(status.success(), "cargo {} ended with {status}", arguments.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_distinct_names_and_each_can_be_run_alone() {
        for step in STEPS {
            assert_eq!(STEPS.iter().filter(|other| other.name == step.name).count(), 1, "{}", step.name);
            assert_eq!(find(step.name).unwrap().len(), 1);
        }
    }

    #[test]
    fn a_step_that_is_a_command_of_the_workshop_carries_its_name() {
        for step in STEPS.iter().filter(|step| !matches!(step.action, Action::Cargo(_))) {
            assert!(crate::COMMANDS.iter().any(|command| command.name == step.name), "{}", step.name);
        }
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_way_to_the_list() {
        let error = run(&["--only".into(), "lint".into()]).unwrap_err().to_string();
        assert_eq!(error, "there is no step `lint`; `cargo xtask test --list` names them");
    }

    #[test]
    fn a_failing_step_is_named_with_the_command_that_repeats_it() {
        let broken = [Step { name: "broken", action: Action::Call(|_| bail!("the pipe leaks")) }];
        let error = run_steps(broken.iter()).unwrap_err().to_string();
        assert!(error.starts_with("step `broken` failed after "), "{error}");
        assert!(error.ends_with("the pipe leaks\n       repeat it with: cargo xtask test --only broken"), "{error}");
    }
}
