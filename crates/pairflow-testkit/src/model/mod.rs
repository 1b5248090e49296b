//! A model of our own for the real agent CLIs: a server on 127.0.0.1 that speaks Anthropic Messages and OpenAI
//! Responses, answers by script and keeps every request.
//!
//! It holds no conversation: what is answered follows from the request alone, so retries, resumed and parallel
//! conversations all work. It knows nothing of pairflow; a test tells it what to say.

mod http;
mod mock;
mod protocols;
mod record;
mod reply;

pub use mock::{Gate, Mock};
pub use record::{Answered, Kind, Place, Request, Said, Seen, ToolResult};
pub use reply::{Reply, Scripts};
