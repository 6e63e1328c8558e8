//! `system.users`: the one who asks. Who else may come in is the door's to know.

use super::SystemTable;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("id", "UUID"),
        ("storage", "String"),
        ("auth_type", "Array(String)"),
        ("auth_params", "Array(String)"),
        ("host_ip", "Array(String)"),
        ("host_names", "Array(String)"),
        ("host_names_regexp", "Array(String)"),
        ("host_names_like", "Array(String)"),
        ("default_roles_all", "UInt8"),
        ("default_roles_list", "Array(String)"),
        ("default_roles_except", "Array(String)"),
        ("grantees_any", "UInt8"),
        ("grantees_list", "Array(String)"),
        ("grantees_except", "Array(String)"),
        ("default_database", "String"),
    ],
    fill: |_, execution, rows| {
        rows.push_some([
            ("name", execution.user.to_string().into()),
            ("storage", "configuration".into()),
            ("default_roles_all", true.into()),
            ("grantees_any", true.into()),
        ])
    },
};
