//! Plays one turn of a scripted agent: its steps in order, inside the worktree.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::misbehave::misbehave;
use super::model::{InnerPath, Refused, Step, Write};
use super::progress::Progress;
use super::turn::{Fault, Next, Turn, make_room};
use super::verbs;
use pairflow_engine::regular;

/// Plays a turn and returns the exit code for the process. Says on `out` what went wrong.
pub fn play(turn: &Turn<'_>, out: &mut dyn io::Write) -> i32 {
    let fault = match turn.play(out) {
        Ok(code) => return code,
        Err(fault) => fault,
    };
    // If even this cannot be printed, the exit code has to say it alone.
    let _ = writeln!(out, "{}, turn {}: {fault}", turn.agent, turn.n);
    match fault {
        Fault::Refused { code, .. } => code,
        _ => 3,
    }
}

impl Turn<'_> {
    fn play(&self, out: &mut dyn io::Write) -> Result<i32, Fault> {
        let steps = self.script.turn(self.agent, self.n)?;
        let noted = |source| Fault::File { verb: "note progress in", path: self.state_dir.to_owned(), source };
        let mut progress = Progress::load(self.state_dir, self.agent, self.n).map_err(noted)?;
        if progress.done() >= steps.len() {
            writeln!(out, "all {} steps of turn {} were done before", steps.len(), self.n)?;
        }
        for step in steps.iter().skip(progress.done()) {
            // Misbehaviour happens once: an agent that is started again after its crash goes on behind it.
            let early = matches!(step, Step::Misbehave(_));
            if early {
                progress.step().map_err(noted)?;
            }
            let next = self.take(step, out)?;
            if !early {
                progress.step().map_err(noted)?;
            }
            if let Next::End(code) = next {
                return Ok(code);
            }
        }
        Ok(0)
    }

    fn take(&self, step: &Step, out: &mut dyn io::Write) -> Result<Next, Fault> {
        match step {
            Step::Write(file) => self.write(file)?,
            Step::Append(more) => self.append(&more.path, &more.text)?,
            Step::Delete(path) => self.delete(path)?,
            Step::Run(line) => self.run(line, out)?,
            Step::WaitMs(millis) => std::thread::sleep(Duration::from_millis(*millis)),
            Step::Print(text) => writeln!(out, "{text}")?,
            Step::ExpectRefused(refused) => self.expect_refused(refused, out)?,
            Step::Misbehave(how) => return misbehave(self, how, out),
            Step::Pass(pass) => {
                for _ in 0..pass.repeat.unwrap_or(1) {
                    self.say(step, out)?;
                }
            }
            Step::Converged(_) => self.say(step, out)?,
            Step::AskHuman(_) => {
                self.say(step, out)?;
                return Ok(Next::End(0));
            }
        }
        Ok(Next::Step)
    }

    fn say(&self, step: &Step, out: &mut dyn io::Write) -> Result<(), Fault> {
        let Some(verb) = verbs::of_step(step) else { return Ok(()) };
        match self.call(&verb, out)? {
            0 => Ok(()),
            code => Err(Fault::Refused { verb: verbs::name(&verb).to_owned(), code }),
        }
    }

    fn expect_refused(&self, refused: &Refused, out: &mut dyn io::Write) -> Result<(), Fault> {
        let code = self.call(&refused.verb, out)?;
        if code == refused.code {
            return Ok(());
        }
        Err(Fault::NotRefused { verb: verbs::name(&refused.verb).to_owned(), code, expected: refused.code })
    }

    fn write(&self, file: &Write) -> Result<(), Fault> {
        let path = self.cwd.join(file.path.as_path());
        let written =
            make_room(&path).and_then(|()| regular::write(&path, &file.text)).and_then(|()| match file.mode {
                Some(mode) => fs::set_permissions(&path, fs::Permissions::from_mode(mode.0)),
                None => Ok(()),
            });
        written.map_err(|source| Fault::File { verb: "write", path, source })
    }

    fn delete(&self, path: &InnerPath) -> Result<(), Fault> {
        let path = self.cwd.join(path.as_path());
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
        let deleted = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        deleted.map_err(|source| Fault::File { verb: "delete", path, source })
    }
}
