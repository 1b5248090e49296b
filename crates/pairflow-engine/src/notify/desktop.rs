//! Notifications on the desktop, by the program that the system has for it. No shell reads the text.

use super::order::{Order, PATIENCE, program};

/// What macOS runs; the text arrives as an argument.
const APPLE: [&str; 3] =
    ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];

/// Shows the notification of the order.
pub(super) fn show(order: &Order) -> Result<(), String> {
    program(order, command(cfg!(target_os = "macos"), &order.notification.text), PATIENCE)
}

fn command(apple: bool, text: &str) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    if apple {
        let script = APPLE.iter().flat_map(|line| ["-e", line]);
        return words(&std::iter::once("osascript").chain(script).chain(["pairflow", text]).collect::<Vec<_>>());
    }
    words(&["notify-send", "--app-name=pairflow", "--", "pairflow", &plain(text)])
}

/// Desktops read marks in the text of a notification; an agent's text must not become any.
pub(super) fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_one_argument_and_no_mark() {
        let text = "b1: codex asks: $(reboot) <b>\"now\"</b> & \\ ?";
        let linux = command(false, text);
        assert_eq!(linux[..4], ["notify-send", "--app-name=pairflow", "--", "pairflow"]);
        assert_eq!(linux[4..], ["b1: codex asks: $(reboot) &lt;b&gt;\"now\"&lt;/b&gt; &amp; \\ ?"]);
        let apple = command(true, text);
        assert_eq!(apple[7..], ["pairflow", text]);
        assert!(apple[..7].iter().all(|word| !word.contains("reboot")));
    }
}
