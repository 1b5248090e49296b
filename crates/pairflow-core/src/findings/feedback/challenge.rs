//! The form of a challenger: approved or not, and a critique in free text.

use crate::facts::Severity;

use super::error::BadFeedback;
use super::fields;
use super::json::Fields;
use super::{Claim, Feedback};

pub(super) const MARKS: &[&str] = &["challenger_approved", "critique"];

pub(super) fn read(top: &Fields<'_>) -> Result<Feedback, BadFeedback> {
    let approved = top.need("challenger_approved")?.flag()?;
    let critique = top.need("critique")?;
    let summary = fields::summary(&critique)?;
    if approved {
        return Ok(Feedback::of(Claim::Approve, summary, Vec::new()));
    }
    let finding = fields::claimed(Severity::P1, &critique)?;
    Ok(Feedback::of(Claim::RequestChanges, summary, vec![finding]))
}
