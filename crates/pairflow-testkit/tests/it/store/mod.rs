//! The store on simulated and real disks.

mod cache;
mod faults;
mod ownership;
mod power_loss;
mod real_disk;
mod repair;
mod tails;
