//! Tensor maps: what the driver makes of a tensor and of the boxes that a kernel copies of it.
//!
//! Law: [`encode`] gives one map for each of the plan's, in its order. What the driver cannot address is refused before,
//! by [`LaunchPlan::bind`]; should the driver say no all the same, the error has every number it was given.
//!
//! Encoding is arithmetic of the driver on the host, without a call of the device, and is done anew at each launch.

use std::fmt;

use cudarc::driver::sys;
use layout_compiler::launch::LaunchPlan;
use layout_compiler::{Bound, BoundMap, Elem, TensorMap};

use crate::driver::{DriverError, check};
use crate::error::Result;
use crate::launch_error::LaunchError;

/// The most modes of a map.
const RANK: usize = 5;

/// A tensor map that the driver did not make.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TensorMapError {
    /// The kernel.
    pub kernel: String,
    /// The argument.
    pub argument: String,
    /// How the kernel cuts it into boxes.
    pub map: TensorMap,
    /// Its extents and pitches.
    pub bound: BoundMap,
    /// The driver's words.
    pub error: DriverError,
}

impl fmt::Display for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TensorMapError { kernel, argument, map, bound, error } = self;
        write!(
            f,
            "kernel `{kernel}`: no tensor map of argument `{argument}` ({}, contiguous mode first: extents {:?}, pitches \
             {:?} bytes, box {:?}, swizzle over {} bytes): {error}; tensor maps need compute capability 9.0",
            map.elem, bound.extents, bound.strides, map.extents, map.swizzle_bytes
        )
    }
}

/// The plan's maps for one launch; `addresses` has the address of each tensor argument.
///
/// # Errors
/// [`LaunchError::TensorMap`] where the driver makes none.
pub(crate) fn encode(plan: &LaunchPlan, bound: &Bound, addresses: &[u64]) -> Result<Vec<sys::CUtensorMap>> {
    if plan.maps.is_empty() {
        return Ok(Vec::new());
    }
    let made = plan.maps.iter().zip(&bound.maps).map(|(map, of)| {
        let address = addresses.get(map.argument as usize).copied().unwrap_or(0);
        encode_one(map, of, address).map_err(|error| refused(plan, map, of, error))
    });
    made.collect()
}

#[cold]
fn refused(plan: &LaunchPlan, map: &TensorMap, bound: &BoundMap, error: DriverError) -> crate::Error {
    let argument = plan.arguments.get(map.argument as usize).map(|argument| argument.name.clone());
    let refused = TensorMapError {
        kernel: plan.name.clone(),
        argument: argument.unwrap_or_default(),
        map: map.clone(),
        bound: bound.clone(),
        error,
    };
    LaunchError::TensorMap(Box::new(refused)).into()
}

fn encode_one(
    map: &TensorMap,
    bound: &BoundMap,
    address: u64,
) -> std::result::Result<sys::CUtensorMap, DriverError> {
    let invalid = |call| DriverError::Call {
        call,
        code: sys::CUresult::CUDA_ERROR_INVALID_VALUE as u32,
        name: "CUDA_ERROR_INVALID_VALUE".into(),
    };
    let rank = map.extents.len();
    let fits = (1..=RANK).contains(&rank) && bound.extents.len() == rank && bound.strides.len() + 1 == rank;
    let (true, Some(swizzle)) = (fits, swizzle(map.swizzle_bytes)) else {
        return Err(invalid("cuTensorMapEncodeTiled"));
    };
    let every = [1u32; RANK];
    let mut made = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: `made` is a live map of the driver's own size and alignment. Extents, box and element strides have `rank`
    // entries, the pitches one fewer. The driver keeps the address as a number and reads nothing there.
    let status = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut made,
            data_type(map),
            rank as u32,
            address as *mut std::ffi::c_void,
            bound.extents.as_ptr(),
            bound.strides.as_ptr(),
            map.extents.as_ptr(),
            every.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    check("cuTensorMapEncodeTiled", status.result())?;
    Ok(made)
}

/// The driver's type. 8-bit floats and truth values are bytes to it.
fn data_type(map: &TensorMap) -> sys::CUtensorMapDataType {
    use sys::CUtensorMapDataType as Type;
    match map.elem {
        Elem::F64 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        Elem::F32 if map.round_tf32 => Type::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        Elem::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        Elem::F16 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        Elem::Bf16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        Elem::I64 => Type::CU_TENSOR_MAP_DATA_TYPE_INT64,
        Elem::U64 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        Elem::I16 | Elem::U16 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        Elem::I32 => Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
        Elem::U32 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        Elem::E4m3 | Elem::E5m2 | Elem::I8 | Elem::U8 | Elem::Bool => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
    }
}

/// The driver's swizzle over so many bytes, where it has one.
fn swizzle(bytes: u32) -> Option<sys::CUtensorMapSwizzle> {
    use sys::CUtensorMapSwizzle as Swizzle;
    match bytes {
        0 => Some(Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE),
        32 => Some(Swizzle::CU_TENSOR_MAP_SWIZZLE_32B),
        64 => Some(Swizzle::CU_TENSOR_MAP_SWIZZLE_64B),
        128 => Some(Swizzle::CU_TENSOR_MAP_SWIZZLE_128B),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_gpu::gpu;

    fn map(elem: Elem, extents: &[u32], swizzle_bytes: u32, round_tf32: bool) -> TensorMap {
        let modes = (0..extents.len() as u32).rev().collect();
        TensorMap {
            argument: 0,
            elem,
            modes,
            extents: extents.to_vec(),
            swizzle_bytes,
            round_tf32,
            stored: false,
        }
    }

    #[test]
    fn what_is_no_map_is_refused_without_the_driver() {
        let bound = BoundMap { extents: vec![64, 64], strides: vec![256] };
        let rows = [
            map(Elem::F32, &[32], 0, false),
            map(Elem::F32, &[32, 8], 48, false),
            map(Elem::F32, &[], 0, false),
            map(Elem::F32, &[1; 6], 0, false),
        ];
        for map in rows {
            let error = encode_one(&map, &bound, 0).expect_err("no map");
            assert_eq!(error.to_string(), "cuTensorMapEncodeTiled failed with CUDA_ERROR_INVALID_VALUE (1)");
        }
    }

    #[test]
    fn every_type_and_swizzle_is_encoded() {
        let Some(device) = gpu() else {
            return;
        };
        if device.properties().is_none_or(|properties| properties.compute_capability < (9, 0)) {
            return;
        }
        for elem in Elem::ALL {
            for swizzle in [0, 32, 64, 128] {
                let across = if swizzle == 0 { 32 } else { swizzle / elem.bytes() };
                let map = map(elem, &[across, 8], swizzle, elem == Elem::F32);
                let pitch = u64::from(1000 * elem.bytes()).next_multiple_of(16);
                let bound = BoundMap { extents: vec![1000, 77], strides: vec![pitch] };
                let made = encode_one(&map, &bound, 1 << 20);
                let made = made.unwrap_or_else(|error| panic!("{elem}, swizzle {swizzle}: {error}"));
                assert!(made.opaque.iter().any(|word| *word != 0), "{elem}, swizzle {swizzle}");
            }
        }
        let wide = BoundMap { extents: vec![1000, 77], strides: vec![4000] };
        let rounded = encode_one(&map(Elem::F32, &[32, 8], 128, true), &wide, 1 << 20).expect("a map");
        let plain = encode_one(&map(Elem::F32, &[32, 8], 128, false), &wide, 1 << 20).expect("a map");
        assert_ne!(rounded, plain, "the type is in the map");
        // A pitch that is no multiple of 16 bytes is what the driver refuses; bind does before.
        let odd = BoundMap { extents: vec![1000, 77], strides: vec![4004] };
        let error = encode_one(&map(Elem::F32, &[32, 8], 0, false), &odd, 1 << 20).expect_err("an odd pitch");
        assert!(error.to_string().contains("CUDA_ERROR_INVALID_VALUE"), "{error}");
    }
}
