//! What hangs GPUs, planted: each is an error on every rank of the simulator's mesh, at once, which says who and what.

use layout_cuda::{Stream, Tensor};
use layout_mesh::{Member, MeshError, Reduction, Result, World};
use std::time::{Duration, Instant};

/// A rank's stream, and a tensor of so many elements.
fn own(member: &Member, len: usize) -> Result<(Stream, Tensor<f32, 1>)> {
    let stream = member.device().stream();
    let tensor = stream.upload(&vec![member.rank() as f32; len], [len])?;
    Ok((stream, tensor))
}

/// An all-reduce of so many elements.
fn reduced(member: &Member, len: usize) -> Result<()> {
    let (stream, tensor) = own(member, len)?;
    let mut target = stream.zeros::<f32, 1>([len])?;
    member.all_reduce(&stream, Reduction::Sum, &tensor, &mut target)
}

fn gathered(member: &Member, len: usize) -> Result<()> {
    let (stream, tensor) = own(member, len)?;
    let mut target = stream.zeros::<f32, 1>([len * member.size()])?;
    member.all_gather(&stream, &tensor, &mut target)
}

/// A message of so many elements to one rank, and one from another.
fn exchanged(member: &Member, sends: &[(usize, usize)], receives: &[(usize, usize)]) -> Result<()> {
    let stream = member.device().stream();
    let bytes = vec![0; 4096];
    let mut places = vec![vec![0; 4096]; receives.len()];
    let view = |len: usize| layout_cuda::TensorView::<f32, 1>::over_host(&bytes[..4 * len], [len], [1]);
    let sends = sends.iter().map(|(peer, len)| Ok((*peer, view(*len)?))).collect::<Result<Vec<_>>>()?;
    let mut targets = Vec::new();
    for ((peer, len), place) in receives.iter().zip(&mut places) {
        targets.push((
            *peer,
            layout_cuda::TensorViewMut::<f32, 1>::over_host(&mut place[..4 * len], [*len], [1])?,
        ));
    }
    member.exchange(&stream, &sends, &mut targets)
}

type Body = fn(&Member) -> Result<()>;

/// A mistake, and words of its error.
const MISTAKES: [(&str, Body, &str); 15] = [
    (
        "other collectives",
        |m| if m.rank() == 1 { gathered(m, 4) } else { reduced(m, 4) },
        "rank 1: all-gather of 4 f32",
    ),
    (
        "another order",
        |m| {
            let (first, second): (Body, Body) = (|m| gathered(m, 4), |m| reduced(m, 4));
            let (first, second) = if m.rank() == 2 { (second, first) } else { (first, second) };
            first(m).and_then(|()| second(m))
        },
        "rank 2: all-reduce of 4 f32",
    ),
    ("other sizes", |m| reduced(m, if m.rank() == 0 { 8 } else { 4 }), "rank 0: all-reduce of 8 f32"),
    (
        "not at all",
        |m| if m.rank() == 2 { Ok(()) } else { reduced(m, 4) },
        "rank 2 has ended and takes no part in all-reduce",
    ),
    (
        "once more",
        |m| (0..2 + m.rank() / 2).try_for_each(|_| reduced(m, 4)),
        "takes no part in all-reduce of 4 f32",
    ),
    (
        "another operation",
        |m| {
            let (stream, tensor) = own(m, 4)?;
            let mut target = stream.zeros::<f32, 1>([4])?;
            let how = if m.rank() == 0 { Reduction::Max } else { Reduction::Sum };
            m.all_reduce(&stream, how, &tensor, &mut target)
        },
        "rank 0: all-reduce of 4 f32, max",
    ),
    (
        "another root",
        |m| {
            let (stream, tensor) = own(m, 4)?;
            let mut target = stream.zeros::<f32, 1>([4])?;
            m.broadcast(&stream, m.rank() / 2, &tensor, &mut target)
        },
        "rank 2: broadcast of 4 f32, from rank 1",
    ),
    (
        "another type",
        |m| match m.rank() {
            1 => {
                let stream = m.device().stream();
                let (source, mut target) = (stream.zeros::<i32, 1>([4])?, stream.zeros::<i32, 1>([4])?);
                m.all_reduce(&stream, Reduction::Sum, &source, &mut target)
            }
            _ => reduced(m, 4),
        },
        "rank 1: all-reduce of 4 i32",
    ),
    (
        "a target that is too small",
        |m| {
            let (stream, tensor) = own(m, 4)?;
            let mut target = stream.zeros::<f32, 1>([if m.rank() == 1 { 11 } else { 12 }])?;
            m.all_gather(&stream, &tensor, &mut target)
        },
        "rank 1 refuses, and nothing was sent: all-gather: 4 elements into 11 over 3 ranks",
    ),
    (
        "sent and not received",
        |m| match m.rank() {
            0 => exchanged(m, &[(1, 4)], &[]),
            _ => exchanged(m, &[], &[]),
        },
        "rank 0 sends [4] to rank 1, which receives [] of it",
    ),
    (
        "received and not sent",
        |m| match m.rank() {
            2 => exchanged(m, &[], &[(0, 4)]),
            _ => exchanged(m, &[], &[]),
        },
        "rank 0 sends [] to rank 2, which receives [4] of it",
    ),
    (
        "messages in another order",
        |m| match m.rank() {
            0 => exchanged(m, &[(1, 4), (1, 8)], &[]),
            1 => exchanged(m, &[], &[(0, 8), (0, 4)]),
            _ => exchanged(m, &[], &[]),
        },
        "rank 0 sends [4, 8] to rank 1, which receives [8, 4] of it",
    ),
    (
        "groups that wait for each other",
        |m| {
            let pairs = m.split(&[vec![0, 1]])?;
            match (m.rank(), pairs) {
                (0, Some(pair)) => pair.barrier().and_then(|()| m.barrier()),
                _ => m.barrier().and_then(|()| m.barrier()),
            }
        },
        "every rank waits for another one",
    ),
    (
        "other groups",
        |m| m.split(&[if m.rank() == 0 { vec![0, 1] } else { vec![1, 2] }]).map(drop),
        "rank 0: split, [[0, 1]]",
    ),
    ("a rank that is not there", |m| exchanged(m, &[(3, 1)], &[]), "a message with rank 3 of 3"),
];

#[test]
fn each_is_an_error_on_every_rank() {
    for (name, body, words) in MISTAKES {
        let world = World::simulators(3).expect("a world").limit(Duration::from_secs(20));
        let start = Instant::now();
        let seen = std::sync::Mutex::new(Vec::new());
        let result = world.run(|member| {
            let result = body(member);
            if let Err(error) = &result {
                seen.lock().expect("no panic").push((member.rank(), error.to_string()));
            }
            result
        });
        assert!(start.elapsed() < Duration::from_secs(10), "{name}: found by the time limit only");
        let error = result.map(drop).expect_err(name).to_string();
        assert!(error.contains(words), "{name}: {error}");
        let seen = seen.into_inner().expect("no panic");
        // Who has ended has no error; all others have one.
        let ended = error.contains("has ended");
        assert!(seen.len() == 3 || ended && !seen.is_empty(), "{name}: {seen:?}");
    }
}

#[test]
fn what_fits_is_no_mistake() {
    let world = World::simulators(3).expect("a world");
    let sums = world.run(|m| {
        let (stream, tensor) = own(m, 3)?;
        let mut part = stream.zeros::<f32, 1>([1])?;
        m.reduce_scatter(&stream, Reduction::Sum, &tensor, &mut part)?;
        let mut all = stream.zeros::<f32, 1>([3])?;
        m.all_gather(&stream, &part, &mut all)?;
        let mut turned = stream.zeros::<f32, 1>([3])?;
        m.all_to_all(&stream, &tensor, &mut turned)?;
        let mut greatest = stream.zeros::<f32, 1>([3])?;
        m.broadcast(&stream, 2, &tensor, &mut greatest)?;
        // A group of two, which the third one takes no part in, and one in it.
        if let Some(pair) = m.split(&[vec![0, 2]])? {
            let mut sum = stream.zeros::<f32, 1>([3])?;
            pair.all_reduce(&stream, Reduction::Sum, &tensor, &mut sum)?;
            assert_eq!((sum.download()?, pair.group()), (vec![2.0; 3], &[0, 2][..]));
            let alone = pair.split(&[vec![1]])?;
            assert_eq!(alone.map(|alone| alone.group().to_vec()), (m.rank() == 2).then(|| vec![2]));
        }
        m.barrier()?;
        exchanged(m, &[((m.rank() + 1) % 3, 5)], &[((m.rank() + 2) % 3, 5)])?;
        Ok((all.download()?, turned.download()?, greatest.download()?))
    });
    for (all, turned, greatest) in sums.expect("no mistake") {
        assert_eq!((all, turned, greatest), (vec![3.0; 3], vec![0.0, 1.0, 2.0], vec![2.0; 3]));
    }
}

#[test]
fn sixteen_bits_are_summed_in_order() {
    use layout_cuda::bf16;
    let world = World::simulators(3).expect("a world");
    let sums = world.run(|m| {
        let stream = m.device().stream();
        // 256 + 1 is 256 in bf16, so that the order shows.
        let own = [[1.0, 256.0], [1.0, 1.0], [256.0, 1.0]][m.rank()].map(bf16::from_f32);
        let (source, mut target) = (stream.upload(&own, [2])?, stream.zeros::<bf16, 1>([2])?);
        m.all_reduce(&stream, Reduction::Sum, &source, &mut target)?;
        Ok(target.download()?.iter().map(|value| value.to_f32()).collect::<Vec<_>>())
    });
    assert_eq!(sums.expect("sums"), vec![[258.0, 256.0]; 3]);
    let refused = world.run(|m| {
        let stream = m.device().stream();
        let (source, mut target) = (stream.zeros::<bool, 1>([2])?, stream.zeros::<bool, 1>([2])?);
        m.all_reduce(&stream, Reduction::Sum, &source, &mut target)
    });
    assert!(matches!(refused, Err(MeshError::Elements { .. })), "{refused:?}");
}
