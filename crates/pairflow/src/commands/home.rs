//! `pairflow`: what waits for me, then all bubbles.

use std::path::Path;

use pairflow_core::bubble::{BubbleState, StateName};
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::safe::safe_line;
use pairflow_core::time::Timestamp;
use pairflow_core::view::inbox::{InboxItem, inbox};
use pairflow_core::view::status::state_tone;
use pairflow_core::view::{StateFields, age, title};
use pairflow_engine::engine::Bubble;
use pairflow_engine::git::GitError;
use serde::Serialize;

use super::{App, Args, CommandEntry, CommandError, Grid, Out, RepoArg, TextLine, Tone, anyone, command};
use crate::app::RepoScope;
use crate::entry::HOME;

/// Show what waits for you, then all bubbles
///
/// Shows the bubbles of the current repository; outside of one, those of all known repositories.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow")]
pub struct HomeArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!(HOME, Everyday, HomeArgs, run, anyone);

/// Everything that a bare `pairflow` shows.
#[derive(Serialize)]
struct Home {
    repositories: Vec<String>,
    /// Oldest first.
    waiting: Vec<Waiting>,
    bubbles: Vec<BubbleRow>,
    /// Repositories that could not be read, foreign bubbles, and worktrees that are gone.
    problems: Vec<String>,
}

/// Something that waits for the person, and where.
#[derive(Serialize)]
pub(crate) struct Waiting {
    pub(crate) repo: String,
    #[serde(flatten)]
    pub(crate) item: InboxItem,
    /// The command line that shows the whole question, from the place of the call.
    #[serde(skip)]
    reading: String,
}

/// One bubble; what cannot be read has only a problem.
#[derive(Serialize)]
struct BubbleRow {
    repo: String,
    bubble_id: BubbleId,
    state: Option<StateName>,
    paused: bool,
    foreign: Option<String>,
    active_agent: Option<AgentId>,
    round: u32,
    created_at: Option<Timestamp>,
    task_title: String,
    problem: Option<String>,
}

fn run(args: HomeArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let repo_scope = app.repo_scope(args.repo.repo.as_deref())?;
    let home = look(app, &repo_scope)?;
    if args.json {
        return out.json("home/1", &home);
    }
    for problem in &home.problems {
        out.warn(format_args!("{problem}"));
    }
    if home.bubbles.is_empty() {
        return suggest_first_bubble(&repo_scope, out);
    }
    waiting(app, &home, out)?;
    out.line(format_args!(""))?;
    table(app, &home, out)?;
    let moving = |row: &BubbleRow| {
        row.foreign.is_none() && matches!(row.state, Some(StateName::PreparingWorkspace | StateName::Running))
    };
    if home.bubbles.iter().any(|row| moving(row) && !row.paused) && !app.supervised()? {
        out.warn(format_args!("no supervisor is running, so nothing happens"));
        out.next(format_args!("pairflow supervise"));
    }
    Ok(())
}

/// Looks at every bubble in reach.
fn look(app: &App, repo_scope: &RepoScope) -> Result<Home, CommandError> {
    let mut home = Home {
        repositories: repo_scope.roots.iter().map(|root| root.display().to_string()).collect(),
        waiting: Vec::new(),
        bubbles: Vec::new(),
        problems: Vec::new(),
    };
    for found in app.found(repo_scope)? {
        let bubbles = match found.bubbles {
            Ok(bubbles) => bubbles,
            Err(error) => {
                home.problems.push(CommandError::from(error).message);
                continue;
            }
        };
        for listed in bubbles {
            let (id, root) = (listed.bubble.id.clone(), &found.root);
            if let Some(why) = &listed.foreign {
                let notice = listed.bubble.notice_of(why).map(|line| repo_scope.line(&line, root));
                home.problems.push(format!("bubble {id} is foreign: {}; next: {}", notice.why, notice.next));
            } else if let Ok(state) = &listed.state {
                home.waiting.extend(items(repo_scope, root, state));
                home.problems.extend(worktree_warning(repo_scope, &listed.bubble, state));
            }
            let foreign = listed.foreign.map(|why| why.to_string());
            let row = BubbleRow::new(root, id, listed.state.map_err(|error| CommandError::from(error).message));
            home.bubbles.push(BubbleRow { foreign, ..row });
        }
    }
    home.waiting.sort_by_key(|waiting| waiting.item.since);
    Ok(home)
}

/// Returns a warning if the worktree of an active bubble is gone or unusable.
fn worktree_warning(repo_scope: &RepoScope, bubble: &Bubble, state: &BubbleState) -> Option<String> {
    let again = repo_scope.line(&format!("pairflow resume {}", state.id), bubble.control.repo());
    match bubble.worktree_problem(state).filter(|_| !state.phase.is_final())? {
        GitError::WorktreeGone { .. } => {
            Some(format!("the worktree of bubble {} is gone; restore it with: {again}", state.id))
        }
        other => Some(format!("bubble {}: {other}; repair it with: {again}", state.id)),
    }
}

/// Returns what waits for the person in one bubble, with command lines that work from the place of the call.
pub(crate) fn items(repo_scope: &RepoScope, root: &Path, state: &BubbleState) -> Vec<Waiting> {
    let told = |mut item: InboxItem| {
        item.answer = item.answer.iter().map(|line| repo_scope.line(line, root)).collect();
        let reading = repo_scope.line(&item.reading(), root);
        Waiting { repo: root.display().to_string(), item, reading }
    };
    inbox(state).into_iter().map(told).collect()
}

impl BubbleRow {
    fn new(root: &Path, bubble_id: BubbleId, state: Result<BubbleState, String>) -> Self {
        let mut row = Self {
            repo: root.display().to_string(),
            bubble_id,
            state: None,
            paused: false,
            foreign: None,
            active_agent: None,
            round: 0,
            created_at: None,
            task_title: String::new(),
            problem: None,
        };
        match state {
            Err(problem) => row.problem = Some(problem),
            Ok(state) => {
                let StateFields { state: name, paused, active_agent, round, .. } = StateFields::of(&state);
                (row.state, row.paused, row.active_agent, row.round) = (Some(name), paused, active_agent, round);
                (row.created_at, row.task_title) = (Some(state.about.created_at), title(&state.about.task).to_owned());
            }
        }
        row
    }
}

fn suggest_first_bubble(repo_scope: &RepoScope, out: &mut Out) -> Result<(), CommandError> {
    match repo_scope.roots.as_slice() {
        [root] if repo_scope.place.is_some() => {
            out.line(format_args!("There is no bubble in {} yet", root.display()))?;
            out.next(format_args!("{}", repo_scope.line("pairflow new \"what to do\"", root)));
        }
        _ => {
            out.line(format_args!("There is no bubble yet, and this is not a git repository."))?;
            out.next(format_args!("pairflow demo, or in a repository: pairflow new \"what to do\""));
        }
    }
    Ok(())
}

fn waiting(app: &App, home: &Home, out: &mut Out) -> Result<(), CommandError> {
    if home.waiting.is_empty() {
        return out.paint(&TextLine::new().add(Tone::Good, "Nothing waits for you."));
    }
    let now = app.clock.now().ts;
    out.paint(&TextLine::new().add(Tone::Strong, format!("Waiting for you: {}", home.waiting.len())))?;
    for Waiting { item, reading, .. } in &home.waiting {
        let since = format!("{:>6}", age(item.since, now));
        let who = format!("{}, {}: ", item.bubble_id, called(item));
        let room = out.columns().unwrap_or(usize::MAX).saturating_sub(since.len() + 4 + who.len()).max(20);
        let line = TextLine::new().add(Tone::Faint, since).plain("  ").add(Tone::Strong, who);
        let question = safe_line(&item.question, room);
        out.paint(&line.piece(Tone::Warn, &question))?;
        let answer = if item.is_read_in(&question) { item.answer.first() } else { Some(reading) };
        if let Some(answer) = answer {
            out.paint(&TextLine::new().plain(" ".repeat(8)).plain(answer))?;
        }
    }
    Ok(())
}

/// Returns who asks, as people say it.
pub(crate) fn called(item: &InboxItem) -> String {
    match &item.by {
        pairflow_core::ids::Party::Orchestrator => "pairflow".to_owned(),
        other => other.to_string(),
    }
}

fn table(app: &App, home: &Home, out: &mut Out) -> Result<(), CommandError> {
    let now = app.clock.now().ts;
    let many = home.repositories.len() > 1;
    let mut grid = Grid::new(if many {
        &["REPOSITORY", "ID", "STATE", "TURN", "ROUND", "AGE", "TASK"]
    } else {
        &["ID", "STATE", "TURN", "ROUND", "AGE", "TASK"]
    });
    for row in &home.bubbles {
        let cells = cells(row, now);
        let repo = many.then(|| (Tone::Faint, row.repo.clone()));
        grid.row(repo.into_iter().chain(cells));
    }
    out.grid(&grid)
}

fn cells(row: &BubbleRow, now: Timestamp) -> Vec<(Tone, String)> {
    let Some(state) = row.state else {
        let problem = row.problem.clone().unwrap_or_default();
        let nothing = || (Tone::Faint, "-".to_owned());
        let unreadable = (Tone::Bad, "UNREADABLE".to_owned());
        return vec![
            (Tone::Strong, row.bubble_id.to_string()),
            unreadable,
            nothing(),
            nothing(),
            nothing(),
            (Tone::Bad, problem),
        ];
    };
    let paused = if row.paused { ", paused" } else { "" };
    let foreign = if row.foreign.is_some() { ", foreign" } else { "" };
    let turn =
        row.active_agent.as_ref().filter(|_| row.foreign.is_none()).map_or_else(|| "-".to_owned(), ToString::to_string);
    let created = row.created_at.map_or_else(|| "-".to_owned(), |at| age(at, now));
    vec![
        (Tone::Strong, row.bubble_id.to_string()),
        (state_tone(state, row.paused), format!("{state}{paused}{foreign}")),
        (Tone::Plain, turn),
        (Tone::Plain, row.round.to_string()),
        (Tone::Faint, created),
        (Tone::Plain, row.task_title.clone()),
    ]
}
