//! What one channel has to tell, and how it runs a program for that.

use std::sync::Arc;
use std::time::Duration;

use pairflow_core::rules::Notifications;
use pairflow_core::view::inbox::Notification;

use crate::engine::Bubble;
use crate::process::{Cancel, Job, JobCommand, JobKind, JobResult, Registration, run};

/// How long one channel may take in all.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How much of what a program says is read.
const OUTPUT: usize = 2 * 1024;

/// Variables that lead to a person's programs, loudspeaker and desktop.
const ROOM: [&str; 11] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOME",
    "PATH",
    "PIPEWIRE_REMOTE",
    "PULSE_COOKIE",
    "PULSE_SERVER",
    "PULSE_SINK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// The environment of a person.
pub(super) type Person<'a> = Option<&'a [(String, String)]>;

/// What is to be told, of which bubble, and how.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) bubble: Arc<Bubble>,
    pub(super) notification: Notification,
    pub(super) how: Notifications,
    room: Vec<(String, String)>,
}

impl Order {
    /// Puts an order together; `person` is the environment of the person who works with the bubble, if it is known.
    pub(super) fn new(
        bubble: &Arc<Bubble>,
        notification: Notification,
        how: &Notifications,
        person: Person<'_>,
    ) -> Self {
        let room = |name: &&str| Some(((*name).to_owned(), of(person, name)?));
        let room = ROOM.iter().filter_map(room).collect();
        Self { bubble: bubble.clone(), notification, how: how.clone(), room }
    }

    /// Returns a variable of the person.
    pub(super) fn var(&self, name: &str) -> Option<&str> {
        self.room.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }
}

/// Returns a variable of `person`, or our own where no person is known.
fn of(person: Person<'_>, name: &str) -> Option<String> {
    match person {
        Some(env) => env.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone()),
        None => std::env::var(name).ok(),
    }
}

/// Runs a program to its end, at most `limit` long, and on record like everything that is run for a bubble.
pub(super) fn program(order: &Order, argv: Vec<String>, limit: Duration) -> Result<(), String> {
    let cancel = Cancel::new().map_err(|error| error.to_string())?;
    let what = argv.first().cloned().unwrap_or_default();
    let job = Job {
        command: JobCommand::Argv(argv),
        cwd: "/".into(),
        env: order.room.clone(),
        timeout: Some(limit),
        max_output_bytes: OUTPUT,
        log: None,
        registry: Some(Registration { dir: order.bubble.registry(), kind: JobKind::Notification, what: what.clone() }),
    };
    outcome(&what, &run(&job, &cancel))
}

fn outcome(what: &str, ran: &JobResult) -> Result<(), String> {
    let said = String::from_utf8_lossy(&ran.output);
    let said = pairflow_core::safe::safe_line(&said, 200);
    match ran {
        JobResult { could_not_start: Some(why), .. } => Err(why.clone()),
        JobResult { timed_out: true, .. } => Err(format!("{what} took too long")),
        JobResult { exit: Some(0), .. } => Ok(()),
        JobResult { exit: Some(code), .. } => Err(format!("{what} ended with exit code {code}: {said}")),
        _ => Err(format!("{what} was ended")),
    }
}
