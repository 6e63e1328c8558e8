//! Events in order of time: `windowFunnel`, `retention`, `sequenceMatch`, `sequenceCount`.
//!
//! Invariant: events are ordered by time, events of one moment by the number of their condition; a sequence that takes
//! more than a bounded number of steps to match is an error, not a long wait.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, UInt8Array, UInt64Array};
use model::{ColumnType, ErrorCode};

use super::function::{AggregateFunction, Group, Parameters, array_of, illegal};
use crate::cast::CastMode;
use crate::columns::container::{list_of, offsets_of};
use crate::error::FunctionError;
use crate::kernel::rows::truths;
use crate::kernel::types::{is_date, is_time};

/// Conditions a call may have.
const CONDITIONS_MAX: usize = 32;
/// Steps of matching one sequence, as in ClickHouse.
const STEPS_MAX: usize = 1_000_000;

/// Time and the conditions that hold, from bit 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: i64,
    conditions: u32,
}

/// Times as whole numbers: days, seconds, ticks.
fn times(group: &Group<'_>) -> Result<Int64Array, FunctionError> {
    let arg = group.call.arg(0)?;
    if is_time(&arg.column_type) {
        let down = crate::time::temporal::power_of_ten(
            crate::time::temporal::digits_of(&arg.column_type)
                - crate::time::temporal::precision_of(&arg.column_type),
        );
        return Ok(crate::time::temporal::ticks(&arg.array).unary(|tick| tick / down));
    }
    Ok(group.call.ints(0)?.array)
}

fn holds(group: &Group<'_>, from: usize) -> Result<Vec<UInt8Array>, FunctionError> {
    let caster = group.call.caster(CastMode::Strict);
    let flag = |index: usize| {
        let arg = group.call.arg(index)?;
        Ok(crate::kernel::rows::flags(&truths(&arg.array, &arg.column_type, &caster)?))
    };
    (from..group.call.args.len()).map(flag).collect()
}

fn events(group: &Group<'_>) -> Result<Vec<Event>, FunctionError> {
    let (times, holds) = (times(group)?, holds(group, 1)?);
    let event = |row: usize| {
        let bits = holds.iter().enumerate().map(|(bit, flags)| u32::from(flags.value(row)) << bit);
        Event { time: times.value(row), conditions: bits.fold(0, |all, bit| all | bit) }
    };
    let mut events: Vec<Event> = (0..group.call.rows).map(event).collect();
    events.sort_by_key(|event| event.time);
    Ok(events)
}

fn conditions(args: &[ColumnType], from: usize, function: &str) -> Result<(), FunctionError> {
    let wrong = args.iter().skip(from).find(|t| !matches!(t, ColumnType::UInt8 | ColumnType::Bool));
    match wrong {
        Some(other) => Err(illegal(other, function)),
        None if args.len() > CONDITIONS_MAX + from => {
            let message = format!("aggregate function {function} takes {CONDITIONS_MAX} conditions at most");
            Err(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
        }
        None => Ok(()),
    }
}

fn timed(args: &[ColumnType], parameters: Parameters<'_>) -> Result<(), FunctionError> {
    match args.first() {
        Some(time) if is_date(time) || is_time(time) || time.is_integer() => {
            conditions(args, 1, parameters.function)
        }
        Some(other) => Err(illegal(other, parameters.function)),
        None => Err(FunctionError::bad_argument("a time is needed")),
    }
}

/// What the words after the window ask for.
#[derive(Clone, Copy, Default)]
struct Modes {
    deduplication: bool,
    order: bool,
    increase: bool,
}

fn modes(parameters: Parameters<'_>) -> Result<Modes, FunctionError> {
    let mut modes = Modes::default();
    for index in 1..parameters.len() {
        match parameters.text(index)?.unwrap_or("") {
            "strict_deduplication" => modes.deduplication = true,
            "strict_order" => modes.order = true,
            "strict_increase" => modes.increase = true,
            other => {
                let message = format!(
                    "windowFunnel does not know mode '{other}': write strict_deduplication, strict_order or strict_increase"
                );
                return Err(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        }
    }
    Ok(modes)
}

fn funnel(events: &[Event], count: usize, window: i64, modes: Modes) -> usize {
    // Numbers of conditions from 1; 0 is an event where none holds, which only order cares about.
    let mut steps: Vec<(i64, usize)> = Vec::new();
    for event in events {
        let held = (0..count).filter(|bit| event.conditions >> bit & 1 == 1);
        let before = steps.len();
        steps.extend(held.map(|bit| (event.time, bit + 1)));
        if modes.order && steps.len() == before {
            steps.push((event.time, 0));
        }
    }
    steps.sort_unstable();
    // Of each level reached: when its chain began, and when it was reached itself.
    let mut reached: Vec<Option<(i64, i64)>> = vec![None; count];
    for (time, step) in steps {
        let Some(level) = step.checked_sub(1) else {
            if reached[0].is_some() {
                break;
            }
            continue;
        };
        if level == 0 {
            reached[0] = Some((time, time));
        } else if modes.deduplication && reached[level].is_some() {
            break;
        } else if modes.order && reached[0].is_some() && reached[level - 1].is_none() {
            return reached.iter().position(Option::is_none).unwrap_or(count);
        } else if let Some((began, last)) = reached[level - 1]
            && time <= began.saturating_add(window)
            && (!modes.increase || last < time)
        {
            reached[level] = Some((began, time));
            if level + 1 == count {
                return count;
            }
        }
    }
    reached.iter().rposition(Option::is_some).map_or(0, |level| level + 1)
}

fn window_funnel(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let window = group.parameters.count(0)?.unwrap_or(0);
    let window = i64::try_from(window).unwrap_or(i64::MAX);
    let level = funnel(&events(group)?, group.call.args.len() - 1, window, modes(group.parameters)?);
    Ok(Arc::new(UInt8Array::from(vec![u8::try_from(level).unwrap_or(u8::MAX)])))
}

fn retention(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let any: Vec<bool> = holds(group, 0)?.iter().map(|flags| flags.values().contains(&1)).collect();
    let first = any.first().copied().unwrap_or(false);
    let values: Vec<u8> = any.iter().map(|held| u8::from(first && *held)).collect();
    Ok(list_of(&ColumnType::UInt8, offsets_of([values.len()]), Arc::new(UInt8Array::from(values)), None)?)
}

/// One part of a pattern.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Part {
    /// An event where the condition holds.
    Condition(usize),
    AnyEvent,
    AnyEvents,
    /// The seconds from the event before, compared.
    Time(&'static str, i64),
}

fn pattern(text: &str) -> Result<Vec<Part>, FunctionError> {
    let bad =
        || FunctionError::bad_argument(format!("malformed pattern '{text}': write (?1), ., .* and (?t<=10)"));
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix("(?") {
            let (inside, after) = inside.split_once(')').ok_or_else(bad)?;
            rest = after;
            let Some(time) = inside.strip_prefix('t') else {
                let number: usize = inside.parse().map_err(|_| bad())?;
                parts.push(Part::Condition(number.checked_sub(1).ok_or_else(bad)?));
                continue;
            };
            let operator =
                ["<=", ">=", "==", "<", ">"].into_iter().find(|operator| time.starts_with(operator));
            let operator = operator.ok_or_else(bad)?;
            parts.push(Part::Time(operator, time[operator.len()..].parse().map_err(|_| bad())?));
        } else if let Some(after) = rest.strip_prefix(".*") {
            parts.push(Part::AnyEvents);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            parts.push(Part::AnyEvent);
            rest = after;
        } else {
            return Err(bad());
        }
    }
    Ok(parts)
}

/// Where a match of the parts from `start` ends; `steps` bounds the search.
fn matched(
    parts: &[Part],
    events: &[Event],
    start: usize,
    steps: &mut usize,
) -> Result<Option<usize>, FunctionError> {
    *steps += 1;
    if *steps > STEPS_MAX {
        let message = format!("pattern matching took more than {STEPS_MAX} steps: write a narrower pattern");
        return Err(FunctionError::new(ErrorCode::TOO_SLOW, message));
    }
    let Some((part, rest)) = parts.split_first() else { return Ok(Some(start)) };
    let next = events.get(start);
    match *part {
        Part::Condition(bit) => match next {
            Some(event) if event.conditions >> bit & 1 == 1 => matched(rest, events, start + 1, steps),
            _ => Ok(None),
        },
        Part::AnyEvent => {
            if next.is_some() {
                matched(rest, events, start + 1, steps)
            } else {
                Ok(None)
            }
        }
        Part::AnyEvents => {
            for end in start..=events.len() {
                if let Some(found) = matched(rest, events, end, steps)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        }
        Part::Time(operator, span) => {
            // The span runs from the event before to any later one that what follows matches.
            let Some(before) = start.checked_sub(1).and_then(|at| events.get(at)) else { return Ok(None) };
            for end in start..events.len() {
                let passed = events[end].time - before.time;
                let fits = match operator {
                    "<=" => passed <= span,
                    ">=" => passed >= span,
                    "==" => passed == span,
                    "<" => passed < span,
                    _ => passed > span,
                };
                if fits && let Some(found) = matched(rest, events, end, steps)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        }
    }
}

/// How often a pattern occurs, without overlap; at most `most` times.
fn occurrences(group: &Group<'_>, most: u64) -> Result<u64, FunctionError> {
    let parts = pattern(group.parameters.text(0)?.unwrap_or(""))?;
    let conditions = group.call.args.len() - 1;
    if let Some(Part::Condition(bit)) =
        parts.iter().find(|part| matches!(part, Part::Condition(bit) if *bit >= conditions))
    {
        return Err(FunctionError::bad_argument(format!(
            "event number {} is not among the conditions",
            bit + 1
        )));
    }
    // Events where no condition holds are not part of a sequence.
    let events: Vec<Event> = events(group)?.into_iter().filter(|event| event.conditions != 0).collect();
    let (mut start, mut count, mut steps) = (0, 0, 0);
    while start < events.len() && count < most {
        match matched(&parts, &events, start, &mut steps)? {
            Some(end) => {
                count += 1;
                start = end.max(start + 1);
            }
            None => start += 1,
        }
    }
    Ok(count)
}

fn sequence_rule(args: &[ColumnType], parameters: Parameters<'_>) -> Result<(), FunctionError> {
    timed(args, parameters)?;
    pattern(parameters.text(0)?.unwrap_or("")).map(|_| ())
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::new(
            "windowFunnel",
            2..=CONDITIONS_MAX + 1,
            |args, parameters| {
                timed(args, parameters)?;
                modes(parameters)?;
                parameters.count(0).map(|_| ColumnType::UInt8)
            },
            window_funnel,
        )
        .parameters(1..=4)
        .doc(
            "windowFunnel(window[, mode, ...])(time, condition, ...)",
            "How many of the conditions hold one after the other within a window that the first one starts.",
            "windowFunnel(3600)(time, action = 'view', action = 'buy')",
        ),
        AggregateFunction::new(
            "retention",
            1..=CONDITIONS_MAX,
            |args, parameters| conditions(args, 0, parameters.function).map(|()| array_of(ColumnType::UInt8)),
            retention,
        )
        .doc(
            "retention(condition, ...)",
            "For each condition whether it and the first one hold in some row.",
            "retention(date = '2020-01-01', date = '2020-01-02')",
        ),
        AggregateFunction::new(
            "sequenceMatch",
            2..=CONDITIONS_MAX + 1,
            |args, parameters| sequence_rule(args, parameters).map(|()| ColumnType::UInt8),
            |group| Ok(Arc::new(UInt8Array::from(vec![u8::from(occurrences(group, 1)? > 0)]))),
        )
        .parameters(1..=1)
        .doc(
            "sequenceMatch('pattern')(time, condition, ...)",
            "Whether events follow a pattern like (?1).*(?t<=60)(?2).",
            "sequenceMatch('(?1)(?2)')(time, action = 'view', action = 'buy')",
        ),
        AggregateFunction::new(
            "sequenceCount",
            2..=CONDITIONS_MAX + 1,
            |args, parameters| sequence_rule(args, parameters).map(|()| ColumnType::UInt64),
            |group| Ok(Arc::new(UInt64Array::from(vec![occurrences(group, u64::MAX)?]))),
        )
        .parameters(1..=1)
        .doc(
            "sequenceCount('pattern')(time, condition, ...)",
            "How often events follow a pattern, without overlap.",
            "sequenceCount('(?1)(?2)')(time, action = 'view', action = 'buy')",
        ),
    ]
}
