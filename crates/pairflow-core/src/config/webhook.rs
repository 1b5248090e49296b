//! The address that notifications are posted to. Everyone who knows it can post there, so it is a secret: it is shown no
//! further than its host, and it is written nowhere but where the person wrote it.

use std::fmt;

use serde::{Serialize, Serializer};

use super::error::Complaint;

/// No address that a service hands out is longer.
const MOST_BYTES: usize = 2048;

/// An address that begins with `https://` or `http://` and names a host.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook(String);

impl Webhook {
    /// Reads an address; the complaint does not repeat it.
    pub(super) fn read(key: &str, text: &str) -> Result<Self, Complaint> {
        let wrong = |why: &str| Complaint::new(format!("{key} {why}")).hint("write it as the service shows it");
        let hook = Self(text.to_owned());
        match () {
            () if text.len() > MOST_BYTES => Err(wrong(&format!("has more than {MOST_BYTES} bytes"))),
            () if !text.chars().all(|c| c.is_ascii_graphic()) => Err(wrong("has a character that no address has")),
            () if hook.host().is_empty() => Err(wrong("is no address that begins with https:// or http://")),
            () => Ok(hook),
        }
    }

    /// Returns the whole address, to be used and not to be shown.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Returns the host, with its port; empty if there is none.
    fn host(&self) -> &str {
        let after = |scheme| self.0.strip_prefix(scheme);
        let rest = after("https://").or_else(|| after("http://")).unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit('@').next().unwrap_or_default()
    }
}

/// Shows where it leads, and not how.
impl fmt::Display for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.split("://").next().unwrap_or_default();
        write!(f, "{scheme}://{}/…", self.host())
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Webhook({self})")
    }
}

impl Serialize for Webhook {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLACK: &str = "https://hooks.slack.com/services/T0/B0/s3cret";

    #[test]
    fn an_address_is_shown_no_further_than_its_host() {
        let hook = Webhook::read("webhook", SLACK).unwrap();
        assert_eq!(hook.secret(), SLACK);
        assert_eq!(hook.to_string(), "https://hooks.slack.com/…");
        assert_eq!(format!("{hook:?}"), "Webhook(https://hooks.slack.com/…)");
        assert_eq!(serde_json::to_string(&hook).unwrap(), "\"https://hooks.slack.com/…\"");
        let user = Webhook::read("webhook", "http://ada:s3cret@127.0.0.1:80?token=s3cret").unwrap();
        assert_eq!(user.to_string(), "http://127.0.0.1:80/…");
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        let long = format!("https://h/{}", "s3cret".repeat(400));
        for bad in ["", "s3cret", "ftp://h/s3cret", "https:///s3cret", "https://h/s3 cret", "https://h/s3cret\n", &long]
        {
            let complaint = Webhook::read("webhook", bad).unwrap_err();
            assert!(complaint.message.starts_with("webhook "), "{complaint:?}");
            assert!(!complaint.message.contains("s3"), "{complaint:?}");
        }
    }
}
