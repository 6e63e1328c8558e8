//! Joins whose right side is a table of engine Join: of the kind that the table is for, by its keys and nothing else of it.
//!
//! Such a join is done as any other. It is refused where ClickHouse, which has the rows in a map made for one kind of join,
//! refuses it. Invariant: only the text of the query is asked, so of two names that may be of either side the one that is
//! surely the table's is. Must not know: columns of other tables.

use std::ops::ControlFlow;
use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, Query, Select, SelectItem, TableFactor,
    TableWithJoins, Visit, Visitor,
};
use model::{ErrorCode, TableDef};
use rewrite::{JoinDefault, Manner};
use sql::TableName;
use sql::reader::clauses::{Side, Strictness, word_of};

use super::definition::{JoinTable, shown};
use crate::virtual_columns::parts_of;

/// Refuses joins that their tables are not for. `find` knows tables; `use_nulls` is the setting `join_use_nulls`.
///
/// # Errors
/// INCOMPATIBLE_TYPE_OF_JOIN, of the first such join.
pub fn check_joins(
    query: &Query,
    (manner, use_nulls): (&Manner, bool),
    find: &dyn Fn(&TableName) -> Option<Arc<TableDef>>,
) -> Result<(), Error> {
    let mut check = Check { manner, use_nulls, find, items: Vec::new() };
    match Visit::visit(query, &mut check) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Check<'a> {
    manner: &'a Manner,
    use_nulls: bool,
    find: &'a dyn Fn(&TableName) -> Option<Arc<TableDef>>,
    /// Names of WITH of the queries around, which stand before those of tables.
    items: Vec<Vec<String>>,
}

impl Visitor for Check<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        let items = query.with.iter().flat_map(|with| &with.cte_tables);
        self.items.push(items.map(|item| item.alias.name.value.clone()).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<Error> {
        self.items.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        match select.from.iter().try_for_each(|table| self.chain(table, select)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Check<'_> {
    fn chain(&self, chain: &TableWithJoins, select: &Select) -> Result<(), Error> {
        for factor in std::iter::once(&chain.relation).chain(chain.joins.iter().map(|join| &join.relation)) {
            if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
                self.chain(table_with_joins, select)?;
            }
        }
        chain.joins.iter().try_for_each(|join| self.join(join, select))
    }

    fn join(&self, join: &Join, select: &Select) -> Result<(), Error> {
        let TableFactor::Table { name, alias, args: None, .. } = &join.relation else { return Ok(()) };
        let Some((strictness, side, constraint)) = self.kind(&join.join_operator) else { return Ok(()) };
        let (database, table) = parts_of(name);
        let is_item = database.is_none() && self.items.iter().flatten().any(|item| item == table);
        let Some(def) = (self.find)(&TableName::new(database, table)).filter(|_| !is_item) else {
            return Ok(());
        };
        let Some(of) = JoinTable::of(&def)? else { return Ok(()) };
        let (asked, has) = (
            of_left(strictness, side, self.manner.any_keeps_left),
            of_left(of.strictness, of.side, of.keeps_left),
        );
        if asked != has {
            let message = format!(
                "table \"{table}\" has incompatible type of JOIN: it is for {} JOIN, and this is {} JOIN",
                of.shown(),
                shown(strictness, side)
            );
            return Err(incompatible(message).with_hint(format!("join (SELECT * FROM {table}) in any way")));
        }
        if matches!(side, Side::Left | Side::Full) && of.use_nulls != self.use_nulls {
            let message = format!("table \"{table}\" needs the same join_use_nulls setting as this JOIN has");
            return Err(incompatible(message));
        }
        let known = alias.as_ref().map_or(table, |alias| alias.name.value.as_str());
        let right = Right { def: &def, known, database, keys: &of.keys, select };
        right.check(constraint)
    }

    /// What kind of join it is, and its condition; `None` of those that have none.
    fn kind<'q>(&self, operator: &'q JoinOperator) -> Option<(Option<Strictness>, Side, &'q JoinConstraint)> {
        let default = (self.manner.join == JoinDefault::Any).then_some(Strictness::Any);
        let (strictness, side, on) = match operator {
            JoinOperator::Join(on) => (default, Side::Inner, on),
            JoinOperator::Left(on) => (default, Side::Left, on),
            JoinOperator::Right(on) => (default, Side::Right, on),
            JoinOperator::Inner(on) => (None, Side::Inner, on),
            JoinOperator::LeftOuter(on) => (None, Side::Left, on),
            JoinOperator::RightOuter(on) => (None, Side::Right, on),
            JoinOperator::FullOuter(on) => (None, Side::Full, on),
            JoinOperator::AsOf { match_condition, constraint } => {
                let (strictness, side) = word_of(match_condition).and_then(Strictness::parse)?;
                (Some(strictness), side, constraint)
            }
            _ => return None,
        };
        let has_condition = matches!(on, JoinConstraint::On(_) | JoinConstraint::Using(_));
        has_condition.then_some((strictness, side, on))
    }
}

/// ANY of all rows of the left table: what ANY INNER keeps so is SEMI LEFT.
fn of_left(strictness: Option<Strictness>, side: Side, keeps_left: bool) -> (Option<Strictness>, Side, bool) {
    match (strictness, side) {
        (Some(Strictness::Any), Side::Inner) if keeps_left => (Some(Strictness::Semi), Side::Left, false),
        (Some(Strictness::Any), _) => (strictness, side, keeps_left),
        _ => (strictness, side, false),
    }
}

fn incompatible(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadInput, ErrorCode::INCOMPATIBLE_TYPE_OF_JOIN, message)
}

/// The table on the right of a join.
struct Right<'a> {
    def: &'a TableDef,
    /// The name by which its columns are told from others'.
    known: &'a str,
    database: Option<&'a str>,
    keys: &'a [String],
    select: &'a Select,
}

impl Right<'_> {
    fn check(&self, constraint: &JoinConstraint) -> Result<(), Error> {
        let mut asked: Vec<String> = Vec::new();
        match constraint {
            JoinConstraint::Using(names) => {
                let columns = names.iter().filter_map(|name| name.0.last()?.as_ident());
                for column in columns {
                    asked.push(self.key(Some(&column.value), &column.value)?);
                }
            }
            JoinConstraint::On(condition) => self.conjuncts(condition, &mut asked)?,
            JoinConstraint::Natural | JoinConstraint::None => return Ok(()),
        }
        asked.sort_unstable();
        let mut keys = self.keys.to_vec();
        keys.sort_unstable();
        if asked == keys {
            return Ok(());
        }
        let message = format!(
            "JOIN with table \"{}\" is by {} keys, and those of its engine are {}",
            self.def.name,
            asked.len(),
            self.keys.join(", ")
        );
        Err(incompatible(message))
    }

    /// `column`, if what is compared is one; it must be a key.
    fn key(&self, column: Option<&str>, written: &str) -> Result<String, Error> {
        match column.filter(|column| self.keys.iter().any(|key| key == column)) {
            Some(key) => Ok(key.to_owned()),
            None => {
                let message = format!(
                    "JOIN with table \"{}\" must be by the keys of its engine ({}), and {written} is none",
                    self.def.name,
                    self.keys.join(", ")
                );
                Err(incompatible(message))
            }
        }
    }

    fn conjuncts(&self, condition: &Expr, asked: &mut Vec<String>) -> Result<(), Error> {
        match condition {
            Expr::Nested(inner) => self.conjuncts(inner, asked),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.conjuncts(left, asked)?;
                self.conjuncts(right, asked)
            }
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                let mine = match (self.asks(left), self.asks(right)) {
                    (Asks::Surely, Asks::Surely) => {
                        return self.key(None, &condition.to_string()).map(|_| ());
                    }
                    (Asks::Nothing, Asks::Nothing) => return Ok(()),
                    (one, other) if one > other => left,
                    _ => right,
                };
                asked.push(self.key(self.column(mine).as_deref(), &mine.to_string())?);
                Ok(())
            }
            other if self.asks(other) == Asks::Surely => self.key(None, &other.to_string()).map(|_| ()),
            // What the left table alone is asked says which of its rows look.
            _ => Ok(()),
        }
    }

    /// The column of the table that an expression is.
    fn column(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Nested(inner) => self.column(inner),
            Expr::Identifier(name) if self.def.column(&name.value).is_some() => Some(name.value.clone()),
            Expr::Identifier(name) => self.column(self.meaning(&name.value)?),
            Expr::CompoundIdentifier(names) => self.qualified(names).map(str::to_owned),
            _ => None,
        }
    }

    /// The column of the table that a name with a qualifier is.
    fn qualified<'n>(&self, names: &'n [Ident]) -> Option<&'n str> {
        let is_mine = match names {
            [table, _] => table.value == self.known,
            [database, table, _] => {
                table.value == self.known && self.database.is_none_or(|own| own == database.value)
            }
            _ => false,
        };
        names.last().filter(|_| is_mine).map(|name| name.value.as_str())
    }

    /// What an alias of the SELECT stands for.
    fn meaning(&self, alias: &str) -> Option<&Expr> {
        self.select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias: name } if name.value == alias => match expr {
                Expr::Identifier(inner) if inner.value == alias => None,
                // One step is enough for a column, and ends.
                Expr::CompoundIdentifier(_) => Some(expr),
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether anything of the table is asked.
    fn asks(&self, expr: &Expr) -> Asks {
        let mut asked = Asked { right: self, asks: Asks::Nothing };
        let _ = expr.visit(&mut asked);
        asked.asks
    }
}

/// Whether an expression is about columns of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Asks {
    Nothing,
    /// By a name without a qualifier, which may be one of the left table's, too.
    Maybe,
    Surely,
}

struct Asked<'a> {
    right: &'a Right<'a>,
    asks: Asks,
}

impl Visitor for Asked<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let asks = match expr {
            Expr::Identifier(name) if self.right.def.column(&name.value).is_some() => Asks::Maybe,
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) if self.right.column(expr).is_some() => {
                Asks::Surely
            }
            _ => Asks::Nothing,
        };
        self.asks = self.asks.max(asks);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use model::{ColumnDef, ColumnType, EngineArguments, TableEngine, TableId};

    use super::*;

    fn checked(arguments: &str, text: &str) -> Result<(), ErrorCode> {
        let column = |id, name| ColumnDef::plain(id, name, ColumnType::UInt64);
        let columns = vec![column(1, "a"), column(2, "b"), column(3, "v")];
        let def = TableDef::plain(TableId::from_bytes([1; 16]), "t", TableEngine::Join, columns);
        let def = Arc::new(TableDef { engine_arguments: EngineArguments::new(arguments), ..def });
        let find = |name: &TableName| (name.table == "t").then(|| Arc::clone(&def));
        let query = sql::parse_query(text).unwrap();
        check_joins(&query, (&Manner::default(), false), &find).map_err(|error| error.code)
    }

    #[test]
    fn kinds_and_keys_are_those_of_the_table() {
        const NO: Result<(), ErrorCode> = Err(ErrorCode::INCOMPATIBLE_TYPE_OF_JOIN);
        let of = |text: &str| checked("ANY, LEFT, a, b", &format!("SELECT * FROM l {text}"));
        assert_eq!(of("ANY LEFT JOIN t USING (b, a)"), Ok(()));
        assert_eq!(of("ANY LEFT JOIN t AS r ON l.x = r.a AND r.b = l.y AND l.z = 1"), Ok(()));
        assert_eq!(of("ANY LEFT JOIN t ON l.x + 1 = t.a AND b = y"), Ok(()));
        assert_eq!(of("ANY LEFT JOIN t ON a + 1 = t.a AND t.b = b AND v > 1"), Ok(()));
        assert_eq!(of("LEFT JOIN t USING (a, b)"), NO);
        assert_eq!(of("ANY INNER JOIN t USING (a, b)"), NO);
        assert_eq!(of("ANY LEFT JOIN t USING (a)"), NO);
        assert_eq!(of("ANY LEFT JOIN t ON l.x = t.a AND l.y = t.v"), NO);
        assert_eq!(of("ANY LEFT JOIN t ON l.x = t.a + 1 AND l.y = t.b"), NO);
        assert_eq!(of("ANY LEFT JOIN t ON l.x = t.a AND l.y = t.b AND l.x = t.a"), NO);
        assert_eq!(of("ANY LEFT JOIN t ON l.x = t.a AND l.y = t.b AND t.v > 1"), NO);
        assert_eq!(of("CROSS JOIN t"), Ok(()));
        assert_eq!(of("LEFT JOIN (SELECT * FROM t) AS s ON s.a = l.a"), Ok(()));
        let with = "WITH t AS (SELECT 1 AS a) SELECT * FROM l JOIN t USING (a)";
        assert_eq!(checked("ANY, LEFT, a, b", with), Ok(()));
    }
}
