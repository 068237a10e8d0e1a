//! What a kernel's `deny` refuses.

use super::super::wire::wire;
use std::fmt;

wire! {
    /// What an access can lose on its way to code; `deny(..)` in the attribute makes it an error.
    ///
    /// ```
    /// use layout_compiler::Degradation;
    /// assert_eq!(Degradation::from_name("narrowed"), Some(Degradation::Narrowed));
    /// assert_eq!(Degradation::Synchronous.to_string(), "synchronous");
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Degradation {
        /// Fewer elements move at once than were asked for, or than lie side by side.
        Narrowed,
        /// A condition that is not proved stands around it.
        Masked,
        /// A copy that was to be asynchronous is not.
        Synchronous,
    }
}

impl Degradation {
    /// All of them.
    pub const ALL: [Degradation; 3] = [Degradation::Narrowed, Degradation::Masked, Degradation::Synchronous];

    /// The word in the attribute.
    pub const fn name(self) -> &'static str {
        match self {
            Degradation::Narrowed => "narrowed",
            Degradation::Masked => "masked",
            Degradation::Synchronous => "synchronous",
        }
    }

    /// The one of that word.
    pub fn from_name(name: &str) -> Option<Degradation> {
        Degradation::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Degradation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
