//! The door of an agent that pairflow has started itself: one socket for each seat of a bubble.
//!
//! The socket is the identity. Whoever reaches it is that agent, and no request can name another one; so an agent holds
//! no secret, writes no log, and can be kept away from the control directory. Verbs are applied where the socket is;
//! what the hooks of an agent report is handed on. Nothing that an agent prints comes through here.

mod address;
mod call;
mod input;
mod reach;
mod serve;
mod socket;
mod wire;

pub use address::{fitting, private_dir, seat_path};
pub use call::{HookAnswer, HookCall, HookName, SeatCall};
pub use reach::{Lost, Words, attempted, report, say};
pub use socket::SeatSocket;
