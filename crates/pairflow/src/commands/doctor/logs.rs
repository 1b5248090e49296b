//! The logs of the bubbles: looked at byte by byte, repaired on request.

use std::path::Path;

use pairflow_core::config::Layer;
use pairflow_engine::engine::{Bubble, EngineError};
use pairflow_engine::store::{Salvage, StoreError};
use pairflow_engine::supervise::Client;

use super::report::{Report, counted};
use crate::app::{App, Reach, quoted};
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
            if listed.unit.as_ref().is_ok_and(|unit| unit.phase.is_final()) {
                leftovers(&listed.bubble, report);
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
            report.ok_too(&what, &format!("{}, {} bytes", counted(verified.envelopes, "line"), verified.bytes));
        }
        Err(error @ StoreError::Damaged { .. }) => report.damage(&what, &error.to_string(), &repair),
        Err(error @ StoreError::Gone { .. }) => {
            let next = format!("put transcript.ndjson back from a copy into {}", bubble.dir().display());
            report.damage(&what, &error.to_string(), &next);
        }
        Err(error @ (StoreError::Torn { .. } | StoreError::Unterminated { .. })) => {
            report.warning(&what, &error.to_string(), Some(&repair));
        }
        Err(error) => report.problem(&what, &CommandError::from(EngineError::from(error)).message, None),
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
                Some(&format!("mend the file, then: pairflow config explain {}", bubble.id)),
            );
        }
    }
}

/// Repairs every log in reach that is damaged or torn, after a yes for each.
pub(super) fn repair(app: &App, reach: &Reach, yes: bool, out: &mut Out) -> Result<(), CommandError> {
    for found in app.found(reach)? {
        for listed in found.bubbles? {
            let bubble = listed.bubble;
            match bubble.log().verify() {
                Err(error @ StoreError::Damaged { .. }) => {
                    out.note(format_args!("{error}"));
                    let question =
                        format!("Keep the lines before the damage and move the whole log of {} aside?", bubble.id);
                    app.insist(out, yes, &question)?;
                }
                Err(StoreError::Torn { .. } | StoreError::Unterminated { .. }) => {}
                _ => continue,
            }
            let salvage = bubble.log().repair().map_err(EngineError::from)?;
            tell(&bubble, &salvage, out);
            // The supervisor leaves a damaged bubble alone until somebody wakes it.
            Client::new(&app.engine()?.dirs).wake(&bubble);
        }
    }
    Ok(())
}

fn tell(bubble: &Bubble, salvage: &Salvage, out: &mut Out) {
    let (id, lines) = (&bubble.id, salvage.envelopes);
    match &salvage.moved {
        Some(moved) if lines == 0 => {
            out.note(format_args!(
                "{id}: nothing could be kept, so the bubble is gone; the damaged log is in {}",
                moved.display()
            ));
        }
        Some(moved) => {
            out.note(format_args!(
                "{id}: kept {} ({} bytes); the damaged log is in {}",
                counted(lines, "line"),
                salvage.bytes,
                moved.display()
            ));
        }
        None => out.note(format_args!(
            "{id}: mended the end of the log; {} there",
            match lines {
                1 => "its only line is".to_owned(),
                _ => format!("all {lines} lines are"),
            }
        )),
    }
}
