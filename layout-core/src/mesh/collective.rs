//! `Collective`: the collective operation that the messages of a plan make together.
//!
//! Law: a plan has a name only where the messages of every group are those of the collective, all of one size. Any other
//! plan is [`Collective::Pairs`], which sends and receives them one by one.

use super::reshard::{Piece, Transfer};
use crate::Layout;

/// What the messages of a plan are together, within each group of ranks.
///
/// ```
/// use layout_core::mesh::Collective;
/// assert_eq!(Collective::AllToAll.to_string(), "all-to-all");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// No rank needs anything of another.
    Local,
    /// Each rank gives all others the same; they hold everything afterwards.
    AllGather,
    /// Each rank receives the sum of its part.
    ReduceScatter,
    /// Each rank receives the sum of everything.
    AllReduce,
    /// Each rank gives each other one a part of its own.
    AllToAll,
    /// Each rank gives all it has to one other at most.
    Permute,
    /// One rank gives all others the same.
    Broadcast,
    /// None of these: messages between pairs.
    Pairs,
}

/// The groups of ranks that exchange anything, and what they do.
pub(super) fn recognise(ranks: usize, transfers: &[Transfer]) -> (Collective, Vec<Vec<usize>>) {
    let mut group: Vec<usize> = (0..ranks).collect();
    for transfer in transfers.iter().filter(|transfer| transfer.from != transfer.to) {
        let (one, other) = (group[transfer.from], group[transfer.to]);
        if one != other {
            group.iter_mut().filter(|own| **own == other.max(one)).for_each(|own| *own = other.min(one));
        }
    }
    let members = |first: usize| (0..ranks).filter(|rank| group[*rank] == first).collect::<Vec<_>>();
    let groups: Vec<Vec<usize>> = (0..ranks).map(members).filter(|group| group.len() > 1).collect();
    if groups.is_empty() {
        return (Collective::Local, groups);
    }
    let messages: Vec<Messages<'_>> = groups.iter().map(|group| Messages::of(group, transfers)).collect();
    let sizes = |all: &[Messages<'_>]| {
        let mut sizes = all.iter().flat_map(|own| own.list.iter().map(|(_, _, transfer)| transfer.size()));
        let first = sizes.next();
        sizes.all(|size| Some(size) == first) && all.iter().all(|own| own.ranks == all[0].ranks)
    };
    let even = sizes(&messages);
    let named = [
        Collective::AllReduce,
        Collective::ReduceScatter,
        Collective::AllGather,
        Collective::AllToAll,
        Collective::Broadcast,
        Collective::Permute,
    ];
    let fits = |name: &Collective| {
        (even || *name == Collective::Permute) && messages.iter().all(|own| own.are(*name))
    };
    (named.into_iter().find(fits).unwrap_or(Collective::Pairs), groups)
}

/// The transfers within one group, by places in it.
struct Messages<'a> {
    ranks: usize,
    list: Vec<(usize, usize, &'a Transfer)>,
}

/// Where the elements of a message are on one side.
fn sources(transfer: &Transfer) -> Vec<(i64, &Layout)> {
    transfer.pieces.iter().map(|Piece { from, source, .. }| (*from, source)).collect()
}

fn targets(transfer: &Transfer) -> Vec<(i64, &Layout)> {
    transfer.pieces.iter().map(|Piece { to, target, .. }| (*to, target)).collect()
}

impl<'a> Messages<'a> {
    fn of(group: &[usize], transfers: &'a [Transfer]) -> Self {
        let place = |rank: usize| group.binary_search(&rank).ok();
        let own = |transfer: &'a Transfer| Some((place(transfer.from)?, place(transfer.to)?, transfer));
        Self { ranks: group.len(), list: transfers.iter().filter_map(own).collect() }
    }

    /// Whether each gives each, itself among them.
    fn complete(&self) -> bool {
        self.list.len() == self.ranks * self.ranks
    }

    fn adds(&self) -> bool {
        self.list.iter().any(|(_, _, transfer)| transfer.adds)
    }

    /// Whether each sender gives all receivers the same.
    fn same_for_all(&self) -> bool {
        let mut first: Vec<Option<&Transfer>> = vec![None; self.ranks];
        self.list
            .iter()
            .all(|(from, _, transfer)| sources(first[*from].get_or_insert(transfer)) == sources(transfer))
    }

    /// Whether all that a receiver is given goes to one place.
    fn one_place(&self) -> bool {
        let mut first: Vec<Option<&Transfer>> = vec![None; self.ranks];
        self.list
            .iter()
            .all(|(_, to, transfer)| targets(first[*to].get_or_insert(transfer)) == targets(transfer))
    }

    /// Whether the messages are those of this collective, if they are all of one size.
    fn are(&self, name: Collective) -> bool {
        match name {
            Collective::AllReduce => {
                self.complete() && self.adds() && self.one_place() && self.same_for_all()
            }
            Collective::ReduceScatter => self.complete() && self.adds() && self.one_place(),
            Collective::AllGather => self.complete() && !self.adds() && self.same_for_all(),
            Collective::AllToAll => self.complete() && !self.adds(),
            Collective::Broadcast => self.broadcast(),
            Collective::Permute => self.permute(),
            Collective::Local => self.list.iter().all(|(from, to, _)| from == to),
            Collective::Pairs => true,
        }
    }

    fn broadcast(&self) -> bool {
        let root = self.list.first().map(|(from, _, _)| *from);
        let one = self.list.iter().all(|(from, _, _)| Some(*from) == root);
        let others = self.list.iter().filter(|(from, to, _)| from != to).count();
        one && others == self.ranks - 1 && self.same_for_all()
    }

    fn permute(&self) -> bool {
        let (mut sent, mut received) = (vec![false; self.ranks], vec![false; self.ranks]);
        let first = |seen: &mut bool| !std::mem::replace(seen, true);
        let alone = |(from, to, _): &(usize, usize, _)| first(&mut sent[*from]) && first(&mut received[*to]);
        !self.adds() && self.list.iter().all(alone)
    }
}
