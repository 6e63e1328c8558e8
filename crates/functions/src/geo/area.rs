//! Whether a point is inside of an area: of a polygon with holes, of some ellipses.
//!
//! Invariant: a point on an edge of a polygon is inside of it.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Float64Type;
use model::plane::{Point, in_polygon};
use model::{ColumnType, ErrorCode};

use crate::cast::CastMode;
use crate::columns::container::range;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;

fn point_type() -> ColumnType {
    crate::columns::container::unnamed([ColumnType::Float64, ColumnType::Float64])
}

fn is_point(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Tuple(parts)
        if parts.len() == 2 && parts.iter().all(|part| part.column_type.is_number()))
}

/// How many arrays are around points; `None` for other types.
pub(super) fn depth(column_type: &ColumnType) -> Option<usize> {
    match column_type {
        ColumnType::Array(element) if is_point(element) => Some(1),
        ColumnType::Array(element) => depth(element).map(|depth| depth + 1),
        _ => None,
    }
}

fn nested(depth: usize) -> ColumnType {
    (0..depth).fold(point_type(), |inner, _| ColumnType::Array(Box::new(inner)))
}

fn polygon_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let wrong = |arg: &ArgType| FunctionError::illegal_type(&arg.column_type, "pointInPolygon");
    if !is_point(&args[0].column_type) {
        return Err(wrong(&args[0]));
    }
    for arg in &args[1..] {
        let most = if args.len() == 2 { 3 } else { 1 };
        if depth(&arg.column_type).is_none_or(|depth| depth > most) {
            return Err(wrong(arg));
        }
    }
    Ok(ColumnType::UInt8)
}

fn points_of(array: &ArrayRef) -> Vec<Point> {
    let parts = array.as_struct();
    let (x, y) =
        (parts.column(0).as_primitive::<Float64Type>(), parts.column(1).as_primitive::<Float64Type>());
    (0..parts.len()).map(|at| (x.value(at), y.value(at))).collect()
}

/// An argument that is arrays of points, as its rings: of each row, of each polygon.
pub(super) struct Polygons {
    points: Vec<Point>,
    array: ArrayRef,
    depth: usize,
}

impl Polygons {
    pub(super) fn of(call: &Call<'_>, arg: &Arg) -> Result<Self, FunctionError> {
        let depth = depth(&arg.column_type)
            .ok_or_else(|| FunctionError::illegal_type(&arg.column_type, "pointInPolygon"))?;
        let array = call.caster(CastMode::Strict).column(&arg.array, &arg.column_type, &nested(depth))?;
        let mut inner = &array;
        for _ in 0..depth {
            inner = inner.as_list::<i32>().values();
        }
        Ok(Self { points: points_of(inner), array: std::sync::Arc::clone(&array), depth })
    }

    /// The polygons of a row, each a list of rings.
    pub(super) fn of_row(&self, row: usize) -> Vec<Vec<&[Point]>> {
        let lists = self.array.as_list::<i32>();
        let own = range(lists.value_offsets(), row);
        if self.depth == 1 {
            return vec![vec![&self.points[own]]];
        }
        let inner = lists.values().as_list::<i32>();
        let rings = |own: std::ops::Range<usize>, lists: &arrow::array::ListArray| -> Vec<&[Point]> {
            own.map(|at| &self.points[range(lists.value_offsets(), at)]).collect()
        };
        if self.depth == 2 {
            return vec![rings(own, inner)];
        }
        let innermost = inner.values().as_list::<i32>();
        own.map(|at| rings(range(inner.value_offsets(), at), innermost)).collect()
    }
}

fn point_in_polygon(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let point = call.caster(CastMode::Strict).column(&arg.array, &arg.column_type, &point_type())?;
    let points = points_of(&point);
    let areas = call.args[1..].iter().map(|arg| Polygons::of(call, arg)).collect::<Result<Vec<_>, _>>()?;
    call.each_flag(|row| {
        let p = points[arg.row(row)];
        if let [area] = areas.as_slice() {
            return area.of_row(call.args[1].row(row)).iter().any(|rings| in_polygon(p, rings));
        }
        let rings = areas.iter().zip(&call.args[1..]).flat_map(|(area, arg)| area.of_row(arg.row(row)));
        in_polygon(p, &rings.flatten().collect::<Vec<_>>())
    })
}

fn ellipses_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    if args.len() % 4 != 2 {
        let message =
            "pointInEllipses takes a point, and two numbers of a place and two of a size for each ellipse";
        return Err(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    match args.iter().find(|arg| arg.column_type != ColumnType::Float64) {
        Some(other) => Err(FunctionError::illegal_type(&other.column_type, "pointInEllipses")),
        None => Ok(ColumnType::UInt8),
    }
}

fn point_in_ellipses(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let numbers: Vec<_> = (0..call.args.len()).map(|index| call.floats(index)).collect::<Result<_, _>>()?;
    call.each_flag(|row| {
        let at = |index: usize| numbers[index].get(row);
        (2..numbers.len()).step_by(4).any(|ellipse| {
            let (x, y) =
                ((at(0) - at(ellipse)) / at(ellipse + 2), (at(1) - at(ellipse + 1)) / at(ellipse + 3));
            x * x + y * y <= 1.0
        })
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("pointInPolygon", 2..=usize::MAX, polygon_type, point_in_polygon).doc(
            "pointInPolygon((x, y), [(a, b), ...][, hole, ...])",
            "Whether a point is inside of a polygon, and outside of its holes.",
            "pointInPolygon((3., 3.), [(6, 0), (8, 4), (5, 8), (0, 2)]) -> 1",
        ),
        ScalarFunction::new("pointInEllipses", 6..=usize::MAX, ellipses_type, point_in_ellipses).doc(
            "pointInEllipses(x, y, x0, y0, a, b, ...)",
            "Whether a point is inside of any of the ellipses.",
            "pointInEllipses(10., 10., 10., 9.1, 1., 0.9999) -> 1",
        ),
    ]
}
