//! Actors: warps with their registers, TMA, the matrix units, mbarriers.
//!
//! A warp runs its instructions (`execute`). It computes in registers (`registers`), decides which lanes are active
//! (`control`), touches memory (`touch`, `copy`, `remote`) and other threads (`together`, `order`, `meeting`). The work of
//! TMA and the matrix units is in flight until somebody waits (`proxy`, `transfer`, `matrix`, `mbarrier`).
//!
//! Law: an actor changes memory and clocks and reports events (`event`); it knows no schedule and no judge.

mod cluster;
mod collectives;
mod control;
mod copy;
mod elementwise;
mod endless_loop;
mod execute;
mod load_store;
mod local;
mod mbarrier;
mod mma;
mod named_barrier;
mod proxy;
mod registers;
mod release_acquire;
mod remote_store;
mod transfer;
mod wgmma;
