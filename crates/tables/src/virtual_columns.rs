//! Columns that are no part of `*`: `_path`, `_file`, `_size`, `_time`, `_etag`, `_tags`, `_headers` of sources, partitions
//! that a structure leaves out, MATERIALIZED ones of tables.
//!
//! Invariant: a query that names no virtual column sees sources exactly as wide as their files.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{ExcludeSelectItem, ObjectName};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, VisitMut, VisitorMut,
    WildcardAdditionalOptions, visit_expressions,
};

/// How often a query names what may be a column.
pub fn uses_in(query: &Query) -> HashMap<String, usize> {
    let mut used: HashMap<String, usize> = HashMap::new();
    let _ = visit_expressions(query, |expression| {
        let name = match expression {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        if let Some(name) = name {
            *used.entry(name.value.clone()).or_default() += 1;
        }
        ControlFlow::<()>::Continue(())
    });
    used
}

/// Everything a query names that may be a column.
pub fn names_in(query: &Query) -> BTreeSet<String> {
    uses_in(query).into_keys().collect()
}

/// Names the columns that `*` leaves out of a table.
struct Hide<F> {
    hidden_of: F,
}

impl<F: Fn(&ObjectName) -> Vec<String>> VisitorMut for Hide<F> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.hide_in_body(&mut query.body);
        ControlFlow::Continue(())
    }
}

impl<F: Fn(&ObjectName) -> Vec<String>> Hide<F> {
    fn hide_in_body(&self, body: &mut SetExpr) {
        match body {
            SetExpr::Select(select) => self.hide_in(select),
            SetExpr::SetOperation { left, right, .. } => {
                self.hide_in_body(left);
                self.hide_in_body(right);
            }
            // A query in parentheses is visited by itself.
            _ => {}
        }
    }

    fn hide_in(&self, select: &mut Select) {
        let mut tables = Tables { named: Vec::new(), are_all: true };
        select.from.iter().for_each(|from| tables.add(from));
        let with_hidden = |(name, qualifier): (&ObjectName, ObjectName)| (qualifier, (self.hidden_of)(name));
        let are_all = tables.are_all;
        let hidden: Vec<(ObjectName, Vec<String>)> = tables.named.into_iter().map(with_hidden).collect();
        if hidden.iter().all(|(_, names)| names.is_empty()) {
            return;
        }
        for item in std::mem::take(&mut select.projection) {
            match item {
                // Two tables may hide columns of one name, and one what another shows.
                SelectItem::Wildcard(options) if are_all && hidden.len() > 1 && is_plain(&options) => {
                    select.projection.extend(hidden.iter().map(|(table, names)| {
                        let mut options = WildcardAdditionalOptions::default();
                        exclude(&mut options, names);
                        let kind = SelectItemQualifiedWildcardKind::ObjectName(table.clone());
                        SelectItem::QualifiedWildcard(kind, options)
                    }));
                }
                SelectItem::Wildcard(mut options) => {
                    hidden.iter().for_each(|(_, names)| exclude(&mut options, names));
                    select.projection.push(SelectItem::Wildcard(options));
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(table),
                    mut options,
                ) => {
                    let of_table = hidden.iter().filter(|(known, _)| parts_of(known).1 == parts_of(&table).1);
                    of_table.for_each(|(_, names)| exclude(&mut options, names));
                    let kind = SelectItemQualifiedWildcardKind::ObjectName(table);
                    select.projection.push(SelectItem::QualifiedWildcard(kind, options));
                }
                other => select.projection.push(other),
            }
        }
    }
}

/// What `*` of a SELECT is made of.
struct Tables<'a> {
    /// Names as written, each with what it is qualified with.
    named: Vec<(&'a ObjectName, ObjectName)>,
    /// Whether `*` means these, one after the other, and nothing else.
    are_all: bool,
}

impl<'a> Tables<'a> {
    fn add(&mut self, from: &'a TableWithJoins) {
        let before = self.named.len();
        self.add_relation(&from.relation);
        for join in &from.joins {
            use JoinOperator as Join;
            match &join.join_operator {
                Join::Semi(_) | Join::LeftSemi(_) | Join::Anti(_) | Join::LeftAnti(_) => continue,
                Join::RightSemi(_) | Join::RightAnti(_) => self.named.truncate(before),
                Join::Join(how)
                | Join::Inner(how)
                | Join::Left(how)
                | Join::LeftOuter(how)
                | Join::Right(how)
                | Join::RightOuter(how)
                | Join::FullOuter(how)
                | Join::CrossJoin(how) => {
                    // The others make one column of two.
                    self.are_all &= matches!(how, JoinConstraint::On(_) | JoinConstraint::None);
                }
                _ => self.are_all = false,
            }
            self.add_relation(&join.relation);
        }
    }

    fn add_relation(&mut self, relation: &'a TableFactor) {
        match relation {
            TableFactor::Table { name, alias: None, .. } => self.named.push((name, name.clone())),
            TableFactor::Table { name, alias: Some(alias), .. } => {
                self.named.push((name, ObjectName::from(vec![alias.name.clone()])));
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.add(table_with_joins),
            _ => self.are_all = false,
        }
    }
}

fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    options.opt_except.is_none() && options.opt_exclude.is_none() && options.opt_replace.is_none()
}

/// Adds what the statement itself does not exclude: a name that stands twice is an error.
fn exclude(options: &mut WildcardAdditionalOptions, hidden: &[String]) {
    let excepted = options.opt_except.as_ref().map_or_else(Vec::new, |except| {
        std::iter::once(&except.first_element).chain(&except.additional_elements).collect()
    });
    let mut names = match options.opt_exclude.take() {
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
        None => Vec::new(),
    };
    for column in hidden {
        let name = ObjectName::from(vec![Ident::new(column)]);
        if !names.contains(&name) && excepted.iter().all(|excepted| excepted.value != *column) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(names));
    }
}

/// (database, table) of a name as written.
pub fn parts_of(name: &ObjectName) -> (Option<&str>, &str) {
    let mut words = name.0.iter().rev().filter_map(ObjectNamePart::as_ident);
    let table = words.next().map_or("", |word| word.value.as_str());
    (words.next().map(|word| word.value.as_str()), table)
}

/// Takes the columns that `hidden_of` names for a table out of every `*` over it.
pub fn hide_from_wildcards(query: &mut Query, hidden_of: impl Fn(&ObjectName) -> Vec<String>) {
    let _ = query.visit(&mut Hide { hidden_of });
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::{ExceptSelectItem, Statement};
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    /// With `_path` hidden in `s`, `_path` and `year` in `r`, nothing in others.
    fn hidden(text: &str) -> String {
        let parsed = Parser::parse_sql(&GenericDialect {}, text).unwrap();
        let Some(Statement::Query(mut query)) = parsed.into_iter().next() else { panic!("no query: {text}") };
        hide_from_wildcards(&mut query, |name| match parts_of(name).1 {
            "s" => vec!["_path".to_owned()],
            "r" => vec!["_path".to_owned(), "year".to_owned()],
            _ => Vec::new(),
        });
        query.to_string()
    }

    #[test]
    fn a_star_is_as_wide_as_the_files_wherever_it_stands() {
        for (text, shown) in [
            ("SELECT * FROM s", "SELECT * EXCLUDE (_path) FROM s"),
            ("SELECT * FROM t", "SELECT * FROM t"),
            (
                "SELECT *, 1 FROM s UNION ALL SELECT *, 2 FROM r UNION ALL SELECT 3",
                "SELECT * EXCLUDE (_path), 1 FROM s UNION ALL SELECT * EXCLUDE (_path, year), 2 FROM r \
                 UNION ALL SELECT 3",
            ),
            (
                "(SELECT * FROM s) UNION ALL (SELECT * FROM t)",
                "(SELECT * EXCLUDE (_path) FROM s) UNION ALL (SELECT * FROM t)",
            ),
            ("SELECT * FROM (SELECT * FROM s)", "SELECT * FROM (SELECT * EXCLUDE (_path) FROM s)"),
            (
                "SELECT * FROM t JOIN s ON t.a = s.a",
                "SELECT t.*, s.* EXCLUDE (_path) FROM t JOIN s ON t.a = s.a",
            ),
            (
                "SELECT 1, * FROM s AS a CROSS JOIN (r AS b CROSS JOIN d.t)",
                "SELECT 1, a.* EXCLUDE (_path), b.* EXCLUDE (_path, year), d.t.* FROM s AS a CROSS JOIN \
                 (r AS b CROSS JOIN d.t)",
            ),
            ("SELECT * FROM t, s", "SELECT t.*, s.* EXCLUDE (_path) FROM t, s"),
            ("SELECT * FROM t JOIN s USING (a)", "SELECT * EXCLUDE (_path) FROM t JOIN s USING(a)"),
            (
                "SELECT * FROM t LEFT SEMI JOIN s ON t.a = s.a",
                "SELECT * FROM t LEFT SEMI JOIN s ON t.a = s.a",
            ),
            (
                "SELECT t.*, b.* FROM t JOIN r AS b ON t.a = b.a",
                "SELECT t.*, b.* EXCLUDE (_path, year) FROM t JOIN r AS b ON t.a = b.a",
            ),
            ("SELECT * EXCLUDE (a) FROM s", "SELECT * EXCLUDE (a, _path) FROM s"),
        ] {
            assert_eq!(hidden(text), shown, "{text}");
        }
    }

    #[test]
    fn what_the_statement_leaves_out_itself_stands_once() {
        let mut options = WildcardAdditionalOptions {
            opt_except: Some(ExceptSelectItem {
                first_element: Ident::new("a"),
                additional_elements: vec![Ident::new("_path")],
            }),
            ..WildcardAdditionalOptions::default()
        };
        exclude(&mut options, &["_path".to_owned(), "year".to_owned(), "year".to_owned()]);
        let Some(ExcludeSelectItem::Multiple(names)) = &options.opt_exclude else { panic!("{options}") };
        assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["year"]);
    }
}
