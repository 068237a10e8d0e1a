//! Accesses with a cache hint, as calls of wrappers. The policies for L2 are created once, at the kernel's start.

use super::cuda_c::Emitter;
use super::expression::Expression;
use super::names::Name;
use super::types;
use crate::program::{Access, Hint, Part, walk};
use std::collections::BTreeSet;

impl Emitter<'_> {
    /// Declares the policies that the kernel's hints need.
    pub(super) fn policies(&mut self) {
        let mut used = BTreeSet::new();
        walk::statements(&self.checked.body, &mut |part| {
            if let Part::Hint(hint @ (Hint::EvictFirst | Hint::EvictLast)) = part {
                used.insert(hint);
            }
        });
        for hint in used {
            let function = format!("policy_{}", hint.name());
            self.device.call(format!("{function}("));
            let name = self.names.declare(Name::Policy(hint), hint.name());
            self.line(&format!("unsigned long long {name} = {function}();"));
        }
    }

    /// What a wrapper takes beside its other arguments: L2's policy, none of a hint to L1.
    pub(super) fn policy(&self, hint: Hint) -> Option<Expression> {
        match hint {
            Hint::EvictFirst | Hint::EvictLast => Some(self.name(Name::Policy(hint))),
            Hint::NoAllocate => None,
        }
    }

    /// Adds the policy of a hint, where there is one; gives what the wrapper's name has more then.
    pub(super) fn with_policy(&self, arguments: &mut Vec<Expression>, hint: Option<Hint>) -> &'static str {
        let policy = hint.and_then(|hint| self.policy(hint));
        let hinted = if policy.is_some() { "_hinted" } else { "" };
        arguments.extend(policy);
        hinted
    }

    /// `load_hinted(address, evict_first)`; of an argument that the kernel does not write as a constant, which other accesses
    /// may pass by.
    pub(super) fn hinted_load(&mut self, address: Expression, access: &Access, hint: Hint) -> Expression {
        let policy = self.policy(hint);
        let function = if policy.is_some() { "load_hinted" } else { "load_no_allocate" };
        let constant = if self.tables.place(access.place).mutable { "" } else { "_constant" };
        let function = format!("{function}{constant}");
        self.device.call(format!("{function}("));
        Expression::call(function, [Some(address), policy].into_iter().flatten().collect())
    }

    /// `store_hinted(address, value, evict_first);`
    pub(super) fn hinted_store(&mut self, address: Expression, value: Expression, hint: Hint) {
        let policy = self.policy(hint);
        let function = if policy.is_some() { "store_hinted" } else { "store_no_allocate" };
        let arguments: Vec<Expression> = [Some(address), Some(value), policy].into_iter().flatten().collect();
        self.wrapper(function, "", &arguments);
    }

    /// `to = from`, as vectors where the accesses are some.
    pub(super) fn moved(&mut self, destination: &Access, source: &Access) {
        let elem = self.tables.place(destination.place).elem;
        let vector = (destination.width > 1).then(|| types::vector(elem, destination.width));
        let from = self.address_of(source, vector, "const ");
        let from = match source.hint {
            Some(hint) => self.hinted_load(from, source, hint),
            None if source.unaligned => self.unaligned_load(source, vector.unwrap_or(types::scalar(elem))),
            None if vector.is_some() => Expression::prefix("*", from),
            None => self.element(source),
        };
        match (destination.hint, vector) {
            (Some(hint), _) => {
                let to = self.address_of(destination, vector, "");
                self.hinted_store(to, from, hint);
            }
            (None, Some(_)) if destination.unaligned => {
                let to = self.address(destination);
                self.wrapper("store_unaligned", "", &[to, from]);
            }
            (None, Some(kind)) => self.set(&format!("{} =", self.stored_vector(destination, kind)), &from),
            (None, None) => self.set(&format!("{} =", self.element(destination)), &from),
        }
    }

    /// `load_unaligned<uint4>(address)`
    fn unaligned_load(&mut self, access: &Access, kind: &str) -> Expression {
        self.device.call("load_unaligned(");
        Expression::call(format!("load_unaligned<{kind}>"), vec![self.address(access)])
    }

    /// The address of an access, as one of vectors where there is a type of vectors.
    fn address_of(&self, access: &Access, vector: Option<&str>, constness: &str) -> Expression {
        let address = self.address(access);
        match vector {
            Some(kind) => Expression::call(format!("reinterpret_cast<{constness}{kind}*>"), vec![address]),
            None => address,
        }
    }

    /// `copy_async_16(shared, global, valid)`
    pub(super) fn copied_async(&mut self, destination: &Access, source: &Access) {
        let bytes = self.tables.place(destination.place).elem.bytes() * destination.width;
        let mut arguments = vec![self.shared_address(destination), self.address(source)];
        arguments.extend(self.mask(&source.mask));
        self.wrapper(&format!("copy_async_{bytes}"), "", &arguments);
    }
}
