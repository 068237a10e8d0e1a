//! Which kernels make a product, on which parts of it, and where the matrices are meanwhile: [`Plan::of`] answers all of it.
//!
//! Law: the parts cover C, each element once; an operand that is moved is padded with zeros, so that the product is the same.
//! Nothing is launched here, and nothing but the description, the machine and what the caller asks for is looked at.
//!
//! What was measured on an H200 and is decided by it:
//! - a kernel in float32 that has tiles of 128 x 128 gives every multiprocessor something to do from 132 tiles on;
//! - TMA and vectors want rows at multiples of 16 bytes: others are moved, which costs less than single elements where the
//!   product is large; for `sgemm` masks cost more than copies, too;
//! - a last row of tiles costs as much as any other, after all multiprocessors had their equal share: a few rows or columns
//!   beyond whole tiles are left to other kernels wherever that is a wave less;
//! - on the matrix units, where C has few tiles smaller ones win, down to those of 64 x 64, and of very few and a long K
//!   clusters that share each.

use super::description::{Machine, Matrix, Precision, Product};
use super::kernel::Kernel;
use layout_cuda::{Arch, Elem};
use layout_cuda::{ParamSet, ParamValue};
use std::ops::Range;

/// Elements of float32 in a vector: what rows of operands begin at multiples of.
const VECTOR: usize = 4;
/// TMA wants lines that begin at multiples of so many bytes.
const ROW_BYTES: usize = 16;
/// Lines of copies begin at multiples of so many bytes: a line of the cache.
const LINE_BYTES: usize = 128;
/// From so many products on the copies of operands cost less than copies of four bytes would in the kernel.
const LARGE: usize = 1 << 30;
/// So many rows beyond whole tiles are left to a kernel of small tiles: the height of its tiles.
const FEW_ROWS: usize = 64;
/// Rows of a product of 16-bit floats that is bound by reading B; `tests/records` has what was measured.
const MOST_FEW_ROWS: usize = 32;
/// So many last rows or columns have kernels of their own.
const FEW: usize = 4;
/// What a set has otherwise than the attribute's first.
pub(super) type Changes = &'static [(&'static str, usize)];

/// Bytes of shared memory that the sliced kernels of float32 take, at most.
const ALL_SLICES: u64 = 200 << 10;
/// Half the slices, of half the depth, and a stage less: a third of the bytes.
const FEW_SLICES: Changes = &[("SLICES", 4), ("BK", 64), ("STAGES", 2)];

/// A kernel's tile of K where its parameters do not determine it.
const DEPTH: usize = 32;

/// Where a matrix is while the kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where it is.
    Here,
    /// In memory of so many lines that begin `pitch` elements apart, with zeros behind what is there. Lines of the other
    /// mode than before, where it is transposed.
    Moved {
        /// Lines.
        lines: usize,
        /// Elements of a line.
        pitch: usize,
        /// Whether rows become columns.
        transposed: bool,
    },
}

/// One launch: a kernel and the part of the product that it makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The kernel.
    pub kernel: Kernel,
    /// Its parameters.
    pub set: Option<ParamSet>,
    /// Rows of A and of C.
    pub rows: Range<usize>,
    /// Columns of B.
    pub columns: Range<usize>,
    /// Columns of C: those of B, or all of a C whose rows the kernel wants whole.
    pub into: Range<usize>,
    /// Columns of A and rows of B.
    pub depth: [usize; 2],
}

/// A product in launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where A is.
    pub a: Place,
    /// Where B is.
    pub b: Place,
    /// Where C is; from another place it is copied in the end.
    pub c: Place,
    /// The launches, in order.
    pub parts: Vec<Part>,
}

/// A plan in the making.
struct Planner<'a> {
    product: &'a Product,
    machine: Machine,
    /// The set that the caller asks for.
    asked: Option<&'a ParamSet>,
}

impl Plan {
    /// The plan of a product: by the kernel asked for, with the parameters asked for, or by the fastest ones.
    ///
    /// ```
    /// use layout_cuda::{Arch, Elem};
    /// use layout_kernels::product::{Kernel, Machine, Matrix, Plan, Precision, Product};
    ///
    /// let rows = |shape: [usize; 2]| Matrix { shape, strides: [shape[1], 1] };
    /// let product = |m, n, k| Product {
    ///     a: rows([m, k]),
    ///     b: rows([k, n]),
    ///     c: rows([m, n]),
    ///     operand: Elem::Bf16,
    ///     result: Elem::Bf16,
    ///     precision: Precision::Float32,
    /// };
    /// let (h200, a100) = (Machine::OF_HOPPER, Machine { multiprocessors: 108, arch: Arch::SM_80 });
    /// let b200 = Machine { multiprocessors: 148, arch: Arch::of(10, 0) };
    /// let kernels = |m, n, k, machine| -> Vec<Kernel> {
    ///     Plan::of(&product(m, n, k), machine, None, None).parts.iter().map(|part| part.kernel).collect()
    /// };
    /// assert_eq!(kernels(4096, 4096, 4096, h200), [Kernel::Gemm]);
    /// assert_eq!(kernels(1024, 512, 2048, h200), [Kernel::GemmPair]);
    /// assert_eq!(kernels(4096, 4096, 4096, a100), [Kernel::GemmMma]);
    /// assert_eq!(kernels(4096, 4096, 4096, b200), [Kernel::GemmTcgen05]);
    /// assert_eq!(kernels(512, 512, 4096, b200), [Kernel::GemmMma]);
    /// ```
    pub fn of(product: &Product, machine: Machine, kernel: Option<Kernel>, asked: Option<&ParamSet>) -> Plan {
        let planner = Planner { product, machine, asked };
        let kernel = kernel.unwrap_or_else(|| planner.fastest(product.c.shape));
        let plan = planner.by(kernel);
        match kernel.is_by_rows() {
            true => {
                let compact = matches!(kernel, Kernel::Sgemm | Kernel::SgemmSliced);
                let place = |matrix: &Matrix, place: Place| by_rows(matrix, place, compact);
                let c = if compact { without_gaps(&product.c, plan.c) } else { plan.c };
                Plan { a: place(&product.a, plan.a), b: place(&product.b, plan.b), c, ..plan }
            }
            false => plan,
        }
    }
}

impl Plan {
    /// The same with each matrix moved, to where it begins at a multiple of 16 bytes.
    pub(super) fn moved(&self, product: &Product) -> Plan {
        let Product { a, b, c, operand, result, .. } = product;
        let away = |place: Place, matrix: &Matrix, elem: &Elem| match place {
            Place::Here => {
                moved([matrix.shape[matrix.across()], matrix.shape[matrix.along()]], elem.bytes() as usize)
            }
            moved => moved,
        };
        let (a, b, c) = (away(self.a, a, operand), away(self.b, b, operand), away(self.c, c, result));
        Plan { a, b, c, parts: self.parts.clone() }
    }
}

impl Planner<'_> {
    /// The plan of a kernel.
    fn by(&self, kernel: Kernel) -> Plan {
        let product = self.product;
        match kernel {
            Kernel::TensorCore | Kernel::SgemmSlicedFed => self.by_lines(kernel),
            Kernel::SgemmFed if !self.is_even() => self.in_whole_tiles(kernel),
            Kernel::Sgemm if self.pays(kernel) => self.in_whole_tiles(kernel),
            Kernel::Gemm if product.operand == product.result && product.operand.bytes() == 2 => {
                self.of_sixteen_bits()
            }
            Kernel::Gemm => self.by_columns(),
            Kernel::GemmSplit | Kernel::GemmPair => self.alone(kernel),
            Kernel::GemmMma => self.by_warps(),
            Kernel::GemmSwapped => self.swapped(),
            Kernel::GemmTcgen05 => self.of_tensor_memory(),
            Kernel::FewRows => self.of_few_rows(),
            Kernel::Dgemm => self.of_doubles(),
            _ => Plan {
                a: Place::Here,
                b: Place::Here,
                c: Place::Here,
                parts: vec![self.whole(kernel, &numbers(self.smaller(kernel)).collect::<Vec<_>>())],
            },
        }
    }

    fn is_ampere(&self) -> bool {
        self.machine.arch.includes(Arch::BASELINE)
    }

    /// The kernel for a C of this shape.
    fn fastest(&self, [m, n]: [usize; 2]) -> Kernel {
        let Product { b, operand, precision, .. } = self.product;
        let hopper = self.machine.arch.includes(Kernel::Gemm.arch());
        let ampere = self.is_ampere();
        match operand {
            Elem::F16 | Elem::Bf16 if ampere && self.is_of_few_rows() => return Kernel::FewRows,
            Elem::F16 | Elem::Bf16 | Elem::E4m3 | Elem::E5m2 if self.is_of_tensor_memory() => {
                return Kernel::GemmTcgen05;
            }
            Elem::F16 | Elem::Bf16 if hopper => return Kernel::Gemm,
            Elem::F16 | Elem::Bf16 | Elem::I8 => return Kernel::GemmMma,
            Elem::E4m3 | Elem::E5m2 if !hopper => return Kernel::GemmMma,
            Elem::F64 => return Kernel::Dgemm,
            Elem::F32 if *precision == Precision::Float32 || !ampere => {}
            Elem::F32 if !hopper => return Kernel::TensorCore,
            Elem::F32 if b.along() == 1 => return Kernel::GemmSwapped,
            _ => return Kernel::Gemm,
        }
        let tiles = |extent: usize| m.div_ceil(extent).saturating_mul(n.div_ceil(extent));
        let few_tiles = tiles(128) < Machine::H200;
        // Two blocks with tiles of 128 share a multiprocessor; one with tiles of 64 has 0.92 of their speed.
        let busy =
            |tiles: usize, at_once: usize| tiles as f64 / (tiles.div_ceil(at_once).max(1) * at_once) as f64;
        let small_win = 0.92 * busy(tiles(64), Machine::H200) > busy(tiles(128), 2 * Machine::H200);
        match self.machine.arch.includes(Kernel::SgemmFed.arch()) {
            true if few_tiles || small_win => Kernel::SgemmSlicedFed,
            true => Kernel::SgemmFed,
            false if few_tiles && ampere => Kernel::SgemmSliced,
            false => Kernel::Sgemm,
        }
    }

    /// What the set of a kernel has otherwise than its own for this C: of `sgemm_sliced_fed` half the slices, of which three
    /// blocks share a multiprocessor, where that makes of two waves one.
    fn smaller(&self, kernel: Kernel) -> Changes {
        let [m, n] = self.product.c.shape;
        let blocks = m.div_ceil(64).saturating_mul(n.div_ceil(64));
        match (kernel, self.asked) {
            (Kernel::SgemmSlicedFed, None) if (Machine::H200 + 1..=2 * Machine::H200).contains(&blocks) => {
                FEW_SLICES
            }
            // Three stages of all slices are more than the 163 KiB of an A100 and the 99 KiB of a GeForce.
            (Kernel::SgemmSliced | Kernel::SgemmSlicedFed, None)
                if self.machine.arch.shared_bytes() < ALL_SLICES =>
            {
                FEW_SLICES
            }
            _ => &[],
        }
    }

    /// The parameters of a kernel for the product's types: those asked for, or the attribute's first; with these changes.
    fn set(&self, kernel: Kernel, changes: &[(&str, ParamValue)]) -> Option<ParamSet> {
        let of_type = |(name, value): &(&str, ParamValue)| match *name {
            "T" => *value == ParamValue::Type(self.product.operand),
            "U" => *value == ParamValue::Type(self.product.result),
            _ => true,
        };
        let own = || {
            let own = kernel.sets().find(|own| own.iter().all(of_type))?;
            let own = ParamSet(own.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
            // Stages of half the depth: those of 32 are larger than the 64 KiB of Turing.
            Some(if kernel == Kernel::Sgemm && !self.is_ampere() {
                own.with("BK", ParamValue::Int(16))
            } else {
                own
            })
        };
        let asked = |set: &ParamSet| match kernel.parameter() {
            Some((name, value)) => set.clone().with(name, value),
            None => set.clone(),
        };
        // Types that the attribute does not list together are the launch's to fill in.
        let open = || (!changes.is_empty()).then(ParamSet::default);
        let set = self.asked.map(asked).or_else(own).or_else(open)?;
        Some(changes.iter().fold(set, |set, (name, value)| set.with(name, *value)))
    }

    /// The same as the attribute lists it, for a kernel other than the one asked for.
    fn listed(&self, kernel: Kernel) -> Option<ParamSet> {
        Planner { asked: None, ..*self }.set(kernel, &[])
    }

    /// The extents of a kernel's tiles of M, N and K.
    fn tiles(&self, kernel: Kernel) -> [usize; 3] {
        let set = self.set(kernel, &[]);
        ["BM", "BN", "BK"].map(|name| match set.as_ref().and_then(|set| set.get(name)) {
            Some(ParamValue::Int(extent)) => usize::try_from(extent).unwrap_or(1).max(1),
            _ => DEPTH,
        })
    }

    /// The launch that makes all of C.
    fn whole(&self, kernel: Kernel, changes: &[(&str, ParamValue)]) -> Part {
        let [m, n, k] = self.product.extents();
        Part { kernel, set: self.set(kernel, changes), rows: 0..m, columns: 0..n, into: 0..n, depth: [k, k] }
    }

    /// Whether all rows begin at multiples of 16 bytes and are of whole vectors.
    fn is_even(&self) -> bool {
        let Product { a, b, .. } = self.product;
        [a, b].into_iter().all(|matrix| vectors_fit(matrix) && matrix.shape[1].is_multiple_of(VECTOR))
    }

    /// Whether copies cost less than what they avoid: of a large product, single elements where rows begin at places that
    /// 16 bytes do not divide, tiles of a few rows, and masks, which cost these kernels registers.
    fn pays(&self, kernel: Kernel) -> bool {
        let (extents, tiles) = (self.product.extents(), self.tiles(kernel));
        let whole = extents.iter().zip(tiles).all(|(extent, tile)| extent.is_multiple_of(tile));
        !whole && self.is_large()
    }

    /// Whether copies of the operands cost little beside the products.
    fn is_large(&self) -> bool {
        self.product.extents().iter().fold(1_usize, |all, extent| all.saturating_mul(*extent)) >= LARGE
    }

    /// Of whole tiles: operands and product are copied to such extents. A few last rows go to a kernel of small tiles.
    fn in_whole_tiles(&self, kernel: Kernel) -> Plan {
        let [m, n, k] = self.product.extents();
        let up = |extent: usize, tile: usize| extent.next_multiple_of(tile).max(tile);
        let [tall, wide, deep] = self.tiles(kernel);
        let few = match m % tall {
            rest @ 1..=FEW_ROWS if tall > FEW_ROWS && m > tall => rest,
            _ => 0,
        };
        let main = if few > 0 { m - few } else { up(m, tall) };
        let [rows, columns, depth] = [main + few, up(n, wide), up(k, deep)];
        let part = |kernel, set, rows| Part {
            kernel,
            set,
            rows,
            columns: 0..columns,
            into: 0..columns,
            depth: [depth, depth],
        };
        let mut parts = vec![part(kernel, self.set(kernel, &[]), 0..main)];
        if few > 0 {
            let small = self.fastest([few, columns]);
            parts.push(part(small, self.listed(small), main..rows));
        }
        let place = |matrix: &Matrix, [lines, pitch]: [usize; 2]| match matrix.shape == [lines, pitch]
            && matrix.is_compact()
        {
            true => Place::Here,
            false => Place::Moved { lines, pitch, transposed: false },
        };
        let Product { a, b, c, .. } = self.product;
        let (a, b, c) = (place(a, [rows, depth]), place(b, [depth, columns]), place(c, [rows, columns]));
        Plan { a, b, c, parts }
    }

    /// In place, but for operands whose rows are odd; a few last rows and columns by kernels of their own wherever that is
    /// a wave less. C is written where it is.
    fn by_lines(&self, kernel: Kernel) -> Plan {
        let [m, n, k] = self.product.extents();
        let place = |matrix: &Matrix| match vectors_fit(matrix) && matrix.shape[1].is_multiple_of(VECTOR) {
            true => Place::Here,
            false => moved(matrix.shape, size_of::<f32>()),
        };
        // `tensor_core` takes whole vectors, with zeros behind the rows, and writes what it makes of a compact C.
        let tensor_core = kernel == Kernel::TensorCore;
        let vectors = |extent: usize| if tensor_core { extent.next_multiple_of(VECTOR) } else { extent };
        let [rows, columns] = self.whole_part(self.tiles(kernel), [m, n]);
        let changes: Vec<_> = numbers(self.smaller(kernel)).collect();
        let mut parts = vec![Part {
            kernel,
            set: self.set(kernel, &changes),
            rows: 0..rows,
            columns: 0..vectors(columns),
            into: 0..if tensor_core { n } else { columns },
            depth: [vectors(k), k],
        }];
        let few = |kernel, set, rows, columns: Range<usize>| Part {
            kernel,
            set,
            rows,
            into: columns.clone(),
            columns,
            depth: [k, k],
        };
        if columns < n {
            let set = sums(Kernel::LastColumns, n - columns);
            parts.push(few(Kernel::LastColumns, set, 0..rows, columns..n));
        }
        match m - rows {
            0 => {}
            last @ 1..=FEW => {
                parts.push(few(Kernel::LastRows, sums(Kernel::LastRows, last), rows..m, 0..n));
            }
            _ => parts.push(Part {
                columns: 0..vectors(n),
                depth: [vectors(k), k],
                ..few(kernel, Some(small_tiles()), rows..m, 0..n)
            }),
        }
        Plan { a: place(&self.product.a), b: place(&self.product.b), c: Place::Here, parts }
    }

    /// The rows and columns of C that the kernel makes, given its tiles: all, or as many as are whole tiles where few are
    /// left and the multiprocessors take a wave less.
    fn whole_part(&self, [tall, wide, _]: [usize; 3], [m, n]: [usize; 2]) -> [usize; 2] {
        let waves = |[m, n]: [usize; 2]| {
            m.div_ceil(tall).saturating_mul(n.div_ceil(wide)).div_ceil(self.machine.multiprocessors.max(1))
        };
        let without = |extent: usize, tile: usize, few: usize| match extent % tile {
            rest if rest <= few && extent > tile => extent - rest,
            _ => extent,
        };
        let rows = without(m, tall, if tall > FEW_ROWS { FEW_ROWS } else { FEW });
        let columns = without(n, wide, FEW);
        let parts = [[m, n], [rows, n], [m, columns], [rows, columns]];
        parts.into_iter().min_by_key(|part| waves(*part)).unwrap_or([m, n])
    }

    /// Bytes of an element of the operands, and of the result.
    fn bytes(&self) -> [usize; 2] {
        [self.product.operand, self.product.result].map(|elem| elem.bytes() as usize)
    }

    /// Columns rounded up to what TMA writes at once.
    fn written(&self, columns: usize) -> usize {
        columns.next_multiple_of(ROW_BYTES / self.bytes()[1])
    }

    /// Where TMA can address an operand of this shape, which may be larger than the matrix.
    fn addressable(&self, matrix: &Matrix, shape: [usize; 2]) -> Place {
        let [bytes, _] = self.bytes();
        match shape == matrix.shape && matrix.pitch().is_multiple_of(ROW_BYTES / bytes) {
            true => Place::Here,
            false => moved([shape[matrix.across()], shape[matrix.along()]], bytes),
        }
    }

    /// Where TMA can write C.
    fn writable(&self) -> Place {
        let ([_, bytes], [m, n]) = (self.bytes(), self.product.c.shape);
        let in_place = self.product.c.strides[0].is_multiple_of(ROW_BYTES / bytes);
        if in_place && n == self.written(n) { Place::Here } else { moved([m, self.written(n)], bytes) }
    }

    /// How the operands are laid out, as the kernels' parameters say it.
    fn modes(&self) -> [(&'static str, ParamValue); 2] {
        let Product { a, b, .. } = self.product;
        [("A_MODE", number(a.along())), ("B_MODE", number(b.along()))]
    }

    /// Of float64: both operands by rows of whole vectors of 16 bytes, C where it is.
    fn of_doubles(&self) -> Plan {
        let [_, n, k] = self.product.extents();
        let bytes = size_of::<f64>();
        let vectors = |extent: usize| extent.next_multiple_of(ROW_BYTES / bytes);
        let place = |matrix: &Matrix| match matrix.along() {
            0 => transposed(matrix.shape, bytes),
            _ if [matrix.pitch(), matrix.shape[1]].iter().all(|extent| vectors(*extent) == *extent) => {
                Place::Here
            }
            _ => moved(matrix.shape, bytes),
        };
        // Four stages are 146 KiB.
        let stages: Changes =
            if self.machine.arch.shared_bytes() < 150 << 10 { &[("STAGES", 2)] } else { &[] };
        let whole = self.whole(Kernel::Dgemm, &numbers(stages).collect::<Vec<_>>());
        let part = Part { columns: 0..vectors(n), depth: [vectors(k), k], ..whole };
        let Product { a, b, .. } = self.product;
        Plan { a: place(a), b: place(b), c: Place::Here, parts: vec![part] }
    }

    /// By one kernel of 16-bit floats.
    fn alone(&self, kernel: Kernel) -> Plan {
        let Product { a, b, .. } = self.product;
        let parts = vec![self.whole(kernel, &self.modes())];
        Plan { a: self.addressable(a, a.shape), b: self.addressable(b, b.shape), c: Place::Here, parts }
    }

    /// By `mma.sync`: lines of operands begin at multiples of 16 bytes, those of 8 bits are along `k` and of whole vectors. Of a large product
    /// all lines are of whole vectors, and rows of C begin at multiples of 16 bytes.
    fn by_warps(&self) -> Plan {
        let ([bytes, _], [m, n, k]) = (self.bytes(), self.product.extents());
        let vectors = |extent: usize| extent.next_multiple_of(ROW_BYTES / bytes);
        // Lines of whole vectors are worth a copy of a large product's operands and result.
        let large = self.is_large();
        let deep = if bytes == 1 || large { vectors(k) } else { k };
        let (wide, c) = if large { (self.written(n), self.writable()) } else { (n, Place::Here) };
        let place = |matrix: &Matrix, along: usize, shape: [usize; 2]| match bytes > 1
            || matrix.along() == along
        {
            true => self.addressable(matrix, shape),
            false => Place::Moved { lines: shape[1 - along], pitch: deep.max(ROW_BYTES), transposed: true },
        };
        let modes = if bytes == 1 { [("A_MODE", number(1)), ("B_MODE", number(0))] } else { self.modes() };
        let turing = ("TURING", ParamValue::Bool(!self.is_ampere()));
        let changes: Vec<_> =
            modes.into_iter().chain([turing]).chain(numbers(self.tiles_of_warps([deep, wide]))).collect();
        let Product { a, b, .. } = self.product;
        // The set follows from the types and these: what the attribute lists has Ampere's instructions.
        let sums = if self.product.operand == Elem::I8 { Elem::I32 } else { Elem::F32 };
        let types = [("T", self.product.operand), ("U", self.product.result), ("S", sums)];
        let types = types.map(|(name, elem)| (name, ParamValue::Type(elem)));
        let own = changes
            .iter()
            .chain(&types)
            .fold(ParamSet::default(), |set, (name, value)| set.with(name, *value));
        let set = if self.asked.is_some() { self.set(Kernel::GemmMma, &changes) } else { Some(own) };
        let depth = [deep, deep];
        let part = Part { depth, columns: 0..wide, into: 0..wide, set, ..self.whole(Kernel::GemmMma, &[]) };
        Plan { a: place(a, 1, [m, deep]), b: place(b, 0, [deep, wide]), c, parts: vec![part] }
    }

    /// What the set of `gemm_mma` has otherwise, given the extents of B: where lines are whole vectors, stages that are as large as two blocks
    /// of a multiprocessor have room for. Where C has fewer tiles than there are multiprocessors, a quarter of the tile.
    fn tiles_of_warps(&self, lines: [usize; 2]) -> Changes {
        let [m, n] = self.product.c.shape;
        let tiles = |extent: usize| m.div_ceil(extent).saturating_mul(n.div_ceil(extent));
        let vectors = lines.iter().all(|extent| extent.is_multiple_of(8));
        // A stage of four steps is 32 KiB, on Turing 16.
        match self.machine.arch.shared_bytes() >> 10 {
            _ if self.asked.is_some() => &[],
            _ if tiles(64) <= self.machine.multiprocessors => {
                &[("BM", 64), ("BN", 64), ("WM", 32), ("WN", 32), ("STEPS", 8)]
            }
            _ if tiles(128) < self.machine.multiprocessors => {
                &[("BM", 64), ("BN", 64), ("WM", 32), ("WN", 32), ("STEPS", 4)]
            }
            200.. if vectors => &[("STEPS", 4)],
            ..66 | 130.. if vectors => &[("STEPS", 4), ("STAGES", 2)],
            ..66 => &[("STEPS", 4)],
            _ => &[],
        }
    }

    /// Whether the product is bound by reading B, by columns, and `few_rows` reads it the fastest.
    fn is_of_few_rows(&self) -> bool {
        let Product { a, b, operand, result, .. } = self.product;
        let [m, n, _] = self.product.extents();
        // From so many columns on the tiles of `gemm` have every multiprocessor read, and A once for more columns.
        let hopper = self.machine.arch.includes(Kernel::Gemm.arch());
        let few_tiles = !hopper || n.div_ceil(64) <= self.machine.multiprocessors;
        let few = m <= 8 || m <= MOST_FEW_ROWS && few_tiles;
        few && [a.along(), b.along()] == [1, 0] && operand == result
    }

    /// Of few rows, `k` contiguous in both operands: one that has it otherwise is transposed first.
    fn of_few_rows(&self) -> Plan {
        let ([bytes, _], [m, n, k]) = (self.bytes(), self.product.extents());
        let place = |matrix: &Matrix, along: usize| match matrix.along() == along {
            true => Place::Here,
            false => transposed([matrix.shape[1 - along], k], bytes),
        };
        let own = few_rows([m, n, k], self.machine);
        let changes = if self.asked.is_none() { own.0.as_slice() } else { &[] };
        let changes: Vec<_> = changes.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let parts = vec![self.whole(Kernel::FewRows, &changes)];
        Plan { a: place(&self.product.a, 1), b: place(&self.product.b, 0), c: Place::Here, parts }
    }

    /// By the kernels of 16-bit floats, which store C wherever its rows begin.
    fn of_sixteen_bits(&self) -> Plan {
        let ([m, n, k], [_, bytes]) = (self.product.extents(), self.bytes());
        let modes = self.modes();
        let units = ROW_BYTES / bytes;
        let pitched = self.product.c.strides[0].is_multiple_of(units);
        let part = |columns: Range<usize>| {
            let n = columns.len();
            let pairs = 2 * m.div_ceil(128) * n.div_ceil(64);
            let direct = ("DIRECT", ParamValue::Bool(!(pitched && n.is_multiple_of(units))));
            let (kernel, tiles): (Kernel, Changes) = match self.asked {
                Some(_) => (Kernel::Gemm, &[]),
                // Eight blocks share K, each of a tile as large as a pair's two.
                None if 4 * pairs <= Machine::H200 && k >= 8192 => (Kernel::GemmSplit, &[("SPLIT", 8)]),
                None if pairs <= Machine::H200 => (Kernel::GemmPair, &[]),
                None => (Kernel::Gemm, tiles_of([m, n]).1),
            };
            let direct = Some(direct).filter(|_| kernel == Kernel::Gemm);
            let changes: Vec<_> = modes.into_iter().chain(direct).chain(numbers(tiles)).collect();
            let set = self.set(kernel, &changes);
            Part { kernel, set, rows: 0..m, into: columns.clone(), columns, depth: [k, k] }
        };
        let parts = self.columns_in_waves(n).map(part).collect();
        let Product { a, b, .. } = self.product;
        Plan { parts, a: self.addressable(a, a.shape), b: self.addressable(b, b.shape), c: Place::Here }
    }

    /// Whether a product is one for tensor memory, where the device has it: TMA takes both operands where they are, or copies cost little
    /// beside a large product; and C has tiles for a quarter of the multiprocessors, since those of `gemm_mma` for a small C are a quarter as
    /// large.
    fn is_of_tensor_memory(&self) -> bool {
        let ([m, n, _], Plan { a, b, .. }) = (self.product.extents(), self.of_tensor_memory());
        let tiles = m.div_ceil(128).saturating_mul(n.div_ceil(128));
        self.machine.arch.includes(Kernel::GemmTcgen05.arch())
            && 4 * tiles > self.machine.multiprocessors
            && ([a, b] == [Place::Here; 2] || self.is_large())
    }

    /// By `tcgen05`, whose threads store a C that TMA cannot: operands of 8 bits have `k` contiguous. Tiles are half as wide where the others
    /// are fewer than the multiprocessors.
    fn of_tensor_memory(&self) -> Plan {
        let ([m, n, k], [bytes, of_result]) = (self.product.extents(), self.bytes());
        let (Product { a, b, c, .. }, units) = (self.product, ROW_BYTES / of_result);
        let place = |matrix: &Matrix, along: usize| match bytes > 1 || matrix.along() == along {
            true => self.addressable(matrix, matrix.shape),
            false => transposed([matrix.shape[1 - along], k], bytes),
        };
        let modes = if bytes > 1 { self.modes() } else { [("A_MODE", number(1)), ("B_MODE", number(0))] };
        let direct = !(c.strides[0].is_multiple_of(units) && n.is_multiple_of(units));
        let multiprocessors = self.machine.multiprocessors;
        let narrow = m.div_ceil(128).saturating_mul(n.div_ceil(256)) < multiprocessors;
        let tiles: Changes = if narrow { &[("BN", 128), ("STAGES", 6)] } else { &[] };
        let own = numbers(tiles).chain([("SMS", number(multiprocessors))]).filter(|_| self.asked.is_none());
        let changes: Vec<_> =
            modes.into_iter().chain([("DIRECT", ParamValue::Bool(direct))]).chain(own).collect();
        let parts = vec![self.whole(Kernel::GemmTcgen05, &changes)];
        Plan { a: place(a, 1), b: place(b, 0), c: Place::Here, parts }
    }

    /// The columns of C in one launch, or in two where the last are few and their tiles would only begin another wave.
    fn columns_in_waves(&self, n: usize) -> impl Iterator<Item = Range<usize>> {
        let m = self.product.c.shape[0];
        let cost = |columns: usize| if columns == 0 { 0 } else { tiles_of([m, columns]).0 };
        let rest = n % 256;
        let whole = match self.asked {
            None if rest <= 64 && cost(n - rest) + cost(rest) < cost(n) => n - rest,
            _ => n,
        };
        [0..whole, whole..n].into_iter().filter(|columns| !columns.is_empty())
    }

    /// Of types whose operands `gemm` wants with `k` contiguous: one that has it otherwise is transposed first.
    fn by_columns(&self) -> Plan {
        let [m, n, k] = self.product.extents();
        let ([bytes, _], columns) = (self.bytes(), self.written(n));
        let place = |matrix: &Matrix, along: usize, shape: [usize; 2]| match matrix.along() == along {
            true => self.addressable(matrix, shape),
            false => transposed([shape[1 - along], k], bytes),
        };
        let Product { a, b, .. } = self.product;
        let part = |columns: Range<usize>| Part {
            kernel: Kernel::Gemm,
            set: self.set(Kernel::Gemm, &self.set_by_columns(columns.len())),
            rows: 0..m,
            into: columns.clone(),
            columns,
            depth: [k, k],
        };
        let parts = self.columns_in_waves(columns).map(part).collect();
        Plan { a: place(a, 1, [m, k]), b: place(b, 0, [k, columns]), c: self.writable(), parts }
    }

    /// What the set for `n` columns has otherwise than the kernel's own: the narrowest tiles, where they are no more than
    /// there are multiprocessors; more room for C, whose stores weigh more, where 8-bit operands have few blocks of k.
    fn set_by_columns(&self, n: usize) -> Vec<(&'static str, ParamValue)> {
        let ([m, _, k], [bytes, of_result]) = (self.product.extents(), self.bytes());
        let width = 2 * LINE_BYTES / of_result;
        let changes: &[(&'static str, usize)] = match bytes {
            _ if self.asked.is_some() => &[],
            _ if m.div_ceil(128) * n.div_ceil(width) <= Machine::H200 => &[("BN", width), ("STAGES", 6)],
            1 if k <= 4096 => &[("STAGES", 3), ("BUFFERS", 2), ("GROUP", 8)],
            4 if k > 4096 => &[("AHEAD", 0), ("GROUP", 8)],
            _ => &[],
        };
        let modes = [("A_MODE", number(1)), ("B_MODE", number(0)), ("DIRECT", ParamValue::Bool(false))];
        modes.into_iter().chain(numbers(changes)).collect()
    }

    /// By the kernel of float32 that takes both operands by rows.
    fn swapped(&self) -> Plan {
        let [_, n, k] = self.product.extents();
        let (Product { a, b, .. }, columns) = (self.product, self.written(n));
        let part = Part { columns: 0..columns, into: 0..columns, ..self.whole(Kernel::GemmSwapped, &[]) };
        Plan {
            a: self.addressable(a, a.shape),
            b: self.addressable(b, [k, columns]),
            c: self.writable(),
            parts: vec![part],
        }
    }
}

/// Tiles of `gemm` for 16-bit floats: their width, what they cost for each column in thousandths of the widest ones, and their
/// parameters. Measured on an H200 at 4096 cubed; the narrow ones where C is one wave.
pub(super) const WIDTHS: [(usize, usize, Changes); 4] = [
    (256, 1000, &[]),
    (192, 1007, &[("BN", 192), ("SLABS", 1)]),
    (128, 1053, &[("BN", 128), ("STAGES", 6), ("GROUP", 4)]),
    (64, 1400, &[("BN", 64), ("STAGES", 8), ("SLABS", 1), ("GROUP", 4)]),
];

/// The tiles of 128 by some width whose waves over the multiprocessors cost the least for a C of this shape, and that cost.
pub(super) fn tiles_of([m, n]: [usize; 2]) -> (usize, Changes) {
    let cost = |(width, each, _): &(usize, usize, Changes)| {
        let waves = m.div_ceil(128).saturating_mul(n.div_ceil(*width)).div_ceil(Machine::H200);
        waves.saturating_mul(width * each)
    };
    WIDTHS.iter().map(|tiles| (cost(tiles), tiles.2)).min_by_key(|(cost, _)| *cost).unwrap_or((0, &[]))
}

/// Changes as a set has them.
pub(super) fn numbers(changes: &[(&'static str, usize)]) -> impl Iterator<Item = (&'static str, ParamValue)> {
    changes.iter().map(|(name, value)| (*name, number(*value)))
}

fn number(value: usize) -> ParamValue {
    ParamValue::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Whether every row of a matrix by rows begins where a vector may.
fn vectors_fit(matrix: &Matrix) -> bool {
    matrix.strides[0].is_multiple_of(VECTOR)
}

/// Lines of this many elements, copied to a pitch of whole cache lines. The pitch is at least one element's: TMA has no pitch of
/// zero.
fn moved([lines, elements]: [usize; 2], bytes: usize) -> Place {
    Place::Moved { lines, pitch: elements.max(1).next_multiple_of(LINE_BYTES / bytes), transposed: false }
}

/// The place of an operand for a kernel that reads rows, without gaps between them or at multiples of 16 bytes: one by columns is
/// moved.
fn by_rows(matrix: &Matrix, place: Place, compact: bool) -> Place {
    let [lines, pitch] = matrix.shape;
    match place {
        _ if matrix.along() == 1 && compact => without_gaps(matrix, place),
        _ if matrix.along() == 1 => place,
        Place::Here if compact || pitch.is_multiple_of(VECTOR) => {
            Place::Moved { lines, pitch: pitch.max(1), transposed: true }
        }
        Place::Here => transposed(matrix.shape, size_of::<f32>()),
        Place::Moved { lines, pitch, .. } => Place::Moved { lines, pitch, transposed: true },
    }
}

/// The place of a matrix by rows for a kernel that takes no gaps between them.
fn without_gaps(matrix: &Matrix, place: Place) -> Place {
    let [lines, pitch] = matrix.shape;
    match place {
        Place::Here if !matrix.is_compact() => Place::Moved { lines, pitch: pitch.max(1), transposed: false },
        place => place,
    }
}

/// The same, rows for columns.
fn transposed(shape: [usize; 2], bytes: usize) -> Place {
    match moved(shape, bytes) {
        Place::Moved { lines, pitch, .. } => Place::Moved { lines, pitch, transposed: true },
        Place::Here => Place::Here,
    }
}

/// The tiles of `tensor_core` for a few rows: as many loads in flight as shared memory holds on every GPU.
pub fn small_tiles() -> ParamSet {
    let tiles = [("BM", 64), ("BN", 32), ("BK", 32), ("WM", 32), ("WN", 16), ("STAGES", 6)];
    ParamSet(tiles.into_iter().map(|(name, value)| (name.to_owned(), number(value))).collect())
}

/// The parameters of `few_rows` for a product of M, N and K.
pub fn few_rows([m, n, k]: [usize; 3], machine: Machine) -> ParamSet {
    let groups = m.div_ceil(8).clamp(1, MOST_FEW_ROWS / 8);
    // One block on a multiprocessor: more warps, so that as many bytes are in flight as with two.
    let alone = groups <= 2 && k >= 4096 && n.div_ceil(16) <= machine.multiprocessors;
    let (shares, ahead) = if alone { (32, 8192) } else { (16, 2048) };
    let fragments = if groups > 2 { 2 } else { 1 };
    crate::set(&[("GROUPS", groups), ("FRAGMENTS", fragments), ("SHARES", shares), ("AHEAD", ahead)])
}

/// The set of a kernel of few sums: the first that is listed has one in a thread, the last a few.
fn sums(kernel: Kernel, count: usize) -> Option<ParamSet> {
    let variants = kernel.definition().variants;
    let listed = if count == 1 { variants.first() } else { variants.last() };
    let own = listed?.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value));
    Some(ParamSet(own.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float32([m, n, k]: [usize; 3]) -> Product {
        let rows = |shape: [usize; 2]| Matrix { shape, strides: [shape[1], 1] };
        let (operand, result) = (Elem::F32, Elem::F32);
        let precision = Precision::Float32;
        Product { a: rows([m, k]), b: rows([k, n]), c: rows([m, n]), operand, result, precision }
    }

    const MACHINES: [Machine; 2] = [Machine::OF_HOPPER, Machine { multiprocessors: 80, arch: Arch::SM_89 }];

    #[test]
    fn what_is_left_out() {
        let product = float32([1, 1, 1]);
        let planner = Planner { product: &product, machine: MACHINES[0], asked: None };
        let part = |tiles, shape| planner.whole_part(tiles, shape);
        assert_eq!(part([256, 128, 32], [4096, 4096]), [4096, 4096]);
        assert_eq!(part([256, 128, 32], [4097, 4097]), [4096, 4097]); // 528 tiles are four waves, as 512 are
        assert_eq!(part([256, 128, 32], [2049, 2049]), [2048, 2048]);
        assert_eq!(part([256, 128, 32], [4160, 4096]), [4096, 4096]);
        assert_eq!(part([256, 128, 32], [4161, 4096]), [4161, 4096]);
        assert_eq!(part([64, 64, 128], [1025, 513]), [1024, 512]);
        assert_eq!(part([64, 64, 128], [1029, 512]), [1029, 512]);
        assert_eq!(part([64, 64, 128], [1, 1]), [1, 1]);
    }

    #[test]
    fn copies_where_they_pay() {
        let pays = |extents| {
            let product = float32(extents);
            Planner { product: &product, machine: MACHINES[0], asked: None }.pays(Kernel::Sgemm)
        };
        assert!(pays([4095, 4097, 4093]) && pays([4095, 4096, 4096]));
        assert!(!pays([4096, 4096, 4096]) && !pays([255, 257, 253]));
    }

    /// Every element of C once, whatever the kernel, by operands that are there.
    #[test]
    fn the_parts_cover_the_product() {
        let extents = [1, 3, 4, 63, 64, 65, 127, 128, 130, 257, 1000, 2049, 4097];
        let shapes = extents.iter().flat_map(|m| extents.map(|n| [*m, n, 36]));
        for ([m, n, k], machine) in shapes.flat_map(|shape| MACHINES.map(|machine| (shape, machine))) {
            use Kernel::*;
            let named = [TensorCore, Sgemm, SgemmSliced, SgemmFed, SgemmSlicedFed, GemmSwapped].map(Some);
            for kernel in named.into_iter().chain([None]) {
                let plan = Plan::of(&float32([m, n, k]), machine, kernel, None);
                let (mut covered, mut area) = (Vec::new(), 0);
                for part in &plan.parts {
                    let (rows, columns) = (&part.rows, part.columns.start..part.columns.end.min(n));
                    area += rows.end.min(m).saturating_sub(rows.start) * columns.len();
                    assert!(part.depth.iter().all(|depth| *depth >= k), "{plan:?}");
                    let apart = |(r, c): &(Range<usize>, Range<usize>)| {
                        r.end <= rows.start
                            || rows.end <= r.start
                            || c.end <= columns.start
                            || columns.end <= c.start
                    };
                    assert!(covered.iter().all(apart), "{m} x {n} by {kernel:?}: {plan:?}");
                    covered.push((rows.clone(), columns));
                }
                assert_eq!(area, m * n, "{m} x {n} by {kernel:?}: {plan:?}");
            }
        }
    }
}
