//! The matrix instructions: which element each thread's each value is.
//!
//! Law: an operand's layout takes (thread, value) to the column-major index in its tile; it meets each element of the
//! tile exactly once. A is M x K, B is N x K, C is M x N.
//!
//! Source: the fragment figures of the PTX manual, in the notation of CuTe's `mma_traits`.

use crate::{Layout, LayoutError, Nest};

/// One matrix instruction.
///
/// ```
/// use layout_core::atoms::MmaAtom;
///
/// let atom = MmaAtom::m16n8k16_f16()?;
/// assert_eq!((atom.shape, atom.threads), ((16, 8, 16), 32));
/// // Thread 5 has, as its first value of A, row 1, column 2.
/// let at = atom.a.crd2idx(&(5, 0).into())?;
/// assert_eq!((at % 16, at / 16), (1, 2));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MmaAtom {
    /// The instruction's name in PTX, without its types.
    pub name: String,
    /// The types of A and B, and of C.
    pub types: &'static str,
    /// M, N, K.
    pub shape: (i64, i64, i64),
    /// The number of threads that take part.
    pub threads: i64,
    /// (thread, value) of A to the index in an M x K tile. An operand in shared memory is seen by every thread, so its
    /// layout has stride 0 along the threads.
    pub a: Layout,
    /// (thread, value) of B to the index in an N x K tile.
    pub b: Layout,
    /// (thread, value) of C to the index in an M x N tile.
    pub c: Layout,
}

impl MmaAtom {
    fn warp(
        name: &str,
        types: &'static str,
        shape: (i64, i64, i64),
        [a, b, c]: [&str; 3],
    ) -> Result<Self, LayoutError> {
        Ok(Self { name: name.into(), types, shape, threads: 32, a: a.parse()?, b: b.parse()?, c: c.parse()? })
    }

    /// `mma.m8n8k4`, f64.
    ///
    /// # Errors
    /// None; the layouts are fixed. So for all atoms without arguments.
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaAtom::m8n8k4_f64()?.c.to_string(), "((4,8),2):((16,1),8)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m8n8k4_f64() -> Result<Self, LayoutError> {
        let layouts = ["((4,8),1):((8,1),0)", "((4,8),1):((8,1),0)", "((4,8),2):((16,1),8)"];
        Self::warp("mma.m8n8k4", "f64, f64", (8, 8, 4), layouts)
    }

    /// `mma.m16n8k4`, f64.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaAtom::m16n8k4_f64()?.a.to_string(), "((4,8),2):((16,1),8)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m16n8k4_f64() -> Result<Self, LayoutError> {
        let layouts = ["((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)", "((4,8),(2,2)):((32,1),(16,8))"];
        Self::warp("mma.m16n8k4", "f64, f64", (16, 8, 4), layouts)
    }

    /// `mma.m16n8k8`, f64: the fragments are those of TF32.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// use layout_core::atoms::MmaAtom;
    /// assert_eq!(MmaAtom::m16n8k8_f64()?.a, MmaAtom::m16n8k8_tf32()?.a);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m16n8k8_f64() -> Result<Self, LayoutError> {
        let layouts =
            ["((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", "((4,8),(2,2)):((32,1),(16,8))"];
        Self::warp("mma.m16n8k8", "f64, f64", (16, 8, 8), layouts)
    }

    /// `mma.m16n8k16`, f64.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaAtom::m16n8k16_f64()?.b.to_string(), "((4,8),4):((8,1),32)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m16n8k16_f64() -> Result<Self, LayoutError> {
        let layouts =
            ["((4,8),(2,4)):((16,1),(8,64))", "((4,8),4):((8,1),32)", "((4,8),(2,2)):((32,1),(16,8))"];
        Self::warp("mma.m16n8k16", "f64, f64", (16, 8, 16), layouts)
    }

    /// `mma.m16n8k8`, tf32 to f32.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaAtom::m16n8k8_tf32()?.shape, (16, 8, 8));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m16n8k8_tf32() -> Result<Self, LayoutError> {
        let layouts =
            ["((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", "((4,8),(2,2)):((32,1),(16,8))"];
        Self::warp("mma.m16n8k8", "tf32, f32", (16, 8, 8), layouts)
    }

    /// `mma.m16n8k16`, f16 or bf16 to f32.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaAtom::m16n8k16_f16()?.b.to_string(), "((4,8),(2,2)):((16,1),(8,64))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m16n8k16_f16() -> Result<Self, LayoutError> {
        let layouts = [
            "((4,8),(2,2,2)):((32,1),(16,8,128))",
            "((4,8),(2,2)):((16,1),(8,64))",
            "((4,8),(2,2)):((32,1),(16,8))",
        ];
        Self::warp("mma.m16n8k16", "f16 or bf16, f32", (16, 8, 16), layouts)
    }

    /// `mma.m16n8k8`, f16 to f32.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// use layout_core::atoms::MmaAtom;
    /// assert_eq!(MmaAtom::m16n8k8_f16()?.a, MmaAtom::m16n8k8_f16()?.c);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m16n8k8_f16() -> Result<Self, LayoutError> {
        let layouts =
            ["((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)", "((4,8),(2,2)):((32,1),(16,8))"];
        Self::warp("mma.m16n8k8", "f16, f32", (16, 8, 8), layouts)
    }

    /// `mma.m8n8k16`, 8-bit integers.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaAtom::m8n8k16_8bit()?.a.to_string(), "((4,8),4):((32,1),8)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m8n8k16_8bit() -> Result<Self, LayoutError> {
        let layouts = ["((4,8),4):((32,1),8)", "((4,8),4):((32,1),8)", "((4,8),2):((16,1),8)"];
        Self::warp("mma.m8n8k16", "s8 or u8, s32", (8, 8, 16), layouts)
    }

    /// `mma.m16n8k32`, 8-bit integers or floats.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaAtom::m16n8k32_8bit()?.a.size(), 512);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m16n8k32_8bit() -> Result<Self, LayoutError> {
        let layouts = [
            "((4,8),(4,2,2)):((64,1),(16,8,256))",
            "((4,8),(4,2)):((32,1),(8,128))",
            "((4,8),(2,2)):((32,1),(16,8))",
        ];
        Self::warp("mma.m16n8k32", "s8, u8, e4m3 or e5m2; s32 or f32", (16, 8, 32), layouts)
    }

    /// `mma.m16n8k64` with block scales, of e2m1: eight are a register, and as words of eight the fragments are those of TF32.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaAtom::m16n8k64_4bit()?.b.to_string(), "((4,8),(8,2)):((64,1),(8,256))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn m16n8k64_4bit() -> Result<Self, LayoutError> {
        let layouts = [
            "((4,8),(8,2,2)):((128,1),(16,8,512))",
            "((4,8),(8,2)):((64,1),(8,256))",
            "((4,8),(2,2)):((32,1),(16,8))",
        ];
        Self::warp("mma.m16n8k64", "e2m1 with block scales, f32", (16, 8, 64), layouts)
    }

    /// `wgmma.m64nNk(256/bits)`: A and B in shared memory, C over the 128 threads of a warpgroup.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] unless n is a multiple of 8 up to 256 and `bits` is 8, 16 or 32.
    ///
    /// ```
    /// let atom = layout_core::atoms::MmaAtom::wgmma(64, 16)?;
    /// assert_eq!(atom.c.to_string(), "((4,8,4),(2,2,8)):((128,1,16),(64,8,512))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn wgmma(n: i64, bits: i64) -> Result<Self, LayoutError> {
        if !(8..=256).contains(&n) || n % 8 != 0 || !matches!(bits, 8 | 16 | 32) {
            let detail = format!("n {n} of {bits} bits; n is a multiple of 8 up to 256, of 8, 16 or 32 bits");
            return Err(LayoutError::Unsupported { operation: "wgmma", detail });
        }
        let k = 256 / bits;
        let shared = |rows: i64| Layout::new((128, (rows, k)), (0, (1, rows)));
        let values = Nest::tuple([[4, 8, 4].into(), [2, 2, n / 8].into()]);
        let c = Layout::new(values, ([128, 1, 16], [64, 8, 512]))?;
        let name = format!("wgmma.m64n{n}k{k}");
        Ok(Self {
            name,
            types: "shared, f32",
            shape: (64, n, k),
            threads: 128,
            a: shared(64)?,
            b: shared(n)?,
            c,
        })
    }

    /// `wgmma.m64nNk(256/bits)` with A in registers: four of 32 bits for each thread. For 16 bits that is how C is too,
    /// so a product can be the A of the next one.
    ///
    /// # Errors
    /// As [`MmaAtom::wgmma`].
    ///
    /// ```
    /// use layout_core::atoms::MmaAtom;
    /// let atom = MmaAtom::wgmma_register_a(256, 16)?;
    /// assert_eq!(atom.a, MmaAtom::wgmma(16, 16)?.c);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn wgmma_register_a(n: i64, bits: i64) -> Result<Self, LayoutError> {
        let atom = Self::wgmma(n, bits)?;
        let a = match bits {
            8 => "((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))",
            16 => "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))",
            _ => "((4,8,4),(2,2)):((64,1,16),(8,256))",
        };
        Ok(Self { a: a.parse()?, types: "A in registers, B shared, f32", ..atom })
    }

    /// Every atom for the given N of the warpgroup instruction.
    ///
    /// # Errors
    /// As [`MmaAtom::wgmma`].
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaAtom::all(64)?.len(), 12);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn all(n: i64) -> Result<Vec<Self>, LayoutError> {
        Ok(vec![
            Self::m8n8k4_f64()?,
            Self::m16n8k4_f64()?,
            Self::m16n8k8_f64()?,
            Self::m16n8k16_f64()?,
            Self::m16n8k8_tf32()?,
            Self::m16n8k8_f16()?,
            Self::m16n8k16_f16()?,
            Self::m8n8k16_8bit()?,
            Self::m16n8k32_8bit()?,
            Self::m16n8k64_4bit()?,
            Self::wgmma(n, 16)?,
            Self::wgmma_register_a(n, 16)?,
        ])
    }
}
