//! Any name that Rust allows is a name of a kernel, an argument, a dimension, a variable: NVRTC takes the text.
//!
//! The words are those that mean something to a C++ compiler or that NVRTC declares. Source: the C++ standard, the CUDA math
//! API reference, the CUDA programming guide.

use layout_compiler::{Promises, compile, emit};
use layout_cuda::nvrtc;

/// Words of C and C++.
const LANGUAGE: &str = "\
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await \
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double \
    dynamic_cast else enum explicit export extern false final float for friend goto if inline int long main mutable namespace \
    new noexcept not not_eq nullptr operator or or_eq override private protected public register reinterpret_cast requires \
    restrict return short signed sizeof static static_assert static_cast std struct switch template this thread_local throw \
    true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq import module \
    size_t ptrdiff_t int8_t uint32_t intptr_t nullptr_t va_list va_start va_end va_arg va_copy NULL assert offsetof errno \
    linux unix i386 near far huge interface typeof_unqual";

/// Functions of numbers; each has one of f32 with an `f` at its end.
const MATH: &str = "\
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv \
    erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma \
    llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter norm norm3d norm4d normcdf normcdfinv \
    pow rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt scalbln scalbn sin sincos sincospi sinh sinpi \
    sqrt tan tanh tgamma trunc y0 y1 yn lerp beta legendre";

/// Other names of C, CUDA and PTX.
const OTHERS: &str = "\
    abs labs llabs div ldiv min max umin umax llmin llmax ullmin ullmax signbit isfinite isinf isnan isnormal fpclassify \
    nexttoward printf puts vprintf malloc free alloca memcpy memset memmove memcmp strlen strcmp trap clock clock64 \
    clock_t threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 int2 int4 uint4 float1 float2 float4 double2 short4 \
    char4 longlong2 ulonglong2 half half2 bf16 e4m3 make_float4 make_int2 make_long1 make_longlong4_16a cudaError_t \
    cudaSuccess cudaStream_t cudaMalloc cudaDataType CUDA_R_32F CUDART_CB CUDART_VERSION CUDARTAPI CUuuid MAJOR_VERSION \
    PATCH_LEVEL NV_IF_TARGET libraryPropertyType surfaceReference textureReference tex1D surf2Dread atomicAdd atomicCAS \
    A7 WARP_SZ tid ntid ctaid laneid mov add ret bra call exit bar ld st cvt setp mad shfl vote atom red reg entry func global \
    shared local param pred b32 f32 u64 TensorMap wgmma_fence accumulator_fence copy_async_16 shared_memory thread_x block_x \
    RZ PT R0 x y n";

/// Words of Rust that can be names with `r#`.
const RUST: &str = "\
    abstract as async await become box break const continue do dyn else enum extern false final fn for gen if impl in let loop \
    macro match mod move mut override priv pub ref return static struct trait true try type typeof unsafe unsized use virtual \
    where while yield";

/// An eighth of the words, another one for each `NVRTC_SEED`; all of them with `NAMES=all`.
fn words() -> Vec<String> {
    let math = MATH.split_whitespace().flat_map(|name| [name.to_owned(), format!("{name}f")]);
    let others = LANGUAGE.split_whitespace().chain(OTHERS.split_whitespace()).map(str::to_owned);
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (turn, step) = match variable("NAMES").as_str() {
        "all" => (0, 1),
        _ => (variable("NVRTC_SEED").parse().unwrap_or(0) % 8, 8),
    };
    math.chain(others).skip(turn).step_by(step).collect()
}

/// NVRTC takes the kernels of these texts as one program; where `assembled`, so does ptxas, which sees no name but a kernel's.
fn compiled(texts: impl Iterator<Item = (String, String)>, assembled: bool) {
    let (mut program, mut tried) = (String::new(), 0);
    for (name, text) in texts {
        let raw =
            if RUST.split_whitespace().any(|word| word == name) { format!("r#{name}") } else { name.clone() };
        let Ok(kernel) = layout_text::kernel(&text.replace("NAME", &raw)) else {
            // A word of the kernel language.
            println!("{name} is refused");
            continue;
        };
        let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
        let checked =
            compile(&kernel, &set, Promises::USUAL).unwrap_or_else(|errors| panic!("{name}: {errors}"));
        program.push_str(&emit(&checked).text);
        tried += 1;
    }
    assert!(tried > 30, "{tried} names");
    let nvrtc = nvrtc::nvrtc().expect("NVRTC");
    let refused = match assembled {
        true => nvrtc.compile(&program, "sm_90a", &[]).err(),
        false => nvrtc.ptx(&program, "sm_90a", &[]).err(),
    };
    assert!(refused.is_none(), "{}", refused.map_or(String::new(), |error| error.to_string()));
}

#[test]
fn a_kernel_may_have_any_name() {
    let kernel = "#[tiled_kernel(block = [32], grid = [1])]
        fn NAME(data: &mut LayoutTensor<f32, RowMajor<32>>) { data[[thread_idx.x]] = 1.0; }";
    compiled(words().into_iter().map(|name| (name, kernel.to_owned())), true);
    // With a parameter, as one of a set.
    let kernel = kernel.replace("block", "B = 32, block").replace("[32], grid", "[B], grid");
    compiled(words().into_iter().map(|name| (name, kernel.clone())), false);
}

#[test]
fn what_a_kernel_names_may_have_any_name() {
    let bodies = [
        "fn tried_I(NAME: &mut LayoutTensor<f32, RowMajor<32>>, count: u32) { NAME[[thread_idx.x]] = count as f32; }",
        "fn tried_I(data: &mut LayoutTensor<f32, RowMajor<32>>, NAME: f32) { data[[thread_idx.x]] = NAME.sqrt(); }",
        "fn tried_I<const NAME: usize>(data: &mut LayoutTensor<f32, RowMajor<NAME>>) {
            if thread_idx.x < NAME { data[[thread_idx.x]] = 1.0; } }",
        "fn tried_I(data: &mut LayoutTensor<f32, RowMajor<32>>) {
            let mut NAME = data[[thread_idx.x]]; while NAME < 9.0 { NAME += NAME.exp(); } data[[thread_idx.x]] = NAME; }",
        "fn tried_I(data: &mut LayoutTensor<f32, RowMajor<32>>, rounds: usize) {
            for NAME in 0..rounds { data[[thread_idx.x]] += data[[(thread_idx.x + NAME) % 32]] ; } }",
        "fn tried_I(data: &mut LayoutTensor<f32, RowMajor<32>>) {
            let mut NAME = shared::<f32>(row_major([32])); NAME[[thread_idx.x]] = data[[thread_idx.x]]; barrier();
            data[[thread_idx.x]] = NAME[[31 - thread_idx.x]]; }",
        "fn tried_I(data: &mut LayoutTensor<f32, RowMajor<32>>) {
            fn NAME(value: f32) -> f32 { value + 1.0 } data[[thread_idx.x]] = NAME(data[[thread_idx.x]]); }",
    ];
    for (number, body) in bodies.iter().enumerate() {
        let texts = words().into_iter().enumerate().map(|(i, name)| {
            let body = body.replace("tried_I", &format!("tried_{number}_{i}"));
            (name, format!("#[tiled_kernel(block = [32], grid = [1])]\n{body}"))
        });
        compiled(texts, false);
    }
}
