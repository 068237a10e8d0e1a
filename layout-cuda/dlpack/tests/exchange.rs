//! Tensors to and fro, on every device; others' memory under kernels; what does not fit; and random exchanges.

use dlpark::allocation::dynamic::Initialized;
use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::{DlpackFlags, versioned};
use layout_cuda::{Device, Elem, Stream, bf16, tiled_kernel};
use layout_dlpack::{DlpackError, Imported, export};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

#[tiled_kernel(block = [8, 4], grid = [N.div_ceil(8), M.div_ceil(4)])]
fn doubled<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, Strided<M, N>>,
    y: &mut LayoutTensor<f32, Strided<M, N>>,
) {
    let (i, j) = (4 * block_idx.y + thread_idx.y, 8 * block_idx.x + thread_idx.x);
    if i < M && j < N {
        y[[i, j]] = 2.0 * x[[i, j]];
    }
}

/// Adds ones for a tenth of a second and more on a GPU: as many as f32 counts.
#[tiled_kernel(block = [32], grid = [1])]
fn counted<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    if thread_idx.x < N {
        let mut sum = 0.0;
        for _ in 0..60_000_000 {
            sum += 1.0;
        }
        x[[thread_idx.x]] = sum;
    }
}

/// What `counted` leaves: the first number to which f32 adds no 1.
const COUNTED: f32 = 16_777_216.0;

/// The first GPU, with a second stream.
fn gpu() -> Option<(Stream, Stream)> {
    let device = devices().pop().filter(|device| !device.is_simulator())?;
    Some((device.stream(), device.new_stream().expect("a stream")))
}

/// The simulator, and the first GPU.
fn devices() -> Vec<Device> {
    let mut devices = vec![Device::simulator()];
    match Device::gpu(0) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => {
            println!("skipped: no device ({error})");
            assert_ne!(std::env::var("REQUIRE_GPU").as_deref(), Ok("1"), "no device: {error}");
        }
    }
    devices
}

/// Another library's array, which says when it is gone.
struct Theirs {
    data: Vec<f32>,
    alive: Arc<AtomicI64>,
}

impl Drop for Theirs {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

fn theirs(
    n: usize,
    shape: &[i64],
    strides: &[i64],
    dtype: DLDataType,
    alive: &Arc<AtomicI64>,
) -> Initialized<DLManagedTensorVersioned> {
    alive.fetch_add(1, Ordering::SeqCst);
    let own = Box::new(Theirs { data: (0..n).map(|i| i as f32).collect(), alive: alive.clone() });
    let data = own.data.as_ptr();
    let prepared = Dynamic::new(shape.to_vec(), strides.to_vec()).prepare_as::<DLManagedTensorVersioned>();
    let mut made = prepared.expect("an allocation").initialize(own);
    made.set_data(data.cast_mut().cast());
    made.set_dtype(dtype);
    made.set_device(DLDevice::CPU);
    made
}

fn finished(made: Initialized<DLManagedTensorVersioned>) -> versioned::Dlpack {
    // SAFETY: data, type and device are set.
    unsafe { made.finish() }
}

#[test]
fn what_is_given_away_comes_back() {
    for device in devices() {
        let stream = device.stream();
        let data: Vec<bf16> = (0..24).map(|i| bf16::from_f32(i as f32)).collect();
        let tensor = stream.upload(&data, [2, 3, 4]).expect("a tensor");
        let given = export(tensor).expect("given");
        // SAFETY: nobody else has it.
        let taken = unsafe { Imported::new(given, &stream) }.expect("taken");
        assert_eq!((taken.shape(), taken.strides()), (&[2, 3, 4][..], &[12, 4, 1][..]));
        assert_eq!(stream.download(&taken.view::<bf16, 3>().expect("a view")), Ok(data));
    }
}

#[test]
fn kernels_run_on_others_memory() {
    let (stream, alive) = (Device::simulator().stream(), Arc::new(AtomicI64::new(0)));
    // Columns of a matrix of 5 by 7 with rows of 9; and its transpose.
    let x = finished(theirs(45, &[5, 7], &[9, 1], DLDataType::F32, &alive));
    let y = finished(theirs(35, &[5, 7], &[1, 5], DLDataType::F32, &alive));
    // SAFETY: nobody else has them.
    let (x, mut y) =
        unsafe { (Imported::new(x, &stream).expect("x"), Imported::new(y, &stream).expect("y")) };
    let launched =
        doubled::launch(&stream, &x.view::<f32, 2>().expect("x"), &mut y.view_mut::<f32, 2>().expect("y"));
    launched.expect("a launch");
    let found = stream.download(&y.view::<f32, 2>().expect("y")).expect("data");
    for (i, j) in (0..5).flat_map(|i| (0..7).map(move |j| (i, j))) {
        assert_eq!(found[i + 5 * j], 2.0 * (9 * i + j) as f32);
    }
    drop(y);
    assert_eq!(alive.load(Ordering::SeqCst), 1);
    // On another thread.
    std::thread::spawn(move || drop(x)).join().expect("the thread");
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn a_tensor_that_does_not_fit_is_refused_and_given_back() {
    let (stream, alive) = (Device::simulator().stream(), Arc::new(AtomicI64::new(0)));
    // SAFETY: nobody else has it; the layouts that reach outside are refused.
    let taken =
        |made: Initialized<DLManagedTensorVersioned>| unsafe { Imported::new(finished(made), &stream) };
    let whole = |shape: &[i64], strides: &[i64]| theirs(6, shape, strides, DLDataType::F32, &alive);
    let refused = taken(whole(&[2, 3], &[-3, 1])).expect_err("a negative stride");
    assert_eq!(refused, DlpackError::Negative { mode: 0, stride: -3 });
    assert!(taken(whole(&[1, 3], &[-9, 1])).is_ok(), "the stride of one row leads nowhere");
    assert!(matches!(taken(whole(&[2, -3], &[3, 1])), Err(DlpackError::Description { .. })));
    assert!(matches!(taken(whole(&[i64::MAX, 2], &[2, 1])), Err(DlpackError::Description { .. })));
    assert!(matches!(taken(whole(&[2, 2], &[i64::MAX, 1])), Err(DlpackError::Description { .. })));
    let mut elsewhere = whole(&[6], &[1]);
    elsewhere.set_device(DLDevice::cuda(0));
    assert!(matches!(taken(elsewhere), Err(DlpackError::Device { tensor: (2, 0), .. })));
    let mut empty = whole(&[0, 3], &[3, 1]);
    empty.set_data(std::ptr::null_mut());
    let mut empty = taken(empty).expect("no elements");
    assert!(empty.view::<f32, 2>().expect("none").is_empty() && empty.view_mut::<f32, 2>().is_ok());
    let mut one = taken(whole(&[2, 3], &[3, 1])).expect("a tensor");
    assert_eq!(one.view::<f32, 1>().err(), Some(DlpackError::Rank { shape: vec![2, 3], asked: 1 }));
    assert_eq!(one.view::<i32, 2>().err(), Some(DlpackError::Type { found: (2, 32, 1), asked: Elem::I32 }));
    assert!(one.view_mut::<f32, 2>().is_ok());
    let mut same = taken(whole(&[4, 3], &[0, 1])).expect("a broadcast");
    assert!(same.view::<f32, 2>().is_ok());
    assert!(matches!(same.view_mut::<f32, 2>(), Err(DlpackError::Overlaps { .. })));
    let mut fixed = whole(&[6], &[1]);
    fixed.set_flags(DlpackFlags::READ_ONLY).expect("flags");
    assert_eq!(taken(fixed).expect("a tensor").view_mut::<f32, 1>().err(), Some(DlpackError::ReadOnly));
    drop((empty, one, same));
    assert_eq!(alive.load(Ordering::SeqCst), 0, "all are given back");
}

/// What another library may give, and whether it is taken, as what, and whether it may be written.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Whole,
    Columns,
    Broadcast,
    Empty,
    ReadOnly,
    Integers,
    Complex,
    Negative,
    Elsewhere,
}

const SORTS: [Sort; 9] = [
    Sort::Whole,
    Sort::Columns,
    Sort::Broadcast,
    Sort::Empty,
    Sort::ReadOnly,
    Sort::Integers,
    Sort::Complex,
    Sort::Negative,
    Sort::Elsewhere,
];

fn of_sort(sort: Sort, alive: &Arc<AtomicI64>) -> versioned::Dlpack {
    let complex = DLDataType { code: DLDataTypeCode::COMPLEX, bits: 64, lanes: 1 };
    let (shape, strides, dtype): ([i64; 2], [i64; 2], DLDataType) = match sort {
        Sort::Whole | Sort::ReadOnly | Sort::Elsewhere => ([2, 3], [3, 1], DLDataType::F32),
        Sort::Columns => ([3, 2], [1, 3], DLDataType::F32),
        Sort::Broadcast => ([4, 3], [0, 1], DLDataType::F32),
        Sort::Empty => ([0, 3], [3, 1], DLDataType::F32),
        Sort::Integers => ([2, 3], [3, 1], DLDataType::I32),
        Sort::Complex => ([1, 3], [3, 1], complex),
        Sort::Negative => ([2, 3], [-3, 1], DLDataType::F32),
    };
    let mut made = theirs(6, &shape, &strides, dtype, alive);
    if sort == Sort::ReadOnly {
        made.set_flags(DlpackFlags::READ_ONLY).expect("flags");
    }
    if sort == Sort::Elsewhere {
        made.set_device(DLDevice::cuda(7));
    }
    if sort == Sort::Empty {
        made.set_data(std::ptr::null_mut());
    }
    finished(made)
}

/// Holds what was taken against what its sort lets one do with it.
fn seen(sort: Sort, one: &mut Imported<DLManagedTensorVersioned>, stream: &Stream) {
    let floats = !matches!(sort, Sort::Integers | Sort::Complex);
    match one.view::<f32, 2>() {
        Ok(view) => {
            assert!(floats);
            let found = stream.download(&view).expect("data");
            let expected = match sort {
                Sort::Empty => 0,
                Sort::Broadcast => 3,
                _ => 6,
            };
            assert_eq!(found, (0..expected).map(|i| i as f32).collect::<Vec<_>>());
        }
        Err(error) => assert!(!floats && matches!(error, DlpackError::Type { asked: Elem::F32, .. })),
    }
    assert_eq!(one.view::<i32, 2>().is_ok(), sort == Sort::Integers);
    assert!(one.view::<f32, 1>().is_err() && one.view::<f64, 2>().is_err());
    let written = one.view_mut::<f32, 2>().map(|_| ());
    match sort {
        Sort::Broadcast => assert!(matches!(written, Err(DlpackError::Overlaps { .. }))),
        Sort::ReadOnly => assert_eq!(written, Err(DlpackError::ReadOnly)),
        Sort::Integers | Sort::Complex => assert!(matches!(written, Err(DlpackError::Type { .. }))),
        _ => assert_eq!(written, Ok(())),
    }
}

/// One sequence: tensors of every sort and of our own, taken, looked at, handed on, dropped in any order on any thread.
fn sequence(random: &mut impl FnMut(usize) -> usize, alive: &Arc<AtomicI64>) {
    // The stream and the device it is of may end before what was taken by it.
    let stream = Device::simulator().new_stream().expect("a stream");
    let (mut given, mut taken, mut threads) = (vec![], vec![], vec![]);
    for _ in 0..4 + random(12) {
        match random(8) {
            0 | 1 => {
                let sort = SORTS[random(SORTS.len())];
                given.push((sort, of_sort(sort, alive)));
            }
            2 => {
                let own = stream.upload(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0], [2, 3]).expect("a tensor");
                given.push((Sort::Whole, export(own).expect("given")));
            }
            3 | 4 if !given.is_empty() => {
                let (sort, one) = given.swap_remove(random(given.len()));
                // SAFETY: nobody else has it; the layout that reaches outside is refused.
                match unsafe { Imported::new(one, &stream) } {
                    Ok(one) => taken.push((sort, one)),
                    Err(DlpackError::Negative { .. }) => assert!(sort == Sort::Negative),
                    Err(DlpackError::Device { .. }) => assert!(sort == Sort::Elsewhere),
                    Err(other) => panic!("{other}"),
                }
            }
            5 if !taken.is_empty() => {
                let place = random(taken.len());
                let (sort, one) = &mut taken[place];
                seen(*sort, one, &stream);
            }
            6 if !taken.is_empty() => {
                let (_, one) = taken.swap_remove(random(taken.len()));
                if random(40) == 0 { threads.push(std::thread::spawn(move || drop(one))) } else { drop(one) }
            }
            // To our own hands and back, as a library in between would; or away.
            7 if !given.is_empty() => {
                let (sort, one) = given.swap_remove(random(given.len()));
                if random(2) == 0 {
                    // SAFETY: it comes from `into_raw` just now.
                    given.push((
                        sort,
                        unsafe { versioned::Dlpack::from_raw(one.into_raw()) }.expect("the same"),
                    ));
                }
            }
            _ => {}
        }
    }
    if random(2) == 0 {
        drop(given);
        drop(stream);
        drop(taken);
    } else {
        drop(stream);
        drop(taken);
        drop(given);
    }
    threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    assert_eq!(alive.load(Ordering::SeqCst), 0, "all are given back, once each");
}

#[test]
fn ten_thousand_random_sequences_lose_nothing_and_free_nothing_twice() {
    let alive = Arc::new(AtomicI64::new(0));
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..10_000 {
        sequence(&mut random, &alive);
    }
}

/// A deleter gives memory to others, on the host: a kernel that was launched on it has to be done, on whatever stream.
#[test]
fn the_deleter_runs_after_the_work() {
    struct Owner {
        tensor: layout_cuda::Tensor<f32, 1>,
        found: Arc<AtomicI64>,
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            // A copy in no stream's order: a stream of its own waits for no other one.
            let stream = self.tensor.device().context().expect("a GPU's").new_stream().expect("a stream");
            let slice = self.tensor.cuda_slice().expect("a GPU's");
            // SAFETY: nobody frees the memory before the copy has come; the view is given back as it is.
            let view = unsafe { stream.upgrade_device_ptr::<f32>(address(&slice), slice.len()) };
            let values = stream.clone_dtoh(&view).expect("data");
            let _ = view.leak();
            self.found.store(values[0] as i64, Ordering::SeqCst);
        }
    }
    fn address(slice: &layout_cuda::cudarc::driver::CudaView<f32>) -> u64 {
        use layout_cuda::cudarc::driver::{DevicePtr, DeviceSlice};
        slice.device_ptr(slice.stream()).0
    }
    let Some((first, second)) = gpu() else { return };
    for stream in [&first, &second] {
        let found = Arc::new(AtomicI64::new(-1));
        let tensor = first.zeros::<f32, 1>([32]).expect("a tensor");
        let data = address(&tensor.cuda_slice().expect("a GPU's"));
        first.synchronize().expect("zeros");
        let prepared = Dynamic::new(vec![32], vec![1]).prepare_as::<DLManagedTensorVersioned>();
        let owner = Box::new(Owner { tensor, found: found.clone() });
        let mut made = prepared.expect("an allocation").initialize(owner);
        made.set_data(data as *mut std::ffi::c_void);
        made.set_dtype(DLDataType::F32);
        made.set_device(DLDevice::cuda(0));
        // SAFETY: nobody else has it, and the zeros are there.
        let mut taken = unsafe { Imported::new(finished(made), &first) }.expect("taken");
        counted::launch(stream, &mut taken.view_mut::<f32, 1>().expect("a view")).expect("a launch");
        drop(taken);
        assert_eq!(
            found.load(Ordering::SeqCst),
            COUNTED as i64,
            "the deleter ran before the kernel was done"
        );
    }
}

/// Who is given a tensor may use it in any stream: what another stream still writes has to be there.
#[test]
fn what_is_given_away_is_done() {
    let Some((first, second)) = gpu() else { return };
    for (made, launched) in [(&first, &second), (&second, &first), (&first, &first)] {
        let mut tensor = made.zeros::<f32, 1>([32]).expect("a tensor");
        counted::launch(launched, &mut tensor).expect("a launch");
        let given = export(tensor).expect("given");
        let stream = first.device().new_stream().expect("a stream");
        // SAFETY: nobody else has it, and export has waited.
        let taken = unsafe { Imported::new(given, &stream) }.expect("taken");
        let found = stream.download(&taken.view::<f32, 1>().expect("a view")).expect("data");
        assert_eq!(found, vec![COUNTED; 32]);
    }
}
