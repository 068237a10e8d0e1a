//! Expressions of the body as polynomials and views.

use super::interpreter::{Guard, Interpreter, Value};
use super::polynomial::{Kind, Polynomial};
use crate::elem::Elem;
use crate::intrinsic::Intrinsic;
use crate::ir::{ExprId, ExprKind, Special, TypeRef};

/// Expressions that are looked at; more are given up.
const MAX_STEPS: u32 = 100_000;
/// Symbols and variables.
const MAX_ATOMS: usize = 2000;
/// Calls within calls.
const MAX_CALLS: u32 = 64;

impl Interpreter<'_> {
    pub(super) fn exprs(&mut self, ids: &[ExprId]) -> Vec<Value> {
        ids.iter().map(|id| self.expr(*id)).collect()
    }

    pub(super) fn expr(&mut self, id: ExprId) -> Value {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.atoms.len() > MAX_ATOMS {
            self.given_up = true;
            return Value::Unknown("is too long");
        }
        let kernel = self.kernel;
        match &kernel.expr(id).kind {
            ExprKind::Int(value, _) => Value::Number(Polynomial::constant(*value)),
            ExprKind::Bool(_) | ExprKind::Type(_) | ExprKind::Named(_) | ExprKind::Known(..) => {
                Value::Condition(Guard { edge: [true; 2], ..Guard::default() })
            }
            ExprKind::Float(..) => Value::Unknown("is a float"),
            ExprKind::Local(local) if self.assigned.contains(local) => {
                Value::Unknown("is a variable that the body changes")
            }
            ExprKind::Local(local) => match self.locals.get(local) {
                Some(Value::Number(_)) if self.borrowed.contains(local) => {
                    Value::Unknown("is a variable that the body changes")
                }
                Some(known) => known.clone(),
                None => Value::Unknown("is a variable that the body changes"),
            },
            ExprKind::Parameter(number) => Value::Number(self.atoms.of(Kind::Parameter(*number))),
            ExprKind::Dim(number) => Value::Number(self.dim(*number)),
            ExprKind::Argument(number) => self.argument(*number),
            ExprKind::Special(special, axis) => self.special(*special, *axis),
            ExprKind::Unary(op, operand) => {
                let operand = self.expr(*operand);
                super::operator::unary(*op, operand)
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.expr(*left), self.expr(*right));
                self.binary(*op, left, right)
            }
            ExprKind::Cast(operand, ty) => match (self.expr(*operand), ty) {
                (Value::Number(number), TypeRef::Usize | TypeRef::Isize) => Value::Number(number),
                (Value::Number(number), TypeRef::Elem(Elem::I32 | Elem::U32 | Elem::I64 | Elem::U64)) => {
                    Value::Number(number)
                }
                (Value::Unknown(why), _) => Value::Unknown(why),
                _ => Value::Unknown("is converted from another type"),
            },
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => Value::Parts(self.exprs(parts)),
            ExprKind::Repeat(..) | ExprKind::Element(..) | ExprKind::Len(_) | ExprKind::Field(..) => {
                self.part(id)
            }
            ExprKind::Borrow(place) => match &kernel.expr(*place).kind {
                ExprKind::Index(..) => {
                    self.write(*place);
                    Value::Unknown("is read from memory")
                }
                _ => self.expr(*place),
            },
            ExprKind::Index(view, coordinates) => {
                self.expr(*view);
                self.exprs(coordinates);
                Value::Unknown("is read from memory")
            }
            ExprKind::Intrinsic(word, types, arguments) => {
                let arguments = self.exprs(arguments);
                self.word(*word, types, arguments)
            }
            ExprKind::Call(function, arguments) => {
                let arguments = self.exprs(arguments);
                self.call(*function, arguments)
            }
            ExprKind::Function(function) => Value::Function(*function),
            ExprKind::CallValue(callee, arguments) => {
                let (callee, arguments) = (self.expr(*callee), self.exprs(arguments));
                match callee {
                    Value::Function(function) => self.call(function, arguments),
                    _ => {
                        // It may write what it takes.
                        arguments
                            .into_iter()
                            .filter(|value| matches!(value, Value::View(view) if view.mutable))
                            .for_each(|view| {
                                self.writes(view, Some("is passed to a function that the attribute chooses"))
                            });
                        Value::Unknown("is what a function gives")
                    }
                }
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::If(condition, then, otherwise) => {
                let guard = self.condition(*condition);
                self.under(guard, then);
                self.under(Guard { zero: [false; 3], edge: [guard.edge[1]; 2] }, otherwise);
                Value::Unknown("is chosen by an `if`")
            }
        }
    }

    /// An array, and parts of arrays and tuples.
    fn part(&mut self, id: ExprId) -> Value {
        let kernel = self.kernel;
        match &kernel.expr(id).kind {
            ExprKind::Repeat(value, count) => {
                self.exprs(&[*value, *count]);
                Value::Unknown("is an element of an array")
            }
            ExprKind::Element(array, index) => match (self.expr(*array), self.expr(*index)) {
                (Value::Parts(parts), Value::Number(index)) => {
                    let part = index
                        .as_constant()
                        .and_then(|index| parts.into_iter().nth(usize::try_from(index).ok()?));
                    part.unwrap_or(Value::Unknown("is an element of an array"))
                }
                _ => Value::Unknown("is an element of an array"),
            },
            ExprKind::Len(array) => match self.expr(*array) {
                Value::Parts(parts) => Value::Number(Polynomial::constant(parts.len() as i128)),
                _ => Value::Unknown("is an array's length"),
            },
            ExprKind::Field(operand, number) => match self.expr(*operand) {
                Value::Parts(parts) => {
                    parts.into_iter().nth(*number as usize).unwrap_or(Value::Unknown("is part of a tuple"))
                }
                _ => Value::Unknown("is part of a tuple that the body changes or reads"),
            },
            _ => Value::Unknown("is no part of a value"),
        }
    }

    /// A dimension, or the parameter that binds it.
    fn dim(&mut self, number: u32) -> Polynomial {
        let name = self.kernel.dims.get(number as usize);
        let bound = self.kernel.parameters.iter().position(|parameter| Some(&parameter.name) == name);
        self.atoms.of(bound.map_or(Kind::Dim(number), |bound| Kind::Parameter(bound as u32)))
    }

    fn special(&mut self, special: Special, axis: u32) -> Value {
        let at = axis.min(2) as usize;
        match special {
            Special::ThreadIdx => {
                self.threads.used[at] = true;
                Value::Number(self.atoms.of(Kind::Thread(axis)))
            }
            Special::BlockIdx => {
                self.blocks[at] = true;
                Value::Number(self.atoms.of(Kind::Block(axis)))
            }
            Special::BlockDim => match &self.known.block {
                Some(block) => Value::Number(block[at].clone()),
                None => {
                    self.threads.block_dim = true;
                    Value::Number(self.atoms.of(Kind::BlockDim(axis)))
                }
            },
            Special::GridDim => {
                self.any_grid = Some("it names `grid_dim`, so that its loops take any number of blocks");
                Value::Unknown("depends on `grid_dim`")
            }
        }
    }

    /// A nested function, inlined.
    fn call(&mut self, function: u32, arguments: Vec<Value>) -> Value {
        let Some(called) = self.kernel.functions.get(function as usize) else {
            return Value::Unknown("is what a function gives");
        };
        if self.calls >= MAX_CALLS {
            self.given_up = true;
            return Value::Unknown("is what a function gives");
        }
        for (local, value) in called.parameters.iter().zip(arguments) {
            self.locals.insert(*local, value);
        }
        self.calls += 1;
        let value = self.block(&called.body);
        self.calls -= 1;
        value
    }

    /// A word of the vocabulary that is a count of bytes or a product of symbols.
    pub(super) fn sized(&mut self, word: Intrinsic, types: &[TypeRef]) -> Value {
        match (word, types.first()) {
            (Intrinsic::SizeOf, Some(ty)) => Value::Number(self.atoms.of(Kind::SizeOf(*ty))),
            _ => Value::Unknown("is what a word gives"),
        }
    }
}
