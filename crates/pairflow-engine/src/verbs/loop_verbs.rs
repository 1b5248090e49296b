//! Start, commit, update, resume: asked for here, confirmed by what the log says afterwards.

use std::path::Path;
use std::time::Duration;

use pairflow_core::rules::Rules;
use pairflow_core::unit::{Command, Committed, Phase, Refusal, Unit};

use super::Hands;
use crate::engine::{Bubble, EngineError};
use crate::store::StoreError;
use crate::store::storage::{Guard, LockMode};
use crate::workspace::restore;

impl Bubble {
    /// Starts the bubble and returns once its workspace is ready. A start that a crash interrupted is taken up again.
    ///
    /// While one process starts it, any other is refused, however far the first one has come.
    pub fn start(&self, rules: &Rules, hands: &Hands) -> Result<Unit, EngineError> {
        let _starting = self.starting()?;
        let before = self.load()?;
        if before.unit.phase != Phase::Preparing {
            self.apply(&Command::Start { rules: Box::new(rules.clone()) })?;
        }
        let seq = before.head.seq;
        let extra = Duration::from_secs(rules.check_timeout_secs);
        let ended = hands.carry_out(self, extra, |unit| match &unit.phase {
            Phase::Preparing => None,
            Phase::Created => Some(Err(())),
            _ => Some(Ok(unit.clone())),
        })?;
        ended.map_err(|()| EngineError::Effect(self.last_failure(seq, "the start failed")))
    }

    /// Takes the lock of a start, which the kernel frees with its holder.
    fn starting(&self) -> Result<Guard, EngineError> {
        let (disk, locks) = (&self.engine.disk, self.control.locks());
        let path = locks.join(format!("{}.start.lock", self.id));
        disk.create_dir(&locks).map_err(StoreError::from)?;
        if let Some(guard) = disk.lock(&path, LockMode::Exclusive, Duration::ZERO).map_err(StoreError::from)? {
            return Ok(guard);
        }
        let why = Some("another process is starting it".to_owned());
        let refusal = Refusal::WrongState { state: self.load()?.unit.phase.name(), command: "start", why };
        Err(EngineError::Refused { id: self.id.clone(), refusal: Box::new(refusal.lost_race()) })
    }

    /// Commits what was approved and returns once it is recorded.
    pub fn commit(&self, command: &Command, hands: &Hands) -> Result<Committed, EngineError> {
        self.apply(command)?;
        let extra = Duration::from_secs(600);
        let ended = hands.carry_out(self, extra, |unit| match &unit.phase {
            Phase::Done(committed) => Some(Ok(committed.clone())),
            Phase::Approved(approval) => match (&approval.commit, &approval.failed) {
                (None, Some(reason)) => Some(Err(reason.clone())),
                _ => None,
            },
            Phase::Committed(_) => None,
            other => Some(Err(format!("the bubble is {} now", other.name()))),
        })?;
        ended.map_err(EngineError::Effect)
    }

    /// Merges the base branch into the worktree and returns once that is recorded.
    pub fn update(&self, hands: &Hands) -> Result<Unit, EngineError> {
        let before = self.load()?;
        self.apply(&Command::Update)?;
        let old_base = before.unit.workspace.as_ref().map(|workspace| workspace.base.clone());
        let unit =
            hands.carry_out(self, Duration::from_secs(600), |unit| (!unit.updating).then(|| unit.clone()))?;
        let moved = unit.workspace.as_ref().map(|workspace| workspace.base.clone()) != old_base;
        if moved { Ok(unit) } else { Err(EngineError::Effect(self.last_failure(before.head.seq, "the update failed"))) }
    }

    /// Lets the loop go on. A worktree that was removed by hand is made anew from the newest snapshot first.
    pub fn resume(&self, hands: &Hands) -> Result<Unit, EngineError> {
        let unit = self.load()?.unit;
        let restored = self.restore_worktree(&unit)?;
        let goes_on = matches!(unit.phase, Phase::Running(_)) && !unit.paused;
        // Nobody had stopped the loop: with its worktree it has everything again that it needs.
        let unit = if restored && goes_on { unit } else { self.apply(&Command::Resume)?.unit };
        hands.wake(self)?;
        Ok(unit)
    }

    /// Makes a worktree again that is gone, as the newest snapshot or else the base has it. Says whether it did.
    fn restore_worktree(&self, unit: &Unit) -> Result<bool, EngineError> {
        let Some(record) = unit.workspace.as_ref().filter(|_| !unit.phase.is_final()) else { return Ok(false) };
        if Path::new(&record.path).exists() {
            return Ok(false);
        }
        let tree = unit.tree().unwrap_or(&record.base_tree);
        restore(&self.workspace(unit)?, &unit.rules.bubble_branch, tree)?;
        Ok(true)
    }

    /// The reason of the newest failure that was recorded after `seq`.
    fn last_failure(&self, seq: u64, otherwise: &str) -> String {
        use pairflow_core::log::{Body, Lifecycle};
        let mut reason = otherwise.to_owned();
        // If the log cannot be read any more, the general sentence has to do.
        let _ = self.log().visit(&mut |envelope| {
            let Body::Lifecycle(fact) = &envelope.event.body else { return };
            match fact {
                Lifecycle::StartFailed { reason: why } | Lifecycle::UpdateFailed { reason: why } if envelope.seq > seq => {
                    reason.clone_from(why);
                }
                _ => {}
            }
        });
        reason
    }
}
