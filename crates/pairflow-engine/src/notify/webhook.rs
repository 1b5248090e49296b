//! A webhook: one JSON object by POST, which Slack and what understands Slack's format take as a message.
//!
//! The address is a secret. It is read from the person's own file when there is something to tell, and from no file that an
//! agent or a repository can write; no message repeats it.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use pairflow_core::config::Webhook;
use pairflow_core::view::notify::Notification;
use serde::Serialize;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Timeout};

use super::desktop::plain;
use super::order::{Order, PATIENCE};
use crate::config::person_layer;

/// How long to wait before the second try.
const PAUSE: Duration = Duration::from_millis(500);

const UNTRUSTED: &str = "this machine does not trust its certificate, or it does not speak TLS";

/// What is posted.
#[derive(Serialize)]
struct Message<'a> {
    /// What Slack shows; `<`, `>` and `&` are written as Slack wants them, so that no text can call a channel.
    text: String,
    bubble: &'a str,
    state: &'a str,
    question: Option<&'a str>,
}

/// Posts the notification of the order, if a webhook is configured.
pub(super) fn post(order: &Order) -> Result<(), String> {
    let Some(hook) = configured(order)? else { return Ok(()) };
    let delivered = deliver(&hook, &body(&order.notification), PATIENCE, std::thread::sleep);
    delivered.map_err(|why| format!("{hook}: {why}"))
}

/// Sends the message within `limit`, once more if nobody can have taken it the first time: told twice, a person would
/// look for a second question. `wait` lets the time before that go by.
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
struct Failed {
    why: String,
    /// Whether no connection was made, so that nobody has seen the message.
    untouched: bool,
}

fn configured(order: &Order) -> Result<Option<Webhook>, String> {
    let own = person_layer(&order.bubble.engine.dirs.config).map_err(|error| error.to_string())?;
    Ok(own.webhook.map(|set| set.value))
}

fn body(notification: &Notification) -> String {
    let message = Message {
        text: plain(&notification.text),
        bubble: notification.bubble.as_str(),
        state: notification.state.as_str(),
        question: notification.question.as_deref(),
    };
    serde_json::to_string(&message).expect("a message has text keys only, so it is always writable as JSON")
}

fn send(hook: &Webhook, body: &str, limit: Duration) -> Result<(), Failed> {
    let agent: Agent = Agent::config_builder()
        .timeout_global(Some(limit))
        // What is meant for one address is not carried to another.
        .max_redirects(0)
        .http_status_as_error(false)
        // The certificates that this machine trusts, a company's own among them.
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .build()
        .into();
    let sent = agent.post(hook.secret()).header("content-type", "application/json").send(body);
    match sent {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => {
            Err(Failed { why: format!("it answered with status {}", answer.status().as_u16()), untouched: false })
        }
        Err(error) => Err(Failed { why: reason(&error), untouched: is_untouched(&error) }),
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

/// Says what went wrong in words of our own: an error's text may repeat the address.
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

    use pairflow_core::config::{ConfigSource, Layer, Layers};

    use super::*;

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
