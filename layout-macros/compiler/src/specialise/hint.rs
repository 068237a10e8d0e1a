//! Cache hints: a property of a view of an argument, which every movement of its elements reads.
//!
//! Law: a hint changes no value and orders nothing. A movement that cannot carry one is an error, so no hint is lost.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use crate::origin::Origin;
use crate::program::{Hint, Space};
use crate::view::View;

impl Evaluator<'_> {
    /// The view with a hint; the last one holds.
    pub(super) fn hinted(&mut self, view: StaticValue, hint: Hint, origin: Origin) -> Outcome<StaticValue> {
        let name = hint.name();
        let view = self.view(view, name, origin)?;
        let place = self.tables.place(view.place);
        let whose = match place.space {
            Space::Global(_) => return Ok(StaticValue::View(View { hint: Some(hint), ..view })),
            Space::Shared { .. } => "is in shared memory",
            Space::Remote { .. } => "is in another block's shared memory",
            Space::Tensor { .. } => "is in tensor memory",
            Space::Local => "is in registers",
        };
        let message = format!("`{name}` of `{}`, which {whose}", place.name);
        self.fail_help(
            origin,
            message,
            "the caches keep global memory: give the hint to the argument, or to a tile of it",
        )
    }

    /// The view, for a copy that does not pass L1.
    pub(super) fn past_l1(&mut self, view: View, name: &str, origin: Origin) -> Outcome<View> {
        if view.hint != Some(Hint::NoAllocate) {
            return Ok(view);
        }
        let place = self.tables.place(view.place).name.clone();
        self.fail_help(
            origin,
            format!("`{name}` of `{place}` with `no_allocate`, which is about L1; this copy passes by it"),
            format!("`{place}.evict_first()` and `{place}.evict_last()` are about L2"),
        )
    }

    /// The view, for an atomic operation, which has no hint.
    pub(super) fn without_hint(&mut self, view: View, name: &str, origin: Origin) -> Outcome<View> {
        let Some(hint) = view.hint else { return Ok(view) };
        let place = self.tables.place(view.place).name.clone();
        self.fail_help(
            origin,
            format!("`{name}` of `{place}` with `{}`: an atomic operation takes no hint", hint.name()),
            format!(
                "say it of the view that is loaded, stored or copied, and `{place}.{name}(..)` without it"
            ),
        )
    }

    /// The source of a copy by `cp.async`. PTX has a policy there, but ptxas 13.0 encodes one beside a shared address in a
    /// uniform register as an instruction that an H200 refuses.
    pub(super) fn unhinted_source(&mut self, view: View, name: &str, origin: Origin) -> Outcome<View> {
        let Some(hint) = view.hint else { return Ok(view) };
        let place = self.tables.place(view.place).name.clone();
        self.fail_help(
            origin,
            format!(
                "`{name}` of `{place}` with `{}`: an asynchronous copy by threads takes no hint",
                hint.name()
            ),
            "copy without the hint, or by `tma_load`, which takes `evict_first` and `evict_last`",
        )
    }
}
