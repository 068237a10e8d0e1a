//! Words in the body: views of views, layouts of threads, and what writes.

use super::interpreter::{Interpreter, Value};
use super::polynomial::{Kind, Polynomial};
use super::view::View;
use crate::intrinsic::{Family, Form, Intrinsic};
use crate::ir::TypeRef;

impl Interpreter<'_> {
    pub(super) fn word(&mut self, word: Intrinsic, types: &[TypeRef], mut arguments: Vec<Value>) -> Value {
        use Intrinsic as W;
        match word {
            W::RowMajor | W::ColMajor | W::Layout => Value::Layout(product(arguments.first())),
            W::Swizzle | W::SwizzleBytes => take(&mut arguments, 0),
            W::Shared
            | W::Local
            | W::ToLocal
            | W::Accumulator
            | W::AccumulatorOf
            | W::TensorMemory
            | W::MapSharedRank => {
                if word == W::MapSharedRank {
                    self.takes_any_grid("it names a block's place in its cluster");
                }
                Value::View(View::default())
            }
            W::Tile | W::Window => {
                match (take(&mut arguments, 0), parts(arguments.get(1)), parts(arguments.get(2))) {
                    (Value::View(view), sizes, at) => Value::View(self.select(view, Some(word), &sizes, &at)),
                    (other, ..) => other,
                }
            }
            W::Slice => match take(&mut arguments, 0) {
                Value::View(view) => Value::View(self.slice(view, &arguments[1..])),
                other => other,
            },
            W::Vectorize => match take(&mut arguments, 0) {
                Value::View(view) => Value::View(vectorized(view, &parts(arguments.get(1)))),
                other => other,
            },
            W::Transpose => match take(&mut arguments, 0) {
                Value::View(mut view) => {
                    view.modes.reverse();
                    Value::View(view)
                }
                other => other,
            },
            W::Distribute => self.distribute(arguments),
            W::Pad | W::EvictFirst | W::EvictLast | W::NoAllocate | W::BlockScope | W::SystemScope => {
                take(&mut arguments, 0)
            }
            W::DimOf => match (arguments.first(), arguments.get(1)) {
                (Some(Value::View(view)), Some(Value::Number(mode))) => {
                    let mode =
                        mode.as_constant().and_then(|mode| view.modes.get(usize::try_from(mode).ok()?));
                    let extent = mode.and_then(|mode| mode.extent.exact_div(&mode.unit));
                    extent.map_or(Value::Unknown("is an extent of a view"), Value::Number)
                }
                _ => Value::Unknown("is an extent of a view"),
            },
            W::LaneId | W::WarpId | W::WarpGroup => {
                self.threads.warps = true;
                match word {
                    W::LaneId => Value::Number(self.atoms.of(Kind::Lane)),
                    W::WarpId => Value::Number(self.atoms.of(Kind::Warp)),
                    _ => Value::Unknown("is the warpgroup's place"),
                }
            }
            W::DivCeil => match (arguments.first(), arguments.get(1)) {
                (Some(Value::Number(a)), Some(Value::Number(b)))
                    if self.atoms.is_symbolic(a) && self.atoms.is_symbolic(b) =>
                {
                    Value::Number(self.atoms.div_ceil(&a.clone(), &b.clone()))
                }
                _ => Value::Unknown("is a quotient of the thread's or the block's place"),
            },
            W::MmaAtom => {
                self.threads.matrices = true;
                Value::Unknown("is what a word gives")
            }
            W::ClusterRank | W::ClusterBarrier => {
                self.takes_any_grid("it names a block's place in its cluster");
                Value::Unknown("is a block's place in its cluster")
            }
            W::GridBarrier => {
                self.takes_any_grid("its blocks wait for each other, `grid_barrier()`");
                Value::Unknown("has no value")
            }
            W::SizeOf => self.sized(word, types),
            _ => self.moves(word, arguments),
        }
    }

    /// Words that write: a view, an element, or what is shared by blocks.
    fn moves(&mut self, word: Intrinsic, mut arguments: Vec<Value>) -> Value {
        use Intrinsic as W;
        match word {
            W::CopyDramToSram | W::CopyDramToSramAsync => {
                if let Some(Value::Layout(Some(count))) = arguments.get(2)
                    && self.atoms.is_static(count)
                {
                    self.threads.at_least.push(count.clone());
                }
                self.writes(take(&mut arguments, 0), None);
            }
            W::StoreD => self.writes(take(&mut arguments, 1), None),
            W::StoreRelaxed | W::StoreRelease => {
                let at = parts(arguments.get(1));
                self.write_at(take(&mut arguments, 0), &at);
            }
            W::AtomicAdd
            | W::AtomicMax
            | W::AtomicMin
            | W::AtomicAnd
            | W::AtomicOr
            | W::AtomicXor
            | W::AtomicExchange
            | W::AtomicCompareExchange
            | W::TmaAdd => self.writes(take(&mut arguments, 0), Some("gathers what several blocks have")),
            W::LoadRelaxed | W::LoadAcquire | W::Bytes | W::Prefetch => {}
            W::Fill | W::CopyFrom => {
                let view = take(&mut arguments, 0);
                self.writes(view.clone(), None);
                return view;
            }
            // Every other word that takes a view first may write it, and so may one that takes what is not understood.
            _ => {
                let moves =
                    matches!(word.family(), Family::Asynchronous | Family::TensorMemory | Family::Movement);
                let function = word.form() == Form::Function && moves;
                match arguments.first() {
                    Some(Value::View(View { mutable: true, .. })) => {
                        self.writes(take(&mut arguments, 0), None)
                    }
                    Some(Value::Unknown(_)) if function => self.writes(take(&mut arguments, 0), None),
                    _ => {}
                }
            }
        }
        let why = arguments.iter().find_map(|value| match value {
            Value::Unknown(why) => Some(*why),
            _ => None,
        });
        Value::Unknown(why.unwrap_or("is what a word gives"))
    }

    /// The elements of a thread, cyclically: each thread has some where the layout has as many places as there are threads.
    fn distribute(&mut self, mut arguments: Vec<Value>) -> Value {
        let (layout, thread) = (take(&mut arguments, 1), take(&mut arguments, 2));
        let (count, atom) = match (&layout, &thread) {
            (Value::Layout(Some(count)), Value::Number(thread)) if self.atoms.is_static(count) => {
                (Some(count.clone()), thread.as_atom())
            }
            _ => (None, None),
        };
        let plain = atom.is_some_and(|atom| *self.atoms.kind(atom) == Kind::Thread(0));
        if let Some(count) = count.clone().filter(|_| plain) {
            self.threads.at_least.push(count);
        }
        let mut view = match take(&mut arguments, 0) {
            Value::View(view) if view.argument.is_some() => view,
            other => return other,
        };
        match (plain, count, &thread) {
            (true, Some(count), _) => view.threads.push((Some(0), count)),
            (false, _, Value::Number(thread)) if !self.atoms.of_block(thread) => {
                view.partial = view.partial.take().or(Some(format!(
                    "`{}` is distributed by what is not `thread_idx.x`",
                    self.name_of(&view)
                )));
            }
            (true, None, _) => {}
            _ => {
                view.unclear =
                    Some(format!("`{}` is distributed by what is not `thread_idx.x`", self.name_of(&view)))
            }
        }
        view.modes.iter_mut().for_each(|mode| mode.inside = true);
        Value::View(view)
    }

    fn slice(&mut self, view: View, at: &[Value]) -> View {
        let zero = Value::Number(Polynomial::default());
        let rank = view.modes.len();
        if view.argument.is_none() || rank == 0 {
            return view;
        }
        let mut only = view.clone();
        only.modes.truncate(1);
        let mut sliced = self.select(only, None, &[], &[at.first().cloned().unwrap_or(zero)]);
        sliced.modes = view.modes[1..].to_vec();
        sliced
    }
}

/// The argument of this number, which nothing else takes.
fn take(arguments: &mut [Value], number: usize) -> Value {
    arguments
        .get_mut(number)
        .map_or(Value::Unknown("is missing"), |value| std::mem::replace(value, Value::Unknown("is taken")))
}

fn parts(value: Option<&Value>) -> Vec<Value> {
    match value {
        Some(Value::Parts(parts)) => parts.clone(),
        _ => vec![],
    }
}

/// The product of a shape.
fn product(shape: Option<&Value>) -> Option<Polynomial> {
    let Some(Value::Parts(parts)) = shape else { return None };
    parts.iter().try_fold(Polynomial::constant(1), |product, part| match part {
        Value::Number(number) => product.mul(number),
        _ => None,
    })
}

fn vectorized(mut view: View, lanes: &[Value]) -> View {
    for (mode, lanes) in view.modes.iter_mut().zip(lanes) {
        match lanes {
            Value::Number(lanes) => match mode.unit.mul(lanes) {
                Some(unit) => mode.unit = unit,
                None => view.unclear = Some("its vectors are too long".to_owned()),
            },
            _ => view.unclear = Some("its vectors are not known at compile time".to_owned()),
        }
    }
    view
}
