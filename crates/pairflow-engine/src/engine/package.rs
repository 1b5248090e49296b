//! The approval package as a file of the bubble. It is derived: what the log says of an acceptance is all there is in it.

use pairflow_core::bubble::{BubbleState, advance};
use pairflow_core::hash::sha256;
use pairflow_core::log::ApprovalRequest;
use pairflow_core::view::package::again;

use crate::engine::{Bubble, EngineError};

impl Bubble {
    /// Returns exactly the package that was put up for approval.
    ///
    /// A file that is gone, or is not what was recorded, is made again out of the log.
    pub fn package(&self, request: &ApprovalRequest) -> Result<Vec<u8>, EngineError> {
        if let Ok(bytes) = self.artifacts().read(&request.package)
            && sha256(&bytes) == request.package_sha256
        {
            return Ok(bytes);
        }
        let bytes = self.package_of_log(request)?;
        // It can be made again the next time, too.
        let _ = self.log().project_artifact(&request.package, &bytes);
        Ok(bytes)
    }

    /// Renders the package of the acceptance that led to `request`, as it was then.
    fn package_of_log(&self, request: &ApprovalRequest) -> Result<Vec<u8>, EngineError> {
        let mut state = BubbleState::new(self.id.clone());
        let mut found = None;
        self.log().visit(&mut |envelope| {
            let text = again(&state, &envelope).filter(|text| sha256(text.as_bytes()) == request.package_sha256);
            found = text.or_else(|| found.take());
            advance(&mut state, &envelope);
        })?;
        found.map(String::into_bytes).ok_or_else(|| {
            let (id, name) = (&self.id, &request.package);
            EngineError::Effect(format!(
                "the package {name} of bubble {id} is gone or changed, and another version of pairflow made it; send the work back for a new one: pairflow request-rework {id} --message '…'"
            ))
        })
    }
}
