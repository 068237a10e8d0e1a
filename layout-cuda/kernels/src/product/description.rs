//! What is multiplied, and by which machine: all that the choice of kernels looks at.

use layout_cuda::Elem;
use layout_cuda::{Arch, Device, Element, TensorView};

/// What float32 operands are rounded to before they are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Nothing.
    #[default]
    Float32,
    /// TF32: 10 bits of fraction.
    Tf32,
}

impl Precision {
    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::Float32 => "f32",
            Precision::Tf32 => "tf32",
        }
    }
}

/// How a matrix is in memory: its shape and its strides, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Rows and columns.
    pub shape: [usize; 2],
    /// From row to row, and from column to column.
    pub strides: [usize; 2],
}

impl Matrix {
    /// That of a tensor.
    pub fn of<T: Element>(tensor: &TensorView<'_, T, 2>) -> Matrix {
        Matrix { shape: tensor.shape(), strides: tensor.strides() }
    }

    /// The mode that is contiguous: 1 by rows, 0 by columns. By rows where neither is, or both are.
    pub fn along(&self) -> usize {
        if self.strides[0] == 1 && self.strides[1] != 1 { 0 } else { 1 }
    }

    /// The other mode: its extent counts lines.
    pub fn across(&self) -> usize {
        1 - self.along()
    }

    /// Elements from the beginning of a line to that of the next.
    pub fn pitch(&self) -> usize {
        self.strides[self.across()]
    }

    /// Whether the rows follow one another without a gap.
    pub fn is_compact(&self) -> bool {
        self.strides == [self.shape[1].max(1), 1]
    }
}

/// A product C = A B, of M x K and K x N.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// A.
    pub a: Matrix,
    /// B.
    pub b: Matrix,
    /// C.
    pub c: Matrix,
    /// The element type of A and B.
    pub operand: Elem,
    /// That of C.
    pub result: Elem,
    /// What float32 operands may be rounded to.
    pub precision: Precision,
}

impl Product {
    /// M, N and K.
    pub fn extents(&self) -> [usize; 3] {
        [self.c.shape[0], self.c.shape[1], self.a.shape[1]]
    }
}

/// What the kernels run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Its architecture, with all of its features.
    pub arch: Arch,
}

impl Machine {
    /// An H200's multiprocessors.
    pub const H200: usize = 132;

    /// An H200, which the simulator is taken for.
    pub const OF_HOPPER: Machine = Machine { multiprocessors: Machine::H200, arch: Arch::SM_90A };

    /// That of a device.
    pub fn of(device: &Device) -> Machine {
        let multiprocessors = device.properties().map_or(Machine::H200, |gpu| gpu.multiprocessors as usize);
        Machine { multiprocessors, arch: device.arch() }
    }
}
