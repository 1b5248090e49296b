//! How a line is meant. Which colour that is, if any, is decided where it is printed.

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// It is well.
    Good,
    /// Somebody should look.
    Warn,
    /// It is not well.
    Bad,
}
