//! Kernels on sm_75, the oldest card that NVRTC compiles for: what it lacks is refused in words, and every other text is one that
//! NVRTC takes. A run takes some of the library's kernels; `TURING_SEED=7` takes others, `TURING_KERNELS=1000` all.

use crate::architectures::number;
use layout_compiler::{Arch, Promises, compile, emit};
use layout_cuda::{Device, Error, LaunchError, bf16, tiled_kernel};
use layout_kernels::product::{Options, Workspace, multiply};
use layout_tests::support::cubin::compiled;
use layout_tests::support::parallel::in_parallel;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn nvrtc_takes_the_librarys_texts() {
    let all = layout_kernels::kernels::definitions();
    let (seed, count) = (number("TURING_SEED", u64::from(std::process::id())), number("TURING_KERNELS", 6));
    // Evenly spread: neighbours are of one family.
    let (count, len) = (all.len().min(count as usize), all.len());
    let chosen: Vec<_> = (0..count).map(|at| all[(at * len / count + seed as usize) % len]).collect();
    let taken = AtomicUsize::new(0);
    in_parallel(&chosen, |definition| {
        let kernel = definition.kernel().expect("bytes of this version").for_arch(Arch::SM_75);
        for set in kernel.parameter_sets() {
            let promises = Promises { narrow: true, aligned: true, variant_if: None };
            let checked = match compile(&kernel, &set, promises) {
                Ok(checked) if checked.arch() == Some(Arch::SM_75) => checked,
                // It names another one.
                Ok(_) => continue,
                Err(errors) => {
                    let text = errors.to_string();
                    // A word, blocks of a multiprocessor, shared memory.
                    let reasons =
                        ["needs sm_", "multiprocessor of sm_75 holds", "the architecture has 65536"];
                    assert!(
                        reasons.iter().any(|reason| text.contains(reason)),
                        "{}: {text}",
                        definition.name
                    );
                    continue;
                }
            };
            let source = emit(&checked);
            let found = compiled(&source.text, "sm_75", source.flags);
            assert!(found.is_ok(), "{}: {:?}\n{}", definition.name, found.err(), source.text);
            taken.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(taken.load(Ordering::Relaxed) > 0, "no text of {count} kernels, TURING_SEED={seed}");
    println!("{} kernels, {} texts, TURING_SEED={seed}", chosen.len(), taken.into_inner());
}

/// A copy that is asynchronous from sm_80 on, and no architecture in the attribute.
#[tiled_kernel(B = 64, block = [B], grid = [N.div_ceil(B)])]
fn twice<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut staged = shared::<f32>(row_major([B]));
    copy_dram_to_sram_async(&mut staged, &x.tile([B], [block_idx.x]), row_major([B]));
    async_copy_wait_all();
    barrier();
    y.tile([B], [block_idx.x])[[thread_idx.x]] = 2.0 * staged[[(thread_idx.x + 1) % B]];
}

#[tiled_kernel(block = [32], grid = [1])]
fn large(y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut room = shared::<f32>(row_major([20_000]));
    room[[thread_idx.x]] = 1.0;
    barrier();
    y[[thread_idx.x]] = room[[31 - thread_idx.x]];
}

#[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
fn hoppers(y: &mut LayoutTensor<f32, RowMajor<32>>) {
    y[[thread_idx.x]] = 1.0;
}

#[test]
fn the_simulator_takes_the_place_of_a_card() -> Result<(), Error> {
    let t4 = Device::simulator_of(Arch::SM_75);
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let (on_x, mut y) = (t4.upload(&x, [100])?, t4.zeros::<f32, 1>([100])?);
    twice::launch(&t4.stream(), &on_x, &mut y)?;
    let wanted = |i: usize| 2.0 * x.get(i / 64 * 64 + (i + 1) % 64).copied().unwrap_or(0.0);
    assert!(y.download()?.into_iter().enumerate().all(|(i, found)| found == wanted(i)));

    let mut y = t4.zeros::<f32, 1>([32])?;
    let error = large::launch(&t4.stream(), &mut y).expect_err("64 KiB a block").to_string();
    assert!(error.contains("80000") && error.contains("65536"), "{error}");
    let a100 = Device::simulator_of(Arch::SM_80);
    large::launch(&a100.stream(), &mut a100.zeros::<f32, 1>([32])?)?;
    let error = hoppers::launch(&a100.stream(), &mut a100.zeros::<f32, 1>([32])?).expect_err("Hopper's");
    assert!(
        matches!(&error, Error::Launch(LaunchError::Arch { needed, .. }) if needed == "sm_90a"),
        "{error}"
    );
    Ok(())
}

/// A product of what a card has no instruction for is an error that names both.
#[test]
fn what_a_card_lacks_is_refused_in_words() -> Result<(), Error> {
    let t4 = Device::simulator_of(Arch::SM_75);
    let (a, b) = (t4.zeros::<bf16, 2>([8, 8])?, t4.zeros::<bf16, 2>([8, 8])?);
    let mut c = t4.zeros::<bf16, 2>([8, 8])?;
    let mut workspace = Workspace::default();
    let error = multiply(&t4.stream(), Options::default(), &mut workspace, &a, &b, &mut c).expect_err("bf16");
    let error = error.to_string();
    assert!(error.contains("sm_80") && error.contains("sm_75"), "{error}");
    Ok(())
}

/// A product of float32 is made by tiles that 64 KiB of shared memory hold, whatever C's size.
#[test]
fn products_of_float32_fit() -> Result<(), Error> {
    let t4 = Device::simulator_of(Arch::SM_75);
    for [m, n, k] in [[1, 1, 1], [129, 70, 33], [256, 300, 16]] {
        let values = |count: usize| (0..count).map(|i| (i * 7 % 5) as f32 - 2.0).collect::<Vec<_>>();
        let (a, b) = (values(m * k), values(k * n));
        let (on_a, on_b) = (t4.upload(&a, [m, k])?, t4.upload(&b, [k, n])?);
        let mut c = t4.zeros::<f32, 2>([m, n])?;
        layout_kernels::matmul(&t4.stream(), &on_a, &on_b, &mut c)?;
        for (at, found) in c.download()?.into_iter().enumerate() {
            let wanted: f32 = (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum();
            assert_eq!(found, wanted, "{m} x {n} x {k}: element {at}");
        }
    }
    Ok(())
}
