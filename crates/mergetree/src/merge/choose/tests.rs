use insta::assert_snapshot;
use model::{ByteSize, PartId, PartitionValue, Value};

use super::{MergeLimits, PartSummary, choose};

const NOW_MS: u64 = 10_000_000_000_000;

fn part(number: usize, bytes: u64, age_s: u64, partition: u64, neighbourhood: u32) -> PartSummary {
    let mut id = [0; 16];
    id[8..].copy_from_slice(&(number as u64).to_be_bytes());
    PartSummary {
        id: PartId::from_bytes(id),
        partition: PartitionValue::new(vec![Value::UInt(partition)], &[arrow::datatypes::DataType::UInt64]),
        neighbourhood,
        level: 0,
        rows: bytes / 100,
        bytes,
        created_ms: NOW_MS - age_s * 1000,
    }
}

/// Parts as sizes, in block order: `1M*6` is six parts of 1 MiB, `|` starts the next partition, `/` the next
/// neighbourhood, `@60` makes the parts behind it 60 s old. The answer names the parts of each plan by position.
fn check_with(parts: &str, limits: &MergeLimits) -> String {
    let (mut summaries, mut age, mut partition, mut neighbourhood) = (Vec::new(), 0, 0, 0);
    for word in parts.split_whitespace() {
        match word {
            "|" => partition += 1,
            "/" => neighbourhood += 1,
            _ if word.starts_with('@') => age = word[1..].parse().unwrap(),
            _ => {
                let (size, times) = word.split_once('*').unwrap_or((word, "1"));
                let bytes = ByteSize::parse(&format!("{size}i")).unwrap().0;
                for _ in 0..times.parse::<usize>().unwrap() {
                    summaries.push(part(summaries.len(), bytes, age, partition, neighbourhood));
                }
            }
        }
    }
    let plans = choose(&summaries, limits, NOW_MS);
    let position = |id: &PartId| summaries.iter().position(|part| part.id == *id).unwrap();
    let show = |plan: &super::MergePlan| {
        let positions: Vec<usize> = plan.inputs.iter().map(position).collect();
        assert!(positions.windows(2).all(|pair| pair[1] == pair[0] + 1), "neighbours");
        format!("{}-{}", positions[0], positions[positions.len() - 1])
    };
    plans.iter().map(show).collect::<Vec<_>>().join(" ")
}

fn check(parts: &str) -> String {
    check_with(parts, &MergeLimits::default())
}

#[test]
fn equal_parts_merge_by_five_and_more() {
    assert_snapshot!(check("1M 1M"), @"");
    assert_snapshot!(check("1M*4"), @"");
    assert_snapshot!(check("1M*5"), @"0-4");
    assert_snapshot!(check("1M*12"), @"0-11");
    assert_snapshot!(check("100M*5"), @"0-4");
}

#[test]
fn a_large_part_waits_for_its_like() {
    assert_snapshot!(check("1M 1M 1M 200M"), @"");
    assert_snapshot!(check("200M 1M*6"), @"1-6");
    assert_snapshot!(check("200M*5 1M*6"), @"5-10 0-4");
}

#[test]
fn age_and_crowds_lower_the_demand() {
    assert_snapshot!(check("@7200 0.1M 0.1M"), @"0-1");
    assert_snapshot!(check("@7200 100M 1M"), @"");
    assert_snapshot!(check("@9000000 100M 90M"), @"");
    assert_snapshot!(check("@9000000 100M 90M 90M"), @"0-2");
    assert_snapshot!(check("@0 64M*3 | 1M*5"), @"3-7");
}

#[test]
fn limits_hold() {
    let few = MergeLimits { parts_max: 6, ..MergeLimits::default() };
    assert_snapshot!(check_with("1M*13", &few), @"0-5 6-11");
    let small = MergeLimits { bytes_max: 5 << 20, ..MergeLimits::default() };
    assert_snapshot!(check_with("1M*6", &small), @"0-4");
    let one = MergeLimits { plans_max: 1, ..MergeLimits::default() };
    assert_snapshot!(check_with("1M*5 | 2M*5", &one), @"0-4");
    // The best of all partitions, not the first.
    assert_snapshot!(check_with("9M*5 | 2M*5 | 1M*6", &one), @"10-15");
}

#[test]
fn partitions_and_neighbourhoods_are_not_crossed() {
    assert_snapshot!(check("1M*3 | 1M*3"), @"");
    assert_snapshot!(check("1M*3 / 1M*3"), @"");
    assert_snapshot!(check("1M*5 / 1M*6 | 1M*7"), @"11-17 5-10 0-4");
}

#[test]
fn crumbs_at_the_right_are_left_to_gather() {
    assert_snapshot!(check("50M*6 0.1M*2"), @"0-5");
}

/// A part of 1 MiB a second for three hours, one merge a second: the parts stay few, and the rewrites too.
#[test]
fn a_stream_of_inserts_keeps_parts_and_rewrites_logarithmic() {
    let (mut parts, mut most, mut written): (Vec<PartSummary>, usize, u64) = (Vec::new(), 0, 0);
    let seconds: usize = 3 * 3600;
    for second in 0..seconds {
        let now_ms = NOW_MS + second as u64 * 1000;
        parts.push(PartSummary { created_ms: now_ms, ..part(second, 1 << 20, 0, 0, 0) });
        if let Some(plan) =
            choose(&parts, &MergeLimits { plans_max: 1, ..MergeLimits::default() }, now_ms).first()
        {
            let start = parts.iter().position(|part| part.id == plan.inputs[0]).unwrap();
            let id = 1_000_000 + second;
            let merged = PartSummary { created_ms: now_ms, ..part(id, plan.bytes_total, 0, 0, 0) };
            parts.splice(start..start + plan.inputs.len(), [merged]);
            written += plan.bytes_total;
        }
        most = most.max(parts.len());
    }
    let inserted = (seconds as u64) << 20;
    assert!(most <= 40, "at most {most} parts");
    assert!(written <= 6 * inserted, "{written} bytes written by merges for {inserted} inserted");
    assert_eq!(parts.iter().map(|part| part.bytes).sum::<u64>(), inserted, "no byte is lost or doubled");
}

/// What a table is like while its merges take time.
#[derive(Default)]
struct Stream {
    parts: Vec<PartSummary>,
    /// Running merges, by when they end.
    running: Vec<(usize, super::MergePlan)>,
    parts_most: usize,
    bytes_merged: u64,
    merges: usize,
}

impl Stream {
    fn end_merges(&mut self, second: usize, now_ms: u64) {
        while let Some(at) = self.running.iter().position(|(end, _)| *end <= second) {
            let (_, plan) = self.running.swap_remove(at);
            let start = self.parts.iter().position(|part| part.id == plan.inputs[0]).unwrap();
            let merged = part(1_000_000 + self.merges, plan.bytes_total, 0, 0, 0);
            let merged = PartSummary { created_ms: now_ms, level: plan.level, ..merged };
            self.parts.splice(start..start + plan.inputs.len(), [merged]);
            self.bytes_merged += plan.bytes_total;
            self.merges += 1;
        }
    }

    /// Parts that are being merged stand between their neighbours.
    fn free_parts(&self) -> Vec<PartSummary> {
        let is_busy =
            |part: &PartSummary| self.running.iter().any(|(_, plan)| plan.inputs.contains(&part.id));
        let mut neighbourhood = 0;
        let mut free = Vec::new();
        for part in &self.parts {
            match is_busy(part) {
                true => neighbourhood += 1,
                false => free.push(PartSummary { neighbourhood, ..part.clone() }),
            }
        }
        free
    }
}

/// 10,000 parts of 4 MiB, one a second, and `workers` merges at a time which write 16 MiB a second each.
fn stream(workers: usize) -> Stream {
    let mut stream = Stream::default();
    let one = MergeLimits { plans_max: 1, ..MergeLimits::default() };
    for second in 0..10_000 {
        let now_ms = NOW_MS + second as u64 * 1000;
        stream.end_merges(second, now_ms);
        stream.parts.push(PartSummary { created_ms: now_ms, ..part(second, 4 << 20, 0, 0, 0) });
        while stream.running.len() < workers
            && let Some(plan) = choose(&stream.free_parts(), &one, now_ms).pop()
        {
            stream.running.push((second + 1 + (plan.bytes_total >> 24) as usize, plan));
        }
        stream.parts_most = stream.parts_most.max(stream.parts.len());
    }
    stream
}

#[test]
fn ten_thousand_parts_against_merges_that_take_time() {
    let stream = stream(4);
    let inserted = 10_000 * (4_u64 << 20);
    assert!(stream.parts_most <= 50, "at most {} parts", stream.parts_most);
    assert!(stream.bytes_merged <= 5 * inserted, "{} rewrites", stream.bytes_merged / inserted);
    let left: u64 = stream.parts.iter().map(|part| part.bytes).sum();
    assert_eq!(left, inserted);
}
