//! `pairflow verify`: recomputes the certificate.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Recompute the certificate from log and repository
///
/// Only reads; fails on any damage of the log.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow verify login-race")]
pub struct VerifyArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
