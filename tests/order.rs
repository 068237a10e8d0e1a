//! The order of evaluation: each kernel is run by one thread, beside the same statements in plain Rust.
//!
//! Law: what is read is read where the expression stands, whatever is changed between there and its use.

use layout_cuda::{Device, Error, tiled_kernel};

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
    let device = Device::simulator();
    let mut y = device.zeros::<i32, 1>([8])?;
    copies::launch(&device.stream(), &mut y, 30, 12)?;
    assert_eq!(y.download()?, [6, 30, 61, 60, 4, 3200, 3, 5]);
    Ok(())
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
    let device = Device::simulator();
    let mut first = vec![0; 16];
    first[0] = 7;
    let mut y = device.upload(&first, [16])?;
    operands::launch(&device.stream(), &mut y, 3)?;
    let wanted = [100, 305, 57, 707, 121213, 505106, 51, 0, 0, 8, 23, 92, 13, 4, 1056, 19];
    assert_eq!(y.download()?, wanted);
    Ok(())
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
    let device = Device::simulator();
    let x: Vec<i32> = (10..20).collect();
    let (x, mut y) = (device.upload(&x, [10])?, device.zeros::<i32, 1>([8])?);
    views::launch(&device.stream(), &x, &mut y, 9)?;
    assert_eq!(y.download()?, [10, 12, 11, 11, 11, 0, 6, 0]);
    views::launch(&device.stream(), &x, &mut y, 1 << 20)?;
    assert_eq!(y.download()?, [10, 12, 11, 11, 11, 0, 6, 0]);
    Ok(())
}
