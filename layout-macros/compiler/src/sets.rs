//! The parameter sets of a kernel: the combinations that its attribute lists, and the completion of a set that a
//! launch gives.
//!
//! Law: every set has one value for each parameter, in the attribute's order. A parameter that is an expression over
//! others has that expression's value. A combination is kept only if every `filter` holds.

use super::bind::LaunchArgument;
use super::elem::Elem;
use super::intrinsic::Intrinsic;
use super::ir::{ArgumentKind, BinaryOp, Block, ExprId, ExprKind, Kernel, Parameter, TypeRef, UnaryOp};
use super::math::Math;
use super::origin::{Errors, KernelError, Origin};
use super::params::{ParamSet, ParamValue};

/// The most combinations that filters are evaluated for.
const MAX_COMBINATIONS: usize = 1 << 16;

/// What a parameter set requires of an argument: a launch takes the first listed set whose needs its arguments meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A tensor or a scalar of this element type.
    Elem {
        /// The number of the argument.
        argument: u32,
        /// Its element type.
        elem: Elem,
    },
    /// A tensor with this extent.
    Extent {
        /// The number of the argument.
        argument: u32,
        /// The mode.
        mode: u32,
        /// Its extent.
        value: i64,
    },
}

impl Need {
    /// Whether the arguments of a launch meet it.
    pub fn is_met(self, arguments: &[LaunchArgument<'_>]) -> bool {
        let given = |argument: u32| arguments.get(argument as usize);
        match self {
            Need::Elem { argument, elem } => match given(argument) {
                Some(LaunchArgument::Tensor { elem: found, .. } | LaunchArgument::Scalar(found, _)) => {
                    *found == elem
                }
                _ => false,
            },
            Need::Extent { argument, mode, value } => match given(argument) {
                Some(LaunchArgument::Tensor { shape, .. }) => {
                    shape.get(mode as usize).is_some_and(|found| i64::try_from(*found) == Ok(value))
                }
                _ => false,
            },
        }
    }
}

impl Kernel {
    /// The parameter sets of the attribute: every combination of listed values that passes its filters, the last parameter
    /// fastest. None where [`Kernel::listed`] has errors.
    pub fn parameter_sets(&self) -> Vec<ParamSet> {
        self.listed().unwrap_or_default()
    }

    /// The parameter sets of the attribute.
    ///
    /// # Errors
    /// An expression of the attribute without a value, or filters that no combination passes.
    pub fn listed(&self) -> Result<Vec<ParamSet>, Errors> {
        let lists = self.parameters.iter().filter(|parameter| parameter.computed.is_none());
        let count = lists.clone().map(|parameter| parameter.values.len()).fold(1, usize::saturating_mul);
        if count > MAX_COMBINATIONS {
            let origin = lists.clone().map(|parameter| parameter.origin).next().unwrap_or(Origin(0));
            let message = format!(
                "the attribute's lists make {count} variants, a filter chooses of {MAX_COMBINATIONS}"
            );
            let help =
                Some("list fewer values; other parameter sets can be launched without being listed".into());
            return Err(KernelError { message, help, origin }.into());
        }
        let mut sets = vec![ParamSet::default()];
        for parameter in lists {
            sets = sets
                .into_iter()
                .flat_map(|set| {
                    parameter.values.iter().map(move |value| set.clone().with(&parameter.name, *value))
                })
                .collect();
        }
        let mut listed = Vec::new();
        for set in sets {
            let set = self.computed(&set)?;
            if self.passes(&set)? {
                listed.push(set);
            }
        }
        match self.filter.first() {
            Some(filter) if listed.is_empty() => Err(KernelError {
                message: "the filters let no combination of the lists through".into(),
                help: Some(
                    "a `filter` says which combinations are compiled: `filter(T == bf16 || STAGES < 4)`"
                        .into(),
                ),
                origin: self.origin_of(*filter),
            }
            .into()),
            _ => Ok(listed),
        }
    }

    /// The complete set for a launch with these arguments that asks for the values of `asked`. It is the first listed set
    /// that has these values and whose [`needs`](Kernel::needs) the arguments meet; else the first listed set that has
    /// them; else these values, with the first listed value of every other parameter. A type parameter that is not asked
    /// for is that of the arguments.
    ///
    /// # Errors
    /// A name that the kernel does not have, a value of another kind, one that contradicts an expression of the attribute.
    pub fn choose(&self, asked: &ParamSet, arguments: &[LaunchArgument<'_>]) -> Result<ParamSet, Errors> {
        self.known(asked)?;
        let mut wanted = asked.clone();
        for (number, argument) in self.arguments.iter().enumerate() {
            let (ArgumentKind::Tensor { elem: ty, .. } | ArgumentKind::Scalar(ty)) = &argument.kind;
            let TypeRef::Parameter(ty) = ty else { continue };
            let found = match arguments.get(number) {
                Some(LaunchArgument::Tensor { elem, .. } | LaunchArgument::Scalar(elem, _)) => *elem,
                _ => continue,
            };
            match self.types.get(*ty as usize) {
                Some(name) if wanted.get(name).is_none() => {
                    wanted = wanted.with(name, ParamValue::Type(found))
                }
                _ => {}
            }
        }
        let listed = self.listed()?;
        let has = |set: &&ParamSet| wanted.0.iter().all(|(name, value)| set.get(name) == Some(*value));
        let fits = |set: &&ParamSet| {
            arguments.is_empty() || self.needs(set).iter().all(|need| need.is_met(arguments))
        };
        let chosen = listed.iter().filter(has).find(fits).or_else(|| listed.iter().find(has));
        if let Some(chosen) = chosen {
            return Ok(chosen.clone());
        }
        let own = self.parameters.iter().filter_map(|parameter| {
            let value = wanted.get(&parameter.name).or(parameter.values.first().copied())?;
            Some((parameter.name.clone(), value))
        });
        let whole = self.computed(&ParamSet(own.collect()))?;
        for parameter in self.parameters.iter().filter(|parameter| parameter.computed.is_some()) {
            let (asked, own) = (wanted.get(&parameter.name), whole.get(&parameter.name));
            if let (Some(asked), Some(own)) = (asked, own)
                && asked != own
            {
                let name = &parameter.name;
                return Err(KernelError {
                    message: format!("`{name}` is {own} by the attribute, {asked} was asked for"),
                    help: Some(format!("set what the expression of `{name}` names, and leave `{name}` out")),
                    origin: parameter.origin,
                }
                .into());
            }
        }
        Ok(whole)
    }

    /// The needs of a complete set: element types and static extents of the arguments.
    pub fn needs(&self, set: &ParamSet) -> Vec<Need> {
        let mut needs = Vec::new();
        for (argument, own) in self.arguments.iter().enumerate() {
            let argument = argument as u32;
            let (ArgumentKind::Tensor { elem: ty, .. } | ArgumentKind::Scalar(ty)) = &own.kind;
            let elem = match ty {
                TypeRef::Elem(elem) => Some(*elem),
                TypeRef::Parameter(number) => {
                    match self.types.get(*number as usize).and_then(|ty| set.get(ty)) {
                        Some(ParamValue::Type(elem)) => Some(elem),
                        _ => None,
                    }
                }
                TypeRef::Usize | TypeRef::Isize => None,
            };
            needs.extend(elem.map(|elem| Need::Elem { argument, elem }));
            let ArgumentKind::Tensor { extents, .. } = &own.kind else { continue };
            for (mode, extent) in extents.iter().enumerate() {
                // One without a value is known at launch.
                if let Ok(ParamValue::Int(value)) = self.constant(*extent, set) {
                    needs.push(Need::Extent { argument, mode: mode as u32, value });
                }
            }
        }
        needs
    }

    /// Refuses a set with names that the kernel does not have, or values of another kind.
    fn known(&self, set: &ParamSet) -> Result<(), Errors> {
        let place = self.parameters.first().map_or(Origin(0), |parameter| parameter.origin);
        let mut unknown = Vec::new();
        for (name, value) in &set.0 {
            let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == *name) else {
                unknown.push(format!("`{name}`"));
                continue;
            };
            let own = parameter.values.first();
            if own.is_some_and(|own| std::mem::discriminant(own) != std::mem::discriminant(value)) {
                return Err(KernelError {
                    message: format!("`{name}` is {}, and {value} is {}", kind(own), kind(Some(value))),
                    help: None,
                    origin: parameter.origin,
                }
                .into());
            }
        }
        for (name, value) in &set.0 {
            let ParamValue::Function(function) = value else { continue };
            if self.function(function).is_none() {
                let names: Vec<String> = self.functions.iter().map(|own| format!("`{}`", own.name)).collect();
                let message =
                    format!("`{name}` is `{function}`, and the kernel has no function of that name");
                let help = Some(format!("its functions are {}", names.join(", ")));
                return Err(KernelError { message, help, origin: place }.into());
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let names: Vec<String> =
            self.parameters.iter().map(|parameter| format!("`{}`", parameter.name)).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let message = format!("the kernel has no parameter {}", unknown.join(", "));
        Err(KernelError { message, help: Some(format!("its parameters are {known}")), origin: place }.into())
    }

    /// The number of the function that a parameter names: of two functions the outer one comes first.
    pub(super) fn function(&self, name: &str) -> Option<u32> {
        self.functions.iter().position(|own| own.name == name).map(|number| number as u32)
    }

    /// Refuses an incomplete set: unknown names, and all parameters without a value at once.
    pub(super) fn whole(&self, set: &ParamSet) -> Result<(), Errors> {
        self.known(set)?;
        let open = self.parameters.iter().filter(|parameter| set.get(&parameter.name).is_none());
        let names: Vec<String> = open.clone().map(|parameter| format!("`{}`", parameter.name)).collect();
        match open.clone().next() {
            None => Ok(()),
            Some(first) => Err(KernelError {
                message: format!("the parameter set has no value for {}", names.join(", ")),
                help: Some("`Kernel::choose` takes what is left out from the attribute".into()),
                origin: first.origin,
            }
            .into()),
        }
    }

    /// The set with the parameters that are expressions over others, in the attribute's order.
    fn computed(&self, set: &ParamSet) -> Result<ParamSet, Errors> {
        let mut known = set.clone();
        for Parameter { name, computed, .. } in &self.parameters {
            if let Some(id) = computed {
                let value = self.constant(*id, &known)?;
                known = known.with(name, value);
            }
        }
        let values = self.parameters.iter().filter_map(|own| Some((own.name.clone(), known.get(&own.name)?)));
        Ok(ParamSet(values.collect()))
    }

    fn passes(&self, set: &ParamSet) -> Result<bool, Errors> {
        for filter in &self.filter {
            match self.constant(*filter, set)? {
                ParamValue::Bool(true) => {}
                ParamValue::Bool(false) => return Ok(false),
                other => {
                    let message = format!("a filter is a condition, not {}", kind(Some(&other)));
                    let help = Some("compare parameters: `filter(T == bf16 || STAGES < 4)`".into());
                    return Err(KernelError { message, help, origin: self.origin_of(*filter) }.into());
                }
            }
        }
        Ok(true)
    }

    /// The value of an expression over parameters, for a set.
    ///
    /// # Errors
    /// Where it has none: a value known only at launch, an overflow, a division by zero, operands of wrong kinds.
    pub fn constant(&self, id: ExprId, set: &ParamSet) -> Result<ParamValue, KernelError> {
        self.constant_before(u32::MAX, id, set)
    }

    /// The value of an expression that comes before number `whole` of the arena. In a kernel that is not valid its parts
    /// may come later, or be missing.
    fn constant_before(&self, whole: u32, id: ExprId, set: &ParamSet) -> Result<ParamValue, KernelError> {
        let Some(expr) = self.exprs.get(id.0 as usize).filter(|_| id.0 < whole) else {
            let message =
                "the kernel does not hold together: an expression has a part that is not there".into();
            return Err(KernelError { message, help: None, origin: Origin(0) });
        };
        let fail = |message: String, help: Option<&str>| {
            Err(KernelError { message, help: help.map(str::to_owned), origin: expr.origin })
        };
        let open = |what: &str| fail(format!("{what} has no value in the attribute"), Some(VALUES));
        match &expr.kind {
            ExprKind::Int(value, None | Some(TypeRef::Usize | TypeRef::Isize)) => match i64::try_from(*value)
            {
                Ok(value) => Ok(ParamValue::Int(value)),
                Err(_) => fail(format!("{value} is beyond 64 bits"), None),
            },
            ExprKind::Bool(value) => Ok(ParamValue::Bool(*value)),
            ExprKind::Type(elem) => Ok(ParamValue::Type(*elem)),
            ExprKind::Named(function) => Ok(ParamValue::Function(function)),
            ExprKind::Parameter(number) => {
                let name = self.parameters.get(*number as usize).map_or("", |parameter| &parameter.name);
                match set.get(name) {
                    Some(value) => Ok(value),
                    None => fail(
                        format!("`{name}` has no value here"),
                        Some(
                            "an expression over parameters names parameters with lists, and expressions that precede it",
                        ),
                    ),
                }
            }
            ExprKind::Dim(number) => {
                let name = self.dims.get(*number as usize).map_or("", String::as_str);
                match set.get(name) {
                    Some(value) => Ok(value),
                    None => fail(
                        format!("`{name}` is known at launch, and this is needed before"),
                        Some("a condition on dimensions is `require(..)`, or `variant_if(..)`"),
                    ),
                }
            }
            ExprKind::Unary(op, operand) => match (op, self.constant_before(id.0, *operand, set)?) {
                (UnaryOp::Neg, ParamValue::Int(value)) if value != i64::MIN => Ok(ParamValue::Int(-value)),
                (UnaryOp::Not, ParamValue::Bool(value)) => Ok(ParamValue::Bool(!value)),
                (_, other) => fail(format!("this operator does not apply to {}", kind(Some(&other))), None),
            },
            ExprKind::Binary(op, left, right) => {
                let left = self.constant_before(id.0, *left, set)?;
                match (op, &left) {
                    (BinaryOp::And, ParamValue::Bool(false)) | (BinaryOp::Or, ParamValue::Bool(true)) => {
                        return Ok(left);
                    }
                    _ => {}
                }
                let right = self.constant_before(id.0, *right, set)?;
                match binary(*op, left, right) {
                    Some(value) => Ok(value),
                    None => fail(format!("`{left} {} {right}` has no value", op.symbol()), None),
                }
            }
            ExprKind::Cast(operand, TypeRef::Usize | TypeRef::Isize) => {
                self.constant_before(id.0, *operand, set)
            }
            ExprKind::If(condition, then, otherwise) => match self.constant_before(id.0, *condition, set)? {
                ParamValue::Bool(true) => self.constant_block(id.0, then, expr.origin, set),
                ParamValue::Bool(false) => self.constant_block(id.0, otherwise, expr.origin, set),
                other => fail(format!("a condition is a truth value, not {}", kind(Some(&other))), None),
            },
            ExprKind::Block(block) => self.constant_block(id.0, block, expr.origin, set),
            ExprKind::Intrinsic(intrinsic, types, arguments) => {
                let values = arguments
                    .iter()
                    .map(|part| self.constant_before(id.0, *part, set))
                    .collect::<Result<Vec<_>, _>>()?;
                self.constant_word(*intrinsic, types, &values, set).or_else(|what| open(&what))
            }
            ExprKind::Int(..) | ExprKind::Float(..) | ExprKind::Known(..) => {
                open("a number of an element type")
            }
            ExprKind::Local(_)
            | ExprKind::Argument(_)
            | ExprKind::Special(..)
            | ExprKind::Cast(..)
            | ExprKind::Tuple(_)
            | ExprKind::Array(_)
            | ExprKind::Repeat(..)
            | ExprKind::Element(..)
            | ExprKind::Field(..)
            | ExprKind::Borrow(_)
            | ExprKind::Len(_)
            | ExprKind::Index(..)
            | ExprKind::Function(_)
            | ExprKind::CallValue(..)
            | ExprKind::Call(..) => open("this"),
        }
    }

    /// A word of numbers and types that are known; what has no value, where it has none.
    fn constant_word(
        &self,
        word: Intrinsic,
        types: &[TypeRef],
        values: &[ParamValue],
        set: &ParamSet,
    ) -> Result<ParamValue, String> {
        let value = match (word, types, values) {
            (Intrinsic::Math(Math::Min), _, [ParamValue::Int(a), ParamValue::Int(b)]) => *a.min(b),
            (Intrinsic::Math(Math::Max), _, [ParamValue::Int(a), ParamValue::Int(b)]) => *a.max(b),
            (Intrinsic::DivCeil, _, [ParamValue::Int(a), ParamValue::Int(b)]) if *a >= 0 && *b > 0 => {
                a / b + i64::from(a % b != 0)
            }
            (Intrinsic::SizeOf, [TypeRef::Elem(elem)], _) => i64::from(elem.bytes()),
            (Intrinsic::SizeOf, [TypeRef::Parameter(number)], _) => {
                match self.types.get(*number as usize).and_then(|name| set.get(name)) {
                    Some(ParamValue::Type(elem)) => i64::from(elem.bytes()),
                    _ => return Err("this type".into()),
                }
            }
            _ => return Err(format!("`{}` of these", word.name())),
        };
        Ok(ParamValue::Int(value))
    }

    /// Where an expression is.
    fn origin_of(&self, id: ExprId) -> Origin {
        self.exprs.get(id.0 as usize).map_or(Origin(0), |expr| expr.origin)
    }

    fn constant_block(
        &self,
        whole: u32,
        block: &Block,
        origin: Origin,
        set: &ParamSet,
    ) -> Result<ParamValue, KernelError> {
        match (block.value, block.statements.is_empty()) {
            (Some(value), true) => self.constant_before(whole, value, set),
            _ => {
                let message = "this has no value in the attribute".into();
                Err(KernelError { message, help: Some(VALUES.into()), origin })
            }
        }
    }
}

const VALUES: &str = "write it of numbers, truth values, element types, other parameters, `if`, `div_ceil`, `min`, `max` and \
                      `size_of`";

fn kind(value: Option<&ParamValue>) -> &'static str {
    match value {
        Some(ParamValue::Int(_)) => "an integer",
        Some(ParamValue::Bool(_)) => "a truth value",
        Some(ParamValue::Type(_)) => "an element type",
        Some(ParamValue::Function(_)) => "a function",
        None => "nothing",
    }
}

/// `None` for an overflow, a division by zero, or operands of other kinds than the operator takes.
fn binary(op: BinaryOp, left: ParamValue, right: ParamValue) -> Option<ParamValue> {
    use BinaryOp as B;
    use ParamValue::{Bool, Int};
    Some(match (op, left, right) {
        (B::Eq, a, b) if std::mem::discriminant(&a) == std::mem::discriminant(&b) => Bool(a == b),
        (B::Ne, a, b) if std::mem::discriminant(&a) == std::mem::discriminant(&b) => Bool(a != b),
        (B::And | B::BitAnd, Bool(a), Bool(b)) => Bool(a && b),
        (B::Or | B::BitOr, Bool(a), Bool(b)) => Bool(a || b),
        (B::BitXor, Bool(a), Bool(b)) => Bool(a != b),
        (op, Int(a), Int(b)) => match op {
            B::Add => Int(a.checked_add(b)?),
            B::Sub => Int(a.checked_sub(b)?),
            B::Mul => Int(a.checked_mul(b)?),
            B::Div => Int(a.checked_div(b)?),
            B::Rem => Int(a.checked_rem(b)?),
            B::Shl => Int(a.checked_mul(1i64.checked_shl(u32::try_from(b).ok().filter(|b| *b < 63)?)?)?),
            B::Shr => Int(a.checked_shr(u32::try_from(b).ok()?)?),
            B::BitAnd => Int(a & b),
            B::BitOr => Int(a | b),
            B::BitXor => Int(a ^ b),
            B::Lt => Bool(a < b),
            B::Le => Bool(a <= b),
            B::Gt => Bool(a > b),
            B::Ge => Bool(a >= b),
            B::Eq | B::Ne | B::And | B::Or => return None,
        },
        _ => return None,
    })
}
