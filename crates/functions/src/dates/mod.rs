//! Functions of dates and times.
//!
//! Invariant: parts and starts are those of the wall clock in the zone of the argument's type, of an explicit zone
//! argument, or of the session, in the order explicit, type, session.

mod local;
mod add;
mod diff;
mod format;
mod joda;
mod read;
mod parts;
mod start;
mod interval_start;
mod make;
mod change;
mod slots;
mod ids;
mod parse;

use crate::kernel::registry::ScalarFunction;

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = parts::functions();
    out.extend(start::functions());
    out.extend(interval_start::functions());
    out.extend(add::functions());
    out.extend(diff::functions());
    out.extend(format::functions());
    out.extend(joda::functions());
    out.extend(read::functions());
    out.extend(make::functions());
    out.extend(change::functions());
    out.extend(slots::functions());
    out.extend(ids::functions());
    out.extend(parse::functions());
    out
}
