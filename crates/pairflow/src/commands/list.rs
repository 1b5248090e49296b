//! `pairflow list`: all bubbles of a repository.

use pairflow_core::view::{StateFields, title};
use pairflow_engine::engine::Listed;
use serde::Serialize;

use super::{App, Args, CommandEntry, CommandError, Grid, Out, RepoArg, Tone, anyone, command};
use crate::app::tell_foreign;

/// List the bubbles of a repository
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow list\n  pairflow list --json")]
pub struct ListArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("list", Reading, ListArgs, run, anyone);

/// The list as programs see it.
#[derive(Serialize)]
struct BubbleList {
    repo: String,
    bubbles: Vec<ListItem>,
}

/// A bubble of the list: its state, or why it cannot be read.
#[derive(Serialize)]
#[serde(untagged)]
enum ListItem {
    Readable {
        #[serde(flatten)]
        fields: Box<StateFields>,
        task_title: String,
        merged: bool,
        foreign: Option<String>,
        error: Option<String>,
    },
    Unreadable {
        bubble_id: String,
        error: String,
    },
}

fn run(args: ListArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let root = app.place(args.repo.repo.as_deref())?.repo.root;
    let listed = app.engine()?.list(&root)?;
    if args.json {
        let bubbles = listed.into_iter().map(item).collect();
        return out.json("list/1", &BubbleList { repo: root.display().to_string(), bubbles });
    }
    if listed.is_empty() {
        out.line(format_args!("There is no bubble in {}", root.display()))?;
        out.next(format_args!("pairflow new \"what to do\""));
        return Ok(());
    }
    let mut grid = Grid::new(&["ID", "STATE", "ROUND", "TURN", "TASK"]);
    let notice = |one: &Listed| Some((one.bubble.id.clone(), one.bubble.notice_of(one.foreign.as_ref()?)));
    let foreign: Vec<_> = listed.iter().filter_map(notice).collect();
    for item in listed.into_iter().map(item) {
        grid.row(cells(&item));
    }
    out.grid(&grid)?;
    for (id, notice) in foreign {
        tell_foreign(&id, &notice, out);
    }
    Ok(())
}

fn item(listed: Listed) -> ListItem {
    match listed.state {
        Ok(state) => ListItem::Readable {
            fields: Box::new(StateFields::of(&state)),
            task_title: title(&state.about.task).to_owned(),
            merged: state.gate.merged.is_some(),
            foreign: listed.foreign.map(|why| why.to_string()),
            error: None,
        },
        Err(error) => {
            ListItem::Unreadable { bubble_id: listed.bubble.id.to_string(), error: CommandError::from(error).message }
        }
    }
}

fn cells(item: &ListItem) -> [(Tone, String); 5] {
    match item {
        ListItem::Readable { fields, task_title, merged, foreign, .. } => {
            let own = fields.active_agent.as_ref().filter(|_| foreign.is_none());
            let turn = own.map_or("-".to_owned(), ToString::to_string);
            let merged = if *merged { ", merged" } else { "" };
            let paused = if fields.paused { ", paused" } else { "" };
            let paint = if foreign.is_some() { Tone::Bad } else { Tone::Plain };
            let foreign = if foreign.is_some() { ", foreign" } else { "" };
            [
                (Tone::Strong, fields.bubble_id.to_string()),
                (paint, format!("{}{paused}{merged}{foreign}", fields.state)),
                (Tone::Plain, fields.round.to_string()),
                (Tone::Plain, turn),
                (Tone::Plain, task_title.clone()),
            ]
        }
        ListItem::Unreadable { bubble_id, error } => [
            (Tone::Strong, bubble_id.clone()),
            (Tone::Bad, "UNREADABLE".to_owned()),
            (Tone::Plain, "-".to_owned()),
            (Tone::Plain, "-".to_owned()),
            (Tone::Bad, error.clone()),
        ],
    }
}
