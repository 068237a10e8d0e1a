//! Formatted text: what `println!` and the message of an `assert!` are made of.
//!
//! Invariant: a piece's number is in range of [`Format::values`].

use super::super::wire::wire;
use super::ExprId;

wire! {
    /// A format string and its values.
    #[derive(Clone, Debug, PartialEq, Default)]
    pub struct Format {
        /// In order.
        pub pieces: Vec<Piece>,
        /// What the pieces name, in the order of evaluation.
        pub values: Vec<ExprId>,
    }
}
wire! {
    /// A part of a format string.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Piece {
        /// As it is.
        Text(text: String),
        /// The value of this number.
        Value(number: u32, spec: Spec),
    }
}
wire! {
    /// What is behind the colon of `{:+#08.3e}`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Spec {
        /// The letter.
        pub style: Style,
        /// `<` or `>`.
        pub align: Align,
        /// `+`
        pub sign: bool,
        /// `#`
        pub alternate: bool,
        /// `0`
        pub zero: bool,
        /// The least number of characters.
        pub width: Option<u32>,
        /// Digits behind the point; of a bool the most characters.
        pub precision: Option<u32>,
    }
}
wire! {
    /// How a value is written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub enum Style {
        /// `{}`
        #[default]
        Display,
        /// `{:?}`
        Debug,
        /// `{:x}`
        LowerHex,
        /// `{:X}`
        UpperHex,
        /// `{:o}`
        Octal,
        /// `{:e}`
        LowerExp,
        /// `{:E}`
        UpperExp,
    }
}
wire! {
    /// Where the value is within its width.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub enum Align {
        /// Numbers to the right, bools to the left.
        #[default]
        Usual,
        /// `<`
        Left,
        /// `>`
        Right,
    }
}
wire! {
    /// What an assertion is in force for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum AssertKind {
        /// `assert!` and the like: everywhere.
        Always,
        /// `debug_assert!` and the like: on the simulator.
        Debug,
        /// `panic!` and the like: it fails wherever a thread comes here.
        Panic,
    }
}
