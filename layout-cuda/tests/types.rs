//! Arguments whose types are known at run time only, as those of other languages are.
//!
//! Law: where a kernel has one type for several arguments, one of another type is named, and what it is beside.

use layout_cuda::{
    Argument, Device, Elem, Error, LaunchConfig, LaunchError, ParamSet, ParamValue, TensorBytes,
    launch_slice, tiled_kernel,
};

#[tiled_kernel(T = [f32, f16, bf16], block = [32], grid = [N.div_ceil(32)])]
fn sum<T, const N: usize>(
    a: &LayoutTensor<T, RowMajor<N>>,
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &mut LayoutTensor<T, RowMajor<N>>,
) {
    let i = 32 * block_idx.x + thread_idx.x;
    if i < N {
        y[[i]] = (a[[i]].cast::<f32>() + x[[i]].cast::<f32>()).cast::<T>();
    }
}

fn launched(types: [Elem; 3], set: Option<&ParamSet>) -> Result<(), Error> {
    let [a, x, y] = types;
    let (read, mut written) = ([0u8; 64], [0u8; 64]);
    let mut arguments = [
        Argument::tensor(a, &[8], &[1], TensorBytes::from(&read[..]))?,
        Argument::tensor(x, &[8], &[1], TensorBytes::from(&read[..]))?,
        Argument::tensor(y, &[8], &[1], TensorBytes::from(&mut written[..]))?,
    ];
    let config = LaunchConfig { set, ..LaunchConfig::default() };
    launch_slice(&sum::DEFINITION, &Device::simulator().stream(), config, &mut arguments)
}

#[test]
fn the_argument_of_another_type_is_named() {
    use Elem::{Bf16, F16, F32, F64};
    for one in [F32, F16, Bf16, F64] {
        launched([one; 3], None).unwrap_or_else(|error| panic!("{one}: {error}"));
    }
    let rows = [
        // Of a type that the attribute does not list, wherever it is.
        ([F32, F64, F32], "`x` is of f64 and `a` of f32"),
        ([F64, F32, F32], "`a` is of f64 and `x` of f32"),
        ([F16, F16, F64], "`y` is of f64 and `a` of f16"),
        // Of two that it lists, the later one.
        ([F32, F32, F16], "`y` is of f16 and `a` of f32"),
        ([Bf16, F32, F32], "`x` is of f32 and `a` of bf16"),
    ];
    for (types, words) in rows {
        let error = launched(types, None).expect_err("of two types");
        assert!(matches!(error, Error::Launch(LaunchError::Types { .. })), "{error}");
        let words = format!("{words}, and both are of the type `T` (f32, f16, bf16 in the attribute)");
        assert!(error.to_string().contains(&words), "{error}");
    }
    // Where the caller says the type, the argument that is not of it is named.
    let set = ParamSet::default().with("T", ParamValue::Type(F32));
    let error = launched([F32, F64, F32], Some(&set)).expect_err("of another type").to_string();
    assert!(error.contains("`x`") && error.contains("f64") && error.contains("f32"), "{error}");
}
