//! The logs of the bubbles: looked at byte by byte, repaired on request.

use std::path::Path;

use pairflow_core::bubble::{BubbleState, StateName};
use pairflow_core::config::Layer;
use pairflow_core::text::counted;
use pairflow_engine::engine::{Bubble, EngineError, Listed};
use pairflow_engine::git::GitError;
use pairflow_engine::store::{CacheStand, Foreign, Salvage, StoreError};
use pairflow_engine::supervisor_client::Client;
use pairflow_engine::verbs::RepairOutcome;

use super::report::Report;
use crate::app::{App, Reach, fits, quoted};
use crate::commands::status;
use crate::exit::CommandError;
use crate::out::Out;

/// Checks every byte of every log in reach, and each bubble's own configuration.
pub(super) fn look(app: &App, reach: &Reach, report: &mut Report) -> Result<(), CommandError> {
    let (mut sound, mut all) = (0, 0);
    for found in app.found(reach)? {
        let bubbles = match found.bubbles {
            Ok(bubbles) => bubbles,
            Err(error) => {
                report.problem("bubbles", &CommandError::from(error).message, None);
                continue;
            }
        };
        // What is wrong with the repository's own file has been told once.
        let shared = app.layers(&found.root, None, Layer::default()).is_ok();
        for listed in bubbles {
            all += 1;
            sound += usize::from(log(reach, &listed.bubble, report));
            if let Some(why) = &listed.foreign {
                let notice = listed.bubble.notice_of(why).map(|line| reach.line(&line, &found.root));
                let what = format!("foreign: {}", notice.why);
                report.warning(&format!("bubble {}", listed.bubble.id), &what, Some(&notice.next));
                continue;
            }
            match &listed.state {
                Ok(state) if state.phase.is_final() => leftovers(&listed.bubble, report),
                Ok(state) => worktree(reach, &listed.bubble, state, report),
                Err(_) => {}
            }
            if shared {
                own_config(app, &listed.bubble, report);
            }
        }
        strays(app, &found.root, report)?;
    }
    match all {
        0 => report.ok("bubbles", "there are none"),
        _ if sound == all => report.ok("bubbles", &format!("{all}, every log is sound")),
        _ => {}
    }
    Ok(())
}

/// Names a worktree that is gone or cannot be used, of a bubble that still goes on.
fn worktree(reach: &Reach, bubble: &Bubble, state: &BubbleState, report: &mut Report) {
    let Some(problem) = bubble.worktree_problem(state) else { return };
    let next = reach.line(&format!("pairflow resume {}", bubble.id), bubble.control.repo());
    let found = match problem {
        GitError::WorktreeGone { path } => format!("{} is gone", path.display()),
        other => other.to_string(),
    };
    report.problem(&format!("worktree of {}", bubble.id), &found, Some(&next));
}

/// Names what still runs for a bubble that is over; a supervisor that looks at it ends that.
fn leftovers(bubble: &Bubble, report: &mut Report) {
    let (left, id) = (bubble.left(), &bubble.id);
    if !left.is_nothing() {
        let runs = if left.programs > 1 { "run" } else { "runs" };
        let found = format!("bubble {id} is over, but {left} of it still {runs}");
        report.warning(&format!("agents of {id}"), &found, Some("pairflow supervise"));
    }
}

/// Names what lies among the bubbles and is none: nothing else ever shows it.
fn strays(app: &App, root: &Path, report: &mut Report) -> Result<(), CommandError> {
    for path in app.engine()?.strays(root)? {
        let name = path.display().to_string();
        let found = format!("{name} is no bubble: it has no log");
        report.warning("stray", &found, Some(&format!("look into it, and move it away: ls -A {}", quoted(&name))));
    }
    Ok(())
}

/// Checks one log; returns whether nothing is wrong with it.
fn log(reach: &Reach, bubble: &Bubble, report: &mut Report) -> bool {
    let what = format!("log of {}", bubble.id);
    let repair = reach.line("pairflow doctor --repair", bubble.control.repo());
    let verified = bubble.log().verify();
    let sound = verified.is_ok();
    match verified {
        Ok(verified) => {
            report.ok_too(
                &what,
                &format!("{}, {}", counted(verified.envelopes, "line"), counted(verified.bytes, "byte")),
            );
        }
        Err(error @ StoreError::Damaged { .. }) => report.damage(&what, &error.to_string(), &repair),
        Err(error @ StoreError::Gone { .. }) => {
            let next = format!("put transcript.ndjson back from a copy into {}", bubble.dir().display());
            report.damage(&what, &error.to_string(), &next);
        }
        Err(error @ (StoreError::Torn { .. } | StoreError::Unterminated { .. })) => {
            report.warning(&what, &error.to_string(), Some(&repair));
        }
        Err(error) => {
            let CommandError { message, hint, .. } = EngineError::from(error).into();
            report.problem(&what, &message, hint.as_deref());
        }
    }
    sound
}

fn own_config(app: &App, bubble: &Bubble, report: &mut Report) {
    let what = format!("config of {}", bubble.id);
    match app.layers(bubble.control.repo(), Some(&bubble.id), Layer::default()) {
        Ok(_) => report.ok_too(&what, "valid"),
        Err(error) => {
            report.problem(
                &what,
                &error.message,
                Some(&format!("correct the file, then: pairflow config explain {}", bubble.id)),
            );
        }
    }
}

/// Repairs every log in reach that is damaged or torn, after a yes for each.
pub(super) fn repair(app: &App, reach: &Reach, yes: bool, out: &mut Out) -> Result<(), CommandError> {
    rebuild(app, out)?;
    for found in app.found(reach)? {
        for listed in found.bubbles?.into_iter().filter(repairable) {
            let bubble = listed.bubble;
            match bubble.log().verify() {
                Err(error @ StoreError::Damaged { .. }) => {
                    out.note(format_args!("{error}"));
                    salvage(app, &bubble, listed.foreign.is_some(), yes, out)?;
                }
                // An adoption does that for a foreign log.
                Err(StoreError::Torn { .. } | StoreError::Unterminated { .. }) if listed.foreign.is_none() => {
                    tell_mended(&bubble, &bubble.repair()?.salvage, out);
                    let _ = Client::new(&app.engine()?).wake(&bubble);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Writes damaged records of bubbles again, as far as that can be done.
fn rebuild(app: &App, out: &mut Out) -> Result<(), CommandError> {
    let registry = app.engine()?.registry();
    for path in registry.damaged().map_err(StoreError::from).map_err(EngineError::from)? {
        match registry.rebuild(&path) {
            Ok(Some(bubble)) => out.note(format_args!("{}: wrote {} again", bubble.id, path.display())),
            _ => out.note(format_args!(
                "{} cannot be written again; move it away, then in its repository: pairflow adopt --all",
                path.display()
            )),
        }
    }
    Ok(())
}

/// Whether a log may be repaired here. A foreign one stays foreign, and can be adopted when it is sound.
fn repairable(listed: &Listed) -> bool {
    listed.foreign.as_ref().is_none_or(Foreign::is_adoptable)
}

/// Keeps the sound part of a damaged log, after a yes to what that gives up.
fn salvage(app: &App, bubble: &Bubble, foreign: bool, yes: bool, out: &mut Out) -> Result<(), CommandError> {
    let id = &bubble.id;
    let before = match bubble.log().state_file() {
        Ok(CacheStand::Says { state, .. }) => Some(state.phase.name()),
        _ => None,
    };
    let Some(prospect) = bubble.log().salvageable().map_err(EngineError::from)? else { return Ok(()) };
    let question = format!(
        "Of {id} {} can be kept and {} given up{}. Keep the lines before the damage and move the whole log of {id} aside?",
        counted(prospect.envelopes, "line"),
        if prospect.lost == 1 { "1 is".to_owned() } else { format!("{} are", prospect.lost) },
        states("; it was", before, "will be", named(&prospect)),
    );
    app.insist(out, yes, &question)?;
    let RepairOutcome { salvage, paused } = bubble.repair()?;
    let Some(moved) = &salvage.moved else { return Ok(()) };
    let moved = moved.display();
    if salvage.envelopes == 0 {
        let lost = counted(salvage.lost, "line");
        out.note(format_args!(
            "{id}: nothing could be kept, so the bubble is gone, with {lost}; the damaged log is in {moved}"
        ));
        return Ok(());
    }
    out.note(format_args!(
        "{id}: kept {} ({} bytes) and gave up {}{}{}; the damaged log is in {moved}",
        counted(salvage.envelopes, "line"),
        salvage.bytes,
        salvage.lost,
        states("; it was", before, "is", named(&salvage)),
        if paused { ", paused, so that nothing goes on by itself" } else { "" },
    ));
    if foreign {
        out.next(format_args!("pairflow adopt {id}"));
        return Ok(());
    }
    go_on(app, bubble, paused || before == named(&salvage), out)
}

/// Returns the name of the state that a repair leaves.
fn named(salvage: &Salvage) -> Option<StateName> {
    salvage.state.as_ref().map(|state| state.phase.name())
}

/// Says what a bubble was and what becomes of it, as far as that is known.
fn states(was: &str, before: Option<StateName>, becomes: &str, after: Option<StateName>) -> String {
    let after = after.map_or_else(|| "gone".to_owned(), |state| state.to_string());
    match before {
        Some(before) => format!("{was} {before} and {becomes} {after}"),
        None => format!("; it {becomes} {after}"),
    }
}

/// Says how it goes on with a bubble whose log was repaired. The supervisor leaves a damaged bubble alone until somebody
/// wakes it; `known` says that it stands where it stood, or waits in a pause.
fn go_on(app: &App, bubble: &Bubble, known: bool, out: &mut Out) -> Result<(), CommandError> {
    let (id, state) = (&bubble.id, bubble.load()?.state);
    if known {
        let _ = Client::new(&app.engine()?).wake(bubble);
    }
    if fits::pausable(&state) {
        out.next(format_args!("pairflow pause {id}"));
    } else if let Some(line) = status::onward(app, &state) {
        out.next(format_args!("{line}"));
    }
    if !state.phase.is_final() {
        out.next(format_args!("pairflow stop {id}"));
    }
    Ok(())
}

fn tell_mended(bubble: &Bubble, mended: &Salvage, out: &mut Out) {
    let (id, lines) = (&bubble.id, mended.envelopes);
    match &mended.moved {
        // It was damaged between two looks, and nobody was asked: this says where everything is.
        Some(moved) => {
            out.note(format_args!("{id}: kept {}; the damaged log is in {}", counted(lines, "line"), moved.display()))
        }
        None => out.note(format_args!(
            "{id}: repaired the end of the log; {} there",
            match lines {
                1 => "its only line is".to_owned(),
                _ => format!("all {lines} lines are"),
            }
        )),
    }
}
