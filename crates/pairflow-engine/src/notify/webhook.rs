//! A webhook: one JSON object by POST, which Slack and what understands Slack's format take as a message.
//!
//! The address is a secret. It is read from the files that configure the bubble when there is something to tell, and
//! no message repeats it.

use std::io::ErrorKind;
use std::time::Duration;

use pairflow_core::config::{Layer, Webhook};
use pairflow_core::view::notify::Notification;
use serde::Serialize;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use super::channel::{Order, PATIENCE};
use super::desktop::plain;
use crate::config::ConfigFiles;

/// How often it is tried.
const TRIES: u32 = 2;

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
    let body = body(&order.notification);
    let mut why = String::new();
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        match send(&hook, &body, PATIENCE) {
            Ok(()) => return Ok(()),
            Err(error) => why = error,
        }
    }
    Err(format!("{hook}: {why}"))
}

fn configured(order: &Order) -> Result<Option<Webhook>, String> {
    let bubble = &order.bubble;
    let files =
        ConfigFiles { repo: bubble.control.repo(), user: Some(&bubble.engine.dirs.config), bubble: Some(&bubble.id) };
    let layers = files.load(Layer::default()).map_err(|error| error.to_string())?;
    Ok(layers.webhook())
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

fn send(hook: &Webhook, body: &str, limit: Duration) -> Result<(), String> {
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
        Ok(answer) => Err(format!("it answered with status {}", answer.status().as_u16())),
        Err(error) => Err(reason(&error)),
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
    use std::net::TcpListener;

    use pairflow_core::config::{Layers, Source};

    use super::*;

    fn hook(port: u16) -> Webhook {
        let text = format!("notifications.webhook = \"http://127.0.0.1:{port}/s3cret\"\n");
        let user = Layer::parse("config.toml", &text, Source::User).unwrap();
        Layers { user, ..Layers::default() }.webhook().unwrap()
    }

    #[test]
    fn whoever_does_not_answer_is_given_up_and_no_reason_repeats_the_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let short = Duration::from_millis(200);
        assert_eq!(send(&hook(port), "{}", short), Err("it did not answer in time".to_owned()));
        drop(listener);
        let refused = send(&hook(port), "{}", short).unwrap_err();
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
            let mut seen = Vec::new();
            while !seen.ends_with(b"{}") {
                let mut some = [0; 4096];
                let read = stream.read(&mut some).unwrap();
                assert_ne!(read, 0, "the request is whole");
                seen.extend_from_slice(&some[..read]);
            }
            stream.write_all(head.as_bytes()).unwrap();
        });
        let failed = send(&hook(port), "{}", PATIENCE).unwrap_err();
        assert_eq!(failed, "it answered with status 307");
        serving.join().unwrap();
        other.set_nonblocking(true).unwrap();
        assert!(other.accept().is_err(), "nobody called there");
    }
}
