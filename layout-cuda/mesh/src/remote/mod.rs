//! Ranks in processes of their own: rank 0's process has the board, the others post over TCP.
//!
//! ```text
//! rank r                         rank 0's process
//! greeting: rank, size, job ──►  a thread for this connection: does it belong here?
//!        ◄── welcome, or why not
//! meet, ask, fail, farewell ──►  the same on the board, in rank r's name
//!        ◄── answer
//! ```
//!
//! Law: a connection stands for its rank: what is read from it is posted in the rank's name, and a connection that closes
//! without a farewell is a rank that was lost. No message is trusted: what is no request closes the connection. Whoever comes and
//! does not belong here is told why, and delays nobody.

mod client;
mod listener;
mod message;

pub(crate) use client::Remote;
pub(crate) use listener::listen;

/// Who comes: a rank, the size of the world that it takes itself to be in, and that world's job, where a launcher names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) job: String,
}

impl std::fmt::Display for Guest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.size)?;
        if self.job.is_empty() { Ok(()) } else { write!(f, " of job `{}`", self.job) }
    }
}
