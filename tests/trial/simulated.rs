//! Right kernels that the simulator computed wrongly, accused or counted wrongly.
//!
//! Law: the elements are plain Rust's, and nothing is found, in any variant.

use super::{Given, launch};

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn as_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

/// What a cluster of four blocks of 64 threads writes, whose element `i` of `held` is `100 rank + i`. Then all write and pass on.
fn cluster(body: &str) -> Vec<f32> {
    let text = format!(
        "#[tiled_kernel(arch = \"sm_90a\", block = [64], grid = [4], cluster = [4])]
fn ranks<const R: usize>(y: &mut LayoutTensor<f32, RowMajor<R, 64>>, three: usize) {{
    let mut held = shared::<f32>(row_major([64]));
    let mut inbox = shared::<f32>(row_major([4, 64]));
    let (rank, i) = (cluster_rank(), thread_idx.x);
    held[[i]] = (100 * rank + i) as f32;
    for from in unroll(0..4) {{ inbox[[from, i]] = 0.0; }}
    cluster_barrier();
    let mut sum = 0.0;
    {body}
    y[[block_idx.x, i]] = sum;
    cluster_barrier();
}}"
    );
    let mut y = [Given::new("f32", &[4, 64], floats([0.0; 256]), true)];
    launch(&text, &mut y, &[(None, 3)], false);
    as_floats(&y[0].bytes)
}

/// Each round of an unrolled loop read the memory of the first round's rank.
#[test]
fn an_access_goes_to_the_rank_that_its_round_names() {
    let held = |rank: usize, i: usize| (100 * (rank % 4) + i) as f32;
    type Reference<'r> = &'r dyn Fn(usize, usize) -> f32;
    let all = |rank: usize, _: usize, at: usize| {
        (0..4).fold(0.0, |sum: f32, step| sum * 2.0 + held(if rank == 9 { step } else { rank + step }, at))
    };
    let cases: [(&str, Reference<'_>); 11] = [
        (
            "for r in unroll(0..4) { sum = sum * 2.0 + held.map_shared_rank(r)[[0]]; }",
            &|rank, i| all(9, rank + i, 0),
        ),
        (
            "for r in unroll(0..4) { sum = sum * 2.0 + held.map_shared_rank((rank + r) % 4)[[i]]; }",
            &|rank, i| all(rank, 0, i),
        ),
        ("for r in 0..4 { sum = sum * 2.0 + held.map_shared_rank(r)[[i]]; }", &|_, i| all(9, 0, i)),
        ("let mut r = 0; while r < 4 { sum = sum * 2.0 + held.map_shared_rank(r)[[i]]; r += 1; }", &|_, i| {
            all(9, 0, i)
        }),
        (
            "fn of(a: View<f32, Read>, r: usize, i: usize) -> f32 { a.map_shared_rank(r)[[i]] } sum = of(held, 1, i) * 2.0 + of(held, three, i);",
            &|_, i| held(1, i) * 2.0 + held(3, i),
        ),
        (
            "let (a, b) = (held.map_shared_rank(2), held.map_shared_rank(1)); sum = a[[i]] * 2.0 + b[[i]];",
            &|_, i| held(2, i) * 2.0 + held(1, i),
        ),
        (
            "for r in unroll(0..4) { for k in unroll(0..2) { sum = sum * 2.0 + held.map_shared_rank((r + k) % 4)[[(i + k) % 64]]; } }",
            &|_, i| {
                let rounds = (0..4).flat_map(|r| [(r, i), (r + 1, (i + 1) % 64)]);
                rounds.fold(0.0, |sum, (r, i)| sum * 2.0 + held(r, i))
            },
        ),
        // Of another lane each.
        ("sum = held.map_shared_rank(i % 4)[[i]] * 2.0 + held.map_shared_rank((i + 1) % 4)[[i]];", &|_, i| {
            held(i, i) * 2.0 + held(i + 1, i)
        }),
        // Written by rank, at once and asynchronously.
        (
            "for r in unroll(0..4) { inbox.map_shared_rank(r)[[rank, i]] = held[[i]] + r as f32; } cluster_barrier();
             for from in unroll(0..4) { sum = sum * 2.0 + inbox[[from, i]]; }",
            &|rank, i| (0..4).fold(0.0, |sum, from| sum * 2.0 + held(from, i) + rank as f32),
        ),
        (
            "for r in unroll(0..4) { if r != rank { inbox.map_shared_rank(r)[[rank, i]] += 1.0; } } cluster_barrier();
             for from in unroll(0..4) { sum = sum * 2.0 + inbox[[from, i]]; }",
            &|rank, _| (0..4).fold(0.0, |sum, from| sum * 2.0 + if from == rank { 0.0 } else { 1.0 }),
        ),
        (
            "let full = mbarriers(1, 1); cluster_barrier(); if i == 0 { full.at(0).arrive_expect(4 * 4 * 64); }
             for r in unroll(0..4) {
                 let mut own = local::<f32>(row_major([1])); own[[0]] = held[[i]] + r as f32;
                 store_async(&mut inbox.map_shared_rank(r).slice(rank).tile([1], [i]), &own, full.at(0));
             }
             full.at(0).wait(0); for from in unroll(0..4) { sum = sum * 2.0 + inbox[[from, i]]; }",
            &|rank, i| (0..4).fold(0.0, |sum, from| sum * 2.0 + held(from, i) + rank as f32),
        ),
    ];
    for (body, reference) in cases {
        let wanted: Vec<f32> = (0..256).map(|at| reference(at / 64, at % 64)).collect();
        assert_eq!(cluster(body), wanted, "{body}");
    }
}

/// The kernel's elements, where `s` holds 1 in the lanes that have an element of `y`, and nothing in the others.
fn cut(body: &str) -> Vec<f32> {
    let text = format!(
        "#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn cut<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {{
    let mut s = shared::<f32>(row_major([64]));
    let (t, i) = (thread_idx.x, block_idx.x * 64 + thread_idx.x);
    if i < N {{ s[[t]] = 1.0; }}
    barrier();
    let mut to = y.tile([64], [block_idx.x]);
    {body}
}}"
    );
    let mut y = [Given::new("f32", &[100], floats([0.0; 100]), true)];
    launch(&text, &mut y, &[], false);
    as_floats(&y[0].bytes)
}

/// What feeds a store that an edge cuts off was read in all lanes.
#[test]
fn what_a_masked_store_writes_is_read_under_its_mask() {
    for (body, value) in [
        ("to[[t]] = s[[t]];", 1.0),
        ("to[[t]] = s[[t]] * 2.0 + s[[t]];", 3.0),
        ("to[[t]] += s[[t]];", 1.0),
        ("to.distribute(row_major([64]), t).copy_from(&s.distribute(row_major([64]), t));", 1.0),
        ("to.atomic_add([t], s[[t]] + 1.0);", 2.0),
        ("let before = to.atomic_add([t], s[[t]]); if i < N { to[[t]] = before + 5.0; }", 5.0),
        ("to[[t]] = (12 / (s[[t]] as i32)) as f32;", 12.0),
        ("to[[t]] = select(i < N, s[[t]], 0.0);", 1.0),
        ("let v = select(i < N, s[[t]], 3.0); if v == 1.0 { to[[t]] = v; }", 1.0),
    ] {
        assert_eq!(cut(body), [value; 100], "{body}");
    }
}
