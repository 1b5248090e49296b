//! Checks every byte of the bubbles' logs, and repairs them on request.

use std::path::Path;

use pairflow_core::bubble::{BubbleState, StateName};
use pairflow_core::config::Layer;
use pairflow_core::text::counted;
use pairflow_engine::engine::{Bubble, EngineError, Listed};
use pairflow_engine::git::GitError;
use pairflow_engine::store::{CacheCondition, Foreign, Salvage, StoreError};
use pairflow_engine::supervisor_client::Client;
use pairflow_engine::verbs::RepairOutcome;

use super::Report;
use crate::app::{App, RepoScope, fits, quoted};
use crate::commands::status;
use crate::exit::CommandError;
use crate::out::Out;

/// Checks every byte of every log in reach, and each bubble's own configuration.
pub(super) fn look(app: &App, repo_scope: &RepoScope, report: &mut Report) -> Result<(), CommandError> {
    let (mut sound, mut all) = (0, 0);
    for found in app.found(repo_scope)? {
        let bubbles = match found.bubbles {
            Ok(bubbles) => bubbles,
            Err(error) => {
                report.problem("bubbles", &CommandError::from(error).message, None);
                continue;
            }
        };
        // Errors in the repository's file were reported already.
        let shared = app.layers(&found.root, None, Layer::default()).is_ok();
        for listed in bubbles {
            all += 1;
            sound += usize::from(log(repo_scope, &listed.bubble, report));
            if let Some(why) = &listed.foreign {
                let notice = listed.bubble.notice_of(why).map(|line| repo_scope.line(&line, &found.root));
                let what = format!("foreign: {}", notice.why);
                report.warning(&format!("bubble {}", listed.bubble.id), &what, Some(&notice.next));
                continue;
            }
            match &listed.state {
                Ok(state) if state.phase.is_final() => leftovers(&listed.bubble, report),
                Ok(state) => worktree(repo_scope, &listed.bubble, state, report),
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
        _ if sound == all => report.ok("bubbles", &format!("{all}, all logs are valid")),
        _ => {}
    }
    Ok(())
}

/// Reports a worktree that is gone or unusable, if the bubble is active.
fn worktree(repo_scope: &RepoScope, bubble: &Bubble, state: &BubbleState, report: &mut Report) {
    let Some(problem) = bubble.worktree_problem(state) else { return };
    let next = repo_scope.line(&format!("pairflow resume {}", bubble.id), bubble.control.repo());
    let found = match problem {
        GitError::WorktreeGone(path) => format!("{} is gone", path.display()),
        other => other.to_string(),
    };
    report.problem(&format!("worktree of {}", bubble.id), &found, Some(&next));
}

/// Names what still runs for a bubble that is over; a supervisor that looks at it ends that.
fn leftovers(bubble: &Bubble, report: &mut Report) {
    let (left, id) = (bubble.running_processes(), &bubble.id);
    if !left.is_nothing() {
        let runs = if left.programs > 1 { "run" } else { "runs" };
        let found = format!("bubble {id} has ended, but {left} of it still {runs}");
        report.warning(&format!("agents of {id}"), &found, Some("pairflow supervise"));
    }
}

/// Names what lies among the bubbles and is none: nothing else ever shows it.
fn strays(app: &App, root: &Path, report: &mut Report) -> Result<(), CommandError> {
    for path in app.engine()?.strays(root)? {
        let name = path.display().to_string();
        let found = format!("{name} is not a bubble: it has no log");
        report.warning("stray", &found, Some(&format!("inspect it and move it away: ls -A {}", quoted(&name))));
    }
    Ok(())
}

/// Checks one log; returns whether nothing is wrong with it.
fn log(repo_scope: &RepoScope, bubble: &Bubble, report: &mut Report) -> bool {
    let what = format!("log of {}", bubble.id);
    let repair = repo_scope.line("pairflow doctor --repair", bubble.control.repo());
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
            let next = format!("restore transcript.ndjson from a backup to {}", bubble.dir().display());
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
                Some(&format!("fix the file, then run: pairflow config explain {}", bubble.id)),
            );
        }
    }
}

/// Repairs every log in reach that is damaged or torn, after a yes for each.
pub(super) fn repair(app: &App, repo_scope: &RepoScope, yes: bool, out: &mut Out) -> Result<(), CommandError> {
    rebuild(app, out)?;
    for found in app.found(repo_scope)? {
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
            Ok(Some(bubble)) => out.note(format_args!("{}: rewrote {}", bubble.id, path.display())),
            _ => out.note(format_args!(
                "{} cannot be rewritten; move it away, then run in its repository: pairflow adopt --all",
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
        Ok(CacheCondition::Says { state, .. }) => Some(state.phase.name()),
        _ => None,
    };
    let Some(prospect) = bubble.log().salvageable().map_err(EngineError::from)? else { return Ok(()) };
    let question = format!(
        "{id}: {} can be kept, {} lost{}. Keep the lines before the damage and move the damaged log to quarantine?",
        counted(prospect.envelopes, "line"),
        prospect.lost,
        states("; it was", before, "will be", named(&prospect)),
    );
    app.require_yes(out, yes, &question)?;
    let RepairOutcome { salvage, paused } = bubble.repair()?;
    let Some(moved) = &salvage.moved else { return Ok(()) };
    let moved = moved.display();
    if salvage.envelopes == 0 {
        let lost = counted(salvage.lost, "line");
        out.note(format_args!(
            "{id}: nothing could be kept; the bubble and {lost} are lost; the damaged log is in {moved}"
        ));
        return Ok(());
    }
    out.note(format_args!(
        "{id}: kept {} ({} bytes), lost {}{}{}; the damaged log is in {moved}",
        counted(salvage.envelopes, "line"),
        salvage.bytes,
        salvage.lost,
        states("; it was", before, "is", named(&salvage)),
        if paused { ", paused until you resume it" } else { "" },
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

/// Prints the next steps for a repaired bubble. The supervisor ignores a damaged bubble until it is woken; `known` says
/// that the repair did not change its state, or paused it.
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
        // It was damaged after the check, so there was no question: say where the damaged log is.
        Some(moved) => {
            out.note(format_args!("{id}: kept {}; the damaged log is in {}", counted(lines, "line"), moved.display()))
        }
        None => out.note(format_args!(
            "{id}: repaired the end of the log; {}",
            match lines {
                1 => "its only line was kept".to_owned(),
                _ => format!("all {lines} lines were kept"),
            }
        )),
    }
}
