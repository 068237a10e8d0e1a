//! The order of evaluation: each kernel is run by one thread, beside the same statements in plain Rust.
//!
//! Law: what is read is read where the expression is, whatever is changed between there and its use.

use layout_cuda::{Error, tiled_kernel};
use layout_tests::support::guarded::guarded;

#[tiled_kernel(block = [1], grid = [1])]
fn copies(y: &mut LayoutTensor<i32, RowMajor<8>>, a: usize, b: usize) {
    let (mut m, mut n) = (a, b);
    while n != 0 {
        let t = n;
        n = m % n;
        m = t;
    }
    y[[0]] = m as i32;
    fn twice(k: usize) -> usize {
        k * 2
    }
    let mut k = a;
    let v = k;
    let pair = (k, k + 1);
    let doubled = twice(k);
    k = 4;
    y[[1]] = v as i32;
    y[[2]] = (pair.0 + pair.1) as i32;
    y[[3]] = doubled as i32;
    y[[4]] = k as i32;
    let mut from = a;
    for i in from..from + 3 {
        from = 100 * i;
    }
    y[[5]] = from as i32;
    let mut end = 3;
    let mut rounds = 0;
    for _ in 0..end {
        end += 1;
        rounds += 1;
    }
    y[[6]] = rounds as i32;
    let mut odd = 0;
    while {
        odd += 1;
        odd < 5
    } {
        odd += 1;
    }
    y[[7]] = odd as i32;
}

#[test]
fn a_name_for_a_mutable_index_is_a_copy() -> Result<(), Error> {
    let wanted = [6, 30, 61, 60, 4, 3200, 3, 5];
    guarded(&[0; 8], -9, &wanted, |_, stream, y| copies::launch(stream, y, 30, 12))
}

#[tiled_kernel(block = [1], grid = [1])]
fn operands(y: &mut LayoutTensor<i32, RowMajor<16>>, a: usize) {
    let mut k = a;
    y[[1]] = (k * 100 + {
        k = 5;
        k
    }) as i32;
    let mut m = y[[0]];
    let c = y[[0]] == 7;
    y[[2]] = m + if c {
        m = 50;
        m
    } else {
        0
    };
    y[[3]] = y[[0]] * 100 + y.atomic_add([0], 5);
    let pair = (y[[0]], y.atomic_add([0], 1), y[[0]]);
    y[[4]] = pair.0 * 10000 + pair.1 * 100 + pair.2;
    fn three(a: i32, b: i32, c: usize) -> i32 {
        a * 10000 + b * 100 + c as i32
    }
    y[[5]] = three(
        m,
        {
            m += 1;
            m
        },
        {
            k += 1;
            k
        },
    );
    y[[{
        m = 1;
        6
    }]] = m;
    y[[k + 1]] = {
        k = 8;
        k as i32
    };
    y[[10]] += {
        y[[10]] = 20;
        3
    };
    let later = (m, {
        m = 9;
        m
    });
    let total = m.max({
        m = 2;
        m
    }) * 10
        + m;
    y[[11]] = total;
    y[[12]] = y[[0]].min({
        y[[0]] = 100;
        50
    });
    let mut x = 0.5;
    let z = x;
    x += 1.0f64;
    y[[13]] = ((x + z) * 2.0) as i32;
    y[[14]] = (k * 7 + {
        k = 1;
        0
    }) as i32
        + if k == 1 {
            y[[14]] = 1000;
            y[[14]]
        } else {
            0
        };
    y[[15]] = later.0 * 10 + later.1;
}

#[test]
fn operands_are_evaluated_from_left_to_right() -> Result<(), Error> {
    let mut first = [0; 16];
    first[0] = 7;
    let wanted = [100, 305, 57, 707, 121213, 505106, 51, 0, 0, 8, 23, 92, 13, 4, 1056, 19];
    guarded(&first, -9, &wanted, |_, stream, y| operands::launch(stream, y, 3))
}

#[tiled_kernel(block = [1], grid = [1])]
fn views<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    y: &mut LayoutTensor<i32, RowMajor<8>>,
    far: usize,
) {
    let mut k = 0;
    let own = x.tile([1], [k]);
    let window = x.window([2], [k + 1]);
    let mut s = shared::<i32>(row_major([4, 8]).swizzle(1, 0, 3));
    for i in 0..32 {
        s[[i / 8, i % 8]] = i as i32;
    }
    let row = s.slice(k + 1);
    k = far;
    y[[0]] = own[[0]];
    y[[1]] = window[[1]];
    y[[2]] = row[[3]];
    y[[3]] = own[[0]] + {
        k = 0;
        1
    };
    y.tile([1], [k + 4]).copy_from(&x.tile(
        [1],
        [{
            k = 1;
            k
        }],
    ));
    if k < 5 && {
        k += 5;
        x[[k]] == 15
    } {
        y[[5]] = k as i32;
    }
    if k < 5 && {
        k += 5;
        true
    } || k == 6 && x[[k]] as usize == 16
    {
        y[[6]] = k as i32;
    }
    y[[7]] = (k > 100 && x[[x[[k + 100]] as usize]] as usize == 3) as i32;
}

#[test]
fn a_view_keeps_the_index_it_was_made_with() -> Result<(), Error> {
    let x: Vec<i32> = (10..20).collect();
    for far in [9, 1 << 20] {
        let wanted = [10, 12, 11, 11, 11, 0, 6, 0];
        guarded(&[0; 8], -9, &wanted, |device, stream, y| {
            views::launch(stream, &device.upload(&x, [10])?, y, far)
        })?;
    }
    Ok(())
}

#[tiled_kernel(SIZE = 64, block = [SIZE], grid = [N.div_ceil(SIZE)])]
fn choices<const N: usize>(
    x: &LayoutTensor<u32, RowMajor<N>>,
    c: &LayoutTensor<u32, RowMajor<N>>,
    y: &mut LayoutTensor<u32, RowMajor<N>>,
) {
    let i = block_idx.x * SIZE + thread_idx.x;
    if i < N {
        y[[i]] = 3 + i as u32;
        let mut v = y[[i]] + if c[[i]] != 0 { x[[i]] } else { y[[i]] };
        y[[i]] = v;
        if c[[i]] > 1 {
            v += x[[i]];
        } else {
            v += y[[i]];
        }
        y[[i]] = v;
        v += select(c[[i]] > 2, x[[i]], y[[i]]);
        let held = y[[i]];
        y[[i]] = v;
        if c[[i]] == 3 {
            v += x[[i]];
        }
        if c[[i]] != 3 {
            v += y[[i]];
        }
        y[[i]] = v + held;
    }
}

/// NVRTC makes one load of two in a choice; where one of the tensors is written it must not be from the read-only cache.
#[test]
fn a_choice_of_a_written_and_a_read_tensor_reads_the_new_element() -> Result<(), Error> {
    let x: Vec<u32> = (0..63).map(|i| 1000 * i).collect();
    let c: Vec<u32> = (0..63).map(|i| i * 7 % 5).collect();
    let of = |i: usize| {
        let (x, c, mut y) = (x[i], c[i], 3 + i as u32);
        let mut v = y + if c != 0 { x } else { y };
        y = v;
        v += if c > 1 { x } else { y };
        let held = v;
        y = v;
        v += if c > 2 { x } else { y };
        y = v;
        v += if c == 3 { x } else { y };
        v + held
    };
    let wanted: Vec<u32> = (0..63).map(of).collect();
    guarded(&[9; 63], 7, &wanted, |device, stream, y| {
        choices::launch(stream, &device.upload(&x, [63])?, &device.upload(&c, [63])?, y)
    })
}

#[tiled_kernel(block = [1], grid = [1])]
fn mutable_copies(y: &mut LayoutTensor<i32, RowMajor<4>>, a: usize) {
    let mut k = a;
    for i in 0..2 {
        let mut v = k;
        v = v * 2 + 1;
        y[[i]] = v as i32;
        y[[i + 2]] = k as i32;
        k += 1;
    }
}

#[test]
fn a_mutable_copy_is_another_variable() -> Result<(), Error> {
    guarded(&[0; 4], -9, &[7, 9, 3, 4], |_, stream, y| mutable_copies::launch(stream, y, 3))?;
    // The simulator copies anyway; the text has to.
    assert!(mutable_copies::SOURCE.contains(" v = k;"), "{}", mutable_copies::SOURCE);
    Ok(())
}
