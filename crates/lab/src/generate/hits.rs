//! Rows that look like a web counter's hits: 105 columns, most of them small numbers, flags or seldom filled texts.
//!
//! A visitor keeps its region, device and language; a page keeps its title. Invariant: a file is a function of (seed,
//! number of the file, rows of the whole set). Not the public rows: only their names, types and kinds of columns.

mod columns;

use std::io::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Int16Array, Int32Array, Int64Array, RecordBatch, TimestampMillisecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

use super::dice::Dice;
use super::prose::Prose;
use super::texts::TextColumn;
use columns::{COLUMNS, Fact, Made};

/// 2013-07-01 00:00:00 UTC; a set spans a month.
const FIRST_SECOND: i64 = 1_372_636_800;
const SECONDS: u64 = 31 * 86_400;
const DAY: i64 = 86_400;
/// One of so many hits is by somebody new.
const HITS_A_USER: u64 = 6;
const COUNTERS: u32 = 6_500;
const REGIONS: u32 = 9_000;
/// Pages of one counter.
const PAGES: u32 = 60_000;
const PHRASES: u32 = 900_000;
const PHONES: u32 = 160;
const LANGUAGES: [&str; 8] = ["ru", "en", "uk", "tr", "de", "kk", "be", "fr"];
const WIDTHS: [i16; 8] = [1366, 1920, 1280, 1024, 1440, 1600, 768, 320];
const HEIGHTS: [i16; 8] = [768, 1080, 1024, 768, 900, 900, 1024, 480];

/// A whole data set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HitsPlan {
    pub(crate) rows: u64,
    pub(crate) files: u32,
    pub(crate) seed: u64,
}

pub(crate) fn schema() -> SchemaRef {
    let fields = COLUMNS.iter().map(|(name, made)| Field::new(*name, data_type(*made), false));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn data_type(made: Made) -> DataType {
    match made {
        Made::Int16 { .. } => DataType::Int16,
        Made::Int32 { .. } => DataType::Int32,
        Made::Int64 { .. } => DataType::Int64,
        Made::Text { .. } => DataType::Utf8,
        Made::Of(fact) => match fact {
            Fact::WatchId | Fact::UserId | Fact::UrlHash | Fact::RefererHash => DataType::Int64,
            Fact::Counter | Fact::Region | Fact::ClientIp | Fact::Timing => DataType::Int32,
            Fact::Time | Fact::ClientTime | Fact::LocalTime => {
                // Parquet has no seconds.
                DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
            }
            Fact::Date => DataType::Date32,
            Fact::Title | Fact::Url | Fact::Referer | Fact::OriginalUrl | Fact::SearchPhrase => {
                DataType::Utf8
            }
            Fact::PhoneModel | Fact::Language => DataType::Utf8,
            Fact::System | Fact::Agent | Fact::Mobile | Fact::MobilePhone | Fact::SearchEngine => {
                DataType::Int16
            }
            Fact::Width | Fact::Height => DataType::Int16,
        },
    }
}

/// What the columns of one row agree on.
#[derive(Debug)]
struct Visit {
    watch: u64,
    /// A hash: everything about the visitor follows from it.
    user: u64,
    counter: u32,
    second: i64,
    /// Pages of the counter; `None` for no referer.
    page: u32,
    referer: Option<u32>,
    phrase: Option<u32>,
    timing: u32,
}

/// The rows of one file, batch by batch.
#[derive(Debug)]
pub(crate) struct HitRows<'a> {
    prose: &'a Prose,
    plan: HitsPlan,
    next: u64,
    end: u64,
    dice: Dice,
}

impl<'a> HitRows<'a> {
    pub(crate) fn new(prose: &'a Prose, plan: HitsPlan, number: u32) -> HitRows<'a> {
        let from = |number: u32| plan.rows * u64::from(number) / u64::from(plan.files.max(1));
        let dice = Dice::new(plan.seed, (1 << 40) + u64::from(number));
        HitRows { prose, plan, next: from(number), end: from(number + 1), dice }
    }

    /// At most `rows_max` rows; `None` after the last one.
    pub(crate) fn next_batch(&mut self, rows_max: u64) -> Option<Result<RecordBatch, ArrowError>> {
        let rows = rows_max.min(self.end - self.next);
        if rows == 0 {
            return None;
        }
        let visits: Vec<Visit> = (self.next..self.next + rows).map(|row| self.visit(row)).collect();
        self.next += rows;
        let columns: Result<Vec<ArrayRef>, ArrowError> = COLUMNS
            .iter()
            .map(|(_, made)| match *made {
                Made::Of(fact) => self.fact(fact, &visits),
                other => self.made(other, visits.len()),
            })
            .collect();
        Some(columns.and_then(|columns| RecordBatch::try_new(schema(), columns)))
    }

    fn visit(&mut self, row: u64) -> Visit {
        let dice = &mut self.dice;
        let second = FIRST_SECOND
            + i64::try_from(u128::from(row) * u128::from(SECONDS) / u128::from(self.plan.rows.max(1)))
                .unwrap_or(0);
        let users = u32::try_from((self.plan.rows / HITS_A_USER).max(1)).unwrap_or(u32::MAX);
        // Most come a few times, some all day.
        let user = if dice.chance(250) { dice.skewed(users) } else { dice.below(users) };
        let search = dice.chance(130);
        Visit {
            watch: dice.next(),
            user: mixed(u64::from(user) + 1),
            counter: dice.skewed(COUNTERS),
            second,
            page: dice.skewed(PAGES),
            referer: dice.chance(800).then(|| dice.skewed(PAGES)),
            phrase: search.then(|| dice.skewed(PHRASES)),
            timing: dice.skewed(30_000),
        }
    }

    fn made(&mut self, made: Made, rows: usize) -> Result<ArrayRef, ArrowError> {
        let dice = &mut self.dice;
        let mut throw = |below: u32, per_mille: u32| match dice.chance(per_mille) {
            // Never zero: that is what "not there" is.
            true => 1 + dice.skewed(below.saturating_sub(1).max(1)),
            false => 0,
        };
        Ok(match made {
            Made::Int16 { below, per_mille } => {
                let values = (0..rows).map(|_| i16::try_from(throw(below, per_mille)).unwrap_or(i16::MAX));
                Arc::new(values.collect::<Int16Array>())
            }
            Made::Int32 { below, per_mille } => {
                let values = (0..rows).map(|_| i32::try_from(throw(below, per_mille)).unwrap_or(i32::MAX));
                Arc::new(values.collect::<Int32Array>())
            }
            Made::Int64 { per_mille } => {
                let value = |dice: &mut Dice| if dice.chance(per_mille) { signed(dice.next()) } else { 0 };
                Arc::new((0..rows).map(|_| value(dice)).collect::<Int64Array>())
            }
            Made::Text { below, per_mille } => {
                let mut column = TextColumn::default();
                for _ in 0..rows {
                    let value = throw(below, per_mille);
                    column.push(|text| {
                        if value > 0 {
                            push_label(self.prose, below, value, text)
                        }
                    });
                }
                column.finish()?
            }
            Made::Of(_) => return Err(ArrowError::ComputeError("a fact is made of the visit".to_owned())),
        })
    }

    fn fact(&self, fact: Fact, visits: &[Visit]) -> Result<ArrayRef, ArrowError> {
        let long = |get: &dyn Fn(&Visit) -> i64| -> ArrayRef {
            Arc::new(visits.iter().map(get).collect::<Int64Array>())
        };
        let number = |get: &dyn Fn(&Visit) -> u32| -> ArrayRef {
            Arc::new(visits.iter().map(|v| i32::try_from(get(v)).unwrap_or(i32::MAX)).collect::<Int32Array>())
        };
        let small = |get: &dyn Fn(&Visit) -> u32| -> ArrayRef {
            Arc::new(visits.iter().map(|v| i16::try_from(get(v)).unwrap_or(i16::MAX)).collect::<Int16Array>())
        };
        let time = |get: &dyn Fn(&Visit) -> i64| -> ArrayRef {
            Arc::new(
                TimestampMillisecondArray::from_iter_values(visits.iter().map(|v| 1_000 * get(v)))
                    .with_timezone("UTC"),
            )
        };
        let text = |push: &dyn Fn(&Visit, &mut Vec<u8>)| -> Result<ArrayRef, ArrowError> {
            let mut column = TextColumn::default();
            visits.iter().for_each(|visit| column.push(|text| push(visit, text)));
            column.finish()
        };
        Ok(match fact {
            Fact::WatchId => long(&|v| signed(v.watch)),
            // Small enough for ClickHouse's avg(), whose sum wraps around.
            Fact::UserId => long(&|v| signed(v.user >> 23)),
            Fact::Counter => number(&|v| v.counter + 1),
            Fact::Region => number(&Visit::region),
            Fact::ClientIp => number(&|v| low(v.user >> 7) >> 1),
            Fact::Timing => number(&|v| v.timing),
            Fact::Time => time(&|v| v.second),
            Fact::ClientTime => time(&|v| v.second - 7 + i64::from(low(v.watch) % 15)),
            Fact::LocalTime => time(&|v| v.second + i64::from(v.region() % 12) * 3_600),
            Fact::Date => {
                let days = visits.iter().map(|v| i32::try_from(v.second / DAY).unwrap_or(0));
                Arc::new(Date32Array::from_iter_values(days))
            }
            Fact::Title => text(&|v, out| push_title(self.prose, v.counter, v.page, out))?,
            Fact::Url => text(&|v, out| push_url(self.prose, v.counter, v.page, out))?,
            Fact::Referer => text(&|v, out| v.push_referer(self.prose, out))?,
            Fact::OriginalUrl => text(&|v, out| {
                if v.watch.is_multiple_of(3) {
                    push_url(self.prose, v.counter, v.page, out);
                }
            })?,
            Fact::SearchPhrase => text(&|v, out| {
                if let Some(phrase) = v.phrase {
                    push_phrase(self.prose, phrase, out);
                }
            })?,
            Fact::SearchEngine => small(&|v| v.phrase.map_or(0, |phrase| 2 + phrase % 3)),
            Fact::UrlHash => long(&|v| signed(mixed(v.address()))),
            Fact::RefererHash => long(&|v| v.referer.map_or(0, |page| signed(mixed(u64::from(page))))),
            Fact::System => small(&|v| 1 + low(v.user >> 11) % 44),
            Fact::Agent => small(&|v| 1 + low(v.user >> 13) % 82),
            Fact::Mobile => small(&|v| u32::from(v.is_mobile())),
            Fact::MobilePhone => small(&|v| if v.is_mobile() { 1 + v.phone() % 70 } else { 0 }),
            Fact::PhoneModel => text(&|v, out| {
                if v.is_mobile() {
                    push_label(self.prose, PHONES, v.phone(), out);
                }
            })?,
            Fact::Width => small(&|v| WIDTHS[v.screen()].unsigned_abs().into()),
            Fact::Height => small(&|v| HEIGHTS[v.screen()].unsigned_abs().into()),
            Fact::Language => text(&|v, out| {
                out.extend_from_slice(LANGUAGES[octal(v.user >> 29)].as_bytes());
            })?,
        })
    }
}

impl Visit {
    fn region(&self) -> u32 {
        // A few regions have most of the visitors.
        Dice::new(self.user, 3).skewed(REGIONS)
    }

    fn is_mobile(&self) -> bool {
        (self.user >> 23) % 100 < 12
    }

    fn phone(&self) -> u32 {
        Dice::new(self.user, 5).skewed(PHONES)
    }

    fn screen(&self) -> usize {
        octal(self.user >> 17)
    }

    fn address(&self) -> u64 {
        (u64::from(self.counter) << 32) | u64::from(self.page)
    }

    fn push_referer(&self, prose: &Prose, out: &mut Vec<u8>) {
        match (self.phrase, self.referer) {
            (Some(phrase), _) => {
                out.extend_from_slice(b"http://search.example/?text=");
                push_phrase(prose, phrase, out);
            }
            (None, Some(page)) => push_url(prose, self.counter, page, out),
            (None, None) => {}
        }
    }
}

/// `http://site.example/word/word/1234`: a page's address.
fn push_url(prose: &Prose, counter: u32, page: u32, out: &mut Vec<u8>) {
    let mut dice = Dice::new(u64::from(counter), u64::from(page));
    out.extend_from_slice(b"http://");
    out.extend_from_slice(prose.name(counter).as_bytes());
    out.extend_from_slice(b".example/");
    for _ in 0..1 + dice.below(3) {
        out.extend_from_slice(prose.name(dice.skewed(3_000)).as_bytes());
        out.push(b'/');
    }
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{page}");
    if dice.chance(200) {
        let _ = write!(out, "?id={}&from={}", dice.below(100_000), prose.name(dice.skewed(500)));
    }
}

fn push_title(prose: &Prose, counter: u32, page: u32, out: &mut Vec<u8>) {
    let mut dice = Dice::new(u64::from(counter) + 77, u64::from(page));
    let words = 2 + dice.below(10);
    prose.title(&mut dice, words, out);
}

fn push_phrase(prose: &Prose, phrase: u32, out: &mut Vec<u8>) {
    let mut dice = Dice::new(91, u64::from(phrase));
    for word in 0..1 + dice.below(4) {
        if word > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(prose.name(dice.skewed(20_000)).as_bytes());
    }
}

/// One of the texts of a column that is seldom filled.
fn push_label(prose: &Prose, below: u32, value: u32, out: &mut Vec<u8>) {
    let name = prose.name(value.wrapping_mul(31).wrapping_add(below));
    match below < 100 {
        true => out.extend_from_slice(&name.as_bytes()[..name.len().min(8)]),
        false => {
            let _ = write!(out, "{name}-{value}");
        }
    }
}

/// Spreads a small number over 64 bits.
fn mixed(value: u64) -> u64 {
    Dice::new(value, 1).next()
}

fn signed(value: u64) -> i64 {
    // Ids of the public set are positive.
    i64::try_from(value >> 1).unwrap_or(i64::MAX)
}

/// One of eight.
fn octal(value: u64) -> usize {
    usize::try_from(value & 7).unwrap_or(0)
}

fn low(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use arrow::array::AsArray;
    use arrow::datatypes::{Int32Type, Int64Type};

    use super::*;

    fn rows(plan: HitsPlan) -> RecordBatch {
        let prose = Prose::new();
        let files = (0..plan.files).map(|number| {
            let mut file = HitRows::new(&prose, plan, number);
            let batches: Vec<RecordBatch> =
                std::iter::from_fn(|| file.next_batch(700)).map(Result::unwrap).collect();
            arrow::compute::concat_batches(&schema(), &batches).unwrap()
        });
        arrow::compute::concat_batches(&schema(), &files.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_visitor_keeps_its_region_and_a_search_has_an_engine() {
        let names: BTreeSet<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), 105);
        let plan = HitsPlan { rows: 5_000, files: 3, seed: 9 };
        let batch = rows(plan);
        assert_eq!((batch.num_rows(), batch.clone()), (5_000, rows(plan)));
        let user = batch["UserID"].as_primitive::<Int64Type>();
        let region = batch["RegionID"].as_primitive::<Int32Type>();
        let pairs: BTreeSet<(i64, i32)> =
            user.values().iter().copied().zip(region.values().iter().copied()).collect();
        let users: BTreeSet<i64> = user.values().iter().copied().collect();
        assert_eq!(pairs.len(), users.len());
        assert!((300..5_000).contains(&users.len()), "{}", users.len());
        let phrases = batch["SearchPhrase"].as_string::<i32>();
        let searches = phrases.iter().flatten().filter(|phrase| !phrase.is_empty()).count();
        assert!((450..850).contains(&searches), "{searches} of 5000 hits are searches");
        let times = batch["EventTime"].to_data();
        assert_eq!(times.null_count(), 0);
    }
}
