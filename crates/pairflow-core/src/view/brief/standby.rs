//! What an agent is told that has no turn: who it is in this bubble, and that it has to wait.

use crate::bubble::Unit;
use crate::ids::{AgentId, Party};
use crate::view::brief::commands;
use crate::view::markdown::Page;
use crate::view::words::{one_line, title};

/// Returns the briefing of an agent that waits for its turn; nothing for one that has no seat here.
pub fn standby(unit: &Unit, agent: &AgentId) -> Option<String> {
    if !unit.rules.agents.contain(agent) {
        return None;
    }
    let id = &unit.id;
    let mut page = Page::new(&format!("Briefing: {agent} in bubble {id}"));
    page.line(&format!("You are {agent}. {} It is not your turn.", role(unit, agent)));
    page.line("");
    page.line(
        "**Do nothing until a notice comes.** It begins with `[pairflow`, gives you the turn, and names your brief,",
    );
    page.line(
        "which `pairflow brief` prints. Until then read nothing else, run nothing and change nothing: what you change",
    );
    page.line("now would count as somebody else's work.");
    page.section("What it is about");
    page.item(&format!("task: {}", one_line(title(&unit.about.task))));
    let brief = format!("{}/.pairflow/bubbles/{id}/artifacts/brief-{agent}.md", one_line(&unit.about.repo));
    page.item(&format!("the whole task, with all that is known by then, will be in {brief}"));
    if let Some(workspace) = &unit.evidence.workspace {
        page.item(&format!("worktree: {}", one_line(&workspace.path)));
    }
    let (branch, base) = (one_line(&unit.rules.bubble_branch), one_line(&unit.rules.base_branch));
    page.item(&format!("branch: {branch}, cut from {base}"));
    page.section("How a turn ends, when you have one");
    page.line(
        "Each turn ends with one pairflow command. The brief of the turn has the exact lines; they look like these:",
    );
    page.line("");
    page.block(&commands::of_anyone(unit).join("\n"));
    Some(page.finish())
}

fn role(unit: &Unit, agent: &AgentId) -> String {
    let had_a_turn = unit.rounds.authors.contains(&Party::Agent(agent.clone()));
    match agent {
        _ if *agent == unit.rounds.seats.producer => format!("You implement; {} reviews.", unit.rounds.seats.critic),
        _ if *agent == unit.rounds.seats.critic => {
            format!("You review what {} hands over.", unit.rounds.seats.producer)
        }
        _ if had_a_turn => "Another agent reviews the work now.".to_owned(),
        _ => "You review later, after another agent has found the work clean.".to_owned(),
    }
}
