//! The law of resharding over random pairs of distributions, on meshes of 1 to 16 ranks: every element arrives once, from an
//! owner. `MESH_PAIRS` says how many pairs; 400 where it does not.

use super::{Collective, Distributed, Mesh, Piece, Reshard};
use crate::{IntTuple, Layout, LayoutError};

/// A small generator of numbers, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn shuffled<T>(&mut self, mut list: Vec<T>) -> Vec<T> {
        for i in (1..list.len()).rev() {
            list.swap(i, self.next(i + 1));
        }
        list
    }

    /// So many ranks along one to four axes, numbered in any order.
    fn mesh(&mut self, ranks: usize) -> Mesh {
        let (mut rest, mut extents) = (ranks, Vec::new());
        while rest > 1 && extents.len() < 3 {
            let divisors: Vec<usize> = (1..=rest).filter(|divisor| rest % divisor == 0).collect();
            let extent = divisors[self.next(divisors.len())];
            extents.push(extent as i64);
            rest /= extent;
        }
        extents.push(rest as i64);
        let order = self.shuffled((0..extents.len()).collect());
        let ranks =
            Layout::compact(&IntTuple::flat(extents.clone()), &extents, &order, "mesh").expect("small");
        Mesh::with_ranks(["a", "b", "c", "d"].into_iter().take(extents.len()), ranks).expect("a bijection")
    }

    fn distributed(&mut self, mesh: &Mesh, extents: &[i64]) -> Distributed {
        let mut tensor = Distributed::new(mesh, extents).expect("extents above 0");
        let names: Vec<&str> = mesh.axes().map(|(name, _)| name).collect();
        let mut names = self.shuffled(names);
        while let Some(name) = names.pop() {
            let mode = self.next(extents.len());
            let mut axes = vec![name];
            if self.next(4) == 0 {
                axes.extend(names.pop());
            }
            let block = 1 + self.next(extents[mode] as usize) as i64;
            let more = match self.next(8) {
                0 | 1 => continue,
                2 => tensor.clone().partial(axes),
                3 | 4 => tensor.clone().deal(mode, axes, block),
                _ => tensor.clone().split(mode, axes),
            };
            // A block within a block that it does not fill is refused; the axis then holds copies.
            match more {
                Ok(more) => tensor = more,
                Err(LayoutError::NotDivisible { .. } | LayoutError::Unsupported { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        if self.next(2) == 0 {
            let order = self.shuffled((0..extents.len()).collect());
            let shape = tensor.local_shape();
            let (mut strides, mut step) = (vec![0; shape.len()], 1);
            for mode in order {
                strides[mode] = step;
                step = step * shape[mode] + self.next(3) as i64;
            }
            tensor = tensor.with_strides(strides).expect("modes beside one another");
        }
        tensor
    }
}

/// What every rank holds: of each element its term, some number of element and term. Also what no rank may read.
fn filled(tensor: &Distributed, terms: impl Fn(i64, i64) -> i64) -> Vec<Vec<i64>> {
    let places = tensor.memory().cosize() as usize;
    let mut memories = vec![vec![i64::MIN / 4; places]; tensor.mesh().size()];
    let size: i64 = tensor.extents().iter().product();
    for element in 0..size {
        let mut rest = element;
        let digit = |extent: &i64| {
            let digit = rest % extent;
            rest /= extent;
            digit
        };
        let coordinate: Vec<i64> = tensor.extents().iter().map(digit).collect();
        let place = tensor.place(&coordinate).expect("inside") as usize;
        for rank in tensor.holders(&coordinate).expect("inside") {
            let at = tensor.mesh().coordinate(rank).expect("a rank");
            memories[rank][place] = terms(element, tensor.copy_and_term(&at).1);
        }
    }
    memories
}

impl Numbers {
    /// Two distributions of one tensor: anything, or, one time in three, what collectives come from.
    fn pair(&mut self) -> (Distributed, Distributed) {
        let ranks = 1 + self.next(16);
        if self.next(3) == 0 {
            let (mesh, other) = (self.mesh(ranks), self.mesh(ranks));
            let all: Vec<&str> = mesh.axes().map(|(name, _)| name).collect();
            let others: Vec<&str> = other.axes().map(|(name, _)| name).collect();
            let blocks = ranks as i64 * (1 + self.next(2) as i64);
            let (from, to) =
                (Distributed::new(&mesh, [blocks, blocks]), Distributed::new(&other, [blocks, blocks]));
            let (from, to) = (from.expect("a tensor"), to.expect("a tensor"));
            let from = if self.next(3) == 0 { from.partial(all) } else { from.split(0, all) };
            let to = match self.next(4) {
                0 => to.split(0, others),
                1 => Ok(to),
                _ => to.split(1, others),
            };
            return (from.expect("even"), to.expect("even"));
        }
        let mut room = 3000;
        let mut extents = Vec::new();
        for _ in 0..1 + self.next(3) {
            let extent = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 30, 61][self.next(14)].min(room);
            room /= extent;
            extents.push(extent);
        }
        let mesh = self.mesh(ranks);
        let other = if self.next(2) == 0 { mesh.clone() } else { self.mesh(ranks) };
        (self.distributed(&mesh, &extents), self.distributed(&other, &extents))
    }
}

#[test]
fn every_element_arrives_once_from_an_owner() {
    let pairs = std::env::var("MESH_PAIRS").ok().and_then(|pairs| pairs.parse().ok()).unwrap_or(400);
    let mut numbers = Numbers(21);
    let (mut seen, mut uneven, mut cut) = (std::collections::HashMap::new(), 0, 0);
    let (mut copied, mut partial, mut apart, mut sizes) = (0, 0, 0, std::collections::HashSet::new());
    for pair in 0..pairs {
        let (from, to) = numbers.pair();
        let ranks = from.mesh().size();
        let plan = Reshard::new(&from, &to).unwrap_or_else(|error| panic!("{pair}: {from} -> {to}: {error}"));
        plan.verify().unwrap_or_else(|error| panic!("{pair}: {plan}\n{error}"));
        // The values, by who holds what and where, which `verify` does not ask.
        let value = |element: i64, term: i64| 1000 * element + 7 * term * term + term;
        let terms = from.terms();
        let whole = |element: i64| (0..terms).map(|term| value(element, term)).sum::<i64>();
        let after = plan.apply(&filled(&from, value)).expect("memories of the right size");
        let kept = to.terms();
        let part = |element: i64, kept_term: i64| {
            (0..terms).filter(|term| term % kept == kept_term).map(|term| value(element, term)).sum()
        };
        let want = filled(&to, part);
        for (rank, (after, want)) in after.iter().zip(&want).enumerate() {
            let wrong =
                after.iter().zip(want).position(|(after, want)| *want != i64::MIN / 4 && after != want);
            assert_eq!(wrong, None, "{pair}: rank {rank} of {plan}");
        }
        // The terms of what is held afterwards are together what those before were.
        if kept > 1 {
            let sums = (0..kept).map(|term| part(0, term)).sum::<i64>();
            assert_eq!(sums, whole(0));
        }
        let held = |tensor: &Distributed| (0..ranks).map(|rank| tensor.held(rank)).collect::<Vec<_>>();
        uneven += usize::from(held(&from).iter().any(|size| *size != held(&from)[0]));
        let either = |says: &dyn Fn(&Distributed) -> bool| usize::from(says(&from) || says(&to));
        copied += either(&|tensor| tensor.copy_and_term(&vec![0; tensor.mesh().axes().count()]).0.len() > 1);
        partial += either(&|tensor| tensor.terms() > 1);
        apart += either(&|tensor| tensor.memory().cosize() > tensor.memory().size());
        sizes.insert(ranks);
        cut += usize::from(plan.transfers().iter().any(|transfer| transfer.pieces.len() > 1));
        *seen.entry(plan.collective()).or_insert(0) += 1;
    }
    // Every kind was met, and what is no single layout too.
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert!(uneven * 10 > pairs && cut * 20 > pairs, "{uneven} uneven and {cut} in pieces of {pairs}");
    assert!(seen[&Collective::Local] < pairs / 2, "{seen:?}");
    assert!(copied * 10 > pairs && partial * 10 > pairs && apart * 20 > pairs, "{copied} {partial} {apart}");
    assert_eq!(sizes.len(), 16, "meshes of 1 to 16 ranks");
}

/// A fault in a plan, where it has one of that kind to give: what it does to one of its transfers.
type Fault = (&'static str, fn(&mut Reshard, usize) -> bool);

/// The piece that a fault is planted in.
fn first(plan: &mut Reshard, at: usize) -> &mut Piece {
    &mut plan.transfers[at].pieces[0]
}

/// Without the last step of its last mode.
fn shorter(piece: &mut Piece) -> bool {
    let cut = |layout: &Layout| {
        let (mut shape, stride): (Vec<i64>, Vec<i64>) =
            layout.leaves().map(|mode| (mode.shape, mode.stride)).unzip();
        let last = shape.last_mut().filter(|last| **last > 1)?;
        *last -= 1;
        Some(Layout::new(IntTuple::flat(shape), IntTuple::flat(stride)).expect("smaller"))
    };
    let Some((source, target)) = cut(&piece.source).zip(cut(&piece.target)) else { return false };
    (piece.source, piece.target) = (source, target);
    true
}

const FAULTS: [Fault; 9] = [
    ("a transfer is missing", |plan, at| {
        plan.transfers.remove(at);
        true
    }),
    ("a transfer comes twice", |plan, at| {
        let twice = plan.transfers[at].clone();
        plan.transfers.insert(at, twice);
        true
    }),
    ("it is read beside its place", |plan, at| {
        first(plan, at).from += 1;
        true
    }),
    ("it is written beside its place", |plan, at| {
        first(plan, at).to += 1;
        true
    }),
    ("it is added where it is first, or written over a term", |plan, at| {
        plan.transfers[at].adds ^= true;
        true
    }),
    ("the last elements are left out", |plan, at| shorter(first(plan, at))),
    ("source and target are each other's", |plan, at| {
        let piece = first(plan, at);
        let same = piece.from == piece.to && piece.source == piece.target;
        std::mem::swap(&mut piece.from, &mut piece.to);
        std::mem::swap(&mut piece.source, &mut piece.target);
        // Memories that are alike are read where they are written.
        !same
    }),
    ("another rank's term is taken", |plan, at| {
        let (ranks, from) = (plan.source().mesh().size(), plan.transfers[at].from);
        let terms = |rank: usize| {
            let at = plan.source().mesh().coordinate(rank).expect("a rank");
            plan.source().copy_and_term(&at).1
        };
        let Some(other) = (0..ranks).find(|other| terms(*other) != terms(from)) else { return false };
        plan.transfers[at].from = other;
        true
    }),
    ("a rank without terms is not zeroed", |plan, _| plan.zeroed.pop().is_some()),
];

#[test]
fn a_planted_fault_is_found() {
    let (mut numbers, mut planted) = (Numbers(22), [0; FAULTS.len()]);
    for pair in 0..300 {
        let (from, to) = numbers.pair();
        let plan = Reshard::new(&from, &to).expect("a plan");
        let at = numbers.next(plan.transfers().len().max(1));
        for (number, (name, plant)) in FAULTS.into_iter().enumerate() {
            let mut wrong = plan.clone();
            if plan.transfers().is_empty() || !plant(&mut wrong, at) {
                continue;
            }
            planted[number] += 1;
            assert!(wrong.verify().is_err(), "{pair}: {name}, at {at} of {plan}");
        }
    }
    assert!(planted.iter().all(|count| *count >= 10), "{planted:?}");
}

#[test]
fn what_is_no_plan_is_refused() {
    let (two, three) = (Mesh::new([("gpu", 2)]).expect("a mesh"), Mesh::new([("gpu", 3)]).expect("a mesh"));
    let tensor = |mesh: &Mesh, extents: &[i64]| Distributed::new(mesh, extents).expect("a tensor");
    let errors = [
        (Reshard::new(&tensor(&two, &[4]), &tensor(&two, &[5])).err(), "a tensor of [4] as one of [5]"),
        (Reshard::new(&tensor(&two, &[4]), &tensor(&three, &[4])).err(), "2 ranks of gpu=2 as 3 of gpu=3"),
        (Distributed::new(&two, [4, 0]).err(), "extents [4, 0]"),
        (Distributed::new(&two, [i64::MAX, 2]).err(), "does not fit 64 bits"),
        (tensor(&two, &[4]).split(1, ["gpu"]).err(), "mode 1 of a tensor of 1"),
        (tensor(&two, &[4]).split(0, ["cpu"]).err(), "no axis is named `cpu`; the mesh is gpu=2"),
        (tensor(&two, &[4]).split(0, []).err(), "a split over no axis"),
        (
            tensor(&two, &[4]).split(0, ["gpu"]).and_then(|t| t.partial(["gpu"])).err(),
            "an axis does one thing",
        ),
        (tensor(&two, &[4]).deal(0, ["gpu"], 5).err(), "blocks of 5 of a mode that has 4"),
        (tensor(&two, &[4]).deal(0, ["gpu"], 0).err(), "blocks of 0"),
        (tensor(&two, &[4, 4]).with_strides([1, 2]).err(), "not injective"),
        (tensor(&two, &[4]).with_strides([1, 2]).err(), "2 modes where 1 are needed"),
        (Mesh::new([("gpu", 2048)]).err(), "a mesh has 1 to 1024"),
        (Mesh::new([("gpu", 0)]).err(), "has 0 ranks"),
        (Mesh::new([]).err(), "0 names"),
        (Mesh::with_ranks(["x", "y"], "(2,2):(2,2)".parse().expect("a layout")).err(), "no bijection"),
        (Mesh::with_ranks(["x"], "2:-1".parse().expect("a layout")).err(), "no bijection"),
    ];
    for (number, (error, want)) in errors.into_iter().enumerate() {
        let error = error.unwrap_or_else(|| panic!("{number}: {want}: nothing is refused")).to_string();
        assert!(error.contains(want), "{number}: {error}");
    }
}

#[test]
fn a_plan_costs_what_its_layouts_cost_not_its_elements() {
    // 2^40 elements, and splits that do not divide one another.
    let mesh = Mesh::new([("gpu", 16)]).expect("a mesh");
    let tensor = Distributed::new(&mesh, [1 << 20, 1 << 20]).expect("a tensor");
    let rows = tensor.clone().split(0, ["gpu"]).expect("rows");
    let columns = tensor.clone().deal(1, ["gpu"], 1000).expect("columns");
    let plan = Reshard::new(&rows, &columns).expect("a plan");
    assert_eq!(plan.rounds(), 15);
    let sent: i64 = plan.transfers().iter().map(|transfer| transfer.size()).sum();
    assert_eq!(sent, 1 << 40);
    assert!(plan.transfers().iter().all(|transfer| transfer.pieces.len() <= 2), "{plan}");
    let shifted = tensor.deal(0, ["gpu"], 3).expect("rows dealt by threes");
    let plan = Reshard::new(&rows, &shifted).expect("a plan");
    assert!(plan.transfers().iter().all(|transfer| transfer.pieces.len() <= 3), "{plan}");
}
