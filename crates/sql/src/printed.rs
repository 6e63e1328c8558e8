//! An AST as text that reads back as the same AST.
//!
//! sqlparser prints the value of a literal as it is, and our literals have backslash escapes: `'C:\\new'` would come out
//! as `'C:\new'`, with a line end in it. Invariant: `parse(&printed(ast))` is `ast`, spans aside. Must not know: what the
//! text is for.

use std::fmt::Display;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Value, ValueWithSpan, VisitMut, VisitorMut};

use crate::escape::{always_quote_name, quote_text};

/// Text of a query or an expression, for whoever parses or compares it later.
pub fn printed<T: VisitMut + Clone + Display>(ast: &T) -> String {
    let mut escaped = ast.clone();
    // It never breaks off.
    let _ = escaped.visit(&mut Escaping);
    escaped.to_string()
}

/// Puts literals and names that need escapes into what is printed as it is.
struct Escaping;

impl VisitorMut for Escaping {
    type Break = ();

    fn pre_visit_value(&mut self, literal: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::SingleQuotedString(text) = &literal.value {
            literal.value = Value::Placeholder(quote_text(text));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(name) => escape_name(name),
            Expr::CompoundIdentifier(names) => names.iter_mut().for_each(escape_name),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn escape_name(name: &mut Ident) {
    if name.quote_style.is_some() && name.value.contains(['\\', '`', '"', '\n', '\r', '\t', '\0']) {
        *name = Ident::new(always_quote_name(&name.value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_expression;

    #[test]
    fn what_is_printed_reads_back_as_it_was() {
        for text in [
            r"'\\'",
            r"'C:\\new'",
            r"concat('it\'s', 'a''b', '100\%', '\n\t\0')",
            r"a LIKE '%\\%' AND b IN ('\\', 'x')",
            r"[('\\', 1)]",
        ] {
            let once = parse_expression(text).unwrap();
            let again = parse_expression(&printed(&once)).unwrap();
            assert_eq!(again, once, "{text} was printed as {}", printed(&once));
        }
        assert_eq!(printed(&parse_expression(r"'C:\\new'").unwrap()), r"'C:\\new'");
    }
}
