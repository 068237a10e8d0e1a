//! Loads, stores, vector moves and asynchronous copies.
//!
//! A local tensor is registers: an access at a constant index needs no instruction.

use super::{Compiler, Result, malformed};
use crate::bytecode::{Bank, Op, Register, Sum, Target};
use layout_compiler::elem::Elem;
use layout_compiler::program::{Access, Comparison, Value};

/// The location of an access.
pub(super) enum Located {
    /// These registers, tracked from this slot on.
    Registers {
        first: u32,
        slot: u32,
    },
    /// A local tensor, at a dynamic index or under a mask.
    Array(Sum),
    Memory(Sum),
}

impl Compiler<'_> {
    pub(super) fn check_initialised(&mut self, slot: Option<u32>, site: u32) {
        if let Some(slot) = slot
            && self.program.findings
            && !self.initialised.contains(&slot)
        {
            self.emit(Op::CheckInitialised { slot, site });
        }
    }

    pub(super) fn now_initialised(&mut self, slot: Option<u32>) {
        if let Some(slot) = slot
            && self.program.findings
            && self.initialised.insert(slot)
        {
            self.emit(Op::MarkInitialised { slot, holds: true });
        }
    }

    /// The index of an access's first element.
    pub(super) fn element(&mut self, access: &Access) -> Result<Sum> {
        let sum = self.placed(|compiler| compiler.index(&access.index))?;
        match access.pointer {
            None => Ok(sum),
            Some(pointer) => match self.variable(pointer)?.register {
                Register::Int(base) => Ok(self.add(base, sum)),
                Register::F32(_) | Register::F64(_) | Register::Mask(_) => {
                    Err(malformed(format!("variable {} is no pointer", pointer.0)))
                }
            },
        }
    }

    /// Checks the coordinates of an access against its view. A coordinate of a variable that was eliminated cannot be
    /// computed.
    pub(super) fn check_view(&mut self, access: &Access, site: u32) {
        if !self.program.findings {
            return;
        }
        for claim in &access.claims {
            let sides = self.placed(|compiler| (compiler.index(&claim.at), compiler.index(&claim.end)));
            if let (Ok(at), Ok(end)) = sides {
                self.emit(Op::CheckView { at, end, site });
            }
        }
    }

    pub(super) fn locate(&mut self, access: &Access, site: u32) -> Result<Located> {
        self.check_view(access, site);
        let element = self.element(access)?;
        let known = &self.program.sites[site as usize];
        let Target::Local { register, slot } = known.target else {
            return Ok(Located::Memory(element));
        };
        let last = known.len - i64::from(known.width);
        let len = known.len as u32;
        Ok(match element.as_constant() {
            Some(index) if access.mask.is_empty() && (0..=last).contains(&index) => {
                self.check_accumulator(access.place, slot + index as u32, access.width, site);
                Located::Registers { first: register + index as u32, slot: slot + index as u32 }
            }
            _ => {
                self.check_accumulator(access.place, slot, len, site);
                Located::Array(element)
            }
        })
    }

    pub(super) fn load(&mut self, access: &Access) -> Result<(Register, Elem)> {
        if access.width != 1 {
            return Err(malformed(format!("a load of {} elements", access.width)));
        }
        let elem = self.place(access.place)?.elem;
        let bank = Bank::of(elem);
        let site = self.site(Some(access))?;
        let located = self.locate(access, site)?;
        let register = match located {
            Located::Registers { first, slot } => {
                self.check_initialised(Some(slot), site);
                first
            }
            Located::Array(index) => {
                let mask = self.mask(&access.mask)?;
                let dst = self.take(bank, 1);
                self.emit(Op::LocalLoad { dst, index, mask, site });
                dst
            }
            Located::Memory(address) => {
                let mask = self.mask(&access.mask)?;
                let dst = self.take(bank, 1);
                self.emit(Op::Load { dst, address, mask, site });
                dst
            }
        };
        Ok((bank.register(register), elem))
    }

    /// Evaluates values in the lanes of a mask, as the CUDA text does inside of an `if`; see
    /// [`guard`](layout_compiler::program::StatementKind::guard). Without effects the mask is not needed.
    pub(super) fn guarded<T>(
        &mut self,
        mask: Option<u32>,
        values: &[Value<Access>],
        evaluate: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let Some(mask) = mask.filter(|_| values.iter().any(|value| self.has_effect(value))) else {
            return evaluate(self);
        };
        let test = self.emit(Op::If { mask, otherwise: 0 });
        let mark = self.cache.mark();
        let value = evaluate(self)?;
        self.cache.rewind(mark);
        let end = self.here();
        self.program.code[test] = Op::If { mask, otherwise: end };
        self.emit(Op::EndIf);
        Ok(value)
    }

    pub(super) fn store(&mut self, guard: &[Comparison], access: &Access, value: &Value<Access>) -> Result {
        if access.width != 1 {
            return Err(malformed(format!("a store of {} elements", access.width)));
        }
        let bank = Bank::of(self.place(access.place)?.elem);
        let site = self.site(Some(access))?;
        match self.locate(access, site)? {
            Located::Registers { first, slot } => {
                self.assign(bank.register(first), value)?;
                self.now_initialised(Some(slot));
            }
            Located::Array(index) => {
                let mask = self.mask(guard)?;
                let src = self.guarded(mask, std::slice::from_ref(value), |this| this.source(bank, value))?;
                self.emit(Op::LocalStore { src, index, mask, site });
            }
            Located::Memory(address) => {
                let mask = self.mask(guard)?;
                let src = self.guarded(mask, std::slice::from_ref(value), |this| this.source(bank, value))?;
                self.emit(Op::Store { src, address, mask, site });
            }
        }
        Ok(())
    }

    pub(super) fn source(&mut self, bank: Bank, value: &Value<Access>) -> Result<u32> {
        let (register, elem) = self.value(value)?;
        match (bank, register) {
            (Bank::F32, Register::F32(number))
            | (Bank::F64, Register::F64(number))
            | (Bank::Mask, Register::Mask(number)) => Ok(number),
            (Bank::Int, Register::Int(sum)) => Ok(self.vector_of(sum)),
            _ => Err(malformed(format!("a store of a value of type {elem}"))),
        }
    }

    pub(super) fn vector_move(&mut self, destination: &Access, source: &Access) -> Result {
        let (to, from) = (self.place(destination.place)?.elem, self.place(source.place)?.elem);
        if to != from || destination.width != source.width || !matches!(source.width, 1 | 2 | 4 | 8 | 16) {
            return Err(malformed(format!(
                "a move of {} elements of {from} to {} of {to}",
                source.width, destination.width
            )));
        }
        let (bank, width) = (Bank::of(from), source.width);
        let (read, written) = (self.site(Some(source))?, self.site(Some(destination))?);
        let (read_at, written_at) = (self.locate(source, read)?, self.locate(destination, written)?);
        // A load from memory writes the destination's registers directly.
        let first = match (&read_at, &written_at) {
            (Located::Registers { first, slot }, _) => {
                for number in 0..width {
                    self.check_initialised(Some(slot + number), read);
                }
                *first
            }
            (Located::Memory(_), Located::Registers { first, .. }) => *first,
            _ => self.take(bank, width),
        };
        match read_at {
            Located::Registers { .. } => {}
            Located::Array(index) => {
                let mask = self.mask(&source.mask)?;
                for number in 0..width {
                    let index = Sum { constant: index.constant.wrapping_add(number.into()), ..index };
                    self.emit(Op::LocalLoad { dst: first + number, index, mask, site: read });
                }
            }
            Located::Memory(address) => {
                let mask = self.mask(&source.mask)?;
                self.emit(Op::Load { dst: first, address, mask, site: read });
            }
        }
        match written_at {
            Located::Registers { first: own, slot } => {
                for number in 0..width {
                    if own != first {
                        self.copy(bank.register(own + number), bank.register(first + number), from)?;
                    }
                    self.now_initialised(Some(slot + number));
                }
            }
            Located::Array(index) => {
                let mask = self.mask(&destination.mask)?;
                for number in 0..width {
                    let index = Sum { constant: index.constant.wrapping_add(number.into()), ..index };
                    self.emit(Op::LocalStore { src: first + number, index, mask, site: written });
                }
            }
            Located::Memory(address) => {
                let mask = self.mask(&destination.mask)?;
                self.emit(Op::Store { src: first, address, mask, site: written });
            }
        }
        Ok(())
    }

    /// `cp.async`
    pub(super) fn copy_async(&mut self, destination: &Access, source: &Access) -> Result {
        let (to, from) = (self.place(destination.place)?.elem, self.place(source.place)?.elem);
        let (destination_site, source_site) = (self.site(Some(destination))?, self.site(Some(source))?);
        let sites = &self.program.sites;
        let shared = matches!(sites[destination_site as usize].target, Target::Shared(_));
        let global = matches!(sites[source_site as usize].target, Target::Global(_));
        let bytes = source.width.saturating_mul(from.bytes());
        if !shared
            || !global
            || to.bytes() != from.bytes()
            || source.width != destination.width
            || !matches!(bytes, 4 | 8 | 16)
        {
            return Err(malformed(format!(
                "an asynchronous copy of {} elements of {from} to {} of {to}",
                source.width, destination.width
            )));
        }
        self.check_view(source, source_site);
        self.check_view(destination, destination_site);
        let (source_at, destination_at) = (self.element(source)?, self.element(destination)?);
        let mask = self.mask(&source.mask)?;
        self.emit(Op::CopyAsync {
            destination: destination_at,
            source: source_at,
            mask,
            destination_site,
            source_site,
        });
        Ok(())
    }
}
