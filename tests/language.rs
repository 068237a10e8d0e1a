//! The kernel language, word by word: small kernels, launched on the simulator, against plain Rust.

use layout_cuda::{Device, Error, tiled_kernel};

#[tiled_kernel(block = [256], grid = [N.div_ceil(256)])]
fn blur<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = (block_idx.x * 256 + thread_idx.x) as isize;
    let mut sum = 0.0;
    for d in -1..2 {
        if i + d >= 0 && i + d < N as isize {
            sum += x[[i + d]];
        }
    }
    if i < N as isize {
        y[[i]] = sum / 3.0;
    }
}

#[test]
fn signed_indices_reach_around_an_element() -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<f32> = (0..300).map(|i| (i * i % 17) as f32).collect();
    let mut y = device.zeros::<f32, 1>([300])?;
    blur::launch(&device.stream(), &device.upload(&x, [300])?, &mut y)?;
    for (i, found) in y.download()?.into_iter().enumerate() {
        let from = i.saturating_sub(1);
        let wanted: f32 = x[from..(i + 2).min(300)].iter().sum();
        assert_eq!(found, wanted / 3.0, "{i}");
    }
    Ok(())
}

#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn axpy<const N: usize>(
    a: f32,
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
    from: usize,
) {
    const SCALE: f32 = 2.0;
    fn line(a: f32, x: f32, y: f32) -> f32 {
        a.mul_add(x, y * SCALE)
    }
    fn at(i: usize, from: usize) -> usize {
        from + i
    }
    let i = at(block_idx.x * 64 + thread_idx.x, from);
    if i < N {
        y[[i]] = line(a, x[[i]], y[[i]]);
    }
}

#[test]
fn nested_functions_and_scalars() -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let mut y = device.upload(&vec![1.0f32; 100], [100])?;
    axpy::launch(&device.stream(), 0.5, &device.upload(&x, [100])?, &mut y, 10)?;
    for (i, found) in y.download()?.into_iter().enumerate() {
        assert_eq!(found, if i < 10 { 1.0 } else { 0.5f32.mul_add(x[i], 2.0) }, "{i}");
    }
    Ok(())
}

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn collatz<const N: usize>(x: &LayoutTensor<u32, RowMajor<N>>, y: &mut LayoutTensor<i32, RowMajor<N>>) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        let mut n = x[[i]];
        let mut steps: i32 = 0;
        while n > 1 {
            if n % 2 == 0 {
                n /= 2;
            } else {
                n = n * 3 + 1;
            }
            steps += 1;
        }
        loop {
            if steps > 100 {
                steps -= 100;
                continue;
            }
            break;
        }
        y[[i]] = steps.max(0) + (n as i32) - n.cast::<i32>();
    }
}

#[test]
fn integers_and_loops_of_unknown_length() -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<u32> = (1..=70).collect();
    let mut y = device.zeros::<i32, 1>([70])?;
    collatz::launch(&device.stream(), &device.upload(&x, [70])?, &mut y)?;
    for (start, found) in x.into_iter().zip(y.download()?) {
        let (mut n, mut steps) = (start, 0);
        while n > 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        while steps > 100 {
            steps -= 100;
        }
        assert_eq!(found, steps, "{start}");
    }
    Ok(())
}

#[tiled_kernel(K = 64, block = [16, 16], grid = [M.div_ceil(16), 4])]
fn transposed<const M: usize, const K: usize>(
    x: &LayoutTensor<f32, Pitched<M, K>>,
    y: &mut LayoutTensor<f32, Strided<K, M>>,
    z: &LayoutTensor<f32, ColMajor<8, K>>,
) {
    let tile = x.tile([16, 16], [block_idx.x, block_idx.y]);
    let mut out = y.transpose().tile([16, 16], [block_idx.x, block_idx.y]);
    let col = block_idx.y * 16 + thread_idx.x;
    out[[thread_idx.y, thread_idx.x]] = tile[[thread_idx.y, thread_idx.x]] + z[[3, col]];
}

#[test]
fn pitches_and_strides_come_from_the_tensors() -> Result<(), Error> {
    let device = Device::simulator();
    let rows = 21;
    let x: Vec<f32> = (0..rows * 68).map(|i| i as f32).collect();
    let z: Vec<f32> = (0..8 * 64).map(|i| (i * 1000) as f32).collect();
    let tx = device.upload_strided(&x, [rows, 64], [68, 1])?;
    let tz = device.upload_strided(&z, [8, 64], [1, 8])?;
    let mut y = device.upload_strided(&vec![0.0f32; 64 * 50], [64, rows], [50, 2])?;
    transposed::launch(&device.stream(), &tx, &mut y, &tz)?;
    let y = y.download()?;
    for row in 0..rows {
        for col in 0..64 {
            assert_eq!(y[col * 50 + row * 2], x[row * 68 + col] + z[col * 8 + 3], "{row} {col}");
        }
    }
    Ok(())
}

#[tiled_kernel(STAGED = [true, false], STEP = 2, block = [32], grid = [1])]
fn choices<const N: usize>(y: &mut LayoutTensor<f64, RowMajor<N>>) {
    let pair = (thread_idx.x, 1.5);
    let mut sum: f64 = 0.0;
    if STAGED {
        let mut smem = shared::<f64>(row_major([32]));
        smem[[thread_idx.x]] = 1.0;
        barrier();
        sum += smem[[31 - thread_idx.x]];
    }
    for i in (0..32).step_by(STEP).rev() {
        sum += i as f64;
    }
    for _ in unroll(0..=3) {
        sum += pair.1;
    }
    let chosen = if pair.0 < 16 { sum } else { -sum };
    if pair.0 < N {
        y[[pair.0]] = select(chosen > 0.0, chosen.sqrt(), f64::NEG_INFINITY.max(chosen));
    }
}

#[test]
fn choices_at_compile_time_and_at_run_time() -> Result<(), Error> {
    let device = Device::simulator();
    let mut y = device.zeros::<f64, 1>([20])?;
    assert_eq!(choices::variants().len(), 2);
    choices::launch(&device.stream(), &mut y)?;
    let sum = 1.0 + 240.0 + 6.0f64;
    for (i, found) in y.download()?.into_iter().enumerate() {
        assert_eq!(found, if i < 16 { sum.sqrt() } else { -sum }, "{i}");
    }
    let set = layout_cuda::ParamSet(
        choices::variants()[1].parameters.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
    );
    let config = layout_cuda::LaunchConfig { set: Some(&set), ..layout_cuda::LaunchConfig::default() };
    choices::launch_with(config, &device.stream(), &mut y)?;
    assert_eq!(y.download()?[19], -(sum - 1.0));
    Ok(())
}

#[tiled_kernel(block = [32], grid = [N.div_ceil(8)])]
fn share<const N: usize>(x: &LayoutTensor<f32, RowMajor<N, 32>>, y: &mut LayoutTensor<f32, RowMajor<N, 32>>) {
    let mut smem = shared::<f32>(row_major([8, 32]).swizzle(3, 2, 3));
    copy_dram_to_sram(&mut smem, &x.tile([8, 32], [block_idx.x, 0]), row_major([1, 32]));
    barrier();
    let mine = smem.distribute(row_major([1, 32]), thread_idx.x);
    let out = y.tile([8, 32], [block_idx.x, 0]).distribute(row_major([1, 32]), thread_idx.x);
    out.copy_from(&mine);
}

#[test]
fn swizzled_tiles_and_distributed_views() -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<f32> = (0..21 * 32).map(|i| i as f32).collect();
    let mut y = device.zeros::<f32, 2>([21, 32])?;
    share::launch(&device.stream(), &device.upload(&x, [21, 32])?, &mut y)?;
    assert_eq!(y.download()?, x);
    Ok(())
}

#[tiled_kernel(T = [f32, f64], BLOCK = 64, block = [BLOCK], grid = [N.div_ceil(BLOCK)])]
fn scale<T, const N: usize>(x: &mut LayoutTensor<T, RowMajor<N>>, by: T) {
    let i = block_idx.x * BLOCK + thread_idx.x;
    if i < N {
        x[[i]] = x[[i]] * by + 1.0;
    }
}

#[test]
fn element_types_are_picked_by_the_tensors() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let mut single = device.upload(&[1.0f32, 2.0, 3.0], [3])?;
    scale::launch(&stream, &mut single, 0.5)?;
    assert_eq!(single.download()?, [1.5, 2.0, 2.5]);
    let mut double = device.upload(&[1.0f64, 2.0, 1e300], [3])?;
    scale::launch(&stream, &mut double, 0.5)?;
    assert_eq!(double.download()?, [1.5, 2.0, 5e299]);
    // A type that the list does not name is made at the launch, or refused by the same check.
    let mut integers = device.upload(&[1i32], [1])?;
    assert!(scale::launch(&stream, &mut integers, 2).is_err());
    Ok(())
}

#[tiled_kernel(block = [32], grid = [1])]
fn truths(x: &LayoutTensor<i32, RowMajor<32>>, y: &mut LayoutTensor<i32, RowMajor<5, 32>>) {
    let lane = lane_id();
    let odd = x[[lane]] % 2 != 0;
    y[[0, lane]] = odd.shuffle_up(1) as i32;
    y[[1, lane]] = odd.shuffle_down(3) as i32;
    y[[2, lane]] = odd.shuffle_xor(7) as i32;
    y[[3, lane]] = odd.shuffle(5 * lane) as i32;
    y[[4, lane]] = match_any(odd).count_ones() as i32 + match_all(odd) as i32;
}

#[test]
fn truth_values_are_shuffled() -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<i32> = (0..32).map(|i| i * i % 11 + i / 3).collect();
    let mut y = device.zeros::<i32, 2>([5, 32])?;
    truths::launch(&device.stream(), &device.upload(&x, [32])?, &mut y)?;
    let odd = |lane: usize| x[lane] % 2;
    let sources: [fn(usize) -> usize; 4] = [
        |lane| lane.saturating_sub(1),
        |lane| if lane < 29 { lane + 3 } else { lane },
        |lane| lane ^ 7,
        |lane| 5 * lane % 32,
    ];
    let mut wanted: Vec<i32> = sources.iter().flat_map(|source| (0..32).map(source)).map(odd).collect();
    wanted.extend((0..32).map(|lane| (0..32).filter(|other| odd(*other) == odd(lane)).count() as i32));
    assert_eq!(y.download()?, wanted);
    Ok(())
}

/// The rounds of an mbarrier, counted on: a parity is the round's lowest bit.
#[tiled_kernel(WAY = [0, 1, 2], arch = "sm_90a", block = [32], grid = [1])]
fn counted_on(y: &mut LayoutTensor<i32, RowMajor<5, 32>>) {
    let mut held = shared::<i32>(row_major([32]));
    let all = mbarriers(1, 32).at(0);
    barrier();
    for round in 0..5 {
        held[[lane_id()]] = (32 * round + lane_id()) as i32;
        all.arrive();
        all.wait(if WAY == 0 {
            round % 2
        } else if WAY == 1 {
            round
        } else {
            7 * round + 2
        });
        y[[round, lane_id()]] = held[[(lane_id() + 1) % 32]];
        barrier();
    }
}

#[test]
fn a_parity_is_a_bit() -> Result<(), Error> {
    let device = Device::simulator();
    let wanted: Vec<i32> = (0..160).map(|at| at / 32 * 32 + (at + 1) % 32).collect();
    for (way, variant) in counted_on::variants().iter().enumerate() {
        let set = layout_cuda::ParamSet(vec![("WAY".into(), layout_cuda::ParamValue::Int(way as i64))]);
        let config = layout_cuda::LaunchConfig { set: Some(&set), ..Default::default() };
        let mut y = device.zeros::<i32, 2>([5, 32])?;
        let report = counted_on::simulate_with(config, &Default::default(), &mut y)?;
        assert!(report.clean(), "{way}: {report}");
        assert_eq!(y.download()?, wanted, "{way}");
        assert!(variant.text.contains(" % 2);"), "{}", variant.text);
    }
    Ok(())
}
