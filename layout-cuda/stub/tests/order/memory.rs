//! Memory: sources that are page-locked, tensors of no element, truth values.

use crate::stub::with_stub;
use layout_cuda::{Element, Tensor};

#[test]
fn locked_sources_are_read_before_an_upload_returns() {
    with_stub("locked_sources_are_read_before_an_upload_returns", |stub| {
        let device = stub.device();
        let context = device.context().expect("a GPU");
        // SAFETY: the stub sets the memory.
        let mut locked = unsafe { context.alloc_pinned::<f32>(64) }.expect("memory");
        let source = locked.as_mut_slice().expect("memory");
        for stream in [device.stream(), device.new_stream().expect("a stream")] {
            let mut tensor = stream.upload(source, [64]).expect("a tensor");
            stub.host_writes(source);
            stub.is_right("an upload");
            tensor.write(source).expect("written");
            stub.host_writes(source);
            stub.is_right("a write");
            // A part of the memory, and elements that begin inside of it.
            let bytes: Vec<u8> = vec![1; 8];
            tensor.write_bytes(2, &bytes).expect("written");
            stream.upload(&source[60..], [4]).expect("a tensor");
            stub.host_writes(source);
            stub.is_right("a part");
            stream.upload_strided(&source[3..9], [2, 2], [4, 1]).expect("a tensor");
            stub.host_writes(source);
            stub.is_right("a part with strides");
        }
        // Memory that is not locked is copied at once, without a wait.
        let other = device.new_stream().expect("a stream");
        let _tensor = other.upload(&[1.0f32; 64], [64]).expect("a tensor");
        assert!(!stub.waits(&device.stream(), &other));
    });
}

#[test]
fn no_element_is_lent_of_none() {
    with_stub("no_element_is_lent_of_none", |stub| {
        fn none<T: Element>(mut tensor: Tensor<T, 1>) {
            assert_eq!(tensor.cuda_slice().expect("a GPU's").len(), 0);
            assert_eq!(tensor.cuda_slice_mut().expect("a GPU's").len(), 0);
            assert_eq!(tensor.view().cuda().expect("a GPU's").len(), 0);
            assert_eq!(tensor.view_mut().cuda_mut().expect("a GPU's").len(), 0);
            assert!(tensor.download().expect("data").is_empty());
        }
        let device = stub.device();
        for stream in [device.stream(), device.new_stream().expect("a stream")] {
            none(stream.zeros::<f32, 1>([0]).expect("a tensor"));
            none(stream.upload::<u8, 1>(&[], [0]).expect("a tensor"));
            none(stream.zeros_strided::<f64, 1>([0], [3]).expect("a tensor"));
            let mut written = stream.zeros::<i32, 1>([0]).expect("a tensor");
            written.write(&[]).expect("nothing");
            written.poison().expect("nothing");
            none(written);
        }
        stub.is_right("empty tensors");
        assert_eq!(stub.live()[0], 0, "their memory has ended");
    });
}

#[test]
fn truth_values_are_0_or_1() {
    with_stub("truth_values_are_0_or_1", |stub| {
        let device = stub.device();
        let mut tensor = device.zeros::<bool, 1>([4]).expect("a tensor");
        let bytes = |tensor: &Tensor<bool, 1>| {
            let memory = tensor.view();
            let address = memory.read_on(&device.stream()).expect("a use").map(|(address, _)| address);
            stub.bytes(address.expect("a GPU's"), 4)
        };
        tensor.poison().expect("poisoned");
        assert_eq!(bytes(&tensor), [1; 4]);
        tensor.write_bytes(1, &[2, 0, 255]).expect("written");
        assert_eq!(bytes(&tensor), [1, 1, 0, 1]);
        tensor.write(&[false, true, false, true]).expect("written");
        assert_eq!(bytes(&tensor), [0, 1, 0, 1]);
        assert_eq!(tensor.download().expect("data"), [false, true, false, true]);
    });
}
