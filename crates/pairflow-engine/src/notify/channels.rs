//! The channels: sounds (the configured file, played by whatever the machine has), notifications on the desktop, and a webhook
//! that gets one JSON object by POST, which Slack and compatible services show as a message.
//!
//! The address of a webhook is a secret. It is read when there is something to send, from the person's own file and from no
//! file that an agent or a repository can write; no message repeats it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;
use pairflow_core::config::Webhook;
use pairflow_core::rules::Notifications;
use pairflow_core::view::inbox::{Announced, Notification, NotificationKind, due_notification, rings};
use serde::Serialize;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Timeout};

use crate::config::person_layer;
use crate::engine::Bubble;
use crate::process::{Cancel, Job, JobCommand, JobKind, JobResult, Registration, run};

/// How long one channel may take in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much of a program's output is read, in bytes.
const OUTPUT: usize = 2 * 1024;

/// Variables for a person's programs, sound and desktop.
const PERSON_VARIABLES: [&str; 11] = [
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
pub(super) type PersonEnv<'a> = Option<&'a [(String, String)]>;

/// A notification to send, and how.
#[derive(Clone)]
pub(super) struct NotificationJob {
    pub(super) bubble: Arc<Bubble>,
    pub(super) notification: Notification,
    pub(super) how: Notifications,
    env: Vec<(String, String)>,
}

impl NotificationJob {
    /// Makes a job; `person` is the environment of the person who works with the bubble, if known.
    pub(super) fn new(
        bubble: &Arc<Bubble>,
        notification: Notification,
        how: &Notifications,
        person: PersonEnv<'_>,
    ) -> Self {
        let env = |name: &&str| Some(((*name).to_owned(), variable(person, name)?));
        let env = PERSON_VARIABLES.iter().filter_map(env).collect();
        Self { bubble: bubble.clone(), notification, how: how.clone(), env }
    }

    /// Returns a variable of the person.
    fn var(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// Returns the sound file, if one is configured.
    pub(super) fn sound(&self) -> Option<PathBuf> {
        let file = sound_of(&self.how, self.notification.kind)?;
        Some(located(file, self.var("HOME"), self.bubble.control.repo()))
    }
}

/// Returns a variable of `person`, or our own if no person is known.
fn variable(person: PersonEnv<'_>, name: &str) -> Option<String> {
    match person {
        Some(env) => env.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone()),
        None => std::env::var(name).ok(),
    }
}

/// Runs a program to its end, at most `limit` long, and on record like everything that runs for a bubble.
fn program(job: &NotificationJob, argv: Vec<String>, limit: Duration) -> Result<(), String> {
    let cancel = Cancel::new().map_err(|error| error.to_string())?;
    let what = argv.first().cloned().unwrap_or_default();
    let process = Job {
        command: JobCommand::Argv(argv),
        cwd: "/".into(),
        env: job.env.clone(),
        timeout: Some(limit),
        max_output_bytes: OUTPUT,
        log: None,
        registry: Some(Registration { dir: job.bubble.registry(), kind: JobKind::Notification, what: what.clone() }),
    };
    outcome(&what, &run(&process, &cancel))
}

fn outcome(what: &str, ran: &JobResult) -> Result<(), String> {
    let said = String::from_utf8_lossy(&ran.output);
    let said = pairflow_core::safe::safe_line(&said, 200);
    match ran {
        JobResult { could_not_start: Some(why), .. } => Err(why.clone()),
        JobResult { timed_out: true, .. } => Err(format!("{what} timed out")),
        JobResult { exit: Some(0), .. } => Ok(()),
        JobResult { exit: Some(code), .. } => Err(format!("{what} ended with exit code {code}: {said}")),
        _ => Err(format!("{what} was killed")),
    }
}

/// What macOS runs; the text arrives as an argument.
const APPLE: [&str; 3] =
    ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];

/// Shows the notification of the order.
pub(super) fn show_on_desktop(job: &NotificationJob) -> Result<(), String> {
    program(job, desktop_argv(cfg!(target_os = "macos"), &job.notification.text), PATIENCE)
}

fn desktop_argv(apple: bool, text: &str) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    if apple {
        let script = APPLE.iter().flat_map(|line| ["-e", line]);
        return words(&std::iter::once("osascript").chain(script).chain(["pairflow", text]).collect::<Vec<_>>());
    }
    words(&["notify-send", "--app-name=pairflow", "--", "pairflow", &plain(text)])
}

/// Escapes markup, which desktops read in notifications.
fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Sound players, best first, with the arguments before the file.
const PLAYERS: [(&str, &[&str]); 5] = [
    ("pw-play", &[]),
    ("paplay", &[]),
    ("aplay", &["-q"]),
    ("afplay", &[]),
    ("ffplay", &["-nodisp", "-autoexit", "-loglevel", "error"]),
];

/// Whether the status view rings the terminal's bell: something new waits for the person, and no sound is played for it.
pub fn bell(before: &BubbleState, after: &BubbleState) -> bool {
    rings(before, after) && !sounds(before, after, &|name| std::env::var(name).ok())
}

/// Whether a sound is played for what is new; `var` looks up the person's variables.
fn sounds(before: &BubbleState, after: &BubbleState, var: &dyn Fn(&str) -> Option<String>) -> bool {
    let about = due_notification(&Announced::all_of(before), after).map(|notification| notification.kind);
    let file = about.and_then(|about| sound_of(&after.rules.notifications, about));
    let file = file.map(|file| located(file, var("HOME").as_deref(), Path::new(&after.about.repo)));
    file.is_some_and(|file| file.is_file() && players(var("PATH").as_deref()).next().is_some())
}

/// Plays the sound of the order with the first player that can.
pub(super) fn play_sound(job: &NotificationJob) -> Result<(), String> {
    let Some(file) = job.sound() else { return Ok(()) };
    if !file.is_file() {
        return Err(format!("there is no file {}", file.display()));
    }
    let began = Instant::now();
    let mut failed = Vec::new();
    for player in players(job.var("PATH")) {
        let left = PATIENCE.saturating_sub(began.elapsed());
        match program(job, player_argv(player, &file), left) {
            Ok(()) => return Ok(()),
            Err(why) => failed.push(why),
        }
        if began.elapsed() >= PATIENCE {
            break;
        }
    }
    let none = || format!("none of {} is on the PATH", PLAYERS.map(|(name, _)| name).join(", "));
    Err(if failed.is_empty() { none() } else { failed.join("; ") })
}

fn sound_of(how: &Notifications, about: NotificationKind) -> Option<&str> {
    match about {
        NotificationKind::Converged => how.converged_sound.as_deref(),
        NotificationKind::WaitingHuman | NotificationKind::Failed => how.waiting_human_sound.as_deref(),
    }
}

/// Resolves `~/` to the home directory and any other relative path to the repository.
fn located(file: &str, home: Option<&str>, repo: &Path) -> PathBuf {
    match (file.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => repo.join(file),
    }
}

/// Returns the installed players, best first.
fn players(path: Option<&str>) -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    let dirs: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    PLAYERS.iter().filter(move |(name, _)| dirs.iter().any(|dir| dir.join(name).is_file()))
}

fn player_argv((name, before): &(&str, &[&str]), file: &Path) -> Vec<String> {
    let before = before.iter().map(|word| (*word).to_owned());
    std::iter::once((*name).to_owned()).chain(before).chain([file.display().to_string()]).collect()
}

/// How long to wait before the second try.
const PAUSE: Duration = Duration::from_millis(500);

const UNTRUSTED: &str = "this machine does not trust its certificate, or it does not speak TLS";

/// What is posted.
#[derive(Serialize)]
struct WebhookBody<'a> {
    /// What Slack shows; `<`, `>` and `&` are written as Slack wants them, so that no text can call a channel.
    text: String,
    bubble: &'a str,
    state: &'a str,
    question: Option<&'a str>,
}

/// Posts the notification of the order, if a webhook is configured.
pub(super) fn post_webhook(job: &NotificationJob) -> Result<(), String> {
    let Some(hook) = configured(job)? else { return Ok(()) };
    let delivered = deliver(&hook, &body(&job.notification), PATIENCE, std::thread::sleep);
    delivered.map_err(|why| format!("{hook}: {why}"))
}

/// Sends the message within `limit`, and once more if no connection was made: after a duplicate, a person would look for a
/// second question. `wait` sleeps before the second try.
fn deliver(hook: &Webhook, body: &str, limit: Duration, wait: impl FnOnce(Duration)) -> Result<(), String> {
    let until = Instant::now() + limit;
    match send(hook, body, limit) {
        Err(failed) if failed.untouched => {
            wait(PAUSE.min(until.saturating_duration_since(Instant::now())));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() { Err(failed) } else { send(hook, body, left) }
        }
        ended => ended,
    }
    .map_err(|failed| failed.why)
}

/// Why a message was not delivered.
#[derive(Debug)]
struct DeliveryError {
    why: String,
    /// Whether no connection was made, so that the message was not received.
    untouched: bool,
}

fn configured(job: &NotificationJob) -> Result<Option<Webhook>, String> {
    let own = person_layer(&job.bubble.engine.dirs.config).map_err(|error| error.to_string())?;
    Ok(own.webhook.map(|set| set.value))
}

fn body(notification: &Notification) -> String {
    let message = WebhookBody {
        text: plain(&notification.text),
        bubble: notification.bubble.as_str(),
        state: notification.state.as_str(),
        question: notification.question.as_deref(),
    };
    serde_json::to_string(&message).expect("a message has text keys only, so it is always writable as JSON")
}

fn send(hook: &Webhook, body: &str, limit: Duration) -> Result<(), DeliveryError> {
    let agent: Agent = Agent::config_builder()
        .timeout_global(Some(limit))
        // A message for one address is not sent to another.
        .max_redirects(0)
        .http_status_as_error(false)
        // The certificates that this machine trusts, including a company's own.
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .build()
        .into();
    let sent = agent.post(hook.secret()).header("content-type", "application/json").send(body);
    match sent {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(DeliveryError {
            why: format!("it answered with status {}", answer.status().as_u16()),
            untouched: false,
        }),
        Err(error) => Err(DeliveryError { why: reason(&error), untouched: is_untouched(&error) }),
    }
}

/// Whether it failed before anything could be sent.
fn is_untouched(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
        ureq::Error::Timeout(at) => matches!(at, Timeout::Resolve | Timeout::Connect),
        ureq::Error::Io(error) => matches!(
            error.kind(),
            ErrorKind::ConnectionRefused
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::NetworkDown
                | ErrorKind::AddrNotAvailable
        ),
        _ => false,
    }
}

/// Describes an error in our own words: its text may repeat the address.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "it did not answer in time".to_owned(),
        ureq::Error::HostNotFound => "its host is unknown".to_owned(),
        ureq::Error::ConnectionFailed => "it cannot be reached".to_owned(),
        ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => UNTRUSTED.to_owned(),
        ureq::Error::Io(error) => format!("it cannot be reached ({})", error.kind()),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => UNTRUSTED.to_owned(),
        _ => "it does not speak HTTP as expected".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use pairflow_core::bubble::Phase;
    use pairflow_core::config::{ConfigSource, Layer, Layers};

    use super::*;

    #[test]
    fn the_text_is_one_argument_and_no_mark() {
        let text = "b1: codex asks: $(reboot) <b>\"now\"</b> & \\ ?";
        let linux = desktop_argv(false, text);
        assert_eq!(linux[..4], ["notify-send", "--app-name=pairflow", "--", "pairflow"]);
        assert_eq!(linux[4..], ["b1: codex asks: $(reboot) &lt;b&gt;\"now\"&lt;/b&gt; &amp; \\ ?"]);
        let apple = desktop_argv(true, text);
        assert_eq!(apple[7..], ["pairflow", text]);
        assert!(apple[..7].iter().all(|word| !word.contains("reboot")));
    }

    #[test]
    fn the_bell_is_for_those_who_hear_no_sound() {
        let dir = tempfile::tempdir().unwrap();
        let before = BubbleState::new("b1".parse().unwrap());
        let mut after = before.clone();
        after.about.repo = dir.path().display().to_string();
        after.phase = Phase::Failed { reason: "the disk is full".to_owned() };
        let sounds =
            |after: &BubbleState| sounds(&before, after, &|name| (name == "PATH").then(|| after.about.repo.clone()));
        assert!(bell(&before, &after) && !sounds(&after), "nothing is configured");
        after.rules.notifications.waiting_human_sound = Some("q.wav".to_owned());
        assert!(bell(&before, &after) && !sounds(&after), "the file is not there");
        std::fs::write(dir.path().join("q.wav"), "").unwrap();
        assert!(!sounds(&after), "there is no player");
        std::fs::write(dir.path().join("aplay"), "").unwrap();
        assert!(sounds(&after));
        after.rules.notifications.enabled = false;
        assert!(!bell(&before, &after));
    }

    #[test]
    fn the_players_are_asked_in_their_order_and_only_if_they_are_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        let names = || players(Some(path)).map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(), Vec::<&str>::new());
        std::fs::write(dir.path().join("ffplay"), "").unwrap();
        std::fs::write(dir.path().join("paplay"), "").unwrap();
        assert_eq!(names(), ["paplay", "ffplay"]);
        assert_eq!(players(None).count(), 0);
    }

    #[test]
    fn a_relative_sound_lies_in_the_repository_and_never_looks_like_an_option() {
        let found = |file| located(file, Some("/home/ada"), Path::new("/repo"));
        assert_eq!(found("a.wav"), Path::new("/repo/a.wav"));
        assert_eq!(found("-x"), Path::new("/repo/-x"));
        assert_eq!(found("/s/a.wav"), Path::new("/s/a.wav"));
        assert_eq!(found("~/a.wav"), Path::new("/home/ada/a.wav"));
        assert_eq!(player_argv(&PLAYERS[2], Path::new("/s/a.wav")), ["aplay", "-q", "/s/a.wav"]);
    }

    fn hook(port: u16) -> Webhook {
        let text = format!("notifications.webhook = \"http://127.0.0.1:{port}/s3cret\"\n");
        let user = Layer::parse("config.toml", &text, ConfigSource::User).unwrap();
        Layers { user, ..Layers::default() }.webhook().unwrap()
    }

    /// Reads a request whose body is `{}` to its end.
    fn take_request(stream: &mut TcpStream) {
        let mut seen = Vec::new();
        while !seen.ends_with(b"{}") {
            let mut some = [0; 4096];
            let read = stream.read(&mut some).unwrap();
            assert_ne!(read, 0, "the request is whole");
            seen.extend_from_slice(&some[..read]);
        }
    }

    #[test]
    fn whoever_does_not_answer_is_given_up_and_no_reason_repeats_the_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let short = Duration::from_millis(200);
        assert_eq!(deliver(&hook(port), "{}", short, |_| {}), Err("it did not answer in time".to_owned()));
        drop(listener);
        let refused = deliver(&hook(port), "{}", PATIENCE, |_| {}).unwrap_err();
        assert!(refused.starts_with("it cannot be reached") && !refused.contains("s3cret"), "{refused}");
    }

    #[test]
    fn a_message_is_not_carried_to_another_address() {
        let (listener, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let port = listener.local_addr().unwrap().port();
        let elsewhere = format!("http://{}/", other.local_addr().unwrap());
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let head = format!("HTTP/1.1 307 X\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n\r\n");
            take_request(&mut stream);
            stream.write_all(head.as_bytes()).unwrap();
        });
        let failed = deliver(&hook(port), "{}", PATIENCE, |_| {}).unwrap_err();
        assert_eq!(failed, "it answered with status 307");
        serving.join().unwrap();
        other.set_nonblocking(true).unwrap();
        assert!(other.accept().is_err(), "nobody called there");
    }

    /// Counts the messages that reach a server which takes each whole, and does `then` with the connection.
    fn counted(then: impl Fn(&mut TcpStream) + Send + 'static) -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let taken = Arc::new(AtomicUsize::new(0));
        let count = taken.clone();
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                take_request(&mut stream);
                count.fetch_add(1, Ordering::SeqCst);
                then(&mut stream);
                kept.push(stream);
            }
        });
        (port, taken)
    }

    #[test]
    fn what_a_server_has_taken_is_not_sent_again() {
        let (port, taken) = counted(|_| {});
        let failed = deliver(&hook(port), "{}", Duration::from_secs(2), |_| panic!("nothing is left to wait for"));
        assert_eq!(failed, Err("it did not answer in time".to_owned()));
        assert_eq!(taken.load(Ordering::SeqCst), 1);
        let (port, taken) = counted(|stream| {
            stream.write_all(b"HTTP/1.1 503 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        });
        let failed = deliver(&hook(port), "{}", PATIENCE, |_| panic!("it has the message"));
        assert_eq!(failed, Err("it answered with status 503".to_owned()));
        assert_eq!(taken.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn whoever_cannot_be_reached_is_called_once_more() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut late = None;
        // Nobody listens at the first call; the second one is answered.
        let listen = |_| {
            let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
            late = Some(std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                // The caller hangs up when it is done.
                let _ = stream.read_to_end(&mut Vec::new());
            }));
        };
        assert_eq!(deliver(&hook(port), "{}", PATIENCE, listen), Ok(()));
        late.expect("it was waited for").join().unwrap();
    }
}
