//! Commands run only after the person has agreed to them: trusted if the repository's own file says them, confirmed if they
//! were detected. What the person said on the command line or in their own file needs neither.

use std::collections::BTreeMap;
use std::path::Path;

use pairflow_core::config::{CommandInForce, CommandSet, Layers, Origin};
use pairflow_core::ids::BubbleId;
use pairflow_core::safe::revealed;
use pairflow_core::view::brief::REPLACEABLE;
use pairflow_engine::detect::Detected;
use pairflow_engine::engine::{Agreed, Engine};
use pairflow_engine::verbs::Confirmed;

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;

/// How wide the names of commands are, the gap included.
const NAME_WIDTH: usize = 11;

/// What would be run, and what the person said about it on the command line.
pub(crate) struct Consent<'a> {
    /// What it would be run for.
    pub purpose: Purpose<'a>,
    /// The repository's root.
    pub root: &'a Path,
    /// The whole configuration.
    pub layers: &'a Layers,
    /// The repository's templates of briefs.
    pub templates: &'a [CommandInForce],
    /// What was detected, with what speaks for it.
    pub detected: &'a Detected,
    /// The hash that the person trusts.
    pub trust: Option<&'a str>,
    /// Whether the person takes the detected commands.
    pub yes: bool,
    /// Whether a program reads the answer, so that nothing is asked.
    pub json: bool,
    /// The command line to type again.
    pub again: &'a str,
}

/// What the commands are needed for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// A new bubble.
    Make,
    /// The start of a bubble.
    Start(&'a BubbleId),
    /// Nothing yet: they are only trusted.
    Trust,
}

/// What of it the person has not agreed to yet.
struct Unconfirmed {
    /// The commands of the repository's own file, if they are not trusted.
    trust: Option<CommandSet>,
    /// The detected commands, if they are not confirmed.
    detected: Option<CommandSet>,
}

impl App {
    /// Insists that the person has agreed to every command that would run and is not their own; asks once for all of them.
    pub(crate) fn consent(&self, out: &mut Out, it: &Consent<'_>) -> Result<Confirmed, CommandError> {
        let engine = self.engine()?;
        if let Some(hash) = it.trust {
            self.trust_hash(out, it, hash)?;
        }
        let commands = it.commands();
        let of = |kind: fn(&CommandInForce) -> bool| commands.iter().filter(|one| kind(one)).cloned().collect();
        let (foreign, detected): (CommandSet, CommandSet) =
            (of(CommandInForce::is_repository), of(CommandInForce::is_detected));
        let unless = |agreed: bool, commands: &CommandSet| (!agreed).then(|| commands.clone());
        let open = Unconfirmed {
            trust: unless(engine.has_agreed(it.root, Agreed::Trusted, &foreign), &foreign),
            detected: unless(it.yes || engine.has_agreed(it.root, Agreed::Detected, &detected), &detected),
        };
        if open.trust.is_none() && open.detected.is_none() {
            return Ok(match () {
                () if !detected.is_empty() && it.yes => Confirmed::Yes,
                () if it.trust.is_some() => Confirmed::Trusted,
                () if !foreign.is_empty() || !detected.is_empty() => Confirmed::Before,
                () => Confirmed::Explicit,
            });
        }
        show(out, it, &engine, &commands);
        if it.json || !self.interactive() {
            return Err(open.refusal(it));
        }
        let root = it.root.display();
        let question = match &open.trust {
            Some(_) if !it.templates.is_empty() => format!("Trust these commands and templates in {root}?"),
            Some(_) => format!("Trust these commands in {root}?"),
            None => format!("Use these commands to check the work in {root}?"),
        };
        if !self.confirm(out, &question)? {
            return Err(it.declined(&commands));
        }
        if let Some(foreign) = &open.trust {
            engine.agree(it.root, Agreed::Trusted, &it.remembered(&engine, foreign))?;
        }
        if let Some(detected) = &open.detected {
            engine.agree(it.root, Agreed::Detected, detected)?;
        }
        Ok(Confirmed::Asked)
    }

    /// Trusts the commands of the repository's own file if they have this hash: all of them, or those that would run.
    pub(crate) fn trust_hash(&self, out: &mut Out, it: &Consent<'_>, hash: &str) -> Result<(), CommandError> {
        let file = it.root.join("pairflow.toml");
        let (text, commands) = (it.text(), it.commands());
        if text.is_empty() {
            let message = format!("{} sets no commands; there is nothing to trust.", file.display());
            return Err(CommandError::refused(message).next(it.again));
        }
        let foreign: CommandSet = commands.iter().filter(|one| one.is_repository()).cloned().collect();
        let engine = self.engine()?;
        if let Some(seen) = [&text, &foreign].into_iter().find(|set| set.hash() == hash) {
            return Ok(engine.agree(it.root, Agreed::Trusted, &it.remembered(&engine, seen))?);
        }
        show(out, it, &engine, &commands);
        let message = format!(
            "the commands of {} have another hash than {hash}. Read them before you trust them.",
            file.display()
        );
        let asked = if foreign.is_empty() { text } else { foreign };
        Err(CommandError::refused(message).next(format_args!("{} --trust={}", it.again, asked.hash())))
    }

    /// Shows the detected commands as [`App::consent`] does, for a question of the caller's own.
    pub(crate) fn show_detected(&self, out: &mut Out, it: &Consent<'_>) -> Result<(), CommandError> {
        show(out, it, &self.engine()?, &it.commands());
        Ok(())
    }

    /// The command as it was typed, without a hash that was not right.
    pub(crate) fn typed_again(&self) -> String {
        let mut skip = false;
        let mut kept = Vec::new();
        for word in &self.given {
            let trust = word == "--trust" || word == "--prd-approved";
            let joined = word.starts_with("--trust=") || word.starts_with("--prd-approved=");
            if !skip && !trust && !joined {
                kept.push(super::quoted(word));
            }
            skip = trust && !skip;
        }
        let all: String = self.given.iter().map(|word| format!(" {}", super::quoted(word))).collect();
        let verb = self.typed.strip_suffix(&all).unwrap_or(&self.typed);
        kept.iter().fold(verb.to_owned(), |line, word| line + " " + word)
    }
}

impl Consent<'_> {
    /// The commands of the repository's own file, whether or not they would run.
    fn text(&self) -> CommandSet {
        self.layers.repo.commands().into_iter().chain(self.templates.iter().cloned()).collect()
    }

    /// What would be run, and what agents would be told by templates of the repository.
    fn commands(&self) -> Vec<CommandInForce> {
        self.layers.commands().into_iter().chain(self.templates.iter().cloned()).collect()
    }

    /// What is trusted once the person has agreed to `seen`: commands that were not asked about stay as they were.
    fn remembered(&self, engine: &Engine, seen: &CommandSet) -> CommandSet {
        let before = engine.agreed(self.root, Agreed::Trusted).filter(|_| *seen != self.text());
        before.unwrap_or_default().replaced_by(seen)
    }

    /// The refusal after the person said no.
    fn declined(&self, commands: &[CommandInForce]) -> CommandError {
        let own = commands.iter().filter(|one| one.is_repository() && !one.is_template());
        let mut names: Vec<_> = own.map(|one| one.name).collect();
        let advice = if names.is_empty() { "Name" } else { "Change them in pairflow.toml, or name" };
        // Nothing is detected once there is a test command.
        names.extend(commands.iter().any(CommandInForce::is_detected).then_some("test"));
        let all = |word: fn(&str) -> String| names.iter().map(|name| word(name)).collect::<Vec<_>>().join(" ");
        let (undone, next) = match self.purpose {
            Purpose::Make => {
                let flags = all(|name| format!("--{name} 'COMMAND'"));
                ("no bubble was created".to_owned(), format!("{} {flags}", self.again))
            }
            Purpose::Start(id) => {
                let set = all(|name| format!("commands.{name}='COMMAND'"));
                (format!("bubble {id} was not started"), format!("pairflow config set {id} {set}"))
            }
            Purpose::Trust => {
                let message = "the commands are not trusted. Change them in pairflow.toml, then re-run the command.";
                return CommandError::refused(message).next(self.again);
            }
        };
        if !self.templates.is_empty() {
            let message = format!("you did not agree, so {undone}. Templates are used as the base branch has them.");
            return CommandError::refused(message).next(self.again);
        }
        let message = format!("you did not accept the commands, so {undone}. {advice} your own commands.");
        CommandError::refused(message).next(next)
    }
}

impl Unconfirmed {
    /// Says without a terminal what has to be added to the command line.
    fn refusal(&self, it: &Consent<'_>) -> CommandError {
        let file = it.root.join("pairflow.toml");
        let foreign = match it.templates.is_empty() {
            true => format!("the commands of {} are not trusted", file.display()),
            false => format!("the commands and templates of {} are not trusted", it.root.display()),
        };
        let (what, flags) = match (&self.trust, &self.detected) {
            (Some(text), Some(_)) => (
                format!("{foreign}, and the detected ones are not confirmed"),
                format!("--yes --trust={}", text.hash()),
            ),
            (Some(text), None) => (foreign, format!("--trust={}", text.hash())),
            (None, _) => ("the detected commands are not confirmed".to_owned(), "--yes".to_owned()),
        };
        let message =
            format!("{what}, and there is no terminal to ask on. Nothing was run. Read them, then add: {flags}");
        CommandError::refused(message).next(format_args!("{} {flags}", it.again))
    }
}

/// Returns the repository's templates as what a person has to trust.
pub(crate) fn to_trust(templates: &BTreeMap<String, String>) -> Vec<CommandInForce> {
    let texts = REPLACEABLE.into_iter().filter_map(|name| Some((name, templates.get(name)?.clone())));
    texts.map(|(name, text)| CommandInForce::template(name, text)).collect()
}

/// Shows on one screen what would be run, and where each command comes from.
fn show(out: &mut Out, it: &Consent<'_>, engine: &Engine, commands: &[CommandInForce]) {
    let foreign: CommandSet = commands.iter().filter(|one| one.is_repository()).cloned().collect();
    let whose = match (!foreign.is_empty(), commands.iter().any(CommandInForce::is_detected)) {
        (true, false) => {
            "The pairflow.toml of this repository sets commands. pairflow would run them on this machine, as you:"
        }
        _ if commands.iter().all(CommandInForce::is_template) => {
            "This repository has templates for what agents are told:"
        }
        (false, true) => {
            "No commands are configured; these were detected. pairflow would run them on this machine, as you:"
        }
        _ => "pairflow would run these commands on this machine, as you:",
    };
    out.note(format_args!("{whose}"));
    out.note(format_args!(""));
    for one in commands {
        show_command(out, one, &origin(it, one));
    }
    out.note(format_args!(""));
    match engine.agreed(it.root, Agreed::Trusted).filter(|_| !foreign.is_empty()) {
        Some(old) => show_changes(out, it, &old, &foreign),
        None => {
            if let Some(place) = engine.trusted_elsewhere(it.root, &foreign) {
                let gone = if place.exists() { "" } else { ", which no longer exists; was the repository moved?" };
                out.note(format_args!("You trusted the same commands in {}{gone}", place.display()));
            }
            out.note(format_args!("Nothing runs until you agree. You are asked again when a command changes."));
        }
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
    if one.is_template() {
        out.note(format_args!("  {source}, which agents are told:"));
        return out.note(format_args!("      {}", unfolded(&one.command, 6)));
    }
    let when = if one.name == "setup" { "once in each new worktree" } else { "after every hand-over" };
    out.note(format_args!("  {:NAME_WIDTH$}{}", one.name, unfolded(&one.command, NAME_WIDTH + 2)));
    out.note(format_args!("  {:NAME_WIDTH$}{source}, {when}", ""));
}

fn show_changes(out: &mut Out, it: &Consent<'_>, old: &CommandSet, foreign: &CommandSet) {
    let mut changes = it.text().changes_since(old);
    // A command that would not run is not asked about.
    changes.retain(|change| change.new.is_none() || foreign.iter().any(|(name, _)| name == change.name));
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
        None if one.source == Origin::Flag => format!("your --{}", one.name),
        None => one.source.to_string(),
    }
}
