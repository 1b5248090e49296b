//! A model of our own for the real agent CLIs: a server on 127.0.0.1 that speaks Anthropic Messages and OpenAI
//! Responses, answers by script and keeps every request.
//!
//! It holds no conversation: what is answered follows from the request alone, so retries, resumed and parallel
//! conversations all work. It knows nothing of pairflow; a test tells it what to say.

mod claude;
mod codex;
mod connection;
mod gate;
mod http;
mod mock;
mod read;
mod record;
mod reply;
mod scripts;
mod seen;
mod wire;

pub use gate::Gate;
pub use mock::Mock;
pub use record::{Answered, Request};
pub use reply::Reply;
pub use scripts::Scripts;
pub use seen::{Kind, Place, Said, Seen, ToolResult};
