//! What EXPLAIN LOAD says of adoption: which columns are copied, and why others are not, as far as footers tell.
//!
//! Must not know: what pages hold; a column may turn out to need decoding when they are looked at.

use std::collections::BTreeMap;

use datafusion::common::Result;
use load::adoption::{ColumnDecision, RowGroupDecision};

use super::adoption::Adoption;
use crate::error::into_datafusion;

/// Row groups whose footers are asked.
const ROW_GROUPS_MAX: usize = 10_000;

impl Adoption {
    /// Lines for people.
    ///
    /// # Errors
    /// A footer cannot be read.
    pub async fn report(&self) -> Result<Vec<String>> {
        let (mut adopted, mut sorted) = (0_usize, BTreeMap::<&str, usize>::new());
        let mut columns: Vec<(usize, BTreeMap<&str, usize>)> =
            vec![Default::default(); self.load.targets.len()];
        for unit in self.units.all().iter() {
            let Some(footer) = self.load.source.footer(unit.file).await.map_err(into_datafusion)? else {
                continue;
            };
            let all = || (0..footer.num_row_groups()).collect();
            for row_group in unit.row_groups.clone().unwrap_or_else(all) {
                if adopted + sorted.values().sum::<usize>() >= ROW_GROUPS_MAX {
                    break;
                }
                match self.load.choose(&footer, row_group, &[], self.terms()).decision {
                    RowGroupDecision::Sink(reason) => *sorted.entry(reason.text()).or_default() += 1,
                    RowGroupDecision::Adopt(decisions) => {
                        adopted += 1;
                        for ((copied, reasons), decision) in columns.iter_mut().zip(decisions) {
                            match decision {
                                ColumnDecision::Splice => *copied += 1,
                                ColumnDecision::Reencode(why) => *reasons.entry(why.text()).or_default() += 1,
                            }
                        }
                    }
                }
            }
        }
        let total = adopted + sorted.values().sum::<usize>();
        let copied = columns.iter().filter(|(copied, _)| *copied > 0).count();
        let mut lines = vec![format!(
            "Adoption: {adopted} of {total} row group(s), {copied} of {} column(s) are copied without decoding",
            columns.len()
        )];
        lines.extend(
            sorted.into_iter().map(|(why, count)| format!("  {count} row group(s) are sorted: {why}")),
        );
        for (target, (_, reasons)) in self.load.targets.iter().zip(columns) {
            let name = &target.name;
            let reasons = reasons.into_iter().map(|(why, count)| match count == adopted {
                true => format!("  column {name} is decoded: {why}"),
                false => format!("  column {name} is decoded in {count} row group(s): {why}"),
            });
            lines.extend(reasons);
        }
        Ok(lines)
    }
}
