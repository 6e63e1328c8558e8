//! `system.build_options`: what this program is. Clients look at the version that is claimed; the real one is here.

use functions::call::CLAIMED_VERSION;

use boundary::error::Error;

use super::super::rows::{Columns, RowBuilder};

pub const COLUMNS: &Columns = &[("name", "String"), ("value", "String")];

pub fn fill(rows: &mut RowBuilder) -> Result<(), Error> {
    let mut numbers = CLAIMED_VERSION.split('.');
    let mut next = || numbers.next().unwrap_or("0").to_owned();
    let (major, minor, patch) = (next(), next(), next());
    let profile = if cfg!(debug_assertions) { "Debug" } else { "Release" };
    let options = [
        ("VERSION_FULL", format!("Gristmill {}", env!("CARGO_PKG_VERSION"))),
        ("VERSION_DESCRIBE", format!("v{}", env!("CARGO_PKG_VERSION"))),
        ("VERSION_NAME", "Gristmill".to_owned()),
        ("VERSION_MAJOR", major),
        ("VERSION_MINOR", minor),
        ("VERSION_PATCH", patch),
        ("VERSION_STRING", CLAIMED_VERSION.to_owned()),
        ("GRISTMILL_VERSION", env!("CARGO_PKG_VERSION").to_owned()),
        ("SYSTEM", std::env::consts::OS.to_owned()),
        ("SYSTEM_PROCESSOR", std::env::consts::ARCH.to_owned()),
        ("BUILD_TYPE", profile.to_owned()),
    ];
    for (name, value) in options {
        rows.push([name.into(), value.into()])?;
    }
    Ok(())
}
