//! Runs of views that are refreshed: what a view remembers of its last one, and when the next one is due.
//!
//! Invariant: what is remembered stands in the definition of the view, so that it survives the process and all servers of a
//! root know it; whoever reads it finds the same moment for the next run. Must not know: how a run is carried out.

use catalog::{Snapshot, TableState};
use model::mix64::mix64;
use model::{KeptClause, TableDef, TableEngine, TableId};
use sql::{Refresh, SqlError, TableName, VIEW_REFRESH, VIEW_RUN, When, refresh_of_text};

/// What stands between the fields of [`LastRun`] in its clause.
const DIVIDER: char = '\u{1}';

/// The last run of a view; moments in milliseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LastRun {
    pub begun_ms: u64,
    pub ended_ms: u64,
    /// When the newest run began that did not fail, and how long it took; `None` before there was one.
    pub success: Option<(u64, u64)>,
    pub server: String,
    /// Of a run that failed.
    pub exception: String,
}

impl LastRun {
    /// What the view remembers; one that it cannot read is none, and the view is due.
    pub fn of(view: &TableDef) -> Option<LastRun> {
        let mut fields = view.kept_text(VIEW_RUN)?.splitn(6, DIVIDER);
        let mut number = || fields.next().and_then(|field| field.parse::<i64>().ok());
        let (begun_ms, ended_ms) = (number()?, number()?);
        let success = (number()?, number()?);
        let server = fields.next()?.to_owned();
        let exception = fields.next()?.to_owned();
        let unsigned = |number: i64| u64::try_from(number).ok();
        let success = unsigned(success.0).zip(unsigned(success.1));
        Some(LastRun {
            begun_ms: unsigned(begun_ms)?,
            ended_ms: unsigned(ended_ms)?,
            success,
            server,
            exception,
        })
    }

    fn text(&self) -> String {
        let shown = |moment: Option<u64>| moment.map_or("-1".to_owned(), |moment| moment.to_string());
        let fields = [
            self.begun_ms.to_string(),
            self.ended_ms.to_string(),
            shown(self.success.map(|success| success.0)),
            shown(self.success.map(|success| success.1)),
            self.server.replace(DIVIDER, " "),
            self.exception.clone(),
        ];
        fields.join(&DIVIDER.to_string())
    }

    /// The clause by which a view remembers it.
    pub fn clause(&self) -> KeptClause {
        KeptClause { keyword: VIEW_RUN.into(), text: self.text().into() }
    }
}

/// The view with another memory of its last run: what ALTER TABLE would make of it.
pub fn remembering(view: &TableDef, run: &LastRun) -> TableDef {
    with_clause(view, run.clause())
}

/// The view with another REFRESH.
pub fn refreshed_as(view: &TableDef, refresh: &Refresh) -> TableDef {
    with_clause(view, KeptClause { keyword: VIEW_REFRESH.into(), text: refresh.to_string().into() })
}

fn with_clause(view: &TableDef, clause: KeptClause) -> TableDef {
    let mut def = view.clone();
    def.schema_version += 1;
    def.kept.retain(|kept| kept.keyword != clause.keyword);
    def.kept.push(clause);
    def
}

/// The clause of a view that is refreshed; `None` of any other table.
pub fn refresh_of(def: &TableDef) -> Option<Result<Refresh, SqlError>> {
    (def.engine == TableEngine::MaterializedView).then(|| def.kept_text(VIEW_REFRESH).map(refresh_of_text))?
}

/// The clause with the views it names in full.
pub fn with_databases(refresh: &Refresh, current_database: &str) -> Refresh {
    let mut refresh = refresh.clone();
    for name in &mut refresh.depends_on {
        name.database.get_or_insert_with(|| current_database.to_owned());
    }
    refresh
}

/// When the next run is due, in milliseconds since 1970: 0 is at once.
pub fn due_ms(view: TableId, refresh: &Refresh, last: Option<&LastRun>) -> u64 {
    let Some(last) = last else { return 0 };
    let seconds = |ms: u64| i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    let mut begun = seconds(last.begun_ms);
    let spread = u64::try_from(refresh.randomize.after(0)).unwrap_or(0);
    if spread > 0
        && let When::Every { .. } = refresh.when
    {
        // One that came early belongs to the slot that it was early for.
        begun = begun.saturating_add(i64::try_from(spread / 2).unwrap_or(0));
    }
    let due = refresh.next(begun, seconds(last.ended_ms));
    let due = u64::try_from(due).unwrap_or(0).saturating_mul(1000);
    let spread_ms = spread.saturating_mul(1000);
    let half: [u8; 8] = std::array::from_fn(|at| view.as_bytes()[at]);
    let dice = mix64(u64::from_le_bytes(half) ^ due);
    let shift = if spread_ms == 0 { 0 } else { dice % spread_ms };
    due.saturating_add(shift).saturating_sub(spread_ms / 2)
}

/// The views that a run waits for and that have had none for its time; one that is not there, or has no runs, is among them.
pub fn awaited(
    snapshot: &Snapshot,
    refresh: &Refresh,
    last: Option<&LastRun>,
    due_ms: u64,
) -> Vec<TableName> {
    let since_ms = match &refresh.when {
        When::Every { .. } => {
            let slot = refresh.slot(i64::try_from(due_ms / 1000).unwrap_or(i64::MAX));
            u64::try_from(slot).unwrap_or(0).saturating_mul(1000)
        }
        When::After { .. } => last.map_or(0, |last| last.begun_ms + 1),
    };
    let ran = |name: &TableName| {
        let database = snapshot.database(name.database.as_deref().unwrap_or_default())?;
        let view = snapshot.table(database.id, &name.table)?;
        refresh_of(&view.def)?.ok()?;
        let (begun_ms, _) = LastRun::of(&view.def)?.success?;
        (begun_ms >= since_ms).then_some(())
    };
    refresh.depends_on.iter().filter(|name| ran(name).is_none()).cloned().collect()
}

/// The views of a snapshot that are refreshed and can be asked by their names: one that is detached has no runs.
pub fn refreshed_views(snapshot: &Snapshot) -> impl Iterator<Item = &std::sync::Arc<TableState>> {
    let is_there = |view: &&std::sync::Arc<TableState>| {
        let named = snapshot.table(view.def.database, &view.def.name);
        named.is_some_and(|named| named.def.id == view.def.id)
    };
    let views = snapshot.state().materialized_views();
    views.filter(|view| view.def.kept_text(VIEW_REFRESH).is_some()).filter(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> TableDef {
        let id = TableId::from_random_bytes([7; 16]);
        TableDef::plain(id, "v", TableEngine::MaterializedView, Vec::new())
    }

    #[test]
    fn a_view_remembers_its_last_run() {
        let failed = LastRun {
            begun_ms: 5,
            ended_ms: 9,
            success: None,
            server: "here".to_owned(),
            exception: "Code: 47\u{1} of two".to_owned(),
        };
        let fine = LastRun { success: Some((3, 4)), exception: String::new(), ..failed.clone() };
        for run in [failed, fine] {
            let def = remembering(&view(), &run);
            assert_eq!(LastRun::of(&def), Some(run.clone()));
            assert_eq!(remembering(&def, &run).kept.len(), 1);
        }
        assert_eq!(LastRun::of(&view()), None);
    }

    #[test]
    fn runs_are_due_by_the_clock_within_what_is_random() {
        let id = view().id;
        let monday_ms = 1_795_392_000_000;
        let run = |begun_ms: u64| LastRun { begun_ms, ended_ms: begun_ms, ..LastRun::default() };
        let due = |text: &str, begun_ms| due_ms(id, &refresh_of_text(text).unwrap(), Some(&run(begun_ms)));
        assert_eq!(due("EVERY 1 HOUR", monday_ms + 17), monday_ms + 3_600_000);
        assert_eq!(due("AFTER 10 SECOND", monday_ms), monday_ms + 10_000);
        assert_eq!(due_ms(id, &refresh_of_text("AFTER 1 DAY").unwrap(), None), 0);
        let randomly = due("EVERY 1 HOUR RANDOMIZE FOR 10 MINUTE", monday_ms);
        assert!(randomly.abs_diff(monday_ms + 3_600_000) <= 300_000, "{randomly}");
        // Not again in the slot that it was early for.
        let next = due("EVERY 1 HOUR RANDOMIZE FOR 10 MINUTE", randomly);
        assert!(next.abs_diff(monday_ms + 7_200_000) <= 300_000, "{next}");
    }
}
