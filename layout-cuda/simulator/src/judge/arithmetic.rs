//! Numbers: integers that leave their type, conversions and shifts that lose something, floats that stop being numbers.
//!
//! Law: an integer operator is reported where its exact result does not fit its type. A NaN or an infinity is reported
//! where it is stored in memory, at the line of the operation that made it: an infinity from finite numbers, a NaN from
//! operands that are none. One that came from memory, an argument or the text is no finding.

use super::super::bytecode::{Bank, Op, Polynomial, Register, Site, Sum, Target};
use super::super::event::{ACCESSES, Access, Event, Hearing, How, Judge, LOOKS, NUMBERS, OTHERS};
use super::super::findings::Words;
use super::super::machine::Machine;
use super::super::report::FindingKind;
use crate::actors::touch::{Kind, Touch};
use crate::actors::warp::{Warp, each_lane};
use layout_compiler::elem::Elem;
use layout_compiler::ir::BinaryOp;
use layout_compiler::program::AtomicChange;

mod born;
mod whole;

use born::{Born, finite, make};

/// The judge: whether all numbers are looked at, or only those of indices.
pub(crate) struct Arithmetic(pub bool);

impl Judge for Arithmetic {
    fn hearing(&self) -> Box<dyn Hearing + '_> {
        Box::new(Numbers { all: self.0, born: Vec::new() })
    }
}

/// What is known of a cluster: where floats of each warp come from.
struct Numbers {
    all: bool,
    born: Vec<Born>,
}

impl Hearing for Numbers {
    fn hears(&self) -> u8 {
        if self.all { ACCESSES | LOOKS | NUMBERS | OTHERS } else { NUMBERS }
    }

    fn see(&mut self, event: &Event<'_>, scene: &Machine<'_>) {
        match event {
            Event::Look(warp, op) => self.look(warp, op, scene),
            _ if !self.all => {}
            Event::Start => {
                let program = scene.launch.program;
                self.born.resize_with(scene.count, || Born::new(program.f32, program.f64));
                self.born.iter_mut().for_each(Born::reset);
            }
            Event::Access(access) => self.access(access, scene),
            Event::Changed(access, before) => whole::added(access, before, scene),
            Event::Local { warp, number, touch, value, kind } => {
                self.local(warp, *number, touch, *value, *kind, scene);
            }
            _ => {}
        }
    }
}

impl Numbers {
    fn of(&self, warp: &Warp) -> Option<&Born> {
        self.born.get(warp.number as usize)
    }

    fn look(&mut self, warp: &Warp, op: &Op, scene: &Machine<'_>) {
        match *op {
            Op::Exact { op, a, b, elem, site } => Numbers::operator(warp, op, (a, b), (elem, site), scene),
            Op::Whole { function, a, b, elem, site } => {
                whole::judge(warp, function, (a, b), (elem, site), scene);
            }
            Op::Fits { from, natural, elem, site } => {
                Numbers::cast(warp, (from, natural), (elem, site), scene);
            }
            Op::Leaves { number, site } => Numbers::index(warp, number, site, scene),
            Op::Born { dst, from, together, site } => {
                if let Some(born) = self.born.get_mut(warp.number as usize) {
                    make(born, warp, dst, &from, together, site);
                }
            }
            _ => {}
        }
    }

    fn access(&mut self, access: &Access<'_>, scene: &Machine<'_>) {
        let Access { warp, site, touch, .. } = *access;
        let all = (0..site.width).map(|part| move |first: Register| first.after(part));
        match access.how {
            How::Load(Some(first)) => {
                if let Some(born) = self.born.get_mut(warp.number as usize) {
                    all.for_each(|part| born.forget(part(first)));
                }
            }
            How::Store(first, _) => {
                all.for_each(|part| self.stored(warp, part(first), site, touch.open, scene));
            }
            How::Atomic(atomic) if !matches!(atomic.change, AtomicChange::Load(_)) => {
                self.stored(warp, atomic.src, site, touch.open, scene);
            }
            How::Load(None) | How::Atomic(_) | How::Fetch | How::Issue | How::Send | How::Make => {}
        }
    }

    /// A local array's register takes what a value comes of, or the other way round.
    fn local(
        &mut self,
        warp: &Warp,
        number: u32,
        touch: &Touch,
        value: u32,
        kind: Kind,
        scene: &Machine<'_>,
    ) {
        let site = &scene.launch.program.sites[number as usize];
        let Target::Local { register, .. } = site.target else { return };
        let (bank, Some(born)) = (Bank::of(site.elem), self.born.get_mut(warp.number as usize)) else {
            return;
        };
        for lane in each_lane(touch.open) {
            let (own, value) = (bank.register(register + touch.index[lane] as u32), bank.register(value));
            match kind {
                Kind::Read => born.copy(value, own, lane),
                Kind::Write => born.copy(own, value, lane),
            }
        }
    }
}

/// A number as it is meant: naturals of 64 bits are kept as their bits.
pub(crate) fn number(value: i64, natural: bool) -> i128 {
    if natural { i128::from(value as u64) } else { i128::from(value) }
}

/// What `a op b` would be without a width; `None` of a division by zero, and of an operator that leaves no type.
fn exact(op: BinaryOp, a: i128, b: i128) -> Option<i128> {
    match op {
        BinaryOp::Add => Some(a + b),
        BinaryOp::Sub => Some(a - b),
        BinaryOp::Mul => Some(a.saturating_mul(b)),
        BinaryOp::Div => a.checked_div(b),
        // What is left of the least number divided by -1 has no result in Rust, though it is 0.
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

/// The value of an index before anything wraps; what is beyond 128 bits stays beyond.
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

impl Numbers {
    /// Looks at an operator on integers.
    fn operator(
        warp: &Warp,
        op: BinaryOp,
        (a, b): (Sum, Sum),
        (elem, site): (Elem, u32),
        scene: &Machine<'_>,
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
        let kind = if shift { FindingKind::ShiftTooFar } else { FindingKind::Overflow };
        scene.report(kind, site, warp.number, wrong, None, |lane| {
            let (a, b, symbol) = (number(a[lane], natural), number(b[lane], natural), op.symbol());
            match shift {
                true => format!(
                    "{a}{elem} {symbol} {b}: the count is not below the {} bits of the type",
                    elem.bits()
                ),
                false => format!(
                    "{a} {symbol} {b} leaves {elem}, {least} to {most}; say `wrapping_*` where that is meant"
                ),
            }
        });
    }

    /// Looks at a conversion to an integer.
    fn cast(warp: &Warp, (from, natural): (Register, bool), (elem, site): (Elem, u32), scene: &Machine<'_>) {
        let (least, most) = elem.limits();
        // What is cut off behind the point is no loss.
        let float = |value: f64| {
            let (low, high) = (least as f64 - 1.0, most as f64 + 1.0);
            // Of 64 bits the limits are no floats, and the numbers beside them are 2048 apart.
            let low = if elem.bits() == 64 && least < 0 { value >= least as f64 } else { value > low };
            low && value < high
        };
        let told = |lane: usize| -> Option<String> {
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
        let wrong = each_lane(warp.active).filter(|lane| told(*lane).is_some());
        let wrong = wrong.fold(0u32, |lanes, lane| lanes | 1 << lane);
        if wrong != 0 {
            scene.report(FindingKind::LossyCast, site, warp.number, wrong, None, |lane| {
                let value = told(lane).unwrap_or_default();
                format!("{value} becomes {elem}, which holds {least} to {most}: the value is lost")
            });
        }
    }

    /// Looks at an index that may leave 64 bits.
    fn index(warp: &Warp, number: u32, site: u32, scene: &Machine<'_>) {
        let program = scene.launch.program;
        let Some(index) = program.polynomials.get(number as usize) else { return };
        // A natural number below nothing is a conversion's, and no index's.
        let (least, most) = match index.signed {
            true => (i128::from(i64::MIN), i128::from(i64::MAX)),
            false => (i128::from(i64::MIN), i128::from(u64::MAX)),
        };
        let outside = |lane: &usize| !(least..=most).contains(&value(index, warp, *lane));
        let wrong = each_lane(warp.active).filter(outside).fold(0u32, |lanes, lane| lanes | 1 << lane);
        if wrong != 0 {
            scene.report(FindingKind::IndexOverflow, site, warp.number, wrong, None, |lane| {
                let value = value(index, warp, lane);
                let value =
                    if value.unsigned_abs() < 1 << 120 { value.to_string() } else { "an index".to_owned() };
                format!("{value} leaves 64 bits and wraps; say `wrapping_*` where that is meant")
            });
        }
    }

    /// Stores floats of a warp: tells of those that are not finite, and where they come from.
    fn stored(&self, warp: &Warp, src: Register, site: &Site, lanes: u32, scene: &Machine<'_>) {
        let Some(born) = self.of(warp).and_then(|born| born.of(src)) else { return };
        let wrong = |lane: &usize| born[*lane] != 0 && !finite(warp, src, *lane);
        let Some(first) = each_lane(lanes).find(wrong) else { return };
        let same = each_lane(lanes).filter(|lane| wrong(lane) && born[*lane] == born[first]);
        let lanes = same.fold(0u32, |lanes, lane| lanes | 1 << lane);
        let value = match src {
            Register::F32(register) => f64::from(warp.f32[register as usize][first]),
            Register::F64(register) => warp.f64[register as usize][first],
            Register::Int(_) | Register::Mask(_) => return,
        };
        let name = scene.launch.program.names.get(site.place as usize).map_or("", String::as_str);
        let (name, line) = (name.to_owned(), site.line);
        scene.report(FindingKind::NotFinite, born[first], warp.number, lanes, None, |_| {
            let (what, of) = match value.is_nan() {
                true => ("a NaN", "numbers that are not NaN"),
                false => ("an infinity", "finite numbers"),
            };
            Words::beside(format!("{what} is made here of {of}; line {line} stores it in `{name}`"), line)
        });
    }
}
