//! Parts that a table keeps out of sight: what ALTER TABLE .. DETACH PARTITION leaves of them.
//!
//! They are removed parts whose files stay, because a clause of the definition names them. Invariant: the clause names each once,
//! and a definition without such parts has none. Must not know: whether the files are there.

use std::collections::BTreeSet;

use super::{KeptClause, TableDef};
use crate::ids::PartId;

/// The keyword of the clause; its text is the ids of the parts.
pub const DETACHED_PARTS: &str = "DETACHED PARTS";

impl TableDef {
    /// The parts that are out of sight.
    pub fn detached_parts(&self) -> BTreeSet<PartId> {
        let named = self.kept_text(DETACHED_PARTS).unwrap_or_default();
        named.split_whitespace().filter_map(PartId::parse).collect()
    }

    /// The next version of the definition, with these parts out of sight.
    #[must_use]
    pub fn with_detached_parts(&self, parts: &BTreeSet<PartId>) -> TableDef {
        let mut def = self.without_detached_parts();
        def.schema_version += 1;
        if !parts.is_empty() {
            let ids: Vec<String> = parts.iter().map(ToString::to_string).collect();
            def.kept.push(KeptClause { keyword: DETACHED_PARTS.into(), text: ids.join(" ").into() });
        }
        def
    }

    /// The definition for a table that has none of the parts.
    #[must_use]
    pub fn without_detached_parts(&self) -> TableDef {
        let mut def = self.clone();
        def.kept.retain(|clause| *clause.keyword != *DETACHED_PARTS);
        def
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TableId;
    use crate::table_def::TableEngine;

    #[test]
    fn a_definition_names_its_detached_parts() {
        let plain = TableDef::plain(TableId::from_bytes([1; 16]), "t", TableEngine::MergeTree, Vec::new());
        let parts: BTreeSet<PartId> = [7, 3].map(|id| PartId::from_bytes([id; 16])).into();
        let detached = plain.with_detached_parts(&parts);
        assert_eq!((detached.detached_parts(), detached.schema_version), (parts, 2));
        let attached = detached.with_detached_parts(&BTreeSet::new());
        assert_eq!((attached.kept.len(), attached.schema_version), (0, 3));
        assert_eq!(plain.detached_parts(), BTreeSet::new());
    }
}
