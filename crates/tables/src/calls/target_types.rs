//! In which types an INSERT wants what its SELECT reads from outside.
//!
//! Pure. Invariant: a type is wanted only of a column that goes into the table as it is and that the SELECT uses for
//! nothing else, because another type could change what a condition means. Must not know: files, formats.

use std::collections::{BTreeSet, HashMap};

use datafusion::sql::sqlparser::ast::{Expr, Ident, Query, Select, SelectItem, SetExpr};
use formats::omissions_name;
use model::ColumnType;
use stores::WantedTypes;

use crate::calls::file_filters::{name_of, placeholder_of};
use crate::virtual_columns::uses_in;

/// By the placeholder of the call that is all the SELECT reads: the types of the columns it fills. `target` are those
/// columns, in the order of the SELECT; those of `defaults` ask for their default where a cell is NULL.
pub fn of_insert(
    query: &Query,
    target: &[(String, ColumnType)],
    defaults: &BTreeSet<String>,
) -> HashMap<String, WantedTypes> {
    let SetExpr::Select(select) = query.body.as_ref() else { return HashMap::new() };
    let [from] = select.from.as_slice() else { return HashMap::new() };
    let (Some(placeholder), true) = (placeholder_of(&from.relation), from.joins.is_empty()) else {
        return HashMap::new();
    };
    if name_of(&from.relation).is_none() {
        return HashMap::new();
    }
    let wanted = wanted(select, target, defaults, &uses_in(query));
    HashMap::from([(placeholder.to_owned(), wanted)])
}

/// Lets a SELECT over one call tell which cells of these columns its files leave out, behind its own columns.
pub fn ask(query: &mut Query, asked: &HashMap<String, Vec<String>>) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let [from] = select.from.as_slice() else { return };
    let Some(columns) = placeholder_of(&from.relation).and_then(|call| asked.get(call)) else { return };
    let name = |column: &String| Expr::Identifier(Ident::with_quote('`', omissions_name(column)));
    select.projection.extend(columns.iter().map(name).map(SelectItem::UnnamedExpr));
}

fn wanted(
    select: &Select,
    target: &[(String, ColumnType)],
    defaults: &BTreeSet<String>,
    times: &HashMap<String, usize>,
) -> WantedTypes {
    // The only relation there is: a `*` of its name is a `*`.
    if let [SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)] =
        select.projection.as_slice()
    {
        let plain = options.opt_exclude.is_none()
            && options.opt_except.is_none()
            && options.opt_replace.is_none()
            && options.opt_rename.is_none();
        return match plain {
            true => WantedTypes {
                columns: target.to_vec(),
                whole: true,
                used: times.keys().cloned().collect(),
                asked: Vec::new(),
            },
            false => WantedTypes::default(),
        };
    }
    if select.projection.len() != target.len() {
        return WantedTypes::default();
    }
    let as_it_is = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name))
        | SelectItem::ExprWithAlias { expr: Expr::Identifier(name), .. } => Some(name.value.clone()),
        _ => None,
    };
    let mut asked = Vec::new();
    // A cell that is not there must not become the zero of the table's type, nor NULL. Under another name nobody can ask.
    let missing_as_null = |column_type: &ColumnType| match column_type {
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_) => None,
        other => Some(other.clone().nullable()),
    };
    let columns = select.projection.iter().zip(target).filter_map(|(item, (filled, column_type))| {
        let name = as_it_is(item).filter(|name| times.get(name) == Some(&1))?;
        let column_type = match (defaults.contains(filled), item) {
            (true, SelectItem::ExprWithAlias { .. }) => missing_as_null(column_type)?,
            (true, _) => {
                asked.push(name.clone());
                column_type.clone()
            }
            (false, _) => column_type.clone(),
        };
        Some((name, column_type))
    });
    let columns = columns.collect();
    WantedTypes { columns, whole: false, used: Vec::new(), asked }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::Statement;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;
    use sql::PLACEHOLDER_DATABASE as CALLS;

    #[test]
    fn types_of_columns_that_go_in_as_they_are() {
        let target = [("x".to_owned(), ColumnType::UInt8), ("y".to_owned(), ColumnType::String)];
        for (text, shown) in [
            ("select * from S3", "whole x UInt8, y String"),
            ("select a, b from S3", "a UInt8, b String asks b"),
            ("select a, b as c from S3 where d = 1", "a UInt8, b Nullable(String)"),
            ("select a, b from S3 where a = 1", "b String asks b"),
            ("select a, a from S3", ""),
            ("select a + 1, b from S3", "b String asks b"),
            ("select a from S3", ""),
            ("select * from S3 where x = 1", "whole x UInt8, y String but x"),
            ("select s.* from S3 as s", "whole x UInt8, y String"),
            ("select * except (x) from S3", ""),
            ("select a, b from S3 join S3 on true", "none"),
            ("select a, b from S3 union all select 1, 2", "none"),
            ("select a, b from (select * from S3)", "none"),
            ("select a, b from S3 as t (b, a)", "none"),
        ] {
            let text = text.replace("S3", &format!("{CALLS}.s3_0"));
            let parsed = Parser::parse_sql(&GenericDialect {}, &text).unwrap();
            let Some(Statement::Query(query)) = parsed.into_iter().next() else { panic!("no query: {text}") };
            let found = of_insert(&query, &target, &BTreeSet::from(["y".to_owned()]));
            let columns = |wanted: &WantedTypes| {
                let columns: Vec<String> = wanted.columns.iter().map(|(n, t)| format!("{n} {t}")).collect();
                let but = wanted.used.iter().map(|name| format!(" but {name}")).collect::<String>();
                let asks = wanted.asked.iter().map(|name| format!(" asks {name}")).collect::<String>();
                format!("{}{}{but}{asks}", if wanted.whole { "whole " } else { "" }, columns.join(", "))
            };
            assert_eq!(found.get("s3_0").map_or_else(|| "none".to_owned(), columns), shown, "{text}");
        }
    }
}
