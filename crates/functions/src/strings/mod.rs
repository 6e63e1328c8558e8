//! Functions over text, by what they are about.
//!
//! Invariant: functions named UTF8 count characters, all others bytes; a result is always valid UTF-8, so bytes cut
//! out of the middle of a character become U+FFFD.

mod basic;
mod encode;
mod join;
mod part;
mod pattern;
mod readable;
mod replace;
mod search;
mod split;
mod url;

use crate::registry::ScalarFunction;

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = basic::functions();
    out.extend(join::functions());
    out.extend(part::functions());
    out.extend(encode::functions());
    out.extend(search::functions());
    out.extend(replace::functions());
    out.extend(split::functions());
    out.extend(readable::functions());
    out.extend(url::functions());
    out
}
