//! From the command line to the one command that is meant.
//!
//! The verb is found before any parser exists, and only that verb's parser is built: starting the program costs the
//! same however many commands there are.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, ColorChoice};

use crate::app::{App, Grammar, nearest, quoted};
use crate::args::BubbleArg;
use crate::commands::merge;
use crate::docs;
use crate::entry::{CommandEntry, CommandGroup, HOME};
use crate::exit::{CommandError, Exit};
use crate::out::Out;
use crate::table::{TABLE, find, takes_repo, tree};
use crate::world::World;

/// Runs the program in `world` and returns what its process has to end with.
pub fn main_with(world: World) -> ExitCode {
    ExitCode::from(run(world).code())
}

/// Runs the program in `world`.
pub(crate) fn run(mut world: World) -> Exit {
    let args = std::mem::take(&mut world.args);
    let json = args.iter().skip(1).take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    let (mut app, mut out) = App::split(world, Grammar { takes_repo, parser: tree, reference: docs::cli_reference });
    let ended = parse_invocation(&args).and_then(|call| {
        if let Invocation::Run { entry, args } = &call {
            app.given = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
            app.typed = app.given.iter().fold(entry.line(), |line, word| line + " " + &quoted(word));
        }
        perform(call, &app, &mut out)
    });
    let ended = ended.and_then(|()| out.flush());
    match ended {
        Ok(()) => Exit::Done,
        Err(error) => {
            out.error(&error, json);
            error.exit
        }
    }
}

/// What a command line asks for.
enum Invocation {
    Version,
    Help(fn() -> String),
    Run { entry: &'static CommandEntry, args: Vec<OsString> },
}

/// Where a verb was looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespace {
    Top,
    Bubble,
    Agents,
}

fn perform(call: Invocation, app: &App, out: &mut Out) -> Result<(), CommandError> {
    match call {
        Invocation::Version => out.line(format_args!("pairflow {}", env!("CARGO_PKG_VERSION"))),
        Invocation::Help(page) => out.line(format_args!("{}", page())),
        Invocation::Run { entry, args } => {
            let Some(matches) = parse(entry, args, out)? else { return Ok(()) };
            let color = matches.get_one::<ColorChoice>("color").copied().unwrap_or_default();
            out.configure(color, matches.get_flag("progress"));
            if let Some(root) = app.other_repository(&matches) {
                out.name_repository(root.clone(), app.grammar.takes_repo);
                app.there.get_or_init(|| root);
            }
            // It is for people to know; agents cannot change it.
            if entry.group.is_about_bubbles() {
                app.warn_of_tracked(named_repo(&matches), out);
            }
            let ended = guard(entry, &matches, app).and_then(|()| (entry.run)(&matches, app, out));
            let ended = ended.map_err(|error| merge::hinted(app, named_repo(&matches), error));
            // Nobody who is refused is left without a way on.
            ended
                .map_err(|error| match error.exit {
                    Exit::Refused if !error.message.is_empty() => {
                        error.or_next(format_args!("{} --help", entry.line()))
                    }
                    _ => error,
                })
                .map_err(|error| CommandError { hint: error.hint.map(|hint| app.line_here(hint)), ..error })
        }
    }
}

/// Parses a command's own arguments; nothing comes back if help was asked for and printed.
fn parse(entry: &CommandEntry, args: Vec<OsString>, out: &mut Out) -> Result<Option<ArgMatches>, CommandError> {
    match entry.build().try_get_matches_from(args) {
        Ok(matches) => Ok(Some(matches)),
        Err(asked) if asked.kind() == ErrorKind::DisplayHelp => out.rendered(&asked.render()).map(|()| None),
        Err(error) => Err(usage_error(entry, &error)),
    }
}

fn usage_error(entry: &CommandEntry, error: &clap::Error) -> CommandError {
    let text = error.render().to_string();
    // The last paragraph of the parser's text is its own pointer to the help; ours has the verb in it.
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let text = text.split("\n\nFor more information").next().unwrap_or(text);
    CommandError::usage(text.trim_end()).next(format_args!("{} --help", entry.line()))
}

fn guard(entry: &CommandEntry, matches: &ArgMatches, app: &App) -> Result<(), CommandError> {
    if !(entry.human_only)(matches) {
        return Ok(());
    }
    app.only_people(entry.name, named_bubble(matches).as_ref(), named_repo(matches))
}

/// The bubble that was named, if the command takes one; without an id the one that is meant here.
fn named_bubble(matches: &ArgMatches) -> Option<BubbleArg> {
    let typed = |name: &str| matches.try_get_one::<String>(name).map(|found| found.cloned());
    let (id, option) = (typed("id").ok()?, typed("id_option").ok()?);
    Some(BubbleArg::named(id.or(option), named_repo(matches).map(PathBuf::from)))
}

/// The repository that was named, if the command takes one.
fn named_repo(matches: &ArgMatches) -> Option<&Path> {
    matches.try_get_one::<PathBuf>("repo").ok().flatten().map(PathBuf::as_path)
}

/// Finds out what a command line asks for.
fn parse_invocation(args: &[OsString]) -> Result<Invocation, CommandError> {
    let program = args.first().map(Path::new).and_then(Path::file_stem).unwrap_or_default();
    let mut place = if program == "orchestra" { Namespace::Agents } else { Namespace::Top };
    let mut hoisted = Vec::new();
    let mut rest = args.get(1..).unwrap_or_default();
    while let Some((first, after)) = rest.split_first() {
        match first.to_str() {
            Some("--version" | "-V") => return Ok(Invocation::Version),
            Some("--help" | "-h") => return Ok(help_page(place, args)),
            Some("--color" | "--repo") => {
                hoisted.extend(rest.iter().take(2).cloned());
                rest = after.get(1..).unwrap_or_default();
            }
            Some(flag) if flag.starts_with('-') => {
                hoisted.push(first.clone());
                rest = after;
            }
            Some("help") => return help_of(after, args),
            Some("bubble") if place == Namespace::Top => (place, rest) = (Namespace::Bubble, after),
            Some("orchestra" | "agent") if place == Namespace::Top => (place, rest) = (Namespace::Agents, after),
            _ => return call(first, place, [after, &hoisted].concat()),
        }
    }
    match place {
        Namespace::Top => call(OsStr::new(HOME), place, hoisted),
        _ => Err(CommandError::usage("the command is missing.").next("pairflow help")),
    }
}

fn call(verb: &OsStr, place: Namespace, args: Vec<OsString>) -> Result<Invocation, CommandError> {
    let entry = verb.to_str().and_then(find).filter(|entry| reachable(entry, place));
    entry.map(|entry| Invocation::Run { entry, args }).ok_or_else(|| unknown(verb, place))
}

fn help_of(words: &[OsString], args: &[OsString]) -> Result<Invocation, CommandError> {
    let agents = words.iter().any(|word| word == "orchestra" || word == "agent");
    let Some(verb) =
        words.iter().find(|word| !["bubble", "orchestra", "agent", "--all"].iter().any(|one| *word == one))
    else {
        return Ok(help_page(if agents { Namespace::Agents } else { Namespace::Top }, args));
    };
    call(verb, Namespace::Top, vec!["--help".into()])
}

fn help_page(place: Namespace, args: &[OsString]) -> Invocation {
    Invocation::Help(match place {
        Namespace::Agents => docs::agents,
        _ if args.iter().any(|arg| arg == "--all") => docs::all,
        _ => docs::overview,
    })
}

fn reachable(entry: &CommandEntry, place: Namespace) -> bool {
    match place {
        Namespace::Top => true,
        Namespace::Bubble => entry.group.is_about_bubbles(),
        Namespace::Agents => entry.group == CommandGroup::Agents,
    }
}

fn unknown(verb: &OsStr, place: Namespace) -> CommandError {
    let typed = verb.to_string_lossy();
    let names = TABLE.iter().filter(|entry| !entry.is_hidden() && reachable(entry, place)).map(|entry| entry.name);
    let space = match place {
        Namespace::Top => "",
        Namespace::Bubble => "bubble ",
        Namespace::Agents => "orchestra ",
    };
    let error = CommandError::usage(format_args!("there is no command '{space}{typed}'."));
    match nearest(&typed, names) {
        Some(name) => error.next(format_args!("pairflow {space}{name}")),
        None => error.next("pairflow help"),
    }
}
