//! Files written and read on every device, wrong ones, and damaged ones.

use layout_cuda::{Device, E4m3, E5m2, Element, Tensor, bf16, f16};
use layout_files::{Npy, Safetensors, Wrong, save_npy, save_safetensors};
use std::path::PathBuf;

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

/// A file of its own, gone with this value.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!("layout-files-{}-{name}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn bits<T: Element>(values: &[T]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Bytes of every pattern, as elements; of `bool` only its two.
fn values<T: Element>(n: usize) -> Vec<T> {
    let pattern = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..n).map(|i| T::from_bits(if T::ANY_BITS { pattern(i) } else { pattern(i) & 1 })).collect()
}

#[test]
fn every_type_there_and_back() {
    fn check<T: Element>(device: &Device, numpy: bool) {
        let (stream, all) = (device.stream(), values::<T>(6 * 5));
        let tensor = stream.upload(&all, [3, 2, 5]).expect("a tensor");
        let file = Temporary::new(&format!("{}-{}", T::ELEM, device.is_simulator()));
        save_safetensors(&file.0, &[("a", &tensor), ("b", &tensor)]).expect("written");
        let model = Safetensors::open(&file.0).expect("a file");
        assert_eq!(model.names().len(), 2);
        assert_eq!((model.shape("b"), model.elem("b")), (Ok(&[3, 2, 5][..]), Ok(Some(T::ELEM))));
        let whole = model.load::<T, 3>("b", &stream).expect("a tensor");
        assert_eq!(bits(&whole.download().expect("data")), bits(&all));
        let rows = model.load_rows::<T, 3>("a", 1..3, &stream).expect("rows");
        assert_eq!(bits(&rows.download().expect("data")), bits(&all[10..]));
        assert_eq!(model.load_rows::<T, 3>("a", 2..2, &stream).expect("no rows").len(), 0);
        let npy = Temporary::new(&format!("{}-{}.npy", T::ELEM, device.is_simulator()));
        let saved = save_npy(&npy.0, &tensor);
        assert_eq!(saved.is_ok(), numpy, "{saved:?}");
        if numpy {
            let file = Npy::open(&npy.0).expect("a file");
            assert_eq!((file.shape(), file.elem()), (&[3, 2, 5][..], Some(T::ELEM)));
            let whole = file.load::<T, 3>(&stream).expect("a tensor");
            assert_eq!(bits(&whole.download().expect("data")), bits(&all));
        }
    }
    for device in devices() {
        check::<f64>(&device, true);
        check::<f32>(&device, true);
        check::<f16>(&device, true);
        check::<bf16>(&device, false);
        check::<E4m3>(&device, false);
        check::<E5m2>(&device, false);
        check::<i64>(&device, true);
        check::<i32>(&device, true);
        check::<i16>(&device, true);
        check::<i8>(&device, true);
        check::<u64>(&device, true);
        check::<u32>(&device, true);
        check::<u16>(&device, true);
        check::<u8>(&device, true);
        check::<bool>(&device, true);
    }
}

#[test]
fn in_fortrans_order_and_without_elements() {
    let stream = Device::simulator().stream();
    let text = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }";
    let elements: Vec<u8> = (0..6i16).flat_map(i16::to_le_bytes).collect();
    let file = Temporary::new("fortran.npy");
    let head =
        [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &elements].concat();
    std::fs::write(&file.0, head).expect("written");
    let tensor: Tensor<i16, 2> = Npy::open(&file.0).expect("a file").load(&stream).expect("a tensor");
    assert_eq!((tensor.strides(), tensor.download().expect("data")), ([1, 2], vec![0, 1, 2, 3, 4, 5]));
    // One that is not by rows is not written; one without elements and a scalar are.
    assert!(matches!(save_npy(&file.0, &tensor).map_err(|error| error.wrong), Err(Wrong::Strided { .. })));
    let (none, one) =
        (stream.zeros::<f32, 2>([0, 7]).expect("none"), stream.upload(&[2.5f32], []).expect("one"));
    save_npy(&file.0, &none).expect("written");
    assert_eq!(Npy::open(&file.0).expect("a file").load::<f32, 2>(&stream).expect("none").shape(), [0, 7]);
    save_npy(&file.0, &one).expect("written");
    assert_eq!(
        Npy::open(&file.0).expect("a file").load::<f32, 0>(&stream).expect("one").download(),
        Ok(vec![2.5])
    );
    save_safetensors(&file.0, &[("none", &none), ("one", &one)]).expect("written");
    let model = Safetensors::open(&file.0).expect("a file");
    assert_eq!(model.load::<f32, 2>("none", &stream).expect("none").shape(), [0, 7]);
    assert_eq!(model.load::<f32, 0>("one", &stream).expect("one").download(), Ok(vec![2.5]));
}

#[test]
fn what_is_wrong_is_named() {
    let stream = Device::simulator().stream();
    let file = Temporary::new("wrong");
    let tensor = stream.upload(&values::<f32>(6), [3, 2]).expect("a tensor");
    save_safetensors(&file.0, &[("model.weight", &tensor)]).expect("written");
    let model = Safetensors::open(&file.0).expect("a file");
    let error = |error: Option<layout_files::FileError>| error.expect("an error").to_string();
    let rows = [
        (error(model.load::<f32, 2>("model.wieght", &stream).err()), "is `model.weight` meant?"),
        (error(model.load::<f32, 2>("bias", &stream).err()), "there is no tensor `bias`"),
        (
            error(model.load::<bf16, 2>("model.weight", &stream).err()),
            "its elements are F32, and bf16 was asked for",
        ),
        (
            error(model.load::<f32, 1>("model.weight", &stream).err()),
            "its shape is [3, 2], of 2 modes, and 1 were",
        ),
        (
            error(model.load_rows::<f32, 2>("model.weight", 2..4, &stream).err()),
            "rows 2..4 were asked for, and it has 3",
        ),
        (error(Safetensors::open(std::env::temp_dir().join("no/such/file")).err()), "No such file"),
    ];
    for (found, wanted) in rows {
        assert!(found.contains(wanted), "{found}");
    }
    // Other files, cut ones, and any byte changed: an error in words, or a tensor, and no panic.
    let whole = std::fs::read(&file.0).expect("the file");
    drop(model);
    let opened = |bytes: &[u8]| {
        std::fs::write(&file.0, bytes).expect("written");
        let model = Safetensors::open(&file.0);
        if let Ok(model) = &model {
            for name in model.names() {
                let _ = model.load::<f32, 2>(&name, &stream);
            }
        }
        let _ = Npy::open(&file.0);
        model.err().map(|error| error.to_string())
    };
    assert!(opened(b"PK\x03\x04 and so on, a zip").expect("no file").contains("`.pt` files"));
    assert!(opened(&whole[..whole.len() - 1]).expect("cut").contains("cut off"));
    for cut in (0..whole.len()).step_by(5) {
        assert!(opened(&whole[..cut]).is_some(), "{cut}");
    }
    for at in 0..whole.len() {
        let mut other = whole.clone();
        other[at] ^= 1 << (at % 8);
        opened(&other);
    }
    let npy = Temporary::new("wrong.npy");
    save_npy(&npy.0, &tensor).expect("written");
    let whole = std::fs::read(&npy.0).expect("the file");
    std::fs::write(&npy.0, &whole[..whole.len() - 4]).expect("written");
    assert!(error(Npy::open(&npy.0).err()).contains("its head says 152 bytes and it has 148"));
}

#[test]
fn progress_is_reported() {
    let stream = Device::simulator().stream();
    let file = Temporary::new("progress");
    let text = "{'descr': '|u1', 'fortran_order': False, 'shape': (67108869,), }";
    let head = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
    std::fs::write(&file.0, &head).expect("written");
    // The elements are a hole of the file.
    let open = std::fs::OpenOptions::new().write(true).open(&file.0).expect("the file");
    open.set_len(head.len() as u64 + (64 << 20) + 5).expect("longer");
    let mut reported = vec![];
    let mut progress = |moved: u64, total: u64| reported.push((moved, total));
    Npy::open(&file.0).expect("a file").load_telling::<u8, 1>(&stream, &mut progress).expect("a tensor");
    let total = (64 << 20) + 5;
    assert_eq!(reported, [(0, total), (64 << 20, total), (total, total)]);
}

/// What another process does to a file while it is open is an error, or other elements.
#[test]
fn a_file_that_changes_while_it_is_open() {
    let stream = Device::simulator().stream();
    let tensor = stream.upload(&values::<f32>(6000), [3, 2000]).expect("a tensor");
    let (model, array) = (Temporary::new("changing"), Temporary::new("changing.npy"));
    save_safetensors(&model.0, &[("a", &tensor)]).expect("written");
    save_npy(&array.0, &tensor).expect("written");
    let (a, b) = (Safetensors::open(&model.0).expect("a file"), Npy::open(&array.0).expect("a file"));
    let load = || [a.load::<f32, 2>("a", &stream), a.load_rows("a", 2..3, &stream), b.load(&stream)];
    assert!(load().iter().all(Result::is_ok));
    for file in [&model, &array] {
        let open = std::fs::OpenOptions::new().write(true).open(&file.0).expect("the file");
        // As long as it was, of other bytes: a tensor of those.
        let length = open.metadata().expect("its length").len();
        open.set_len(0).expect("shorter");
        open.set_len(length).expect("as long");
    }
    for tensor in load() {
        let values = tensor.expect("a tensor").download().expect("data");
        assert!(values.iter().all(|value| *value == 0.0));
    }
    for length in [9000, 100, 0] {
        for file in [&model, &array] {
            let open = std::fs::OpenOptions::new().write(true).open(&file.0).expect("the file");
            open.set_len(length).expect("shorter");
        }
        for tensor in load() {
            let error = tensor.expect_err("cut off").to_string();
            assert!(error.contains("cut off after it was opened"), "{error}");
        }
    }
    let folder = std::env::temp_dir();
    assert!(Npy::open(&folder).expect_err("a folder").to_string().contains("no regular file"));
}

/// A length that a file says and does not have takes no memory.
#[test]
fn lengths_without_bytes() {
    let file = Temporary::new("lengths");
    for length in [9u64, 1 << 26, 1 << 40, u64::MAX - 4, u64::MAX] {
        std::fs::write(&file.0, [&length.to_le_bytes()[..], b"{"].concat()).expect("written");
        assert!(Safetensors::open(&file.0).is_err(), "{length}");
    }
    let head = [b"\x93NUMPY\x02\x00", &u32::MAX.to_le_bytes()[..], b"{"].concat();
    std::fs::write(&file.0, &head).expect("written");
    // A hole of the file where its head would be.
    std::fs::OpenOptions::new()
        .write(true)
        .open(&file.0)
        .expect("the file")
        .set_len(1 << 33)
        .expect("longer");
    assert!(Npy::open(&file.0).is_err());
}

/// What could not be read again is not written; extents beyond the numbers are no panic.
#[test]
fn names_that_a_file_cannot_have() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::simulator();
    let (x, y) = (device.upload(&[1.0f32], [1])?, device.upload(&[2.0f32], [1])?);
    let path = std::env::temp_dir().join(format!("layout-files-names-{}", std::process::id()));
    for (names, wanted) in [(["a", "a"], "two tensors are `a`"), (["a", "__metadata__"], "`__metadata__`")] {
        let saved = save_safetensors(&path, &[(names[0], &x), (names[1], &y)]);
        let text = saved.expect_err("these names").to_string();
        assert!(text.contains(wanted) && !path.exists(), "{text}");
    }
    let head = "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 1099511627776, 1099511627776, 2), }";
    let head = format!("{head:<117}\n");
    let bytes =
        [b"\x93NUMPY\x01\x00".as_slice(), &(head.len() as u16).to_le_bytes(), head.as_bytes()].concat();
    std::fs::write(&path, bytes)?;
    let outcome = Npy::open(&path)?.load::<f32, 4>(&device.stream());
    std::fs::remove_file(&path)?;
    assert_eq!(outcome?.shape(), [0, 1 << 40, 1 << 40, 2]);
    Ok(())
}
