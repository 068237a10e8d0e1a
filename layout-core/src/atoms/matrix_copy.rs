//! `ldmatrix` and `stmatrix`: 8 x 8 matrices of 16-bit elements between shared memory and the registers of a warp.
//!
//! Law: both layouts take (thread, value) to `column + 8 * row + 64 * matrix`. `registers` meets each element exactly
//! once; `rows` holds the row whose address each thread supplies; its mode of threads beyond the last row has stride 0.
//!
//! ```text
//! registers, plain:       thread t has row t/4, columns 2*(t%4) and the next, of each matrix
//! registers, transposed:  thread t has column t/4, rows 2*(t%4) and the next
//! ```
//! Source: the figures of `ldmatrix` and `stmatrix` in the PTX manual; CuTe's `Copy_Traits` count bits instead.

use crate::{Layout, LayoutError};

/// One copy of one, two or four matrices by a warp.
///
/// ```
/// use layout_core::{Layout, algebra::composition};
/// use layout_core::atoms::{MatrixCopy, MmaAtom};
///
/// // Four matrices, 2 x 2 over the 16 x 16 tile, are the A of m16n8k16: matrix 1 is below matrix 0.
/// let copy = MatrixCopy::ldmatrix(4, false)?;
/// let tile = Layout::new((8, 8, (2, 2)), (16, 1, (8, 128)))?; // (column, row, matrix) to the index in A
/// assert!(composition(&tile, &copy.registers)?.same_function(&MmaAtom::m16n8k16_f16()?.a));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixCopy {
    /// The instruction's name in PTX.
    pub name: String,
    /// The number of matrices.
    pub matrices: i64,
    /// (thread, value) of the memory's side: the row that a thread gives the address of, in its eight elements.
    pub rows: Layout,
    /// (thread, value) of the registers' side: two elements in each register, a register for each matrix.
    pub registers: Layout,
}

impl MatrixCopy {
    /// `ldmatrix.sync.aligned.m8n8.x1`, `.x2` or `.x4`, with `.trans` if `transposed`: shared memory to registers.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] unless there are 1, 2 or 4 matrices.
    ///
    /// ```
    /// use layout_core::atoms::MatrixCopy;
    /// let copy = MatrixCopy::ldmatrix(2, true)?;
    /// assert_eq!(copy.registers.to_string(), "((4,8),(2,2)):((16,1),(8,64))");
    /// assert_eq!(copy.rows.to_string(), "((16,2),8):((8,0),1)"); // threads 16 to 31 address nothing of their own
    /// assert!(MatrixCopy::ldmatrix(3, false).is_err());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn ldmatrix(matrices: i64, transposed: bool) -> Result<Self, LayoutError> {
        Self::new("ldmatrix", matrices, transposed)
    }

    /// `stmatrix.sync.aligned.m8n8.x1`, `.x2` or `.x4`, with `.trans` if `transposed`: registers to shared memory.
    ///
    /// # Errors
    /// As [`MatrixCopy::ldmatrix`].
    ///
    /// ```
    /// use layout_core::atoms::MatrixCopy;
    /// let copy = MatrixCopy::stmatrix(4, false)?;
    /// assert_eq!(copy.name, "stmatrix.sync.aligned.m8n8.x4.shared.b16");
    /// assert_eq!(copy.registers.to_string(), "((4,8),(2,4)):((2,8),(1,64))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn stmatrix(matrices: i64, transposed: bool) -> Result<Self, LayoutError> {
        Self::new("stmatrix", matrices, transposed)
    }

    fn new(operation: &'static str, matrices: i64, transposed: bool) -> Result<Self, LayoutError> {
        if !matches!(matrices, 1 | 2 | 4) {
            let detail = format!("{matrices} matrices; give 1, 2 or 4");
            return Err(LayoutError::Unsupported { operation, detail });
        }
        let trans = if transposed { ".trans" } else { "" };
        let addressed = 8 * matrices;
        let rows = match matrices {
            4 => Layout::new((32, 8), (8, 1))?,
            _ => Layout::new(((addressed, 32 / addressed), 8), ((8, 0), 1))?,
        };
        let (threads, pair) = if transposed { ((16, 1), 8) } else { ((2, 8), 1) };
        let registers = Layout::new(((4, 8), (2, matrices)), (threads, (pair, 64)))?;
        let name = format!("{operation}.sync.aligned.m8n8.x{matrices}{trans}.shared.b16");
        Ok(Self { name, matrices, rows, registers })
    }
}
