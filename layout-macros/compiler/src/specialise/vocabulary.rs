//! The meaning of each word: each [`Intrinsic`] as code, in the file of its family.
//!
//! Law: a word's row defines its arguments and requirements; the file of its family holds only its meaning.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Failed, Outcome};
use super::tile::{TileAccess, TileOperation};
use crate::arch::{Arch, Feature};
use crate::intrinsic::{Family, Intrinsic};
use crate::ir::{ExprId, TypeRef};
use crate::origin::Origin;
use crate::program::StatementKind;
use crate::view::View;

/// A word of the language, what it was given, and where it is.
pub(super) struct Call<'a> {
    pub word: Intrinsic,
    pub types: &'a [TypeRef],
    pub values: Vec<StaticValue>,
    pub origin: Origin,
}

impl Evaluator<'_> {
    /// Refuses what the kernel's architecture lacks; a kernel that names none is for sm_80 and later.
    pub(super) fn needs(&mut self, name: &str, feature: Feature, origin: Origin) -> Outcome<()> {
        let arch = self.arch;
        if arch.unwrap_or(Arch::BASELINE).has(feature) {
            return Ok(());
        }
        let own = match arch {
            Some(arch) => format!("the kernel is for {arch}"),
            None => format!("a kernel without `arch` is for {} or later", Arch::BASELINE),
        };
        self.fail_help(
            origin,
            format!("`{name}` needs {}, and {own}", feature.owned_by()),
            format!("name an architecture in the attribute: `arch = \"{}\"`", feature.first()),
        )
    }

    pub(super) fn intrinsic(
        &mut self,
        id: ExprId,
        (intrinsic, types, arguments): (Intrinsic, &[TypeRef], &[ExprId]),
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let name = intrinsic.name();
        let (least, most) = intrinsic.arity();
        if arguments.len() < least || arguments.len() > most {
            return self
                .fail(origin, format!("`{name}` takes {least} arguments, {} were given", arguments.len()));
        }
        if let (Intrinsic::Assume, [condition], false) = (intrinsic, arguments, self.host) {
            return self.assumed(*condition, origin);
        }
        let values = self.exprs(arguments)?;
        if values.iter().any(|value| matches!(value, StaticValue::Unknown)) {
            return Err(Failed);
        }
        if self.host && !intrinsic.on_host() {
            return self.fail(origin, format!("`{name}` has no meaning in the attribute, on the host"));
        }
        // Without asynchronous copies they are ordinary ones; `mbarriers(0, ..)` are none, and need nothing.
        let none = matches!((intrinsic, values.first()), (Intrinsic::Mbarriers, Some(StaticValue::Index(count))) if count.as_constant() == Some(0));
        if let Some(needed) = intrinsic.needs().filter(|needed| *needed != Feature::AsyncCopy && !none) {
            self.needs(name, needed, origin)?;
        }
        let signed = self.kernel.signed.binary_search(&id).is_ok();
        let call = Call { word: intrinsic, types, values, origin };
        match intrinsic.family() {
            Family::Elementwise => match intrinsic {
                Intrinsic::Math(function) => self.elementwise(function, call.values, signed, origin),
                _ => self.meaningless(name, origin),
            },
            Family::Composed => self.composed(intrinsic, call.values, signed, origin),
            Family::Numbers => self.number_word(call),
            Family::Layouts => self.layout_word(call),
            Family::Views => self.view_word(call),
            Family::Movement => self.movement_word(call),
            Family::Threads => self.thread_word(intrinsic, origin),
            Family::Together => self.together(call),
            Family::Fragments => self.matrix(call),
            Family::Asynchronous => self.asynchronous(call),
            Family::TensorMemory => self.tensor_word(call),
        }
    }

    /// Refuses a word whose family's file does not know it: a mistake of the table.
    pub(super) fn meaningless(&mut self, name: &str, origin: Origin) -> Outcome<StaticValue> {
        self.fail(origin, format!("`{name}` has no meaning"))
    }

    pub(super) fn effect(
        &mut self,
        origin: Origin,
        kind: StatementKind<TileAccess, TileOperation>,
    ) -> Outcome<StaticValue> {
        self.push(origin, kind);
        Ok(StaticValue::Unit)
    }

    pub(super) fn view(&mut self, datum: StaticValue, name: &str, origin: Origin) -> Outcome<View> {
        match datum {
            StaticValue::View(view) => self.without_scope(view, name, origin),
            StaticValue::Unknown => Err(Failed),
            other => self.fail(origin, format!("`{name}` applies to a tensor, not to {}", other.kind())),
        }
    }

    /// The view, refused where the user gave a scope of atomic operations.
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

    pub(super) fn written(&mut self, datum: StaticValue, name: &str, origin: Origin) -> Outcome<View> {
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

    /// A number known now, from 0 to `most`.
    pub(super) fn number(
        &mut self,
        datum: StaticValue,
        most: i64,
        what: &str,
        origin: Origin,
    ) -> Outcome<u32> {
        let index = self.expect_index(datum, origin)?;
        match index.as_constant() {
            Some(value) if (0..=most).contains(&value) => Ok(value as u32),
            Some(value) => self.fail(origin, format!("{what}: {value}; it may be 0 to {most}")),
            None => self.fail(origin, format!("{what} must be known at compile time")),
        }
    }

    /// Numbers known now: the extents of a tile, the shape of a layout.
    pub(super) fn sizes(&mut self, datum: StaticValue, name: &str, origin: Origin) -> Outcome<Vec<i64>> {
        let parts = match datum {
            StaticValue::Array(parts) | StaticValue::Tuple(parts) => parts,
            StaticValue::Index(index) => vec![StaticValue::Index(index)],
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
