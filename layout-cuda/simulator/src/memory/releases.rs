//! Release records: the clocks that an acquire of an element joins.
//!
//! Law: a record counts between two threads only if the scopes of release and acquire both contain both.

use super::vector_clock::RemoteClocks;
use layout_compiler::program::Scope;
use std::collections::HashMap;

/// Where a release wrote: the argument, or the block whose shared memory it is; and the byte.
pub(crate) type ByteAddress = (u64, usize);

/// What a release gives, or a fence and the atomic write behind it.
#[derive(Clone, Debug)]
pub(crate) struct ReleaseRecord {
    pub known: RemoteClocks,
    pub scope: Scope,
    pub block: u64,
}

impl ReleaseRecord {
    /// The same, by way of an operation of this scope.
    pub(crate) fn within(&self, scope: Scope) -> ReleaseRecord {
        ReleaseRecord { scope: self.scope.min(scope), ..self.clone() }
    }

    /// Puts it to others; those of one scope are one.
    pub(crate) fn add_to(self, list: &mut Vec<ReleaseRecord>) {
        let same = |one: &&mut ReleaseRecord| {
            one.scope == self.scope && (one.block == self.block || self.scope != Scope::Block)
        };
        match list.iter_mut().find(same) {
            Some(one) => one.known.join(&self.known),
            None => list.push(self),
        }
    }
}

/// What each element's last release gives to those who acquire it.
#[derive(Debug, Default)]
pub(crate) struct Releases(pub HashMap<ByteAddress, Vec<ReleaseRecord>>);

/// The fences of a warp's lanes.
///
/// ```text
/// write, fence, atomic write of x        gives[lane] at the fence, and to x
///     atomic read of x, fence, read      seen[lane] at the atomic, learnt at the fence
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneFences {
    /// What a lane gives since its last fence, to what it changes by atomic operations.
    pub released: Vec<(usize, ReleaseRecord)>,
    /// What a lane has met at elements since its last fence.
    pub observed: Vec<(usize, Vec<ReleaseRecord>)>,
}

impl LaneFences {
    /// What a lane gives, by way of an operation of this scope.
    pub(crate) fn released(&self, lane: usize, scope: Scope) -> Option<ReleaseRecord> {
        self.released.iter().find(|(own, _)| *own == lane).map(|(_, released)| released.within(scope))
    }

    /// A lane meets what others gave to an element.
    pub(crate) fn observe(&mut self, lane: usize, released: &[ReleaseRecord], scope: Scope) {
        if released.is_empty() {
            return;
        }
        let place = self.observed.iter().position(|(own, _)| *own == lane).unwrap_or_else(|| {
            self.observed.push((lane, Vec::new()));
            self.observed.len() - 1
        });
        released.iter().for_each(|one| one.within(scope).add_to(&mut self.observed[place].1));
    }
}
