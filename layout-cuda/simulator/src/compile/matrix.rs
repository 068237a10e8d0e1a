//! The matrix instructions of a warp, with fragments in registers.

use super::access::Located;
use super::{Compiler, Result, malformed};
use crate::bytecode::{Bank, Op, Scales, Sum, Target};
use layout_compiler::elem::Elem;
use layout_compiler::program::{Access, LoadMatrix, Mma, Operand};

impl Compiler<'_> {
    pub(super) fn mma(&mut self, mma: &Mma) -> Result {
        let floats = (self.taken.f32, self.taken.f64);
        let elem = mma.core.elem();
        let a = self.fragment(&mma.left, elem, mma.core.values(Operand::A))?;
        let b = self.fragment(&mma.right, elem, mma.core.values(Operand::B))?;
        let d = self.fragment(&mma.accumulator, mma.core.sums(), mma.core.values(Operand::C))?;
        let scales = match &mma.scales {
            Some(scales) => {
                let [left, right] = [(&scales.left, Operand::ScalesOfA), (&scales.right, Operand::ScalesOfB)];
                let left = self.fragment(left.0, scales.elem, mma.core.values(left.1))?;
                let right = self.fragment(right.0, scales.elem, mma.core.values(right.1))?;
                Some(Scales { left, right, elem: scales.elem, selector: scales.selector })
            }
            None => None,
        };
        let site = self.site;
        self.emit(Op::Mma { d, a, b, core: mma.core, scales, site });
        self.put_fragment(&mma.accumulator, d)?;
        (self.taken.f32, self.taken.f64) = floats;
        Ok(())
    }

    pub(super) fn load_matrix(&mut self, load: &LoadMatrix) -> Result {
        let floats = (self.taken.f32, self.taken.f64);
        let (to, from) = (self.place(load.destination.place)?.elem, self.place(load.source.place)?.elem);
        let site = self.site(Some(&load.source))?;
        let shared = matches!(self.program.sites[site as usize].target, Target::Shared(_));
        let known = shared
            && to == from
            && matches!(load.count, 1 | 2 | 4)
            && matches!((from.bytes(), load.transposed), (2, _) | (1 | 4, false))
            && matches!(Bank::of(from), Bank::F32 | Bank::Int)
            && load.source.width * from.bytes() == 16
            && load.destination.width * from.bytes() == 4 * load.count;
        if !known {
            return Err(malformed(format!("a load of {} matrices of {from}", load.count)));
        }
        let address = self.element(&load.source)?;
        let dst = match self.located(&load.destination)? {
            Located::Registers { first, .. } => first,
            Located::Array(_) | Located::Memory(_) => self.take(Bank::of(from), load.destination.width),
        };
        let (count, transposed) = (load.count, load.transposed);
        self.emit(Op::LoadMatrix { dst, address, count, transposed, site });
        self.put_fragment(&load.destination, dst)?;
        (self.taken.f32, self.taken.f64) = floats;
        Ok(())
    }

    fn located(&mut self, access: &Access) -> Result<Located> {
        let site = self.site(Some(access))?;
        self.locate(access, site)
    }

    /// The first register of a fragment.
    fn fragment(&mut self, access: &Access, elem: Elem, values: i64) -> Result<u32> {
        let found = self.place(access.place)?.elem;
        if found != elem || i64::from(access.width) != values {
            let width = access.width;
            return Err(malformed(format!("a fragment of {width} elements of {found}")));
        }
        let site = self.site(Some(access))?;
        match self.locate(access, site)? {
            Located::Registers { first, slot } => {
                for number in 0..access.width {
                    self.check_initialised(Some(slot + number), site);
                }
                Ok(first)
            }
            Located::Array(index) => {
                let first = self.take(Bank::of(elem), access.width);
                let site = self.site(Some(&Access { width: 1, ..access.clone() }))?;
                let mask = self.mask(&access.mask)?;
                for number in 0..access.width {
                    let index = Sum { constant: index.constant.wrapping_add(number.into()), ..index };
                    self.emit(Op::LocalLoad { dst: first + number, index, mask, site });
                }
                Ok(first)
            }
            Located::Memory(_) => Err(malformed("a fragment in memory")),
        }
    }

    /// Stores a fragment from consecutive registers.
    fn put_fragment(&mut self, access: &Access, first: u32) -> Result {
        let site = self.site(Some(access))?;
        match self.locate(access, site)? {
            Located::Registers { slot, .. } => {
                for number in 0..access.width {
                    self.now_initialised(Some(slot + number));
                }
            }
            Located::Array(index) => {
                let site = self.site(Some(&Access { width: 1, ..access.clone() }))?;
                let mask = self.mask(&access.mask)?;
                for number in 0..access.width {
                    let index = Sum { constant: index.constant.wrapping_add(number.into()), ..index };
                    self.emit(Op::LocalStore { src: first + number, index, mask, site });
                }
            }
            Located::Memory(_) => {
                return Err(malformed("a fragment in memory"));
            }
        }
        Ok(())
    }
}
