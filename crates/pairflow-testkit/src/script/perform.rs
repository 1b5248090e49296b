//! Pays what a bubble owes, as a supervisor would.

use pairflow_core::bubble::{Command, Effect, Stage, found_author, owed};
use pairflow_core::ids::{CommitId, Party};

use super::play::{Play, Sent};

/// No act leaves more debts than this.
const ENOUGH: usize = 100;

impl Play {
    /// Pays everything that is owed but the agents' own work.
    pub fn settle(&mut self) {
        for _ in 0..ENOUGH {
            if self.pay_one() == Sent::Nothing {
                return;
            }
        }
        panic!("the bubble still owes something after {ENOUGH} effects: {:?}", owed(&self.state));
    }

    /// Pays the most urgent debt.
    pub fn pay_one(&mut self) -> Sent {
        let debt = owed(&self.state).into_iter().find(|one| !one.lasts());
        let Some(effect) = debt else { return Sent::Nothing };
        let command = self.perform(&effect);
        let sent = self.send(&command);
        assert!(matches!(sent, Sent::Recorded(_)), "{effect:?} was owed, but its result came to {sent:?}");
        sent
    }

    fn perform(&mut self, effect: &Effect) -> Command {
        match effect {
            Effect::PrepareWorkspace => match self.world.start_fails.take() {
                Some(reason) => Command::StartFailed { reason },
                None => Command::WorkspaceReady { workspace: self.world.workspace() },
            },
            Effect::TakeSnapshot { author, .. } => self.take_snapshot(author.clone()),
            Effect::RunCheck { check, place } => {
                let tree = self.state.tree().expect("checks are owed for a snapshot or for the base");
                Command::Checked { receipt: self.world.run(check, tree, *place) }
            }
            Effect::RunReproducer { finding, command } => {
                let tree = self.state.tree().expect("reproducers are owed for a snapshot").clone();
                Command::Reproduced { finding: *finding, receipt: self.world.reproduce(*finding, command, tree) }
            }
            Effect::OpenTurn { turn } => {
                let tree = self.world.tree();
                match self.state.tree() == Some(&tree) {
                    true => Command::TurnReady { turn: *turn, slices: 0 },
                    false => self.take_snapshot(found_author(&self.state, &tree)),
                }
            }
            Effect::Update => match self.world.update_fails.clone() {
                Some(reason) => Command::UpdateFailed { reason, conflict: None },
                None => self.update(),
            },
            Effect::Commit(_) => match self.world.commit_fails.clone() {
                Some(reason) => Command::CommitFailed { reason },
                None => Command::CommitMade { commit: self.world.commit(), old_tip: None },
            },
            Effect::RecordDone => Command::RecordDone,
            Effect::RunAgent { .. } | Effect::Deliver { .. } => unreachable!("the script itself plays the agents"),
        }
    }

    fn take_snapshot(&mut self, author: Option<Party>) -> Command {
        let snapshot = self.world.snapshot(author, self.state.tree(), &self.state.rules.scope);
        Command::SnapshotTaken { snapshot }
    }

    /// Merges the base; what an agent had not handed over yet is recorded before it.
    pub(super) fn update(&mut self) -> Command {
        let before = self.state.tree().cloned();
        let mut snapshots = Vec::new();
        if before.as_ref() != Some(&self.world.tree()) {
            let author = match self.state.phase.turn().map(|turn| (&turn.stage, turn)) {
                Some((Stage::Closing(handover), _)) => handover.author(),
                Some((Stage::Open, turn)) => turn.author(),
                _ => Some(Party::Human),
            };
            snapshots.push(self.world.snapshot(author, before.as_ref(), &self.state.rules.scope));
        }
        let left = self.world.tree();
        let same_patch = self.world.merge_base();
        snapshots.push(self.world.snapshot(Some(Party::Human), Some(&left), &self.state.rules.scope));
        let base_tree = self.world.base_tree();
        Command::UpdateMade { base: CommitId(format!("base-{base_tree}")), base_tree, snapshots, same_patch }
    }
}
