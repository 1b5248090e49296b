//! Time limits of the supervisor, its panes and the calls to it, in one place, so that a test can set them small.

use std::time::Duration;

/// Declares the limits: name, milliseconds, meaning.
macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident = $millis:expr;)*) => {
        /// Time limits of the supervisor, its panes, and the calls to it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])* pub $name: Duration,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: Duration::from_millis($millis),)* }
            }
        }

        impl Limits {
            fn named(&mut self, name: &str) -> Option<&mut Duration> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

limits! {
    /// How often a pane is looked at while a notice is on its way.
    screen_look = 2_000;
    /// How long a pasted notice may take to be acknowledged by a program that is not busy.
    notice_pasted = 12_000;
    /// How long a notice that came with the start of a program may take.
    notice_started = 60_000;
    /// How long a busy program has to be quiet before a notice is put into its queue.
    busy_quiet = 20_000;
    /// How long a busy program is waited for at most.
    busy_most = 120_000;
    /// How long a screen may show something unknown before a person is asked: a program that starts draws for a while.
    unknown_screen = 60_000;
    /// How long a supervisor without any bubble stays.
    idle_supervisor = 30_000;
    /// How long a supervisor may hold its lock without answering before it is replaced.
    hung_supervisor = 30_000;
    /// How long an agent's verb calls a supervisor that is not there: it may be starting again.
    seat_call = 10_000;
    /// How long a caller of a seat's socket may take to say what it wants.
    seat_request = 5_000;
    /// How long an agent's program may take to hand its hook the event.
    hook_input = 10_000;
}

impl Limits {
    /// Reads `name=milliseconds`, separated by commas, on top of the defaults.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut limits = Self::default();
        for part in text.split(',') {
            let wrong = || format!("'{part}' is not a limit such as screen_look=200");
            let (name, millis) = part.split_once('=').ok_or_else(wrong)?;
            *limits.named(name).ok_or_else(wrong)? = Duration::from_millis(millis.parse().map_err(|_| wrong())?);
        }
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_set_by_name_and_nonsense_is_refused() {
        let read = Limits::read("screen_look=200,seat_call=1000").unwrap();
        let expected =
            Limits { screen_look: Duration::from_millis(200), seat_call: Duration::from_secs(1), ..Limits::default() };
        assert_eq!(read, expected);
        for wrong in ["", "screen_look", "screen_look=", "screen_look=soon", "no_such=1", "screen_look=1,"] {
            assert!(Limits::read(wrong).is_err(), "{wrong}");
        }
    }
}
