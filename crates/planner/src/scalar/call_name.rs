//! The names of calls, by which DataFusion's plans know their columns.
//!
//! DataFusion writes out an expression for each node above it, once for each time that somebody asks for a type: planning a
//! chain of n calls took the fourth power of n. A large call is named by a digest instead, which is made of the digests of
//! its arguments, and keeps it.
//! Invariant: calls whose written names are equal have equal names, and others, by 128 bits, other ones; so a cast is in
//! no name, as in DataFusion. A call whose arguments a rule has replaced keeps its name, as columns do then.
//! Must not know: what users see, which are the dialect's labels.

use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hasher};

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, TryCast};

use super::adapter::kept_digest;

/// Nodes of a call that is written out.
const WRITTEN_NODES_MAX: usize = 24;
/// Bytes of a text in it.
const WRITTEN_TEXT_MAX: usize = 256;

/// What stands for a large call.
pub(crate) type Digest = u128;

/// The name of a call of `function`.
///
/// # Errors
/// An argument has no name.
pub(crate) fn call_name(function: &str, args: &[Expr]) -> Result<String> {
    match digest_of_large(function, args)? {
        Some(digest) => Ok(short_name(function, digest)),
        None => {
            let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
            Ok(format!("{function}({})", args.join(",")))
        }
    }
}

/// The name of a call whose digest is known.
pub(crate) fn short_name(function: &str, digest: Digest) -> String {
    format!("{function}(#{digest:032x})")
}

/// The digest of a call that is too large to be written out.
pub(crate) fn digest_of_large(function: &str, args: &[Expr]) -> Result<Option<Digest>> {
    if is_small(args)? { Ok(None) } else { of_call(&format!("{function}()"), args).map(Some) }
}

fn is_small(args: &[Expr]) -> Result<bool> {
    let (mut nodes, mut is_small) = (0, true);
    for arg in args {
        arg.apply(|expr| {
            nodes += 1;
            let text = if let Expr::Literal(value, _) = expr { value.try_as_str().flatten() } else { None };
            is_small = nodes <= WRITTEN_NODES_MAX && text.is_none_or(|text| text.len() <= WRITTEN_TEXT_MAX);
            Ok(if is_small { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        })?;
        if !is_small {
            break;
        }
    }
    Ok(is_small)
}

/// `empty`: the name of the function without arguments, in which a lambda's body stands.
fn of_call(empty: &str, args: &[Expr]) -> Result<Digest> {
    let mut sum = Sum::new();
    sum.write_str(empty)?;
    for arg in args {
        sum.bytes(&of_expr(arg)?.to_le_bytes());
    }
    Ok(sum.finish())
}

fn of_expr(expr: &Expr) -> Result<Digest> {
    let mut sum = Sum::new();
    match expr {
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => return of_expr(expr),
        Expr::ScalarFunction(call) => {
            return match kept_digest(&call.func) {
                Some(digest) => Ok(digest),
                None => of_call(&call.func.schema_name(&[])?, &call.args),
            };
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            write!(sum, " {op} ")?;
            sum.bytes(&of_expr(left)?.to_le_bytes());
            sum.bytes(&of_expr(right)?.to_le_bytes());
        }
        Expr::Literal(value, _) if value.try_as_str().flatten().is_some() => {
            let text = value.try_as_str().flatten().unwrap_or_default();
            write!(sum, "{}:", value.data_type())?;
            sum.bytes(text.as_bytes());
        }
        other => write!(sum, "{}", other.schema_name())?,
    }
    Ok(sum.finish())
}

/// Two sums of 64 bits over the same bytes, with other beginnings.
struct Sum {
    first: DefaultHasher,
    second: DefaultHasher,
}

impl Sum {
    fn new() -> Self {
        let (first, mut second) = (DefaultHasher::new(), DefaultHasher::new());
        second.write_u8(1);
        Self { first, second }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.first.write(bytes);
        self.second.write(bytes);
    }

    fn finish(&self) -> Digest {
        Digest::from(self.first.finish()) << 64 | Digest::from(self.second.finish())
    }
}

impl fmt::Write for Sum {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::DataType;
    use datafusion::logical_expr::{cast, col, lit};

    use super::*;
    use crate::scalar::adapter::call;

    fn chain(links: usize, end: Expr) -> Expr {
        (0..links).fold(end, |inner, _| call("lower", vec![inner]).unwrap())
    }

    fn name(expr: &Expr) -> String {
        expr.schema_name().to_string()
    }

    #[test]
    fn small_calls_are_written_out() {
        assert_eq!(name(&chain(2, col("a"))), "lower(lower(a))");
    }

    #[test]
    fn large_calls_have_short_names_of_their_own() {
        assert!(name(&chain(200, col("a"))).len() < 50);
        assert_eq!(name(&chain(200, col("a"))), name(&chain(200, col("a"))));
        assert_ne!(name(&chain(200, col("a"))), name(&chain(200, col("b"))));
        assert_ne!(name(&chain(200, col("a"))), name(&chain(201, col("a"))));
        assert_ne!(name(&chain(1, lit("x".repeat(1000)))), name(&chain(1, lit("x".repeat(1001)))));
        let sum = |end: Expr| chain(1, (0..100).fold(end, |sum, _| sum + lit(1)));
        assert_ne!(name(&sum(col("a"))), name(&sum(col("b"))));
    }

    #[test]
    fn a_call_that_keeps_its_digest_is_named_as_one_that_does_not() {
        let plain = |links: usize| {
            let lower = crate::scalar::adapter::lookup("lower").unwrap();
            (0..links).fold(col("a"), |inner, _| lower.call(vec![inner]))
        };
        for links in [1, 20, 30, 31, 100] {
            assert_eq!(name(&plain(links)), name(&chain(links, col("a"))), "{links}");
            assert_eq!(plain(links), chain(links, col("a")));
        }
    }

    #[test]
    fn a_cast_is_in_no_name() {
        let plain = chain(200, col("a"));
        assert_eq!(name(&chain(200, cast(col("a"), DataType::Int8))), name(&plain));
        assert_eq!(name(&chain(1, cast(col("a"), DataType::Int8))), name(&chain(1, col("a"))));
    }
}
