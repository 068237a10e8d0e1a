//! Ranks in processes of their own: rank 0's process has the board, the others post over TCP.
//!
//! ```text
//! rank r                         rank 0's process
//! greeting: rank, size, job, token ──►  does it belong here? then a thread for this connection
//!        ◄── welcome and the time limit, or why not
//! meet, ask, fail, farewell ──►  the same on the board, in rank r's name
//!        ◄── answer
//! ```
//!
//! Law: a connection represents its rank: what is read from it is posted in the rank's name, and a connection that closes
//! without a farewell is a rank that was lost. No message is trusted: what is no request closes the connection. Whoever comes and
//! does not belong here gets the reason, and delays nobody. Who has the token, where there is one, is a rank: a rank can end the world
//! and choose what the others compute, as the program itself can.

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
    pub(crate) token: Token,
}

/// What all ranks of a world were given and others were not; empty where there is none. It is not printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) String);

impl Token {
    /// Whether they are the same, found out in a time that does not depend on where they differ.
    pub(crate) fn is(&self, other: &Token) -> bool {
        let pairs = self.0.bytes().zip(other.0.bytes());
        self.0.len() == other.0.len() && pairs.fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "no token" } else { "a token" })
    }
}

impl std::fmt::Display for Guest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.size)?;
        if self.job.is_empty() { Ok(()) } else { write!(f, " of job `{}`", self.job.escape_debug()) }
    }
}
