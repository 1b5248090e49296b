//! What an agent is told that has no turn: who it is in this bubble, and that it has to wait.

use crate::bubble::BubbleState;
use crate::ids::{AgentId, Party};
use crate::view::brief::commands;
use crate::view::markdown::Page;
use crate::view::words::{one_line, title};

/// Returns the briefing of an agent that waits for its turn; nothing for one that has no seat here.
pub fn standby(state: &BubbleState, agent: &AgentId) -> Option<String> {
    if !state.rules.agents.contain(agent) {
        return None;
    }
    let id = &state.id;
    let mut page = Page::new(&format!("Briefing: {agent} in bubble {id}"));
    page.line(&format!("You are {agent}. {} It is not your turn.", role(state, agent)));
    page.line("");
    page.line(
        "**Do nothing until a notice comes.** It begins with `[pairflow`, gives you the turn, and names your brief,",
    );
    page.line(
        "which `pairflow brief` prints. Until then read nothing else, run nothing and change nothing: what you change",
    );
    page.line("now would count as somebody else's work.");
    page.section("What it is about");
    page.item(&format!("task: {}", one_line(title(&state.about.task))));
    let brief = format!("{}/.pairflow/bubbles/{id}/artifacts/brief-{agent}.md", one_line(&state.about.repo));
    page.item(&format!("the whole task, with all that is known by then, will be in {brief}"));
    if let Some(workspace) = &state.evidence.workspace {
        page.item(&format!("worktree: {}", one_line(&workspace.path)));
    }
    let (branch, base) = (one_line(&state.rules.bubble_branch), one_line(&state.rules.base_branch));
    page.item(&format!("branch: {branch}, cut from {base}"));
    page.section("How a turn ends, when you have one");
    page.line(
        "Each turn ends with one pairflow command. The brief of the turn has the exact lines; they look like these:",
    );
    page.line("");
    page.block(&commands::of_anyone(state).join("\n"));
    Some(page.finish())
}

fn role(state: &BubbleState, agent: &AgentId) -> String {
    let had_a_turn = state.rounds.authors.contains(&Party::Agent(agent.clone()));
    match agent {
        _ if *agent == state.rounds.seats.implementer => {
            format!("You implement; {} reviews.", state.rounds.seats.reviewer)
        }
        _ if *agent == state.rounds.seats.reviewer => {
            format!("You review what {} hands over.", state.rounds.seats.implementer)
        }
        _ if had_a_turn => "Another agent reviews the work now.".to_owned(),
        _ => "You review later, after another agent has found the work clean.".to_owned(),
    }
}
