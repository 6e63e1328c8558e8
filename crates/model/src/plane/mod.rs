//! Points of a plane, and whether they are inside of a polygon with holes.
//!
//! Invariant: a point on an edge of a polygon is inside of it. Must not know: where points come from.

/// Its two coordinates.
pub type Point = (f64, f64);

/// Whether a point lies between two others, on the line through them.
fn is_on_edge(p: Point, a: Point, b: Point) -> bool {
    let cross = (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0);
    cross == 0.0
        && (a.0.min(b.0)..=a.0.max(b.0)).contains(&p.0)
        && (a.1.min(b.1)..=a.1.max(b.1)).contains(&p.1)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Inside,
    Edge,
    Outside,
}

/// Where a point is beside a ring: how often a ray from it crosses the edges.
fn beside(p: Point, ring: &[Point]) -> Where {
    let mut inside = false;
    for (at, a) in ring.iter().enumerate() {
        let b = ring[(at + 1) % ring.len()];
        if is_on_edge(p, *a, b) {
            return Where::Edge;
        }
        if (a.1 > p.1) != (b.1 > p.1) && p.0 < (b.0 - a.0) * (p.1 - a.1) / (b.1 - a.1) + a.0 {
            inside = !inside;
        }
    }
    if inside { Where::Inside } else { Where::Outside }
}

/// Inside of the first ring, and not of a hole.
pub fn in_polygon(p: Point, rings: &[&[Point]]) -> bool {
    let Some((outer, holes)) = rings.split_first() else { return false };
    match beside(p, outer) {
        Where::Outside => false,
        _ => holes.iter().all(|hole| beside(p, hole) != Where::Inside),
    }
}
