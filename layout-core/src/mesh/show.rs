//! Distributions, transfers and plans as text.

use super::{Collective, Distributed, Piece, Reshard, Transfer};
use std::fmt;

/// The most lines of a plan that are written out.
const LINES: usize = 64;

impl fmt::Display for Distributed {
    /// `((4),(),(2,8)):((2),(),(1,8)) over gpu=4`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {}", self.layout(), self.mesh())
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Collective::Local => "local",
            Collective::AllGather => "all-gather",
            Collective::ReduceScatter => "reduce-scatter",
            Collective::AllReduce => "all-reduce",
            Collective::AllToAll => "all-to-all",
            Collective::Permute => "permute",
            Collective::Broadcast => "broadcast",
            Collective::Pairs => "sends and receives",
        })
    }
}

impl fmt::Display for Piece {
    /// `4 + (2,2):(1,8) -> 0 + (2,2):(1,2)`: where it is, and where it goes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} + {} -> {} + {}", self.from, self.source, self.to, self.target)
    }
}

impl fmt::Display for Transfer {
    /// `0 -> 1: 4 + (2,2):(1,8) -> 0 + (2,2):(1,2)`, with `+>` where it adds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.adds { "+>" } else { "->" };
        write!(f, "{} {sign} {}:", self.from, self.to)?;
        for (number, piece) in self.pieces.iter().take(LINES).enumerate() {
            write!(f, "{} {piece}", if number == 0 { "" } else { "," })?;
        }
        match self.pieces.len() {
            0..=LINES => Ok(()),
            more => write!(f, " and {} pieces more", more - LINES),
        }
    }
}

impl fmt::Display for Reshard {
    /// What it is, what it costs, and the transfers, one a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut messages, mut elements) = (0, 0);
        for (_, _, size) in self.messages() {
            (messages, elements) = (messages + 1, elements + size);
        }
        writeln!(f, "{} -> {}", self.source(), self.target())?;
        write!(
            f,
            "{}: {messages} messages, {elements} elements, {} rounds",
            self.collective(),
            self.rounds()
        )?;
        for transfer in self.transfers().iter().take(LINES) {
            write!(f, "\n{transfer}")?;
        }
        match self.transfers().len() {
            0..=LINES => Ok(()),
            more => write!(f, "\nand {} more", more - LINES),
        }
    }
}
