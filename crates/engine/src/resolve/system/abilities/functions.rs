//! `system.functions`.

use super::SystemTable;
use ::tables::system_rows::rows::Cell;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("is_aggregate", "UInt8"),
        ("case_insensitive", "UInt8"),
        ("alias_to", "String"),
        ("create_query", "String"),
        ("origin", "Enum8('System' = 0, 'SQLUserDefined' = 1, 'ExecutableUserDefined' = 2)"),
        ("description", "String"),
        ("syntax", "String"),
        ("arguments", "String"),
        ("parameters", "String"),
        ("returned_value", "String"),
        ("examples", "String"),
        ("introduced_in", "String"),
        ("categories", "String"),
    ],
    fill: |_, execution, rows| {
        for function in planner::documented_functions() {
            rows.push_some([
                ("name", function.name.into()),
                ("is_aggregate", function.is_aggregate.into()),
                ("case_insensitive", function.case_insensitive.into()),
                ("alias_to", function.alias_to.into()),
                ("origin", Cell::Int(0)),
                ("description", function.description.into()),
                ("syntax", function.syntax.into()),
                ("examples", function.example.into()),
            ])?;
        }
        for (name, lambda) in execution.snapshot.state().functions().iter() {
            let shown = sql::parse_expression(lambda).map(|lambda| sql::formatted_expression(&lambda));
            let shown = shown.unwrap_or_else(|_| lambda.to_string());
            let query = format!("CREATE FUNCTION {} AS {shown}", sql::escape::quote_name(name));
            rows.push_some([
                ("name", name.to_string().into()),
                ("create_query", query.into()),
                ("origin", Cell::Int(1)),
            ])?;
        }
        Ok(())
    },
};
