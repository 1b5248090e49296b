//! `pairflow view`: the status view of one bubble, which follows its log. It only reads.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::scan::Head;
use pairflow_core::time::Moment;
use pairflow_core::view::pane::{Alarm, PaneInput, SeatNow, Size, pace, render};
use pairflow_core::view::timeline::{TimelineRow, TimelineState};
use pairflow_core::view::{ForeignNotice, StyledLine, pane};
use pairflow_engine::engine::{Bubble, EngineError, sentence};
use pairflow_engine::notify::bell;
use pairflow_engine::store::StoreError;
use pairflow_engine::store::storage::FileStat;
use pairflow_engine::supervisor_client::Client;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, TextLine, anyone, command};
use crate::app::RawTerminal;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// The size if the terminal does not report one.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// Watch a bubble live, until `q` is pressed
///
/// Shows state, turn, countdown, agents, findings, inbox and the newest lines of the timeline. It only reads. If stdout is
/// not a terminal, it prints once and exits.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  pairflow view login-race\n  pairflow view login-race --once --width 100 --height 30"
)]
pub struct ViewArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print once and exit
    #[arg(long)]
    pub once: bool,
    /// The width in columns [default: that of the terminal]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(1..))]
    pub width: Option<u16>,
    /// The height in rows [default: that of the terminal]
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
    app.refuse_during_first_look(&bubble)?;
    let mut watch = WatchedBubble::new(bubble, args.pane);
    if args.once || !app.terminal.stdout {
        watch.look();
        watch.ask_for_supervisor();
        let lines = render(&watch.input(app.clock.now()), args.size(app.terminal.stdout));
        return lines.iter().try_for_each(|line| out.paint(&painted(line)));
    }
    let screen = LiveTerminal::enter(out, !args.pane);
    let ended = follow(&args, app, out, &mut watch, &screen);
    screen.leave(out);
    ended
}

/// Shows the bubble again whenever it changes, the terminal does, or time has gone by that is shown.
fn follow(
    args: &ViewArgs,
    app: &App,
    out: &mut Out,
    watch: &mut WatchedBubble,
    screen: &LiveTerminal,
) -> Result<(), CommandError> {
    let mut shown: Option<(Size, Vec<StyledLine>)> = None;
    let mut due = Instant::now();
    loop {
        let update = watch.look();
        let size = args.size(true);
        let resized = shown.as_ref().is_none_or(|(before, _)| *before != size);
        if Instant::now() >= due {
            watch.ask_for_supervisor();
        }
        if update.changed || resized || Instant::now() >= due {
            let input = watch.input(app.clock.now());
            let lines = render(&input, size);
            due = Instant::now() + Duration::from_secs(pace(&input));
            if resized || shown.as_ref().is_none_or(|(_, before)| *before != lines) {
                out.redraw(&lines.iter().map(painted).collect::<Vec<_>>(), resized)?;
            }
            shown = Some((size, lines));
        }
        if update.rings {
            out.bell()?;
        }
        if out.is_gone() || screen.waits_to_leave(LOOK) {
            return Ok(());
        }
    }
}

impl ViewArgs {
    /// How much room there is: as the options say, else as the terminal says now.
    fn size(&self, terminal: bool) -> Size {
        let own = if terminal { terminal_size() } else { None }.unwrap_or(USUAL);
        let given = |option: Option<u16>, own: usize| option.map_or(own, usize::from);
        Size { columns: given(self.width, own.columns), rows: given(self.height, own.rows) }
    }
}

fn painted(line: &StyledLine) -> TextLine {
    line.pieces.iter().fold(TextLine::new(), |painted, (tone, text)| painted.piece(*tone, text))
}

/// The keys that leave: `q`, Ctrl-C, Ctrl-D.
const LEAVING: [u8; 4] = [b'q', b'Q', 3, 4];

/// The signals that would end this program with the terminal in its hands.
const ENDING: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// A terminal without a cursor, whose keys arrive at once.
struct LiveTerminal {
    keys: Option<RawTerminal>,
    /// Whether keys leave.
    leaves: bool,
    /// The signal that wants an end; 0 for none.
    signal: Arc<AtomicUsize>,
}

impl LiveTerminal {
    /// Takes the terminal over; `leaves` says whether any key gives it back.
    fn enter(out: &mut Out, leaves: bool) -> Self {
        let signal = Arc::default();
        for ending in ENDING {
            // One that cannot be listened to ends the program at once, as ever.
            let number = usize::try_from(ending).unwrap_or_default();
            let _ = signal_hook::flag::register_usize(ending, Arc::clone(&signal), number);
        }
        out.cursor(false);
        Self { keys: RawTerminal::enter(), leaves, signal }
    }

    /// Gives the terminal back, with the picture left where it is. A signal that wanted this gets its way then.
    fn leave(self, out: &mut Out) {
        drop(self.keys);
        out.cursor(true);
        let signal = i32::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or_default();
        if signal != 0 {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }

    fn is_to_end(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// Waits for a key that leaves, or a signal, for at most `at_most`; returns whether to leave.
    fn waits_to_leave(&self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        if self.keys.is_none() {
            std::thread::sleep(at_most);
            return self.is_to_end();
        }
        let stdin = io::stdin();
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if self.is_to_end() {
                return true;
            }
            let wait =
                Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(1), tv_nsec: left.subsec_nanos().into() };
            let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut ready, Some(&wait)) {
                Ok(0) => return false,
                Ok(_) => {}
                // A signal: the time that is left is waited for again.
                Err(_) => continue,
            }
            let mut keys = [0; 64];
            // Past the buffer of the standard input, which would hide from the next wait what it has taken.
            match rustix::io::read(&stdin, &mut keys) {
                // The terminal is gone.
                Ok(0) | Err(rustix::io::Errno::IO) => return true,
                Ok(count) if self.leaves && keys[..count].iter().any(|key| LEAVING.contains(key)) => return true,
                _ => {}
            }
        }
        false
    }
}

/// Returns the size of the terminal that the output goes to.
fn terminal_size() -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    let told = size.ws_col > 0 && size.ws_row > 0;
    told.then(|| Size { columns: size.ws_col.into(), rows: size.ws_row.into() })
}

/// How many lines of the timeline are kept.
const KEPT: usize = 300;
/// How often the supervisor is asked for.
const ASK: Duration = Duration::from_secs(9);
/// At which look something is tried again that did not work.
const AGAIN: u64 = 10;
/// The longest file about the agents that is read, in bytes.
const SEATS_LIMIT: u64 = 256 * 1024;

/// A bubble that is watched.
struct WatchedBubble {
    bubble: Bubble,
    timeline: TimelineState,
    rows: VecDeque<TimelineRow>,
    /// How far the log has been read.
    head: Head,
    /// The files as they were when they were last read.
    seen: (Option<FileStat>, Option<FileStat>),
    seats: Option<Vec<SeatNow>>,
    supervised: bool,
    asked: Option<Instant>,
    trouble: Option<Alarm>,
    foreign: Option<ForeignNotice>,
    alarms: Vec<Alarm>,
    looks: u64,
    pane: bool,
}

/// What a look has brought.
#[derive(Debug, Clone, Copy, Default)]
struct WatchUpdate {
    /// Whether there is anything else to show than before.
    changed: bool,
    /// Whether the person should look.
    rings: bool,
}

impl WatchedBubble {
    /// Watches a bubble, in the session's own pane or elsewhere; nothing has been read yet.
    fn new(bubble: Bubble, pane: bool) -> Self {
        let timeline = TimelineState::new(bubble.id.clone());
        Self {
            bubble,
            timeline,
            rows: VecDeque::new(),
            head: Head::default(),
            seen: (None, None),
            seats: None,
            supervised: true,
            asked: None,
            trouble: None,
            foreign: None,
            alarms: Vec::new(),
            looks: 0,
            pane,
        }
    }

    /// Looks whether the files have changed, and reads what is new. What cannot be read now is said, and what is known
    /// from before stays.
    fn look(&mut self) -> WatchUpdate {
        let paths = (self.bubble.log().files().transcript(), self.seats_file());
        let stat = |path: &PathBuf| self.bubble.engine.disk.stat(path).ok().flatten();
        let (log, seats) = (stat(&paths.0), stat(&paths.1));
        let before = self.trouble.clone();
        let mut update = WatchUpdate::default();
        // A long log that cannot be read is not tried each second.
        self.looks += 1;
        let again = before.is_some() && (log.is_none() || self.looks.is_multiple_of(AGAIN));
        let was_foreign = self.foreign.is_some();
        // A bubble whose repository was moved is adopted without a new line in its log.
        if log != self.seen.0 || self.looks == 1 || (was_foreign && self.looks.is_multiple_of(AGAIN)) {
            self.foreign = self.bubble.foreign_notice().ok().flatten();
            update.changed = was_foreign != self.foreign.is_some();
        }
        if log != self.seen.0 || again || self.looks == 1 {
            update.rings = self.read_log() && self.foreign.is_none();
            update.changed |= log != self.seen.0 || before != self.trouble;
        }
        if seats != self.seen.1 {
            let small = seats.is_some_and(|stat| stat.len <= SEATS_LIMIT);
            let text = if small { pairflow_engine::regular::read_text(&paths.1).ok() } else { None };
            self.seats = text.as_deref().and_then(pane::seats);
            update.changed = true;
        }
        self.seen = (log, seats);
        self.alarms = self.alarms();
        update
    }

    /// Finds out whether a supervisor is there, unless that was asked a moment ago: asking wakes it.
    fn ask_for_supervisor(&mut self) {
        if self.asked.is_some_and(|asked| asked.elapsed() < ASK) {
            return;
        }
        self.asked = Some(Instant::now());
        self.supervised = Client::new(&self.bubble.engine).is_there();
        self.alarms = self.alarms();
    }

    /// Returns what there is to show.
    fn input(&mut self, now: Moment) -> PaneInput<'_> {
        let timeline = &*self.rows.make_contiguous();
        PaneInput {
            state: self.timeline.state(),
            seats: self.seats.as_deref(),
            timeline,
            now,
            foreign: self.foreign.as_ref(),
            alarms: &self.alarms,
            supervised: self.supervised,
            pane: self.pane,
        }
    }

    fn seats_file(&self) -> PathBuf {
        self.bubble.control.runtime(&self.bubble.id).join("seats.json")
    }

    /// Reads what was added to the log; says whether that is worth a bell.
    fn read_log(&mut self) -> bool {
        let first = self.head == Head::default();
        let before = self.timeline.state().clone();
        self.trouble = match self.read_on() {
            Ok(()) => None,
            Err(error) => Some(self.told(error)),
        };
        !first && self.trouble.is_none() && bell(&before, self.timeline.state())
    }

    fn read_on(&mut self) -> Result<(), StoreError> {
        let (timeline, rows) = (&mut self.timeline, &mut self.rows);
        let mut each = |envelope| {
            rows.extend(timeline.step(&envelope));
            let surplus = rows.len().saturating_sub(KEPT);
            rows.drain(..surplus);
        };
        if let Some(head) = self.bubble.log().visit_after(&self.head, &mut each)? {
            self.head = head;
            return Ok(());
        }
        // Another log under the same name: a bubble that was deleted and made again, or one that was repaired.
        self.timeline = TimelineState::new(self.bubble.id.clone());
        self.rows.clear();
        self.head = Head::default();
        self.read_on()
    }

    fn told(&self, error: StoreError) -> Alarm {
        let id = &self.bubble.id;
        if matches!(error, StoreError::Missing { .. }) {
            let what = format!("Bubble {id} was deleted; this is its last state.");
            return Alarm { what, next: Some("pairflow list".to_owned()) };
        }
        let damaged = matches!(error, StoreError::Damaged { .. } | StoreError::Gone { .. });
        let what = format!("The log cannot be read: {}", sentence(&EngineError::from(error)));
        Alarm { what, next: damaged.then(|| "pairflow doctor".to_owned()) }
    }

    fn alarms(&self) -> Vec<Alarm> {
        let state: &BubbleState = self.timeline.state();
        let watched = self.foreign.is_none() && !state.phase.is_final();
        let alone = (watched && !self.supervised && self.trouble.is_none()).then(|| Alarm {
            what: "No supervisor is running, so nothing happens.".to_owned(),
            next: Some("pairflow supervise".to_owned()),
        });
        self.trouble.iter().cloned().chain(alone).collect()
    }
}
