//! OVER: window functions, windows that name or extend others, and the functions that look within their frame.
//!
//! Invariant: no window that comes out names another.

use sql::dialect::{call, number, text};
use sql::{Result, SqlError};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, NamedWindowDefinition,
    NamedWindowExpr, Value, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use crate::Rewriter;
use crate::calls::{arguments, with_call};
use crate::lower::{nested, operation};
use crate::order::window_key;
use planner::words::CAST;

/// The function whose calls count the rows that they were asked for.
pub(crate) const ROW_NUMBERS: &str = "rowNumberInAllBlocks";

/// More rows than a partition has.
const ROWS_BEYOND: &str = "4294967295";

/// Whether this is a value as written, also with a sign.
fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => is_literal(expr),
        _ => false,
    }
}

/// The function that `lagInFrame` or `leadInFrame` is over a frame without an end on its side.
pub(crate) fn in_frame(name: &str) -> Option<&'static str> {
    match name {
        "lagInFrame" => Some("lag"),
        "leadInFrame" => Some("lead"),
        _ => None,
    }
}

/// The place of a row among all rows, from 0. As a window it is computed once, also where only some rows need it.
pub(crate) fn row_numbers() -> Expr {
    let all = WindowSpec { window_name: None, partition_by: vec![], order_by: vec![], window_frame: None };
    let place = with_call("row_number", vec![], |call| call.over = Some(WindowType::WindowSpec(all)));
    call(CAST, vec![operation(nested(place), BinaryOperator::Minus, number("1")), text("UInt64")])
}

impl Rewriter {
    pub(crate) fn windowed(&mut self, name: &str, function: Function) -> Result<Expr> {
        let mut args = self.values(arguments(&function)?)?;
        let over = function.over.map(|over| self.over(over)).transpose()?;
        let null_treatment = function.null_treatment;
        let default = match args.get(2) {
            Some(default) if matches!(name, "lag" | "lead") && !is_literal(default) => args.pop(),
            _ => None,
        };
        let windowed = |args, null_treatment| {
            with_call(name, args, |call| (call.over, call.null_treatment) = (over.clone(), null_treatment))
        };
        let Some(default) = default else { return Ok(windowed(args, null_treatment)) };
        // DataFusion takes a literal. So it is asked whether there is such a row, and the default stands where there is none.
        let distance = args.get(1).cloned().unwrap_or_else(|| number("1"));
        let there = windowed(vec![number("1"), distance, number("0")], None);
        let is_there = operation(nested(there), BinaryOperator::Eq, number("1"));
        Ok(call("if", vec![is_there, windowed(args, null_treatment), default]))
    }

    /// A row before or behind is in the frame when the frame has no end there: then the frame plays no part.
    pub(crate) fn windowed_in_frame(&mut self, name: &str, mut function: Function) -> Result<Expr> {
        let mut spec = match function.over.take() {
            Some(WindowType::WindowSpec(spec)) => self.whole(spec)?,
            Some(WindowType::NamedWindow(name)) => self.named_window(&name.value)?,
            None => return Err(SqlError::bad_arguments(format!("function {name}InFrame needs OVER"))),
        };
        let distance = arguments(&function)?.get(1).map_or(Some(1), rows_of);
        let frame = spec.window_frame.as_ref();
        let reaches = match name {
            "lag" => reaches_back(frame) || reaches_by(frame, distance, true),
            _ => reaches_on(frame) || reaches_by(frame, distance, false),
        };
        let held = if reaches { Some(true) } else { holds(frame, distance, name == "lag") };
        let by_peers = held.is_none() && name == "lead" && ends_with_peers(frame);
        spec.window_frame = None;
        function.over = Some(WindowType::WindowSpec(spec));
        match (held, distance) {
            (Some(true), _) => self.windowed(name, function),
            (Some(false), _) => self.windowed(name, beyond(function)),
            (None, Some(distance)) if by_peers => self.led_among_peers(function, distance),
            _ => {
                let frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING";
                let message =
                    format!("{name}InFrame over a frame that ends before that row: write {frame}; this");
                Err(SqlError::not_implemented(message))
            }
        }
    }

    /// `leadInFrame` over a frame that ends with the rows whose keys are equal: so many of them are behind a row as are counted up to
    /// their last, without those up to the row.
    fn led_among_peers(&mut self, function: Function, distance: u64) -> Result<Expr> {
        let over = function.over.clone().map(|over| self.over(over)).transpose()?;
        let placed = |name: &str| nested(with_call(name, vec![], |call| call.over = over.clone()));
        let behind = operation(placed("count"), BinaryOperator::Minus, placed("row_number"));
        let is_there = operation(nested(behind), BinaryOperator::GtEq, number(distance.to_string()));
        let nothing = self.windowed("lead", beyond(function.clone()))?;
        Ok(call("if", vec![is_there, self.windowed("lead", function)?, nothing]))
    }

    pub(crate) fn over(&mut self, over: WindowType) -> Result<WindowType> {
        match over {
            WindowType::WindowSpec(spec) => self.window(spec).map(WindowType::WindowSpec),
            named => Ok(named),
        }
    }

    pub(crate) fn window(&mut self, spec: WindowSpec) -> Result<WindowSpec> {
        let mut spec = self.whole(spec)?;
        spec.partition_by = self.values(spec.partition_by)?;
        let mut keys = vec![];
        for key in spec.order_by {
            keys.push(window_key(self.value(key.expr)?, key.options));
        }
        spec.order_by = keys;
        if let Some(frame) = &spec.window_frame {
            for bound in std::iter::once(&frame.start_bound).chain(&frame.end_bound) {
                if let WindowFrameBound::Preceding(Some(rows)) | WindowFrameBound::Following(Some(rows)) =
                    bound
                    && !matches!(rows.as_ref(), Expr::Value(value) if matches!(value.value, Value::Number(..)))
                {
                    return Err(SqlError::bad_arguments(format!(
                        "window frame bound {rows} is not a constant number"
                    )));
                }
            }
        }
        Ok(spec)
    }

    /// The windows of a SELECT, each with what it names put in; a window may name those before it.
    pub(crate) fn windows(
        &mut self,
        windows: Vec<NamedWindowDefinition>,
    ) -> Result<Vec<NamedWindowDefinition>> {
        for NamedWindowDefinition(name, window) in &windows {
            let spec = match window {
                NamedWindowExpr::WindowSpec(spec) => self.whole(spec.clone())?,
                NamedWindowExpr::NamedWindow(other) => self.named_window(&other.value)?,
            };
            self.scope().windows.push((name.value.clone(), spec));
        }
        let mut done = Vec::with_capacity(windows.len());
        for NamedWindowDefinition(name, _) in windows {
            let spec = self.named_window(&name.value)?;
            done.push(NamedWindowDefinition(name, NamedWindowExpr::WindowSpec(self.window(spec)?)));
        }
        Ok(done)
    }

    fn named_window(&mut self, name: &str) -> Result<WindowSpec> {
        let known = self.scope().windows.iter().find(|(known, _)| known == name);
        let known = known.map(|(_, spec)| spec.clone());
        known.ok_or_else(|| SqlError::bad_arguments(format!("window '{name}' is not defined")))
    }

    /// A window with what it takes over from the one it names: the partition, the order unless it has its own.
    fn whole(&mut self, mut spec: WindowSpec) -> Result<WindowSpec> {
        let Some(name) = spec.window_name.take() else { return Ok(spec) };
        let base = self.named_window(&name.value)?;
        if !spec.partition_by.is_empty() || (!spec.order_by.is_empty() && !base.order_by.is_empty()) {
            let what = if spec.partition_by.is_empty() { "ORDER BY" } else { "PARTITION BY" };
            let message = format!("{what} cannot be given for a window that extends window '{}'", name.value);
            return Err(SqlError::bad_arguments(message));
        }
        if base.window_frame.is_some() {
            let message = format!("window '{}' has a frame and cannot be extended", name.value);
            return Err(SqlError::bad_arguments(message));
        }
        spec.partition_by = base.partition_by;
        if spec.order_by.is_empty() {
            spec.order_by = base.order_by;
        }
        Ok(spec)
    }
}

fn reaches_back(frame: Option<&WindowFrame>) -> bool {
    let Some(frame) = frame else { return true };
    let ends = |bound: &WindowFrameBound| matches!(bound, WindowFrameBound::Preceding(_));
    matches!(frame.start_bound, WindowFrameBound::Preceding(None))
        && !frame.end_bound.as_ref().is_some_and(ends)
}

/// Whether a frame of ROWS goes as far from the current row as the call does: then the row is in it, if there is one.
fn reaches_by(frame: Option<&WindowFrame>, distance: Option<u64>, back: bool) -> bool {
    use WindowFrameBound::{CurrentRow, Following, Preceding};
    let Some(frame) = frame.filter(|frame| frame.units == WindowFrameUnits::Rows) else { return false };
    let end = frame.end_bound.as_ref().unwrap_or(&CurrentRow);
    let (other, far) = if back { (end, &frame.start_bound) } else { (&frame.start_bound, end) };
    let far = match (far, back) {
        (Preceding(Some(rows)), true) | (Following(Some(rows)), false) => rows_of(rows),
        _ => None,
    };
    // The other end is at the current row or behind it.
    let holds_row = matches!((other, back), (CurrentRow, _) | (Preceding(_), false) | (Following(_), true));
    holds_row && far.zip(distance).is_some_and(|(far, distance)| far >= distance)
}

/// The call of a row that is in no partition: its default.
fn beyond(mut function: Function) -> Function {
    if let FunctionArguments::List(list) = &mut function.args {
        let rows = FunctionArg::Unnamed(FunctionArgExpr::Expr(number(ROWS_BEYOND)));
        match list.args.get_mut(1) {
            Some(distance) => *distance = rows,
            None => list.args.push(rows),
        }
    }
    function
}

/// Whether a frame of ROWS with numbers that are written holds the row at a distance.
fn holds(frame: Option<&WindowFrame>, distance: Option<u64>, back: bool) -> Option<bool> {
    let frame = frame.filter(|frame| frame.units == WindowFrameUnits::Rows)?;
    let distance = i64::try_from(distance?).ok()?;
    let row = if back { -distance } else { distance };
    let end = frame.end_bound.as_ref().map_or(Some(0), place_of)?;
    Some((place_of(&frame.start_bound)?..=end).contains(&row))
}

/// Where a bound of ROWS is, counted from the current row.
fn place_of(bound: &WindowFrameBound) -> Option<i64> {
    let rows = |rows: &Expr| rows_of(rows).and_then(|rows| i64::try_from(rows).ok());
    match bound {
        WindowFrameBound::CurrentRow => Some(0),
        WindowFrameBound::Preceding(None) => Some(i64::MIN),
        WindowFrameBound::Following(None) => Some(i64::MAX),
        WindowFrameBound::Preceding(Some(before)) => rows(before).map(|rows| -rows),
        WindowFrameBound::Following(Some(behind)) => rows(behind),
    }
}

/// Whether it is the frame that stands where none is written.
fn ends_with_peers(frame: Option<&WindowFrame>) -> bool {
    frame.is_none_or(|frame| {
        frame.units == WindowFrameUnits::Range
            && matches!(frame.start_bound, WindowFrameBound::Preceding(None))
            && matches!(frame.end_bound, None | Some(WindowFrameBound::CurrentRow))
    })
}

/// A number of rows that is written.
fn rows_of(rows: &Expr) -> Option<u64> {
    match rows {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn reaches_on(frame: Option<&WindowFrame>) -> bool {
    let Some(frame) = frame else { return false };
    let starts = matches!(frame.start_bound, WindowFrameBound::Preceding(_) | WindowFrameBound::CurrentRow);
    starts && matches!(frame.end_bound, Some(WindowFrameBound::Following(None)))
}
