//! The command line itself: arguments, dispatch, which bubble is meant, and what pairflow says of itself.

mod args;
mod bubble_choice;
mod dispatch;
mod documentation;
