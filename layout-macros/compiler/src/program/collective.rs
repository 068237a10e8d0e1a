//! Warp collectives: votes, shuffles, reductions, matches.
//!
//! Every lane takes part; otherwise the result is unspecified and the simulator reports it. A collective orders no access
//! to memory.

/// What the 32 threads of a warp make of their values: of one of any type (sums and extremes: of integers and of
/// floats of 4 and 8 bytes), or of a `bool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// `(x, lane)`: the `x` of lane `lane` modulo 32; `lane` is an `i32`, also below.
    Shuffle,
    /// `(x, n)`: the `x` of the lane `n` modulo 32 before, the own where there is none.
    ShuffleUp,
    /// `(x, n)`: the `x` of the lane `n` modulo 32 after, the own where there is none.
    ShuffleDown,
    /// `(x, n)`: the `x` of lane `own ^ n` modulo 32.
    ShuffleXor,
    /// `(x)`: in five rounds each lane adds the sum of lane `own ^ d`, for `d` = 16, 8, 4, 2, 1.
    Sum,
    /// `(x)`: the largest; of floats the number where the other is NaN.
    Max,
    /// `(x)`: the smallest, likewise.
    Min,
    /// `(x)`: the bits of an integer that are one in every lane.
    And,
    /// `(x)`: the bits of an integer that are one in some lane.
    Or,
    /// `(x)`: the bits of an integer that are one in an odd number of lanes.
    Xor,
    /// `(x)`: in five rounds each lane adds the sum of lane `own - d`, where there is one, for `d` = 1, 2, 4, 8, 16.
    PrefixSum,
    /// `(condition)`: a `u32`, bit `i` for lane `i`.
    Ballot,
    /// `(condition)`: a `bool`.
    Any,
    /// `(condition)`: a `bool`.
    All,
    /// `(x)`: a `u32`, bit `i` for lane `i`, where that has the same bits.
    MatchAny,
    /// `(x)`: a `bool`, whether all lanes have the same bits.
    MatchAll,
    /// `(true)`: a `bool`, true in one lane, and in the same one each time.
    ElectOne,
}

impl Collective {
    /// The name in the kernel language.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Shuffle => "shuffle",
            Collective::ShuffleUp => "shuffle_up",
            Collective::ShuffleDown => "shuffle_down",
            Collective::ShuffleXor => "shuffle_xor",
            Collective::Sum => "warp_sum",
            Collective::Max => "warp_max",
            Collective::Min => "warp_min",
            Collective::And => "warp_and",
            Collective::Or => "warp_or",
            Collective::Xor => "warp_xor",
            Collective::PrefixSum => "warp_prefix_sum",
            Collective::Ballot => "ballot",
            Collective::Any => "any",
            Collective::All => "all",
            Collective::MatchAny => "match_any",
            Collective::MatchAll => "match_all",
            Collective::ElectOne => "elect_one",
        }
    }

    /// Whether it is of one type of the bits of integers.
    pub fn of_bits(self) -> bool {
        matches!(self, Collective::And | Collective::Or | Collective::Xor)
    }
}
