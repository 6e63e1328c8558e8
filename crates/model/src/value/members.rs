//! Members of tuples as columns of their own: a structure may ask a file that has the tuple `s` for `s.p`.
//!
//! Invariant: a column of that very name hides the member; the members of a NULL tuple are NULL. Must not know: formats.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::nullif;
use arrow::datatypes::{DataType, Field, Fields};

/// The tuple and the names behind its point for which a column `tuple.member` stands; `root` finds columns that are stored.
pub fn member_named<'n>(
    name: &'n str,
    columns: &Fields,
    root: impl Fn(&str) -> Option<usize>,
) -> Option<(usize, &'n str)> {
    let mut points = name.match_indices('.');
    points.find_map(|(at, _)| {
        let (root, path) = (root(&name[..at])?, &name[at + 1..]);
        field_of(columns.get(root)?, path).map(|_| (root, path))
    })
}

/// The field of a member of a tuple.
pub fn field_of<'f>(tuple: &'f Field, path: &str) -> Option<&'f Field> {
    let DataType::Struct(members) = tuple.data_type() else { return None };
    if let Some((_, member)) = members.find(path) {
        return Some(member);
    }
    let (first, rest) = path.split_once('.')?;
    field_of(members.find(first)?.1, rest)
}

/// The values of a member of tuples; those of a NULL tuple are NULL.
pub fn member_of(tuples: &ArrayRef, path: &str) -> Option<ArrayRef> {
    let tuples = tuples.as_struct_opt()?;
    if let Some(member) = tuples.column_by_name(path) {
        let Some(nulls) = tuples.nulls() else { return Some(Arc::clone(member)) };
        return nullif(member, &BooleanArray::new(!nulls.inner(), None)).ok();
    }
    let (first, rest) = path.split_once('.')?;
    member_of(&member_of(&(Arc::new(tuples.clone()) as ArrayRef), first)?, rest)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, StructArray};
    use arrow::buffer::NullBuffer;

    use super::*;

    #[test]
    fn members_of_members_are_found_and_null_where_a_tuple_is() {
        let number: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let p = Arc::new(Field::new("p", DataType::Int32, true));
        let inner: ArrayRef = Arc::new(StructArray::new(Fields::from(vec![p]), vec![number], None));
        let t = Arc::new(Field::new("t", inner.data_type().clone(), true));
        let nulls = Some(NullBuffer::from(vec![true, false]));
        let outer: ArrayRef = Arc::new(StructArray::new(Fields::from(vec![t]), vec![inner], nulls));
        let columns = Fields::from(vec![Field::new("s", outer.data_type().clone(), true)]);
        let root = |name: &str| columns.find(name).map(|(at, _)| at);
        assert_eq!(member_named("s.t.p", &columns, root), Some((0, "t.p")));
        assert_eq!(member_named("s.t.q", &columns, root), None);
        assert_eq!(member_named("x.t.p", &columns, root), None);
        let found = member_of(&outer, "t.p").unwrap();
        assert_eq!(found.as_ref(), &Int32Array::from(vec![Some(1), None]));
    }
}
