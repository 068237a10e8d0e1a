//! The meaning of the words for places and views of them. Tiling is in `tiling.rs`, other modes are in `reshape.rs`.

use super::constant;
use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use super::vocabulary::Call;
use crate::elem::Constant;
use crate::index::Index;
use crate::intrinsic::Intrinsic;
use crate::origin::Origin;
use crate::program::{Hint, Pad, Scope, Value};
use crate::view::View;

impl Evaluator<'_> {
    pub(super) fn view_word(&mut self, call: Call<'_>) -> Outcome<StaticValue> {
        let Call { word: intrinsic, types, mut values, origin } = call;
        let name = intrinsic.name();
        match intrinsic {
            Intrinsic::Shared => self.allocate(values.remove(0), types, true, origin),
            Intrinsic::Local => self.allocate(values.remove(0), types, false, origin),
            Intrinsic::Tile => self.tile(values, origin),
            Intrinsic::Window => self.window(values, origin),
            Intrinsic::Vectorize => self.vectorize(values, origin),
            Intrinsic::Distribute => self.distribute(values, origin),
            Intrinsic::Transpose => {
                Ok(StaticValue::View(self.view(values.remove(0), name, origin)?.transpose()))
            }
            Intrinsic::Permute => self.permuted(values, origin),
            Intrinsic::Squeeze => self.squeezed(values, origin),
            Intrinsic::Reshape => self.reshaped(values, origin),
            Intrinsic::Bitcast => self.bitcast(values.remove(0), types, origin),
            Intrinsic::Pad => {
                let value = values.remove(1);
                let mut view = self.view(values.remove(0), name, origin)?;
                let elem = self.tables.place(view.place).elem;
                let value = match value {
                    StaticValue::Scalar(value, elem) => {
                        let known = constant::known(&value);
                        StaticValue::Scalar(known.map_or(value, Value::Constant), elem)
                    }
                    value => value,
                };
                // `f32::NEG_INFINITY` is a value of every float type that has infinities.
                let same = match &value {
                    StaticValue::Scalar(Value::Constant(known), from)
                        if from.is_float() && elem.is_float() =>
                    {
                        let (same, value) = (known.exactly(elem), known.as_f64());
                        if same.is_none() && value.is_infinite() {
                            let end = Constant::float(elem, value).map_or(value, Constant::as_f64);
                            return self.fail_help(
                                origin,
                                format!("`pad` of {elem}, which has no infinity"),
                                format!("the last number on that side is {end:?}: `pad({end:?})`"),
                            );
                        }
                        same
                    }
                    _ => None,
                };
                let value = same.map_or(value, |own| StaticValue::Scalar(Value::Constant(own), elem));
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
                Ok(StaticValue::View(view))
            }
            Intrinsic::DimOf => {
                let mode = self.expect_index(values.remove(1), origin)?.as_constant();
                let view = self.view(values.remove(0), name, origin)?;
                match mode.and_then(|mode| view.modes.get(usize::try_from(mode).ok()?)) {
                    Some(mode) => Ok(StaticValue::Index(mode.extent.clone())),
                    None => {
                        let rank = view.rank();
                        let help = match rank {
                            0 | 1 => "modes count from 0: its extent is `x.dim(0)`".to_owned(),
                            _ => format!("modes count from 0: `x.dim(0)` to `x.dim({})`", rank - 1),
                        };
                        self.fail_help(origin, format!("a view of rank {rank} has no such mode"), help)
                    }
                }
            }
            Intrinsic::BlockScope | Intrinsic::SystemScope => {
                let mut view = self.written(values.remove(0), name, origin)?;
                view.scope =
                    Some(if intrinsic == Intrinsic::BlockScope { Scope::Block } else { Scope::System });
                Ok(StaticValue::View(view))
            }
            Intrinsic::EvictFirst => self.hinted(values.remove(0), Hint::EvictFirst, origin),
            Intrinsic::EvictLast => self.hinted(values.remove(0), Hint::EvictLast, origin),
            Intrinsic::NoAllocate => self.hinted(values.remove(0), Hint::NoAllocate, origin),
            Intrinsic::Slice => {
                let view = self.view(values.remove(0), name, origin)?;
                let at = self.coordinates(&view, vec![values.remove(0)], &[], origin)?;
                self.slice(&view, &at[0], origin)
            }
            Intrinsic::Bytes => {
                let view = self.view(values.remove(0), name, origin)?;
                self.bytes(&view, origin)
            }
            _ => self.meaningless(name, origin),
        }
    }

    fn slice(&mut self, view: &View, at: &Index, origin: Origin) -> Outcome<StaticValue> {
        if view.rank() < 2 || view.modes[0].lanes != 1 {
            let message = format!("`slice` of a view of rank {}", view.rank());
            return self.fail_help(origin, message, "it takes the first of two modes or more");
        }
        self.not_beyond((view, "slice"), (&[1], &[1]), std::slice::from_ref(at), origin)?;
        let sliced = view.slice(at);
        Ok(StaticValue::View(self.index(origin, sliced)?))
    }

    fn bytes(&mut self, view: &View, origin: Origin) -> Outcome<StaticValue> {
        let elem = self.tables.place(view.place).elem;
        let count = view.modes.iter().try_fold(1i64, |count, mode| {
            count.checked_mul(mode.extent.as_constant()?.checked_mul(mode.lanes)?)
        });
        match count.and_then(|count| count.checked_mul(i64::from(elem.bytes()))) {
            Some(bytes) => Ok(StaticValue::Index(Index::constant(bytes))),
            None => self.fail_help(
                origin,
                "`bytes` of an extent that is not known at compile time",
                "take a `tile` first",
            ),
        }
    }
}
