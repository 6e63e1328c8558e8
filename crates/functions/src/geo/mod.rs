//! Places on the earth and in the plane: distances, geohashes, areas, figures of H3.
//!
//! Invariant: longitude comes before latitude, both in degrees. Must not know: formats of geometries.

mod distance;
mod geohash;
mod area;
mod measured;
mod h3;

use crate::kernel::registry::ScalarFunction;

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = distance::functions();
    out.extend(geohash::functions());
    out.extend(area::functions());
    out.extend(measured::functions());
    out.extend(h3::functions());
    out
}
