//! The remark kinds that a kernel's `deny` refuses, and where it does not.

use super::super::origin::Origin;
use super::super::wire::wire;
use std::fmt;

wire! {
    /// What an access can lose on its way to code; `deny(..)` in the attribute makes it an error.
    ///
    /// ```
    /// use layout_compiler::RemarkKind;
    /// assert_eq!(RemarkKind::from_name("narrowed"), Some(RemarkKind::Narrowed));
    /// assert_eq!(RemarkKind::Synchronous.to_string(), "synchronous");
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RemarkKind {
        /// Fewer elements move at once than were asked for, or than are adjacent.
        Narrowed,
        /// A condition that is not proved is around it.
        Masked,
        /// A copy that was to be asynchronous is not.
        Synchronous,
        /// Its index takes 64 bits in a variant whose tensors fit 32.
        Wide,
        /// The order of two accesses is not proved; `certified` makes it an error.
        Races,
        /// An access is not proved to be inside of its tensor; so too.
        Bounds,
    }
}

wire! {
    /// What `deny` does not refuse of the accesses within a statement.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Allowed {
        /// The words of `#[allow(..)]`.
        pub kinds: Vec<RemarkKind>,
        /// The first origin of the statement.
        pub first: Origin,
        /// The first origin behind it.
        pub end: Origin,
    }
}

impl Allowed {
    /// Whether an access there may lose this.
    pub fn holds(&self, kind: RemarkKind, origin: Origin) -> bool {
        self.kinds.contains(&kind) && (self.first.0..self.end.0).contains(&origin.0)
    }
}

impl RemarkKind {
    /// What `certified` names.
    pub const CERTIFIED: [RemarkKind; 2] = [RemarkKind::Races, RemarkKind::Bounds];

    /// What `deny` names and `explain` reports.
    pub const ALL: [RemarkKind; 4] =
        [RemarkKind::Narrowed, RemarkKind::Masked, RemarkKind::Synchronous, RemarkKind::Wide];

    /// The word in the attribute.
    pub const fn name(self) -> &'static str {
        match self {
            RemarkKind::Narrowed => "narrowed",
            RemarkKind::Masked => "masked",
            RemarkKind::Synchronous => "synchronous",
            RemarkKind::Wide => "wide",
            RemarkKind::Races => "races",
            RemarkKind::Bounds => "bounds",
        }
    }

    /// The one of that word of `deny`.
    pub fn from_name(name: &str) -> Option<RemarkKind> {
        RemarkKind::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for RemarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
