//! `dateTrunc` with the types that it gave in older versions (`function_date_trunc_return_type_behavior = 1`).
//!
//! Invariant: only the type of the result differs, which then holds fewer years. Must not know: what is truncated.

use sql::dialect::text_of;
use sqlparser::ast::Expr;

/// The function, by its names in lower case.
const NAMES: &[&str] = &["datetrunc", "date_trunc"];

/// The conversion of the result of this call; none of what has fractions of seconds.
pub(crate) fn narrowed(name: &str, args: &[Expr]) -> Option<&'static str> {
    let unit = args.first().filter(|_| NAMES.contains(&name)).and_then(text_of)?;
    match unit.to_ascii_lowercase().as_str() {
        "year" | "quarter" | "month" | "week" => Some("toDate"),
        "day" | "hour" | "minute" | "second" => Some("toDateTime"),
        _ => None,
    }
}
