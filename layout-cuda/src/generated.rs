//! Items that the code of `#[tiled_kernel]` names. They are no part of the crate's interface and may change at any time.

pub use crate::{
    Argument, Element, Error, LaunchConfig, Stream, TensorArg, TensorArgMut, explain, launch, simulate,
};
pub use crate::{E4m3 as e4m3, E5m2 as e5m2, bf16, f16};
pub use layout_compiler::{Definition, Elem, Explanation, ParamValue, Promises, Variant};
pub use layout_simulator::{Options, Report};
