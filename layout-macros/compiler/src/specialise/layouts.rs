//! The meaning of the words for layouts, whose values are layouts.

use super::datum::{LayoutDatum, StaticValue};
use super::evaluator::{Evaluator, Outcome};
use super::vocabulary::Call;
use crate::intrinsic::Intrinsic;
use crate::origin::Origin;
use layout_core::{IntTuple, Layout, Swizzle};

impl Evaluator<'_> {
    pub(super) fn layout_word(&mut self, call: Call<'_>) -> Outcome<StaticValue> {
        let Call { word: intrinsic, mut values, origin, .. } = call;
        let name = intrinsic.name();
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
                        Ok(StaticValue::Layout(LayoutDatum { layout, swizzle: None, swizzle_bytes: None }))
                    }
                    Err(error) => self.fail(origin, error.to_string()),
                }
            }
            Intrinsic::Swizzle => self.swizzle(values, origin),
            Intrinsic::SwizzleBytes => {
                let bytes = values.remove(1);
                self.swizzle_bytes(values.remove(0), bytes, origin)
            }
            _ => self.meaningless(name, origin),
        }
    }

    pub(super) fn compact(
        &mut self,
        shape: Vec<i64>,
        row_major: bool,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let shape = IntTuple::flat(shape);
        let layout = if row_major { Layout::row_major(shape) } else { Layout::col_major(shape) };
        match layout {
            Ok(layout) => Ok(StaticValue::Layout(LayoutDatum { layout, swizzle: None, swizzle_bytes: None })),
            Err(error) => self.fail(origin, error.to_string()),
        }
    }

    fn swizzle(&mut self, values: Vec<StaticValue>, origin: Origin) -> Outcome<StaticValue> {
        let mut values = values.into_iter();
        let Some(StaticValue::Layout(mut layout)) = values.next() else {
            return self.fail(origin, "`swizzle` applies to a layout");
        };
        self.not_swizzled(&layout, origin)?;
        let mut parts = Vec::new();
        for value in values {
            let part = self.expect_index(value, origin)?.as_constant().and_then(|v| u32::try_from(v).ok());
            match part.filter(|part| *part <= 16) {
                Some(part) => parts.push(part),
                None => {
                    return self.fail(origin, "bits, base and shift of `swizzle` are numbers from 0 to 16");
                }
            }
        }
        let swizzle = Swizzle::new(parts[0], parts[1], parts[2] as i32);
        match swizzle {
            Ok(swizzle) => layout.swizzle = Some(swizzle),
            Err(error) => {
                return self.fail_help(
                    origin,
                    error.to_string(),
                    "128-byte swizzle of f32: `swizzle(3, 2, 3)`",
                );
            }
        }
        Ok(StaticValue::Layout(layout))
    }

    /// Of two swizzles one would be lost.
    fn not_swizzled(&mut self, layout: &LayoutDatum, origin: Origin) -> Outcome<()> {
        match layout.swizzle.is_some() || layout.swizzle_bytes.is_some() {
            true => self.fail_help(
                origin,
                format!("the layout {} is swizzled already", layout.layout),
                "a layout has one swizzle: write it once, behind the shape",
            ),
            false => Ok(()),
        }
    }

    fn swizzle_bytes(
        &mut self,
        layout: StaticValue,
        bytes: StaticValue,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let StaticValue::Layout(layout) = layout else {
            return self.fail(origin, "`swizzle_bytes` applies to a layout");
        };
        self.not_swizzled(&layout, origin)?;
        let bytes = self.number(bytes, 128, "the bytes of a swizzle", origin)?;
        if !matches!(bytes, 32 | 64 | 128) {
            return self.fail(origin, format!("a swizzle over {bytes} bytes; there are 32, 64 and 128"));
        }
        Ok(StaticValue::Layout(LayoutDatum { swizzle_bytes: Some(bytes), ..layout }))
    }
}
