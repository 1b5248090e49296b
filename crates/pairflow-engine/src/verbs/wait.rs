//! What an agent that waited for an answer is told of it.

use pairflow_core::ids::{AgentId, Party};
use pairflow_core::log::Body;

use crate::engine::{Bubble, EngineError};

impl Bubble {
    /// Returns the person's newest answer to a question of `agent`, if there is one in words.
    pub fn last_answer(&self, agent: &AgentId) -> Result<Option<String>, EngineError> {
        let asker = Party::Agent(agent.clone());
        let (mut asked, mut answer) = (Vec::new(), None);
        self.log().visit(&mut |envelope| match envelope.event.body {
            Body::HumanQuestion(_) if envelope.event.sender == asker => asked.push(envelope.id),
            Body::HumanReply(reply) if envelope.event.in_reply_to.is_some_and(|id| asked.contains(&id)) => {
                answer = Some(reply.message);
            }
            _ => {}
        })?;
        Ok(answer.filter(|text| !text.is_empty()))
    }
}
