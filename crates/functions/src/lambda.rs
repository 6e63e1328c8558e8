//! Functions that take a function: what it is called with, and what is made of its results.
//!
//! A lambda is evaluated elsewhere, by who plans expressions: once, over the elements of all rows of a batch. Here is
//! what comes before it ([`Elements`]) and after it, a kernel over an array of its results that may see the arrays too.
//! Invariant: the results and the arrays a kernel sees have the same offsets, so a place in one is a place in all.

mod choose;
mod elements;
mod order;
mod pairs;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef};
use model::{ColumnType, ErrorCode, TupleElement};

use crate::columns::container::list_of;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call, SessionValues};
use crate::kernel::registry::{FunctionDoc, ScalarFunction};
use crate::kernel::types::contained;

pub use elements::{Elements, Steps};

/// What the parameters of a lambda walk over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// The elements at one place of all arrays.
    Elements,
    /// The key and the value of one entry of a map.
    Entries,
    /// What has been folded so far, and the elements at one place; the last argument is where folding starts.
    Fold,
}

/// What a kernel sees besides the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keeps {
    Nothing,
    Arguments,
}

/// A function whose first argument is a lambda.
#[derive(Clone, Debug)]
pub struct LambdaFunction {
    pub name: &'static str,
    pub over: Over,
    pub doc: FunctionDoc,
    /// Plain arguments between the lambda and the arrays.
    plain: usize,
    keeps: Keeps,
    kernel: ScalarFunction,
}

impl LambdaFunction {
    /// A function of the results alone: `f(lambda, a)` is `f(arrayMap(lambda, a))`.
    fn of_results(over: Over, kernel: ScalarFunction) -> Self {
        let (name, doc) = (kernel.name, kernel.doc);
        Self { name, over, doc, plain: 0, keeps: Keeps::Nothing, kernel }
    }

    /// A function whose kernel gets the results, then the arguments.
    fn beside(over: Over, kernel: ScalarFunction) -> Self {
        Self { keeps: Keeps::Arguments, ..Self::of_results(over, kernel) }
    }

    fn plain(self, plain: usize) -> Self {
        Self { plain, ..self }
    }

    /// Whether a lambda of so many parameters takes apart the tuples of the one array, or the map, that is given;
    /// an error where it fits the arguments behind it in no way.
    pub fn takes_apart(&self, parameters: usize, arguments: usize) -> Result<bool, FunctionError> {
        let name = self.name;
        let wrong = |wanted: usize| {
            let message = format!(
                "first argument of {name} must be a function with {wanted} arguments here, found one with {parameters}"
            );
            Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        };
        let few = |least: &str| {
            let message =
                format!("function {name} takes a lambda and {least}, {arguments} arguments behind it given");
            // ClickHouse misses a map by its type.
            let code = match self.over {
                Over::Entries => ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                _ => ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            };
            Err(FunctionError::new(code, message))
        };
        match self.over {
            Over::Elements => match arguments.saturating_sub(self.plain) {
                0 => few("at least one array"),
                arrays if arrays == parameters => Ok(false),
                1 if parameters > 1 => Ok(true),
                arrays => wrong(arrays),
            },
            Over::Entries if arguments != self.plain + 1 => few("a map"),
            Over::Entries => match parameters {
                1 => Ok(false),
                2 => Ok(true),
                _ => wrong(2),
            },
            Over::Fold if arguments < 2 => few("at least one array and a start"),
            Over::Fold if parameters != arguments => wrong(arguments),
            Over::Fold => Ok(false),
        }
    }

    /// The types of a lambda's parameters when these arguments stand behind it.
    pub fn parameters(&self, types: &[ColumnType], apart: bool) -> Result<Vec<ColumnType>, FunctionError> {
        let wrong = |index: usize, what: &str, found: &ColumnType| {
            let message =
                format!("argument {} of function {} must be {what}, found {found}", index + 2, self.name);
            FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
        };
        let element = |index: usize| match types.get(index) {
            Some(ColumnType::Array(element)) => Ok((**element).clone()),
            other => Err(wrong(index, "Array", other.unwrap_or(&ColumnType::Nothing))),
        };
        match self.over {
            Over::Entries => match types.get(self.plain) {
                Some(ColumnType::Map(key, value)) if apart => Ok(vec![(**key).clone(), (**value).clone()]),
                Some(ColumnType::Map(key, value)) => Ok(vec![entry(key, value)]),
                other => Err(wrong(self.plain, "Map", other.unwrap_or(&ColumnType::Nothing))),
            },
            Over::Elements if apart => match element(self.plain)? {
                ColumnType::Tuple(parts) => Ok(parts.into_iter().map(|part| part.column_type).collect()),
                other => Err(wrong(self.plain, "an Array of Tuples", &other)),
            },
            Over::Elements => (self.plain..types.len()).map(element).collect(),
            Over::Fold => {
                let arrays = types.len().saturating_sub(1);
                let mut parameters: Vec<_> = types.last().cloned().into_iter().collect();
                for index in 0..arrays {
                    parameters.push(element(index)?);
                }
                Ok(parameters)
            }
        }
    }

    /// The type of the call, when the lambda gives values of type `body`.
    pub fn result_type(&self, body: &ColumnType, args: &[ArgType]) -> Result<ColumnType, FunctionError> {
        if self.over == Over::Fold {
            let start = args.last().map_or(&ColumnType::Nothing, |arg| &arg.column_type);
            if start == body {
                return Ok(body.clone());
            }
            let message = format!(
                "the lambda of {} must give the type of what it folds: it gives {body}, the start is {start}; convert \
                 the start",
                self.name
            );
            return Err(FunctionError::new(ErrorCode::TYPE_MISMATCH, message));
        }
        let mut all = vec![ArgType { column_type: results_type(body), constant: None }];
        if self.keeps == Keeps::Arguments {
            let plain = args.iter().take(self.plain).cloned();
            let arrays = args.iter().skip(self.plain);
            let varying = |arg: &ArgType| ArgType { column_type: arg.column_type.clone(), constant: None };
            all.extend(plain.chain(arrays.map(varying)));
        }
        self.kernel.result_type(&all)
    }

    /// Makes the result of the call from those of the lambda, one for each element.
    pub fn finish(
        &self,
        results: &ArrayRef,
        body: &ColumnType,
        elements: &Elements,
        args: &[Arg],
        result_type: &ColumnType,
        session: &SessionValues,
    ) -> Result<ArrayRef, FunctionError> {
        let element = contained(without_dictionary(body));
        let wanted = model::type_arrow::to_data_type(&element);
        let results = if *results.data_type() == wanted {
            Arc::clone(results)
        } else {
            arrow::compute::cast(results, &wanted)?
        };
        let lists = list_of(&element, elements.offsets().clone(), results, None)?;
        let mut all = vec![Arg { array: lists, is_constant: false, column_type: results_type(body) }];
        if self.keeps == Keeps::Arguments {
            all.extend(args.iter().take(self.plain).cloned());
            all.extend(elements.arguments()?);
        }
        self.kernel.evaluate(&Call::new(&all, elements.rows(), result_type, session))
    }

    /// How many plain arguments stand between the lambda and the arrays.
    pub fn plain_arguments(&self) -> usize {
        self.plain
    }
}

/// A dictionary would be one of the elements, not of the rows: ClickHouse takes it off, too.
fn without_dictionary(body: &ColumnType) -> ColumnType {
    match body {
        ColumnType::LowCardinality(inner) => (**inner).clone(),
        other => other.clone(),
    }
}

fn results_type(body: &ColumnType) -> ColumnType {
    ColumnType::Array(Box::new(contained(without_dictionary(body))))
}

fn entry(key: &ColumnType, value: &ColumnType) -> ColumnType {
    let part = |name: &str, column_type: &ColumnType| TupleElement {
        name: Some(name.into()),
        column_type: column_type.clone(),
    };
    ColumnType::Tuple(vec![part("keys", key), part("values", value)])
}

static ALL: LazyLock<Vec<LambdaFunction>> = LazyLock::new(|| {
    let mut all = choose::functions();
    all.extend(order::functions());
    all.extend(pairs::functions());
    all.sort_by_key(|function| function.name);
    all
});

static BY_NAME: LazyLock<HashMap<&'static str, usize>> =
    LazyLock::new(|| ALL.iter().enumerate().map(|(index, function)| (function.name, index)).collect());

/// Every function that takes a lambda, ordered by name. Some of the names are scalar functions, too.
pub fn lambda_functions() -> &'static [LambdaFunction] {
    &ALL
}

/// The function of this name that takes a lambda.
pub fn lambda_function(name: &str) -> Option<&'static LambdaFunction> {
    ALL.get(*BY_NAME.get(name)?)
}

/// A scalar kernel for the array of results, by the scalar function's name.
fn scalar_form(name: &'static str, doc: FunctionDoc) -> Option<ScalarFunction> {
    let function = crate::arrays::functions().into_iter().find(|function| function.name == name)?;
    Some(function.doc(doc.signature, doc.description, doc.example))
}

#[cfg(test)]
mod tests;
