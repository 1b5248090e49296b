//! `pairflow view`: the status view of one bubble, which follows its log. It only reads.

mod screen;
mod watch;

use std::time::{Duration, Instant};

use clap::Args;
use pairflow_core::view::pane::{PaneLine, Size, pace, render};

use self::screen::{Key, Screen};
use self::watch::Watch;
use crate::app::App;
use crate::args::BubbleArg;
use crate::entry::{CommandEntry, anyone, command};
use crate::exit::CommandError;
use crate::out::{Line, Out};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// The size of a terminal that does not tell its own.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// Watch where a bubble stands, until `q` is pressed
///
/// Shows state, turn, count-down, agents, findings, inbox and the newest lines of the timeline. Only reads. Where the
/// output is no terminal, it is shown once.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  pairflow view login-race\n  pairflow view login-race --once --width 100 --height 30"
)]
pub struct ViewArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Show it once and end
    #[arg(long)]
    pub once: bool,
    /// How many columns to use; without it those of the terminal
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(1..))]
    pub width: Option<u16>,
    /// How many rows to use; without it those of the terminal
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u16).range(1..))]
    pub height: Option<u16>,
    /// Stay, whatever is pressed: it is the session's own view
    #[arg(long, hide = true)]
    pub pane: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("view", Reading, ViewArgs, run, anyone);

fn run(args: ViewArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.peek(&args.bubble, "view")?;
    let mut watch = Watch::new(bubble, args.pane);
    if args.once || !app.terminal.stdout {
        watch.look();
        watch.ask_for_supervisor();
        let lines = render(&watch.scene(app.clock.now()), args.size(app.terminal.stdout));
        return lines.iter().try_for_each(|line| out.paint(&painted(line)));
    }
    let screen = Screen::enter(out, !args.pane);
    let ended = follow(&args, app, out, &mut watch, &screen);
    screen.leave(out);
    ended
}

/// Shows the bubble again whenever it changes, the terminal does, or time has gone by that is shown.
fn follow(args: &ViewArgs, app: &App, out: &mut Out, watch: &mut Watch, screen: &Screen) -> Result<(), CommandError> {
    let mut shown: Option<(Size, Vec<PaneLine>)> = None;
    let mut due = Instant::now();
    loop {
        let news = watch.look();
        let size = args.size(true);
        let resized = shown.as_ref().is_none_or(|(before, _)| *before != size);
        if Instant::now() >= due {
            watch.ask_for_supervisor();
        }
        if news.changed || resized || Instant::now() >= due {
            let scene = watch.scene(app.clock.now());
            let lines = render(&scene, size);
            due = Instant::now() + Duration::from_secs(pace(&scene));
            if resized || shown.as_ref().is_none_or(|(_, before)| *before != lines) {
                out.redraw(&lines.iter().map(painted).collect::<Vec<_>>(), resized)?;
            }
            shown = Some((size, lines));
        }
        if news.rings {
            out.bell()?;
        }
        if out.is_gone() || screen.key(LOOK) == Key::Leave {
            return Ok(());
        }
    }
}

impl ViewArgs {
    /// How much room there is: as the options say, else as the terminal says now.
    fn size(&self, terminal: bool) -> Size {
        let own = if terminal { screen::size() } else { None }.unwrap_or(USUAL);
        let given = |option: Option<u16>, own: usize| option.map_or(own, usize::from);
        Size { columns: given(self.width, own.columns), rows: given(self.height, own.rows) }
    }
}

fn painted(line: &PaneLine) -> Line {
    line.pieces.iter().fold(Line::new(), |painted, (shade, text)| painted.piece((*shade).into(), text))
}
