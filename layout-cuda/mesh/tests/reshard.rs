//! Plans carried out: by simulators, and by GPUs where there are several, against the plan on the host.

use layout_core::LayoutError;
use layout_core::mesh::{Collective, Distributed, Mesh};
use layout_cuda::Element;
use layout_mesh::{Resharding, World};

/// So many simulators, and so many GPUs if they are there.
fn worlds(ranks: usize) -> Vec<World> {
    let mut worlds = vec![World::simulators(ranks).expect("a world")];
    if layout_cuda::driver::device_count().unwrap_or(0) >= ranks {
        worlds.push(World::gpus(0..ranks).expect("GPUs and NCCL"));
    } else {
        eprintln!("there are no {ranks} GPUs: simulators only");
    }
    worlds
}

/// A rank's part of a two-dimensional tensor: each value its own.
fn carried_out<T: Element + PartialEq>(
    plan: &Resharding,
    value: impl Fn(usize, usize) -> T + Sync,
    add: impl Fn(T, T) -> T,
) {
    let (from, to) = (plan.plan().source(), plan.plan().target());
    let len = from.memory().cosize() as usize;
    if len < 1 << 16 {
        plan.plan().verify().expect("a right plan");
    }
    let ranks = from.mesh().size();
    // The plan on the host, by numbers of the values: a sum of T is the test's to make.
    let mut want: Vec<Vec<Option<T>>> = vec![vec![None; to.memory().cosize() as usize]; ranks];
    for transfer in plan.plan().transfers() {
        for piece in &transfer.pieces {
            for (source, target) in piece.source.offsets().zip(piece.target.offsets()) {
                let value = value(transfer.from, (piece.from + source) as usize);
                let place = &mut want[transfer.to][(piece.to + target) as usize];
                *place = Some(place.filter(|_| transfer.adds).map_or(value, |before| add(before, value)));
            }
        }
    }
    let numbers = |list: Vec<i64>| -> [usize; 2] { [list[0] as usize, list[1] as usize] };
    let strides = |held: &Distributed| numbers(held.memory().leaves().map(|mode| mode.stride).collect());
    for world in worlds(ranks) {
        let held = world.run(|member| {
            let stream = member.device().new_stream()?;
            let own: Vec<T> = (0..len).map(|place| value(member.rank(), place)).collect();
            let source = stream.upload_strided(&own, numbers(from.local_shape()), strides(from))?;
            let mut target = stream.zeros_strided::<T, 2>(numbers(to.local_shape()), strides(to))?;
            target.poison()?;
            let mut prepared = plan.prepare::<T>(member, &stream)?;
            prepared.run(member, &stream, &source, &mut target)?;
            prepared.run(member, &stream, &source, &mut target)?;
            member.wait(&stream)?;
            Ok(target.download()?)
        });
        let held = held.unwrap_or_else(|error| panic!("{}: {error}", plan.plan()));
        for (rank, (held, want)) in held.iter().zip(&want).enumerate() {
            let wrong = held.iter().zip(want).position(|(held, want)| want.is_some_and(|want| want != *held));
            assert_eq!(wrong, None, "rank {rank} of {}", plan.plan());
        }
    }
}

#[test]
fn every_collective_and_pairs() {
    let mesh = Mesh::new([("gpu", 2)]).expect("a mesh");
    let square = Mesh::new([("x", 2), ("y", 2)]).expect("a mesh");
    let turned = Mesh::with_ranks(["x", "y"], "(2,2):(1,2)".parse().expect("a layout")).expect("a mesh");
    let of = |mesh: &Mesh, extents: [i64; 2]| Distributed::new(mesh, extents).expect("a tensor");
    type Made = Result<Distributed, LayoutError>;
    let cases: Vec<(Made, Made, Collective)> = vec![
        (of(&mesh, [6, 8]).split(0, ["gpu"]), of(&mesh, [6, 8]).split(1, ["gpu"]), Collective::AllToAll),
        (of(&mesh, [6, 8]).split(0, ["gpu"]), Ok(of(&mesh, [6, 8])), Collective::AllGather),
        (of(&mesh, [6, 8]).split(1, ["gpu"]), Ok(of(&mesh, [6, 8])), Collective::AllGather),
        (of(&mesh, [6, 8]).partial(["gpu"]), of(&mesh, [6, 8]).split(1, ["gpu"]), Collective::ReduceScatter),
        (of(&mesh, [6, 8]).partial(["gpu"]), of(&mesh, [6, 8]).split(0, ["gpu"]), Collective::ReduceScatter),
        (of(&mesh, [6, 8]).partial(["gpu"]), of(&mesh, [6, 8]).with_strides([1, 7]), Collective::AllReduce),
        (of(&mesh, [7, 9]).split(0, ["gpu"]), of(&mesh, [7, 9]).deal(1, ["gpu"], 2), Collective::Pairs),
        (of(&mesh, [6, 8]).deal(0, ["gpu"], 6), Ok(of(&mesh, [6, 8])), Collective::Broadcast),
        (Ok(of(&mesh, [6, 8])), of(&mesh, [6, 8]).partial(["gpu"]), Collective::Local),
        (of(&square, [8, 8]).split(0, ["y"]), Ok(of(&square, [8, 8])), Collective::AllGather),
        (
            of(&square, [8, 8]).split(0, ["x"]).and_then(|t| t.partial(["y"])),
            of(&square, [8, 8]).split(0, ["x"]).and_then(|t| t.split(1, ["y"])),
            Collective::ReduceScatter,
        ),
        (
            of(&square, [8, 8]).split(0, ["x", "y"]),
            of(&turned, [8, 8]).split(0, ["x", "y"]),
            Collective::Permute,
        ),
        (
            of(&square, [5, 8]).partial(["x"]).and_then(|t| t.split(0, ["y"])),
            of(&turned, [5, 8]).split(1, ["x", "y"]),
            Collective::Pairs,
        ),
    ];
    for (from, to, collective) in cases {
        let (from, to) = (from.expect("a distribution"), to.expect("a distribution"));
        let plan = Resharding::new(&from, &to).expect("a plan");
        assert_eq!(plan.plan().collective(), collective, "{}", plan.plan());
        carried_out(&plan, |rank, place| (1000 * rank + place) as i32, |a, b| a + b);
        if !plan.plan().transfers().iter().any(|transfer| transfer.adds) {
            let odd = |rank: usize, place: usize| (5 * rank + place * place / 3) % 2 == 1;
            for plan in [plan.clone().by_reading(), plan.clone().by_copies(), plan] {
                carried_out(&plan, odd, |_, last| last);
            }
        }
    }
}

/// Rows that blocks of threads move, and parts of messages.
#[test]
fn long_rows_of_truth_values() {
    let mesh = Mesh::new([("gpu", 2)]).expect("a mesh");
    let of = Distributed::new(&mesh, [6, 4099]).expect("a tensor");
    let (rows, columns) = (of.clone().split(0, ["gpu"]), of.split(1, ["gpu"]));
    let plan = Resharding::new(&rows.expect("rows"), &columns.expect("columns")).expect("a plan");
    for plan in [plan.clone().with_parts(1 << 10), plan.at_once()] {
        carried_out(&plan, |rank, place| (rank + place % 7) % 3 == 0, |_, last| last);
    }
}

/// What a rank has prepared is of that member: its group, its device, and the way that its ranks were asked for.
#[test]
fn what_another_member_prepared_is_refused() {
    let mesh = Mesh::new([("gpu", 2)]).expect("a mesh");
    let of = Distributed::new(&mesh, [6, 8]).expect("a tensor");
    for columns in [of.clone().split(1, ["gpu"]), of.clone().deal(1, ["gpu"], 3), Ok(of.clone())] {
        let rows = of.clone().split(0, ["gpu"]).expect("rows");
        let columns = columns.expect("columns");
        let plan = Resharding::new(&rows, &columns).expect("a plan");
        let numbers = |held: &Distributed| [0, 1].map(|mode| held.local_shape()[mode] as usize);
        let run = World::simulators(2).expect("a world").run(|member| {
            let stream = member.device().stream();
            let source = stream.zeros::<f32, 2>(numbers(&rows))?;
            let mut target = stream.zeros::<f32, 2>(numbers(&columns))?;
            let other =
                member.split(&[vec![0, 1]])?.ok_or_else(|| member.refuse::<()>("no group").unwrap_err())?;
            plan.prepare::<f32>(&other, &stream)?.run(&other, &stream, &source, &mut target)?;
            plan.prepare::<f32>(&other, &stream)?.run(member, &stream, &source, &mut target)
        });
        let error = run.expect_err("another member's").to_string();
        assert!(error.contains("prepared with another member"), "{error}");
    }
}

/// The tensors are of another stream than the redistribution: what that stream does with them next comes after it.
#[test]
fn a_tensors_own_stream_waits_for_what_others_do() {
    const N: i64 = 8192;
    let mesh = Mesh::new([("gpu", 2)]).expect("a mesh");
    let matrix = Distributed::new(&mesh, [N, N]).expect("a matrix");
    let (rows, columns) = (matrix.clone().split(0, ["gpu"]), matrix.split(1, ["gpu"]));
    let plan = Resharding::new(&rows.expect("rows"), &columns.expect("columns")).expect("a plan");
    let value = |row: usize, column: usize| (row * N as usize + column) as i32;
    for (plan, world) in [plan.clone(), plan.clone().by_reading(), plan.by_copies()]
        .into_iter()
        .flat_map(|plan| worlds(2).into_iter().map(move |world| (plan.clone(), world)))
    {
        if world.to_string().contains("simulators") {
            // It works at once; the sizes of GPUs take it minutes.
            continue;
        }
        let wrong = world.run(|member| {
            let (own, beside) = (member.device().stream(), member.device().new_stream()?);
            let (half, all) = (N as usize / 2, N as usize);
            let first = member.rank() * half;
            let values: Vec<i32> =
                (0..half * all).map(|place| value(first + place / all, place % all)).collect();
            let mut prepared = plan.prepare::<i32>(member, &beside)?;
            let mut wrong = 0;
            for _ in 0..5 {
                let source = own.upload(&values, [half, all])?;
                let mut target = own.zeros::<i32, 2>([all, half])?;
                prepared.run(member, &beside, &source, &mut target)?;
                // Freed, and its memory another tensor's, before the other rank may have read it.
                drop(source);
                let next = own.zeros::<i32, 2>([half, all])?;
                let held = target.download()?;
                let places = held.iter().enumerate();
                wrong += places
                    .filter(|(place, held)| **held != value(place / half, first + place % half))
                    .count();
                drop(next);
            }
            member.wait(&beside)?;
            Ok(wrong)
        });
        assert_eq!(wrong.unwrap_or_else(|error| panic!("{}: {error}", plan.plan())), [0, 0]);
    }
}

/// Some distribution of a matrix over the axes of a mesh.
fn distributed(mesh: &Mesh, extents: [i64; 2], mut random: impl FnMut(usize) -> usize) -> Distributed {
    let mut tensor = Distributed::new(mesh, extents).expect("a tensor");
    for (name, _) in mesh.axes() {
        let mode = random(2);
        let more = match random(6) {
            0 => continue,
            1 => tensor.clone().partial([name]),
            2 => tensor.clone().deal(mode, [name], 1 + random(3) as i64),
            _ => tensor.clone().split(mode, [name]),
        };
        // What does not fit beside the other axes is left out.
        tensor = more.unwrap_or(tensor);
    }
    let [rows, columns] = tensor.local_shape()[..] else { return tensor };
    match random(3) {
        0 => tensor.with_strides([1, rows + 1]).expect("columns"),
        1 => tensor.with_strides([columns + 2, 1]).expect("rows"),
        _ => tensor,
    }
}

#[test]
fn random_plans() {
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let meshes = [
        [("x", 1), ("y", 2)],
        [("x", 3), ("y", 1)],
        [("x", 2), ("y", 2)],
        [("x", 3), ("y", 2)],
        [("x", 4), ("y", 2)],
    ]
    .map(|axes| Mesh::new(axes).expect("a mesh"));
    let mut seen = std::collections::HashSet::new();
    for _ in 0..120 {
        let mesh = &meshes[random(meshes.len())];
        // Half of them such that every split is even: what collectives come from.
        let extents = if random(2) == 0 { [24, 24] } else { [1 + random(20) as i64, 1 + random(20) as i64] };
        let (from, to) = (distributed(mesh, extents, &mut random), distributed(mesh, extents, &mut random));
        let plan = Resharding::new(&from, &to)
            .expect("a plan")
            .with_parts(1 + random(200))
            .with_rounds(1 + random(6));
        seen.insert(plan.plan().collective());
        carried_out(&plan, |rank, place| (1000 * rank + place) as i32, |a, b| a + b);
    }
    assert!(seen.len() >= 6, "{seen:?}");
}

/// Each GPU reads what it gets; simulators, which do not, send it.
#[test]
fn memory_that_is_reached() {
    let (two, four) = (Mesh::new([("gpu", 2)]).expect("a mesh"), Mesh::new([("gpu", 4)]).expect("a mesh"));
    for mesh in [two, four] {
        let of = |extents: [i64; 2]| Distributed::new(&mesh, extents).expect("a tensor");
        let cases = [
            (of([64, 256]).split(0, ["gpu"]), of([64, 256]).split(1, ["gpu"])),
            (of([63, 255]).split(1, ["gpu"]), of([63, 255]).deal(0, ["gpu"], 3)),
            (of([63, 255]).split(0, ["gpu"]), of([63, 255]).with_strides([1, 64])),
            (of([64, 256]).partial(["gpu"]), of([64, 256]).split(0, ["gpu"])),
        ];
        for (from, to) in cases {
            let plan = Resharding::new(&from.expect("a tensor"), &to.expect("a tensor")).expect("a plan");
            for plan in
                [plan.clone().by_reading(), plan.clone().by_reading().with_blocks(3), plan.by_copies()]
            {
                carried_out(&plan, |rank, place| (1000 * rank + place) as i32, |a, b| a + b);
            }
        }
    }
}

#[test]
fn messages_in_rounds() {
    // Rows to columns and back, in parts of no even size, some of fewer rounds than others.
    let mesh = Mesh::new([("gpu", 3)]).expect("a mesh");
    let tensor =
        |mode| Distributed::new(&mesh, [66, 70]).expect("a tensor").split(mode, ["gpu"]).expect("a split");
    for (from, to) in [(0, 1), (1, 0)] {
        let plan = Resharding::new(&tensor(from), &tensor(to)).expect("a plan").with_parts(900);
        carried_out(&plan, |rank, place| (rank << 24 | place) as u32, |a, b| a + b);
    }
}

#[test]
fn a_wrong_shape_is_refused_on_all_ranks() {
    let mesh = Mesh::new([("gpu", 2)]).expect("a mesh");
    let tensor =
        |mode| Distributed::new(&mesh, [4, 6]).expect("a tensor").split(mode, ["gpu"]).expect("even");
    let plan = Resharding::new(&tensor(0), &tensor(1)).expect("a plan");
    for world in worlds(2) {
        let seen = std::sync::Mutex::new(0);
        let result = world.run(|member| {
            let stream = member.device().stream();
            // Rank 1 has one row too many.
            let source = stream.zeros::<f32, 2>([2 + member.rank(), 6])?;
            let mut target = stream.upload(&[7.0f32; 12], [4, 3])?;
            let refused = plan.run(member, &stream, &source, &mut target);
            assert!(target.download()?.iter().all(|value| *value == 7.0), "nothing was sent");
            *seen.lock().expect("no panic") += usize::from(refused.is_err());
            refused
        });
        let error = result.expect_err("a wrong shape").to_string();
        assert!(error.contains("rank 1 refuses, and nothing was sent: the source is (3,6):(6,1)"), "{error}");
        assert_eq!(seen.into_inner().expect("no panic"), 2);
    }
}
