//! `system.time_zones`: the zones that a DateTime can be shown in.

use super::SystemTable;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[("time_zone", "String")],
    fill: |_, _, rows| {
        for zone in chrono_tz::TZ_VARIANTS {
            rows.push([zone.name().into()])?;
        }
        Ok(())
    },
};
