//! Arithmetic: integer overflow, lossy conversions and shifts, NaN and infinity.
//!
//! Law: an integer operator is reported if its exact result does not fit its type. A NaN or an infinity is reported if
//! it is stored in memory, at the line of the operation that made it: an infinity of finite numbers, a NaN of operands
//! that are not NaN. One that was loaded, passed as an argument or written in the source is not reported.

use crate::bytecode::{Bank, Op, Polynomial, Register, Site, Sum, Target};
use crate::event::{ACCESSES, ARITHMETIC, Access, AccessKind, CHECKS, Event, OTHERS};
use crate::findings::Message;
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::report::FindingKind;
use crate::state::lanes::{Direction, LaneElements};
use crate::state::warp::{Warp, each_lane};
use layout_compiler::elem::Elem;
use layout_compiler::ir::BinaryOp;
use layout_compiler::program::AtomicChange;

mod integers;
mod origins;

use origins::{Origins, finite, track};

/// The analysis; `true` for all arithmetic, `false` for indices only.
pub(crate) struct Arithmetic(pub bool);

impl Analysis for Arithmetic {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(ArithmeticObserver { all: self.0, origins: Vec::new() })
    }
}

/// For each warp the origins of its floats.
struct ArithmeticObserver {
    all: bool,
    origins: Vec<Origins>,
}

impl Observer for ArithmeticObserver {
    fn interests(&self) -> u8 {
        if self.all { ACCESSES | CHECKS | ARITHMETIC | OTHERS } else { ARITHMETIC }
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Check(warp, op) => self.check(warp, op, machine),
            _ if !self.all => {}
            Event::Start => {
                let program = machine.launch.program;
                self.origins.resize_with(machine.count, || Origins::new(program.f32, program.f64));
                self.origins.iter_mut().for_each(Origins::reset);
            }
            Event::Access(access) => self.access(access, machine),
            Event::AtomicDone(access, before) => integers::check_atomic_sum(access, before, machine),
            Event::Local { warp, number, elements, value, direction } => {
                self.local(warp, *number, elements, *value, *direction, machine);
            }
            _ => {}
        }
    }
}

impl ArithmeticObserver {
    fn of(&self, warp: &Warp) -> Option<&Origins> {
        self.origins.get(warp.number as usize)
    }

    fn check(&mut self, warp: &Warp, op: &Op, machine: &Machine<'_>) {
        match *op {
            Op::CheckInteger { op, a, b, elem, site } => {
                ArithmeticObserver::operator(warp, op, (a, b), (elem, site), machine)
            }
            Op::CheckIntegerFunction { function, a, b, elem, site } => {
                integers::check_function(warp, function, (a, b), (elem, site), machine);
            }
            Op::CheckCast { from, natural, elem, site } => {
                ArithmeticObserver::cast(warp, (from, natural), (elem, site), machine);
            }
            Op::CheckIndex { number, site } => ArithmeticObserver::index(warp, number, site, machine),
            Op::TrackOrigin { dst, from, together, site } => {
                if let Some(origins) = self.origins.get_mut(warp.number as usize) {
                    track(origins, warp, dst, &from, together, site);
                }
            }
            _ => {}
        }
    }

    fn access(&mut self, access: &Access<'_>, machine: &Machine<'_>) {
        let Access { warp, site, elements, .. } = *access;
        let all = (0..site.width).map(|part| move |first: Register| first.after(part));
        match access.kind {
            AccessKind::Load(Some(first)) => {
                if let Some(origins) = self.origins.get_mut(warp.number as usize) {
                    all.for_each(|part| origins.forget(part(first)));
                }
            }
            AccessKind::Store(first, _) => {
                all.for_each(|part| self.stored(warp, part(first), site, elements.active, machine));
            }
            AccessKind::Atomic(atomic) if !matches!(atomic.change, AtomicChange::Load(_)) => {
                self.stored(warp, atomic.src, site, elements.active, machine);
            }
            AccessKind::Load(None)
            | AccessKind::Atomic(_)
            | AccessKind::AsyncRead
            | AccessKind::AsyncWrite
            | AccessKind::RemoteWrite
            | AccessKind::BarrierInit => {}
        }
    }

    /// A load or a store of a local array copies the origin.
    fn local(
        &mut self,
        warp: &Warp,
        number: u32,
        elements: &LaneElements,
        value: u32,
        direction: Direction,
        machine: &Machine<'_>,
    ) {
        let site = &machine.launch.program.sites[number as usize];
        let Target::Local { register, .. } = site.target else { return };
        let (bank, Some(origins)) = (Bank::of(site.elem), self.origins.get_mut(warp.number as usize)) else {
            return;
        };
        for lane in each_lane(elements.active) {
            let (own, value) = (bank.register(register + elements.index[lane] as u32), bank.register(value));
            match direction {
                Direction::Read => origins.copy(value, own, lane),
                Direction::Write => origins.copy(own, value, lane),
            }
        }
    }
}

/// The number that a register holds; `natural` for `u64`.
pub(crate) fn number(value: i64, natural: bool) -> i128 {
    if natural { i128::from(value as u64) } else { i128::from(value) }
}

/// The exact result of `a op b`; `None` for a division by zero, and for operators that cannot overflow.
fn exact(op: BinaryOp, a: i128, b: i128) -> Option<i128> {
    match op {
        BinaryOp::Add => Some(a + b),
        BinaryOp::Sub => Some(a - b),
        BinaryOp::Mul => Some(a.saturating_mul(b)),
        BinaryOp::Div => a.checked_div(b),
        // In Rust the remainder of the least number by -1 overflows, although it is 0.
        BinaryOp::Rem => (b != 0).then_some(if b == -1 { -a } else { 0 }),
        BinaryOp::Shl | BinaryOp::Shr => Some(b),
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => None,
    }
}

/// The exact value of an index; values beyond 128 bits saturate.
fn value(index: &Polynomial, warp: &Warp, lane: usize) -> i128 {
    let mut sum = i128::from(index.constant);
    for (coefficient, factors) in &index.terms {
        let mut product = i128::from(*coefficient);
        for (factor, natural) in factors {
            product = product.saturating_mul(number(at(warp, *factor, lane), *natural));
        }
        sum = sum.saturating_add(product);
    }
    sum
}

fn at(warp: &Warp, sum: Sum, lane: usize) -> i64 {
    let vector = sum.vector.map_or(0, |register| warp.int[register as usize][lane]);
    vector.wrapping_add(warp.uniform(sum))
}

impl ArithmeticObserver {
    /// Checks an operator on integers.
    fn operator(
        warp: &Warp,
        op: BinaryOp,
        (a, b): (Sum, Sum),
        (elem, site): (Elem, u32),
        machine: &Machine<'_>,
    ) {
        let natural = elem == Elem::U64;
        let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        let (least, most) = if shift { (0, i128::from(elem.bits()) - 1) } else { elem.limits() };
        let (a, b) = (warp.lanes(a), warp.lanes(b));
        let outside = |lane: &usize| {
            let exact = exact(op, number(a[*lane], natural), number(b[*lane], natural));
            exact.is_some_and(|value| value < least || value > most)
        };
        let wrong = each_lane(warp.active).filter(outside).fold(0u32, |lanes, lane| lanes | 1 << lane);
        if wrong == 0 {
            return;
        }
        let direction = if shift { FindingKind::ShiftTooFar } else { FindingKind::Overflow };
        machine.report(direction, site, warp.number, wrong, None, |lane| {
            let (a, b, symbol) = (number(a[lane], natural), number(b[lane], natural), op.symbol());
            match shift {
                true => format!(
                    "{a}{elem} {symbol} {b}: the count must be less than the {} bits of the type",
                    elem.bits()
                ),
                false => format!(
                    "{a} {symbol} {b} overflows {elem}, {least} to {most}; use `wrapping_*` if that is intended"
                ),
            }
        });
    }

    /// Checks a conversion to an integer.
    fn cast(
        warp: &Warp,
        (from, natural): (Register, bool),
        (elem, site): (Elem, u32),
        machine: &Machine<'_>,
    ) {
        let (least, most) = elem.limits();
        // Truncation is not a loss.
        let float = |value: f64| {
            let (low, high) = (least as f64 - 1.0, most as f64 + 1.0);
            // The limits of 64-bit types are not floats; the next float is 2048 away.
            let low = if elem.bits() == 64 && least < 0 { value >= least as f64 } else { value > low };
            low && value < high
        };
        let lost = |lane: usize| -> Option<String> {
            match from {
                Register::Int(sum) => {
                    let value = number(at(warp, sum, lane), natural);
                    (value < least || value > most).then(|| value.to_string())
                }
                Register::F32(register) => {
                    let value = warp.f32[register as usize][lane];
                    (!float(value.into())).then(|| value.to_string())
                }
                Register::F64(register) => {
                    let value = warp.f64[register as usize][lane];
                    (!float(value)).then(|| value.to_string())
                }
                Register::Mask(_) => None,
            }
        };
        let wrong = each_lane(warp.active).filter(|lane| lost(*lane).is_some());
        let wrong = wrong.fold(0u32, |lanes, lane| lanes | 1 << lane);
        if wrong != 0 {
            machine.report(FindingKind::LossyCast, site, warp.number, wrong, None, |lane| {
                let value = lost(lane).unwrap_or_default();
                format!("{value} becomes {elem}, which holds {least} to {most}: the value is lost")
            });
        }
    }

    /// Checks an index for overflow of 64 bits.
    fn index(warp: &Warp, number: u32, site: u32, machine: &Machine<'_>) {
        let program = machine.launch.program;
        let Some(index) = program.polynomials.get(number as usize) else { return };
        // A negative `u64` is a finding of its conversion, not of the index.
        let (least, most) = match index.signed {
            true => (i128::from(i64::MIN), i128::from(i64::MAX)),
            false => (i128::from(i64::MIN), i128::from(u64::MAX)),
        };
        let outside = |lane: &usize| !(least..=most).contains(&value(index, warp, *lane));
        let wrong = each_lane(warp.active).filter(outside).fold(0u32, |lanes, lane| lanes | 1 << lane);
        if wrong != 0 {
            machine.report(FindingKind::IndexOverflow, site, warp.number, wrong, None, |lane| {
                let value = value(index, warp, lane);
                let value =
                    if value.unsigned_abs() < 1 << 120 { value.to_string() } else { "an index".to_owned() };
                format!("{value} overflows 64 bits and wraps; use `wrapping_*` if that is intended")
            });
        }
    }

    /// Reports stored floats that are not finite, at their origin.
    fn stored(&self, warp: &Warp, src: Register, site: &Site, lanes: u32, machine: &Machine<'_>) {
        let Some(origins) = self.of(warp).and_then(|origins| origins.of(src)) else { return };
        let wrong = |lane: &usize| origins[*lane] != 0 && !finite(warp, src, *lane);
        let Some(first) = each_lane(lanes).find(wrong) else { return };
        let same = each_lane(lanes).filter(|lane| wrong(lane) && origins[*lane] == origins[first]);
        let lanes = same.fold(0u32, |lanes, lane| lanes | 1 << lane);
        let value = match src {
            Register::F32(register) => f64::from(warp.f32[register as usize][first]),
            Register::F64(register) => warp.f64[register as usize][first],
            Register::Int(_) | Register::Mask(_) => return,
        };
        let name = machine.launch.program.names.get(site.place as usize).map_or("", String::as_str);
        let (name, line) = (name.to_owned(), site.line);
        machine.report(FindingKind::NotFinite, origins[first], warp.number, lanes, None, |_| {
            let (what, of) = match value.is_nan() {
                true => ("a NaN", "numbers that are not NaN"),
                false => ("an infinity", "finite numbers"),
            };
            Message::with_line(
                format!("{what} is made here of {of}; line {line} stores it in `{name}`"),
                line,
            )
        });
    }
}
