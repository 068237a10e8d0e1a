//! Launches of kernels that copy by tensor map: what TMA cannot address is refused, the rest arrives, also
//! at the edges of a tensor.

use layout_compiler::BindError;
use layout_compiler::ir::{Argument, ArgumentKind};
use layout_cuda::{Device, Error, LaunchConfig, LaunchError, ParamSet, ParamValue, tiled_kernel};
use layout_tests::kernels::definitions;
use layout_tests::support::gpu::hopper;

/// `b = a` by boxes of 32 rows and 32 columns, in clusters of two blocks.
#[tiled_kernel(
    arch = "sm_90a", block = [32], cluster = [2],
    grid = [2 * N.div_ceil(64), M.div_ceil(32)],
)]
pub fn copy_boxes<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, Pitched<M, N>>,
    b: &mut LayoutTensor<f32, Pitched<M, N>>,
) {
    let mut tile = shared::<f32>(row_major([32, 32]));
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(4096);
        tma_load(&mut tile, &a.tile([32, 32], [block_idx.y, block_idx.x]), full.at(0));
        full.at(0).wait(0);
        tma_store(&mut b.tile([32, 32], [block_idx.y, block_idx.x]), &tile);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

/// The same by slabs of rows or of columns, apart in shared memory or one after the other.
#[tiled_kernel(
    BY_ROWS = [true, false], APART = [0, 256],
    arch = "sm_90a", block = [32], grid = [N.div_ceil(32), M.div_ceil(32)],
)]
pub fn copy_slabs<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, Pitched<M, N>>,
    b: &mut LayoutTensor<f32, Pitched<M, N>>,
) {
    let slabs = if BY_ROWS {
        layout([2, 16, 32], [512 + APART, 32, 1])
    } else {
        layout([4, 32, 8], [256 + APART, 8, 1])
    };
    let mut tile = shared::<f32>(slabs);
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(tile.bytes());
        tma_load(&mut tile, &a.tile([32, 32], [block_idx.y, block_idx.x]), full.at(0));
        full.at(0).wait(0);
        tma_store(&mut b.tile([32, 32], [block_idx.y, block_idx.x]), &tile);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

/// The same with a grid of the launch's.
#[tiled_kernel(arch = "sm_90a", block = [32], cluster = [2, 2])]
fn clusters<const N: usize>(a: &mut LayoutTensor<i32, RowMajor<N>>) {
    if block_idx.x < N {
        a[[block_idx.x]] = 1;
    }
}

fn refused(outcome: Result<(), Error>) -> (BindError, String) {
    match outcome.expect_err("a refusal") {
        Error::Launch(LaunchError::Arguments { error, .. }) => (error.clone(), error.to_string()),
        other => panic!("{other}"),
    }
}

#[test]
fn a_pitch_or_an_address_that_is_no_multiple_of_16_bytes_is_refused() {
    let device = Device::simulator();
    let stream = device.stream();
    let memory = device.zeros::<f32, 1>([4000]).expect("memory");
    let mut to = device.zeros::<f32, 2>([40, 40]).expect("a tensor");
    let odd = memory.part(0, [40, 40], [41, 1]).expect("a part");
    let (error, text) = refused(copy_boxes::launch(&stream, &odd, &mut to));
    assert!(matches!(&error, BindError::Map { argument, .. } if argument == "a"), "{text}");
    assert!(text.contains("164 bytes") && text.contains("pad the rows"), "{text}");
    let shifted = memory.part(1, [40, 40], [44, 1]).expect("a part");
    let (error, text) = refused(copy_boxes::launch(&stream, &shifted, &mut to));
    assert!(matches!(&error, BindError::Map { argument, .. } if argument == "a"), "{text}");
    assert!(text.contains("no multiple of 16"), "{text}");
}

#[test]
fn a_grid_that_is_no_whole_number_of_clusters_is_refused() {
    let device = Device::simulator();
    let stream = device.stream();
    let mut to = device.zeros::<i32, 1>([40]).expect("a tensor");
    let rows: [([u32; 3], Option<usize>); 5] =
        [([3, 2, 1], Some(0)), ([2, 3, 1], Some(1)), ([2, 2, 3], None), ([4, 2, 1], None), ([0, 2, 1], None)];
    for (grid, axis) in rows {
        let config = LaunchConfig { grid: Some(grid), ..LaunchConfig::default() };
        match (clusters::launch_with(config, &stream, &mut to), axis) {
            (outcome @ Err(Error::Launch(LaunchError::Arguments { .. })), Some(axis)) => {
                let (error, text) = refused(outcome);
                assert_eq!(error, BindError::Cluster { axis, found: 3, cluster: 2 }, "{grid:?}: {text}");
                assert!(text.contains("whole clusters of 2"), "{text}");
            }
            // The blocks all write the same: a finding of the simulator, whose affair it is.
            (Err(Error::Launch(LaunchError::Arguments { error, .. })), None) => panic!("{grid:?}: {error}"),
            (_, None) => {}
            (outcome, Some(_)) => panic!("{grid:?}: {outcome:?}"),
        }
    }
}

/// TMA writes whole 16 bytes; on an H200 the elements behind a shorter end were overwritten.
#[test]
fn a_store_to_rows_that_end_inside_of_16_bytes_is_refused() {
    let device = Device::simulator();
    let from = device.zeros::<f32, 2>([33, 32]).expect("a tensor");
    for columns in [29, 30, 31] {
        let from = from.part(0, [33, columns], [32, 1]).expect("a view");
        let mut to = device.upload_strided(&[0.0f32; 33 * 32], [33, columns], [32, 1]).expect("a tensor");
        let (error, text) = refused(copy_boxes::launch(&device.stream(), &from, &mut to));
        assert!(matches!(&error, BindError::Map { argument, .. } if argument == "b"), "{text}");
        assert!(text.contains("writes whole 16 bytes"), "{text}");
    }
}

/// What TMA writes and threads read: through the read-only cache they would see old elements.
#[test]
fn a_pointer_to_memory_that_tma_writes_is_not_restricted() {
    let mut both = 0;
    for definition in definitions() {
        let kernel = definition.kernel().expect("bytes of this version");
        for variant in definition.variants {
            let maps = variant.text.match_indices("TensorMap ").map(|(at, word)| {
                let name = &variant.text[at + word.len()..];
                &name[..name.find("_map").unwrap_or(0)]
            });
            for name in maps {
                let of = |argument: &&Argument| argument.name == name;
                let mutable = kernel.arguments.iter().find(of).is_some_and(|argument| {
                    matches!(argument.kind, ArgumentKind::Tensor { mutable: true, .. })
                });
                let restricted = variant.text.contains(&format!("* __restrict__ {name},"));
                assert!(!(mutable && restricted), "{}: {name}", variant.entry);
                both += usize::from(mutable && variant.text.contains(&format!("* {name},")));
            }
        }
    }
    assert!(both > 0, "no kernel reaches memory both ways");
}

#[test]
fn boxes_arrive_at_every_edge_on_the_simulator() {
    arrive(&Device::simulator());
}

#[test]
fn boxes_arrive_at_every_edge_on_a_gpu() {
    if let Some(device) = hopper() {
        arrive(&device);
    }
}

/// Copies of tensors whose boxes overhang, by boxes and by slabs: what they should be, and nothing beside them is written.
fn arrive(device: &Device) {
    let stream = device.stream();
    let copy = |set: Option<&ParamSet>, rows: usize, columns: usize| {
        // Rows apart by a multiple of 16 bytes; what is between them is not to be touched.
        let pitch = (columns + 1).next_multiple_of(4);
        let data: Vec<f32> = (0..rows * pitch).map(|i| i as f32 + 1.0).collect();
        let from = device.upload_strided(&data, [rows, columns], [pitch, 1]).expect("a tensor");
        let mut to = device
            .upload_strided(&vec![-1.0f32; rows * pitch], [rows, columns], [pitch, 1])
            .expect("a tensor");
        match set {
            None => copy_boxes::launch(&stream, &from, &mut to),
            Some(_) => {
                let config = LaunchConfig { set, ..LaunchConfig::default() };
                copy_slabs::launch_with(config, &stream, &from, &mut to)
            }
        }
        .expect("a launch");
        let found = to.download().expect("the copy");
        for (i, value) in found.iter().enumerate() {
            let want = if i % pitch < columns { data[i] } else { -1.0 };
            assert_eq!(*value, want, "{rows} x {columns}, element {i}, {set:?}");
        }
    };
    let sets = copy_slabs::DEFINITION.kernel().expect("bytes of this version").parameter_sets();
    for (rows, columns) in [(32usize, 32usize), (64, 96), (1, 4), (33, 28), (100, 132), (257, 68), (5, 1000)]
    {
        copy(None, rows, columns);
        sets.iter().for_each(|set| copy(Some(set), rows, columns));
    }
}

/// Slabs of rows one after the other are one box; any others are a box each.
#[test]
fn slabs_are_as_few_boxes_as_they_can_be() {
    let boxes = copy_slabs::DEFINITION.variants.iter().map(|variant| {
        let calls =
            ["tensor_load_2d(", "tensor_store_2d("].map(|call| variant.text.matches(call).count() - 1);
        (variant.parameters.to_vec(), calls)
    });
    let flag =
        |by_rows, apart| vec![("BY_ROWS", ParamValue::Bool(by_rows)), ("APART", ParamValue::Int(apart))];
    let wanted = [(true, 0, 1), (true, 256, 2), (false, 0, 4), (false, 256, 4)];
    let wanted = wanted.map(|(by_rows, apart, count)| (flag(by_rows, apart), [count; 2]));
    assert_eq!(boxes.collect::<Vec<_>>(), wanted);
}
