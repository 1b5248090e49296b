//! Commands run only after the person has agreed to them: trusted if the repository's own file says them, confirmed if they
//! were detected. What the person said on the command line or in their own file needs neither.

use std::path::Path;

use pairflow_core::config::{CommandInForce, CommandSet, Layers};
use pairflow_core::view::safe::revealed;
use pairflow_engine::detect::Detected;
use pairflow_engine::engine::{Agreed, Confirmed, Engine};

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;

/// How wide the names of commands are, the gap included.
const NAME_WIDTH: usize = 11;

/// What would be run, and what the person said about it on the command line.
pub(crate) struct Consent<'a> {
    /// The repository's root.
    pub root: &'a Path,
    /// The whole configuration.
    pub layers: &'a Layers,
    /// What was detected, with what speaks for it.
    pub detected: &'a Detected,
    /// The hash that the person trusts.
    pub trust: Option<&'a str>,
    /// Whether the person takes the detected commands.
    pub yes: bool,
    /// The command line to type again.
    pub again: &'a str,
}

/// What of it the person has not agreed to yet.
struct Open {
    /// The commands of the repository's own file, if they are not trusted.
    trust: Option<CommandSet>,
    /// The detected commands, if they are not confirmed.
    detected: Option<CommandSet>,
}

impl App {
    /// Insists that the person has agreed to every command that is not their own; asks once for all of them.
    pub(crate) fn consent(&self, out: &mut Out, it: &Consent<'_>) -> Result<Confirmed, CommandError> {
        let engine = self.engine()?;
        let text: CommandSet = it.layers.repo.commands().into_iter().collect();
        if let Some(hash) = it.trust {
            self.trust_hash(out, it, hash)?;
        }
        let commands = it.layers.commands();
        let foreign = commands.iter().any(CommandInForce::is_repository);
        let detected: CommandSet = commands.iter().filter(|one| one.is_detected()).cloned().collect();
        let unless = |agreed: bool, commands: &CommandSet| (!agreed).then(|| commands.clone());
        let has = |kind, commands: &CommandSet| engine.agreed(it.root, kind).as_ref() == Some(commands);
        let open = Open {
            trust: unless(!foreign || has(Agreed::Trusted, &text), &text),
            detected: unless(detected.is_empty() || it.yes || has(Agreed::Detected, &detected), &detected),
        };
        if open.trust.is_none() && open.detected.is_none() {
            return Ok(match () {
                () if !detected.is_empty() && it.yes => Confirmed::Yes,
                () if it.trust.is_some() => Confirmed::Trusted,
                () if foreign || !detected.is_empty() => Confirmed::Before,
                () => Confirmed::Explicit,
            });
        }
        show(out, it, &engine, &commands);
        if !self.interactive() {
            return Err(open.refusal(it));
        }
        let root = it.root.display();
        let question = match &open.trust {
            Some(_) => format!("Trust these commands in {root}?"),
            None => format!("Check the work in {root} with these commands?"),
        };
        if !self.confirm(out, &question)? {
            let message = "you did not agree to the commands, so nothing was run. Change them in pairflow.toml, or name \
                your own with --test and --setup.";
            return Err(CommandError::refused(message));
        }
        if let Some(text) = &open.trust {
            engine.agree(it.root, Agreed::Trusted, text)?;
        }
        if let Some(detected) = &open.detected {
            engine.agree(it.root, Agreed::Detected, detected)?;
        }
        Ok(Confirmed::Asked)
    }

    /// Trusts the commands of the repository's own file if they have this hash.
    pub(crate) fn trust_hash(&self, out: &mut Out, it: &Consent<'_>, hash: &str) -> Result<(), CommandError> {
        let text: CommandSet = it.layers.repo.commands().into_iter().collect();
        let file = it.root.join("pairflow.toml");
        if text.is_empty() {
            let message = format!("{} sets no commands, so there is nothing to trust.", file.display());
            return Err(CommandError::refused(message).next(it.again));
        }
        let engine = self.engine()?;
        if text.hash() != hash {
            show(out, it, &engine, &it.layers.repo.commands());
            let message = format!(
                "the commands of {} do not have the hash {hash}. Read them before you trust them.",
                file.display()
            );
            return Err(CommandError::refused(message).next(format_args!("{} --trust={}", it.again, text.hash())));
        }
        Ok(engine.agree(it.root, Agreed::Trusted, &text)?)
    }

    /// The command as it was typed, without a hash that was not right.
    pub(crate) fn typed_again(&self) -> String {
        let mut skip = false;
        let mut kept = Vec::new();
        for word in &self.given {
            let trust = word == "--trust";
            if !skip && !trust && !word.starts_with("--trust=") {
                kept.push(super::quoted(word));
            }
            skip = trust && !skip;
        }
        let all: String = self.given.iter().map(|word| format!(" {}", super::quoted(word))).collect();
        let verb = self.typed.strip_suffix(&all).unwrap_or(&self.typed);
        kept.iter().fold(verb.to_owned(), |line, word| line + " " + word)
    }
}

impl Open {
    /// Says without a terminal what has to be added to the command line.
    fn refusal(&self, it: &Consent<'_>) -> CommandError {
        let file = it.root.join("pairflow.toml");
        let foreign = format!("the commands of {} are not trusted", file.display());
        let (what, flags) = match (&self.trust, &self.detected) {
            (Some(text), Some(_)) => (
                format!("{foreign}, and the detected ones are not confirmed"),
                format!("--yes --trust={}", text.hash()),
            ),
            (Some(text), None) => (foreign, format!("--trust={}", text.hash())),
            (None, _) => ("the detected commands are not confirmed".to_owned(), "--yes".to_owned()),
        };
        let message =
            format!("{what}, and there is no terminal to ask on. Nothing was run. Read them, then add {flags}");
        CommandError::refused(message).next(format_args!("{} {flags}", it.again))
    }
}

/// Shows on one screen what would be run, and where each command comes from.
fn show(out: &mut Out, it: &Consent<'_>, engine: &Engine, commands: &[CommandInForce]) {
    let foreign = commands.iter().any(CommandInForce::is_repository);
    let old = engine.agreed(it.root, Agreed::Trusted).filter(|_| foreign);
    let text: CommandSet = it.layers.repo.commands().into_iter().collect();
    let whose = match (foreign, commands.iter().any(CommandInForce::is_detected)) {
        (true, false) => {
            "The pairflow.toml of this repository sets commands. pairflow would run on this machine, as you:"
        }
        (false, true) => "No commands are configured; these were detected. pairflow would run on this machine, as you:",
        _ => "pairflow would run on this machine, as you:",
    };
    out.note(format_args!("{whose}"));
    out.note(format_args!(""));
    for one in commands {
        show_command(out, one, &origin(it, one));
    }
    out.note(format_args!(""));
    match old {
        Some(old) => show_changes(out, &old, &text),
        None => out.note(format_args!("Nothing has run yet. You are asked again when a command changes.")),
    }
}

/// Shows commands with the place of each, for `pairflow trust`.
pub(crate) fn show_commands(out: &mut Out, commands: &[CommandInForce]) {
    commands.iter().for_each(|one| show_command(out, one, &one.source.to_string()));
}

/// Returns `text` whole: what a terminal would obey is named, and further lines are indented so that none can look like
/// one of ours.
pub(crate) fn unfolded(text: &str, indent: usize) -> String {
    revealed(text).replace('\n', &format!("\n{:indent$}", ""))
}

/// Nothing of a command stays hidden.
fn show_command(out: &mut Out, one: &CommandInForce, source: &str) {
    let when = if one.name == "setup" { "once in each new worktree" } else { "on every tree that is handed over" };
    out.note(format_args!("  {:NAME_WIDTH$}{}", one.name, unfolded(&one.command, NAME_WIDTH + 2)));
    out.note(format_args!("  {:NAME_WIDTH$}{source}, {when}", ""));
}

fn show_changes(out: &mut Out, old: &CommandSet, new: &CommandSet) {
    let changes = new.changes_since(old);
    if changes.is_empty() {
        return;
    }
    out.note(format_args!("Changed since you trusted this repository:"));
    for change in changes {
        for (sign, command) in [("-", &change.old), ("+", &change.new)] {
            if let Some(command) = command {
                out.note(format_args!("  {sign} {:9}{}", change.name, unfolded(command, NAME_WIDTH + 2)));
            }
        }
    }
    out.note(format_args!(""));
}

fn origin(it: &Consent<'_>, one: &CommandInForce) -> String {
    let Detected { test, typecheck, lint, setup } = it.detected;
    let found = [("test", test), ("typecheck", typecheck), ("lint", lint), ("setup", setup)];
    let because = found.into_iter().find(|(name, _)| *name == one.name).and_then(|(_, found)| found.as_ref());
    match because.filter(|_| one.is_detected()) {
        Some(found) => format!("detected: {}", found.because),
        None => one.source.to_string(),
    }
}
