//! A scalar function: its names, its documentation, its type rule and its kernel.
//!
//! Invariant: NULLs and LowCardinality are handled here for all functions that do not ask otherwise, as ClickHouse
//! does: a NULL argument makes the row NULL, one dictionary column among constants makes the result a dictionary.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, make_array, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode, Monotonicity};

use crate::cast::default_array;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::fixed_text;
use crate::memory::allowance::Allowance;
use crate::memory::row_bytes::row_bytes;

/// For the generated reference and `system.functions`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionDoc {
    pub signature: &'static str,
    pub description: &'static str,
    /// An expression, and after `->` what it gives.
    pub example: &'static str,
}

/// Who looks after NULL arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NullRule {
    /// A NULL argument makes the row NULL; type rule and kernel see plain types.
    Propagate,
    /// Type rule and kernel see the arguments as they are.
    Own,
}

type TypeRule = Arc<dyn Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync>;
type Kernel = Arc<dyn Fn(&Call<'_>) -> Result<ArrayRef, FunctionError> + Send + Sync>;

/// A function of the values of one row.
#[derive(Clone)]
pub struct ScalarFunction {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// Whether the names are found in any case.
    pub case_insensitive: bool,
    pub doc: FunctionDoc,
    /// Argument by which the result is monotonic when the other arguments are constant.
    pub monotonic_argument: Option<(usize, Monotonicity)>,
    /// Two calls with the same arguments may differ.
    pub volatile: bool,
    /// It tells about the statement: the same in all of one, not in the next one.
    pub of_statement: bool,
    nulls: NullRule,
    /// One dictionary among constants makes no dictionary of the result.
    unpacks_dictionaries: bool,
    arguments_min: usize,
    arguments_max: usize,
    type_rule: TypeRule,
    kernel: Kernel,
}

impl fmt::Debug for ScalarFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScalarFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ScalarFunction {
    pub fn new(
        name: &'static str,
        arguments: std::ops::RangeInclusive<usize>,
        type_rule: impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync + 'static,
        kernel: impl Fn(&Call<'_>) -> Result<ArrayRef, FunctionError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            case_insensitive: false,
            doc: FunctionDoc { signature: "", description: "", example: "" },
            monotonic_argument: None,
            volatile: false,
            of_statement: false,
            nulls: NullRule::Propagate,
            unpacks_dictionaries: false,
            arguments_min: *arguments.start(),
            arguments_max: *arguments.end(),
            type_rule: Arc::new(type_rule),
            kernel: Arc::new(kernel),
        }
    }

    pub fn doc(self, signature: &'static str, description: &'static str, example: &'static str) -> Self {
        Self { doc: FunctionDoc { signature, description, example }, ..self }
    }

    /// The same function under another name.
    pub(crate) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(crate) fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    pub(crate) fn any_case(self) -> Self {
        Self { case_insensitive: true, ..self }
    }

    /// Two calls with the same arguments may differ.
    pub fn volatile(self) -> Self {
        Self { volatile: true, ..self }
    }

    pub(crate) fn of_statement(self) -> Self {
        Self { of_statement: true, ..self }
    }

    pub(crate) fn increasing_by(self, argument: usize) -> Self {
        Self { monotonic_argument: Some((argument, Monotonicity::Increasing)), ..self }
    }

    pub(crate) fn decreasing_by(self, argument: usize) -> Self {
        Self { monotonic_argument: Some((argument, Monotonicity::Decreasing)), ..self }
    }

    /// The function sees Nullable and LowCardinality arguments as they are.
    pub fn own_nulls(self) -> Self {
        Self { nulls: NullRule::Own, ..self }
    }

    /// The same types from another kernel.
    pub(crate) fn with_kernel(
        self,
        kernel: impl Fn(&Call<'_>) -> Result<ArrayRef, FunctionError> + Send + Sync + 'static,
    ) -> Self {
        Self { kernel: Arc::new(kernel), ..self }
    }

    /// The same function with fewer arguments at least.
    pub(crate) fn with_arguments_from(self, arguments_min: usize) -> Self {
        Self { arguments_min, ..self }
    }

    /// Dictionaries are plain values to the function, also in its result.
    pub(crate) fn unpacks_dictionaries(self) -> Self {
        Self { unpacks_dictionaries: true, ..self }
    }

    /// Fewest and most arguments; the most is `usize::MAX` where there is no limit.
    pub fn arity(&self) -> (usize, usize) {
        (self.arguments_min, self.arguments_max)
    }

    /// The argument by which the result moves one way, given that all others are constant; what key pruning relies
    /// on. It holds as long as the value fits the result's type: dates outside of 1970..=2149 wrap in `toDate`.
    pub fn monotonicity(&self, args: &[ArgType]) -> Option<(usize, Monotonicity)> {
        let (index, way) = self.monotonic_argument?;
        let others_constant = args.iter().enumerate().all(|(i, arg)| i == index || arg.constant.is_some());
        let plain = args.get(index)?.column_type.value_type();
        let is_time = matches!(
            plain,
            ColumnType::Date
                | ColumnType::Date32
                | ColumnType::DateTime { .. }
                | ColumnType::DateTime64 { .. }
        );
        // Conversions to times are in order for times only; text sorts by its own rules.
        let fits = match self.name {
            "toDate" | "toDate32" | "toDateTime" => is_time,
            _ if plain.is_wide_integer() => false,
            "negate" => plain.is_number() && *plain != ColumnType::UInt64,
            _ => is_time || plain.is_number(),
        };
        (others_constant && fits).then_some((index, way))
    }

    /// The type of the result, or why these arguments do not fit.
    pub fn result_type(&self, args: &[ArgType]) -> Result<ColumnType, FunctionError> {
        let any_null = || args.iter().any(|arg| *arg.column_type.value_type() == ColumnType::Nothing);
        let is_few = args.len() < self.arguments_min && self.converts();
        let is_other_count = args.len() > self.arguments_max || is_few;
        if is_other_count && self.asks_for_null_first() && any_null() {
            return Ok(ColumnType::Nothing);
        }
        if args.len() < self.arguments_min || args.len() > self.arguments_max {
            return Err(self.wrong_count(args.len()));
        }
        fixed_text::check(self.name, args)?;
        if self.nulls == NullRule::Own {
            return self.ruled(args);
        }
        if any_null() {
            return Ok(ColumnType::Nothing);
        }
        let plain: Vec<ArgType> = args
            .iter()
            .map(|arg| ArgType {
                column_type: arg.column_type.value_type().clone(),
                constant: arg.constant.clone(),
            })
            .collect();
        let mut result = self.ruled(&plain)?;
        if args.iter().any(|arg| arg.column_type.is_nullable()) && can_be_nullable(&result) {
            result = result.nullable();
        }
        Ok(if !self.unpacks_dictionaries && keeps_dictionary(args, &result) {
            ColumnType::LowCardinality(Box::new(result))
        } else {
            result
        })
    }

    /// What the type rule says; where it knows no Bool, what it says of 0 and 1 instead.
    fn ruled(&self, args: &[ArgType]) -> Result<ColumnType, FunctionError> {
        let result = (self.type_rule)(args);
        match &result {
            Err(error) if error.code == ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT => {
                let numbers = args.iter().map(bool_as_number).collect::<Option<Vec<_>>>();
                numbers.and_then(|numbers| (self.type_rule)(&numbers).ok()).map_or(result, Ok)
            }
            _ => result,
        }
    }

    /// The arguments as the kernel takes them: Bools as numbers where the type rule knows no Bool.
    fn ruled_args(&self, args: Vec<Arg>) -> Result<Vec<Arg>, FunctionError> {
        let is_bool = |arg: &Arg| *arg.column_type.value_type() == ColumnType::Bool;
        if !args.iter().any(is_bool) {
            return Ok(args);
        }
        let typed = |arg: &Arg| ArgType {
            column_type: arg.column_type.clone(),
            constant: arg.is_constant.then(|| Arc::clone(&arg.array)),
        };
        let types: Vec<ArgType> = args.iter().map(typed).collect();
        let known = match (self.type_rule)(&types) {
            Err(error) => error.code != ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            Ok(_) => true,
        };
        if known {
            return Ok(args);
        }
        let number = |arg: Arg| -> Result<Arg, FunctionError> {
            if !is_bool(&arg) {
                return Ok(arg);
            }
            let column_type = number_of_bool(&arg.column_type);
            Ok(Arg { array: cast(&arg.array, &to_data_type(&column_type))?, column_type, ..arg })
        };
        args.into_iter().map(number).collect()
    }

    /// Computes the result; `call.result_type` is what [`Self::result_type`] said.
    pub fn evaluate(&self, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
        let data_type = to_data_type(call.result_type);
        if *call.result_type == ColumnType::Nothing {
            return Ok(new_null_array(&data_type, call.rows));
        }
        let mut args = Vec::with_capacity(call.args.len());
        for arg in call.args {
            args.push(self.laid_out(arg)?);
        }
        let mut nulls = None;
        if self.nulls == NullRule::Propagate {
            if args.iter().any(|arg| arg.is_constant && arg.array.is_null(0)) {
                // NULL where the type has it; an array of nothing where it has not.
                return Ok(default_array(call.result_type, call.rows));
            }
            for arg in args.iter().filter(|arg| !arg.is_constant) {
                nulls = NullBuffer::union(nulls.as_ref(), arg.array.logical_nulls().as_ref());
            }
        }
        let args = self.ruled_args(args)?;
        let allowance = Allowance::new(self.name);
        allowance.take(kernel_bytes(&args, call.result_type))?;
        let plain = Call { args: &args, rows: call.rows, nulls, allowance, ..*call };
        let result = (self.kernel)(&plain)?;
        let result = if result.data_type() == &data_type { result } else { cast(&result, &data_type)? };
        let result = match (call.result_type.value_type(), result.as_string_view_opt()) {
            (ColumnType::FixedString(_), Some(texts)) => {
                Arc::new(fixed_text::without_padding(texts)) as ArrayRef
            }
            _ => result,
        };
        if result.len() != call.rows {
            let message = format!("function {} made {} rows of {}", self.name, result.len(), call.rows);
            return Err(FunctionError::new(ErrorCode::LOGICAL_ERROR, message));
        }
        match plain.nulls {
            Some(nulls) if call.result_type.is_nullable() => with_nulls(&result, &nulls),
            _ => Ok(result),
        }
    }

    /// The argument in the layout of its type, its type without Nullable where NULLs are looked after here.
    fn laid_out(&self, arg: &Arg) -> Result<Arg, FunctionError> {
        let wanted = to_data_type(&arg.column_type);
        let array = if *arg.array.data_type() == wanted {
            Arc::clone(&arg.array)
        } else {
            cast(&arg.array, &wanted)?
        };
        let column_type = match self.nulls {
            NullRule::Propagate => arg.column_type.value_type().clone(),
            NullRule::Own => arg.column_type.clone(),
        };
        Ok(Arg { array, is_constant: arg.is_constant, column_type })
    }

    /// Whether it is one that ClickHouse lets take several numbers of arguments: of a NULL among them it is NULL before they are
    /// counted.
    fn asks_for_null_first(&self) -> bool {
        self.converts() || self.nulls == NullRule::Propagate && self.arguments_min < self.arguments_max
    }

    /// Of these too few arguments are not counted either.
    fn converts(&self) -> bool {
        let to = ["toInt", "toUInt", "toFloat", "toString", "toDecimal", "toDateTime64"];
        self.name != "toDecimalString" && to.iter().any(|to| self.name.starts_with(to))
    }

    fn wrong_count(&self, count: usize) -> FunctionError {
        let expected = match (self.arguments_min, self.arguments_max) {
            (min, max) if min == max => format!("{min}"),
            (min, usize::MAX) => format!("at least {min}"),
            (min, max) => format!("{min} to {max}"),
        };
        let message = format!("function {} takes {expected} arguments, {count} given", self.name);
        FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)
    }
}

/// UInt8, as nullable as a Bool is.
fn number_of_bool(column_type: &ColumnType) -> ColumnType {
    if column_type.is_nullable() { ColumnType::UInt8.nullable() } else { ColumnType::UInt8 }
}

/// An argument with a Bool as the number that it is.
fn bool_as_number(arg: &ArgType) -> Option<ArgType> {
    if *arg.column_type.value_type() != ColumnType::Bool {
        return Some(arg.clone());
    }
    let column_type = number_of_bool(&arg.column_type);
    let constant = match &arg.constant {
        Some(constant) => Some(cast(constant, &to_data_type(&column_type)).ok()?),
        None => None,
    };
    Some(ArgType { column_type, constant })
}

/// What a kernel may allocate for arrays, maps and tuples that it is given: places of the elements, in a buffer that grows by
/// doubling, and the elements; as text each, and then together. Kernels that make more of less ask themselves.
fn kernel_bytes(args: &[Arg], result_type: &ColumnType) -> usize {
    let is_nested = |arg: &&Arg| {
        matches!(arg.array.data_type(), DataType::List(_) | DataType::Map(..) | DataType::Struct(_))
    };
    let bytes = args.iter().filter(is_nested).map(|arg| row_bytes(&arg.array)).fold(0, usize::saturating_add);
    let copies = match result_type.value_type() {
        ColumnType::String => 8,
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_) => 4,
        _ => 1,
    };
    bytes.saturating_mul(copies)
}

pub(crate) fn can_be_nullable(column_type: &ColumnType) -> bool {
    !matches!(column_type, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_))
}

/// One dictionary column and constants give a dictionary, of types that may be in one.
pub(crate) fn keeps_dictionary(args: &[ArgType], result: &ColumnType) -> bool {
    let is_dictionary = |arg: &&ArgType| matches!(arg.column_type, ColumnType::LowCardinality(_));
    let columns: Vec<&ArgType> = args.iter().filter(|arg| arg.constant.is_none()).collect();
    columns.len() <= 1
        && columns.iter().all(is_dictionary)
        && args.iter().any(|arg| is_dictionary(&arg))
        && !matches!(
            result.value_type(),
            ColumnType::Array(_)
                | ColumnType::Map(..)
                | ColumnType::Tuple(_)
                | ColumnType::Decimal { .. }
                | ColumnType::Enum8(_)
                | ColumnType::Enum16(_)
                | ColumnType::DateTime64 { .. }
                | ColumnType::Nothing
        )
}

/// The array with more rows NULL.
pub(crate) fn with_nulls(array: &ArrayRef, nulls: &NullBuffer) -> Result<ArrayRef, FunctionError> {
    let joined = NullBuffer::union(array.nulls(), Some(nulls));
    let data = array.to_data().into_builder().nulls(joined).build()?;
    Ok(make_array(data))
}
