//! The vocabulary's meaning: each member of [`Intrinsic`] as code, view by view.

use super::datum::{Datum, LayoutDatum};
use super::evaluator::{Evaluator, Failed, Outcome};
use super::tile::{TileAccess, TileOperation};
use crate::kernel::elem::Constant;
use crate::kernel::index::{Atom, Index, Range};
use crate::kernel::intrinsic::{Family, Intrinsic, has};
use crate::kernel::ir::{ExprId, Special, TypeRef};
use crate::kernel::origin::Origin;
use crate::kernel::program::{Hint, Pad, Participants, Scope, Signal, StatementKind, Value};
use crate::kernel::view::View;
use crate::{IntTuple, Layout};

impl Evaluator<'_> {
    /// Refuses what the kernel's architecture lacks.
    pub(super) fn needs(&mut self, name: &str, needed: &str, origin: Origin) -> Outcome<()> {
        let arch = self.kernel.arch.as_deref();
        if has(arch, needed) {
            return Ok(());
        }
        let later = if needed.ends_with('a') { "" } else { " or later" };
        let own = arch.map_or("every architecture".to_string(), str::to_string);
        self.fail_help(
            origin,
            format!("`{name}` needs {needed}{later}, and the kernel is for {own}"),
            "say in the attribute that it is for Hopper: `arch = \"sm_90a\"`",
        )
    }

    pub(super) fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        types: &[TypeRef],
        arguments: &[ExprId],
        origin: Origin,
    ) -> Outcome<Datum> {
        let name = intrinsic.name();
        let (least, most) = intrinsic.arity();
        if arguments.len() < least || arguments.len() > most {
            return self
                .fail(origin, format!("`{name}` takes {least} arguments, {} were given", arguments.len()));
        }
        let mut values = self.exprs(arguments)?;
        if values.iter().any(|value| matches!(value, Datum::Unknown)) {
            return Err(Failed);
        }
        if self.host && !intrinsic.on_host() {
            return self.fail(origin, format!("`{name}` has no meaning in the attribute, on the host"));
        }
        if let Some(needed) = intrinsic.needs() {
            self.needs(name, needed, origin)?;
        }
        match intrinsic {
            Intrinsic::RowMajor | Intrinsic::ColMajor => {
                let shape = self.sizes(values.remove(0), name, origin)?;
                self.compact(shape, intrinsic == Intrinsic::RowMajor, origin)
            }
            Intrinsic::Layout => {
                let shape = self.sizes(values.remove(0), name, origin)?;
                let stride = self.sizes(values.remove(0), name, origin)?;
                match Layout::new(IntTuple::flat(shape), IntTuple::flat(stride)) {
                    Ok(layout) => {
                        Ok(Datum::Layout(LayoutDatum { layout, swizzle: None, swizzle_bytes: None }))
                    }
                    Err(error) => self.fail(origin, error.to_string()),
                }
            }
            Intrinsic::Swizzle => self.swizzle(values, origin),
            Intrinsic::Shared => self.allocate(values.remove(0), types, true, origin),
            Intrinsic::Local => self.allocate(values.remove(0), types, false, origin),
            Intrinsic::Tile => self.tile(values, origin),
            Intrinsic::Window => self.window(values, origin),
            Intrinsic::Vectorize => self.vectorize(values, origin),
            Intrinsic::Distribute => self.distribute(values, origin),
            Intrinsic::Transpose => Ok(Datum::View(self.view(values.remove(0), name, origin)?.transpose())),
            Intrinsic::Pad => {
                let value = values.remove(1);
                let mut view = self.view(values.remove(0), name, origin)?;
                let elem = self.tables.place(view.place).elem;
                // `f32::NEG_INFINITY` is a number of every float type.
                let same = match &value {
                    Datum::Scalar(Value::Constant(known), from) if from.is_float() && elem.is_float() => {
                        Constant::float(elem, known.as_f64()).filter(|own| own.as_f64() == known.as_f64())
                    }
                    _ => None,
                };
                let value = same.map_or(value, |own| Datum::Scalar(Value::Constant(own), elem));
                view.pad = Some(match self.coerce(value, elem, origin)? {
                    Value::Constant(pad) => Pad::Constant(pad),
                    Value::Argument(number, elem) => Pad::Argument(number, elem),
                    _ => {
                        return self.fail_help(
                            origin,
                            "the value of `pad` is neither known at compile time nor an argument of the kernel",
                            "choose at the access: `if i < n { x[[i]] } else { last }`",
                        );
                    }
                });
                Ok(Datum::View(view))
            }
            Intrinsic::DimOf => {
                let mode = self.expect_index(values.remove(1), origin)?.as_constant();
                let view = self.view(values.remove(0), name, origin)?;
                match mode.and_then(|mode| view.modes.get(usize::try_from(mode).ok()?)) {
                    Some(mode) => Ok(Datum::Index(mode.extent.clone())),
                    None => self.fail(origin, format!("a view of rank {} has no such mode", view.rank())),
                }
            }
            Intrinsic::Fill => {
                let value = values.remove(1);
                let destination = self.written(values.remove(0), name, origin)?;
                let elem = self.tables.place(destination.place).elem;
                let value = self.coerce(value, elem, origin)?;
                self.push(
                    origin,
                    StatementKind::Operation(TileOperation::Fill { destination: destination.clone(), value }),
                );
                Ok(Datum::View(destination))
            }
            Intrinsic::CopyFrom => {
                let source = self.view(values.remove(1), name, origin)?;
                let destination = self.written(values.remove(0), name, origin)?;
                self.copy(destination, source, None, false, origin)
            }
            Intrinsic::CopyFromAsync => {
                let source = self.view(values.remove(1), name, origin)?;
                let source = self.past_l1(source, name, origin)?;
                let destination = self.written(values.remove(0), name, origin)?;
                self.only_to_shared(&destination, &source, name, origin)?;
                self.copy(destination, source, None, true, origin)
            }
            Intrinsic::ToLocal => {
                let source = self.view(values.remove(0), name, origin)?;
                self.copy_to_local(source, None, origin)
            }
            Intrinsic::CopyDramToSram | Intrinsic::CopyDramToSramAsync => {
                let threads = values.remove(2);
                let Datum::Layout(layout) = threads else {
                    return self.fail(
                        origin,
                        format!("the threads of `{name}` are a layout, not {}", threads.kind()),
                    );
                };
                let asynchronous = intrinsic == Intrinsic::CopyDramToSramAsync;
                let source = self.view(values.remove(1), name, origin)?;
                let source = if asynchronous { self.past_l1(source, name, origin)? } else { source };
                let destination = self.written(values.remove(0), name, origin)?;
                self.only_to_shared(&destination, &source, name, origin)?;
                self.copy(destination, source, Some(layout.layout), asynchronous, origin)
            }
            Intrinsic::AsyncCopyCommitGroup => self.effect(origin, StatementKind::Signal(Signal::CopyCommit)),
            Intrinsic::AsyncCopyWaitGroup => {
                let groups = self.expect_index(values.remove(0), origin)?;
                match groups.as_constant().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= 64) {
                    Some(groups) => self.effect(origin, StatementKind::Signal(Signal::CopyWait(groups))),
                    None => {
                        self.fail(origin, "the number of groups must be known at compile time, from 0 to 64")
                    }
                }
            }
            Intrinsic::AsyncCopyWaitAll => {
                self.push(origin, StatementKind::Signal(Signal::CopyCommit));
                self.effect(origin, StatementKind::Signal(Signal::CopyWait(0)))
            }
            Intrinsic::Barrier => self.effect(origin, StatementKind::Barrier(Participants::Block)),
            Intrinsic::SyncWarp => self.effect(origin, StatementKind::Barrier(Participants::Warp)),
            Intrinsic::OuterProductAcc => self.outer_product(values, origin),
            Intrinsic::LaneId | Intrinsic::WarpId => {
                let thread = self.linear_thread(origin)?;
                let warp = Index::constant(32);
                let atoms = &mut self.tables.atoms;
                let result = if intrinsic == Intrinsic::LaneId {
                    atoms.rem(&thread, &warp)
                } else {
                    atoms.div(&thread, &warp)
                };
                Ok(Datum::Index(self.index(origin, result)?))
            }
            Intrinsic::DivCeil => {
                let by = self.expect_index(values.remove(1), origin)?;
                let index = self.expect_index(values.remove(0), origin)?;
                if by.as_constant() == Some(0) {
                    return self.fail(origin, "`div_ceil` by zero");
                }
                let result = self.tables.atoms.div_ceil(&index, &by);
                let result = self.index(origin, result)?;
                Ok(Datum::Index(self.tables.atoms.wrapped(result)))
            }
            Intrinsic::Math(function) => self.elementwise(function, values, origin),
            Intrinsic::BlockScope | Intrinsic::SystemScope => {
                let mut view = self.written(values.remove(0), name, origin)?;
                view.scope =
                    Some(if intrinsic == Intrinsic::BlockScope { Scope::Block } else { Scope::System });
                Ok(Datum::View(view))
            }
            Intrinsic::EvictFirst => self.hinted(values.remove(0), Hint::EvictFirst, origin),
            Intrinsic::EvictLast => self.hinted(values.remove(0), Hint::EvictLast, origin),
            Intrinsic::NoAllocate => self.hinted(values.remove(0), Hint::NoAllocate, origin),
            Intrinsic::SizeOf => {
                let elem = match types {
                    [ty] => self.elem(*ty, origin)?,
                    _ => None,
                };
                match elem {
                    Some(elem) => Ok(Datum::Index(Index::constant(i64::from(elem.bytes())))),
                    None => self.fail(origin, "`size_of` of an element type: `size_of::<f32>()`"),
                }
            }
            Intrinsic::Slice | Intrinsic::Bytes | Intrinsic::SwizzleBytes => {
                self.asynchronous(intrinsic, values, origin)
            }
            Intrinsic::Select => {
                let (b, a) = (values.remove(2), values.remove(1));
                self.choice(values.remove(0), a, b, name, origin)
            }
            other => match other.family() {
                Family::Composed => self.composed(intrinsic, values, origin),
                Family::Together => self.together(intrinsic, values, origin),
                Family::Asynchronous => self.asynchronous(intrinsic, values, origin),
                Family::Fragments => self.matrix(intrinsic, types, values, origin),
                Family::Elementwise
                | Family::Numbers
                | Family::Layouts
                | Family::Views
                | Family::Movement
                | Family::Threads => self.fail(origin, format!("`{name}` has no meaning")),
            },
        }
    }

    pub(super) fn effect(
        &mut self,
        origin: Origin,
        kind: StatementKind<TileAccess, TileOperation>,
    ) -> Outcome<Datum> {
        self.push(origin, kind);
        Ok(Datum::Unit)
    }

    /// The thread's number in its block, `x` fastest.
    pub(super) fn linear_thread(&mut self, origin: Origin) -> Outcome<Index> {
        let mut sum = Index::constant(0);
        let mut stride = 1i64;
        for axis in 0..3u32 {
            let count = i64::from(self.block[axis as usize]);
            if count > 1 {
                let range = Range::new(0, i128::from(count - 1));
                let atom = self.tables.atoms.intern(Atom::Special(Special::ThreadIdx, axis), range, 1, None);
                let next = sum.add_scaled(&Index::atom(atom), stride);
                sum = self.index(origin, next)?;
            }
            stride *= count;
        }
        Ok(sum)
    }

    pub(super) fn view(&mut self, datum: Datum, name: &str, origin: Origin) -> Outcome<View> {
        match datum {
            Datum::View(view) => self.without_scope(view, name, origin),
            Datum::Unknown => Err(Failed),
            other => self.fail(origin, format!("`{name}` applies to a tensor, not to {}", other.kind())),
        }
    }

    /// The view, where the user said no scope of its atomic operations.
    pub(super) fn without_scope(&mut self, view: View, what: &str, origin: Origin) -> Outcome<View> {
        let Some(scope) = view.scope else { return Ok(view) };
        let place = self.tables.place(view.place).name.clone();
        let word = format!("{scope:?}").to_lowercase();
        self.fail_help(
            origin,
            format!("`{what}` of `{place}` has no scope: scopes are of atomic operations"),
            format!("say it last: `{place}.{word}_scope().load_acquire([i])`, `.atomic_add([i], x)`"),
        )
    }

    pub(super) fn written(&mut self, datum: Datum, name: &str, origin: Origin) -> Outcome<View> {
        let view = self.view(datum, name, origin)?;
        if view.mutable {
            return Ok(view);
        }
        let place = self.tables.place(view.place).name.clone();
        self.fail_help(
            origin,
            format!("`{name}` writes to `{place}`, which is not mutable"),
            format!("make the argument `&mut`: `{place}: &mut LayoutTensor<..>`"),
        )
    }

    /// Numbers known now: the extents of a tile, the shape of a layout.
    pub(super) fn sizes(&mut self, datum: Datum, name: &str, origin: Origin) -> Outcome<Vec<i64>> {
        let parts = match datum {
            Datum::Array(parts) | Datum::Tuple(parts) => parts,
            Datum::Index(index) => vec![Datum::Index(index)],
            other => {
                return self
                    .fail(origin, format!("`{name}` takes an array of extents, not {}", other.kind()));
            }
        };
        parts
            .into_iter()
            .map(|part| {
                let index = self.expect_index(part, origin)?;
                match index.as_constant() {
                    Some(value) if (0..=1 << 40).contains(&value) => Ok(value),
                    Some(value) => self.fail(origin, format!("{value} is no extent of `{name}`")),
                    None if self.ask(&[&index]) => Err(Failed),
                    None => self.fail_help(
                        origin,
                        format!("an extent of `{name}` is not known at compile time"),
                        "take it from a parameter of the attribute",
                    ),
                }
            })
            .collect()
    }
}
