//! The store on simulated and real disks.

mod damage;
mod disks;
mod ownership;
