//! `%M` in the formats of times where it is the minute (`formatdatetime_parsedatetime_m_is_month_name = 0`).
//!
//! Invariant: no other part of a format changes. Must not know: what the other parts mean.

use sql::dialect::{text, text_of};
use sql::{Result, SqlError};
use sqlparser::ast::Expr;

/// Functions whose second argument is a format in MySQL's words, in lower case.
const TAKE_FORMATS: &[&str] = &[
    "formatdatetime",
    "date_format",
    "from_unixtime",
    "fromunixtimestamp",
    "parsedatetime",
    "parsedatetimeornull",
    "parsedatetimeorzero",
    "parsedatetime64",
    "parsedatetime64ornull",
    "parsedatetime64orzero",
    "str_to_date",
];

/// Whether a function takes such a format, by its name in lower case.
pub(crate) fn takes_format(name: &str) -> bool {
    TAKE_FORMATS.contains(&name)
}

/// The format with `%i` for `%M`.
///
/// # Errors
/// The format is no constant.
pub(crate) fn with_minutes(format: &Expr) -> Result<Expr> {
    let Some(format) = text_of(format) else {
        return Err(SqlError::not_implemented(
            "formatdatetime_parsedatetime_m_is_month_name = 0 with a format that is no constant",
        ));
    };
    let mut out = String::with_capacity(format.len());
    let mut chars = format.chars();
    while let Some(char) = chars.next() {
        out.push(char);
        if char == '%' {
            out.extend(chars.next().map(|part| if part == 'M' { 'i' } else { part }));
        }
    }
    Ok(text(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_written_by_its_other_letter() {
        let shown = |format: &str| text_of(&with_minutes(&text(format)).unwrap()).map(str::to_owned).unwrap();
        assert_eq!(shown("%H:%M %%M %"), "%H:%i %%M %");
    }
}
