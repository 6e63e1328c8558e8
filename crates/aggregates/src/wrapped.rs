//! An aggregate function of DataFusion with ClickHouse's name, argument and result types.
//!
//! Invariant: the accumulators, also those over all groups at once, are DataFusion's; so is their speed. Only `min` and
//! `max` of floats have their own, because of NaN.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
    StatisticsArgs, Volatility,
};
use datafusion::physical_expr::expressions::Literal;
use model::ColumnType;
use model::type_arrow::{from_field, to_field};

use super::collected;
use super::definition::Definition;
use super::exact_average::{Average, Averaged, Averages, state_fields};
use super::finish::{Finish, Finished, FinishedGroups};
use super::float_extreme;
use super::float_window;
use super::nested_extreme;
use super::spare;
use super::wide_sum;
use crate::typing::type_of_field;

/// See the module.
#[derive(Clone)]
pub(super) struct Wrapped {
    definition: &'static Definition,
    inner: Arc<AggregateUDF>,
    aliases: Vec<String>,
    signature: Signature,
}

impl Wrapped {
    pub(super) fn new(definition: &'static Definition) -> Self {
        let mut aliases: Vec<String> = definition.aliases.iter().map(|alias| (*alias).to_owned()).collect();
        aliases.push(definition.name.to_owned());
        let lower: Vec<String> = aliases.iter().map(|name| name.to_ascii_lowercase()).collect();
        aliases.extend(lower);
        aliases.sort_unstable();
        aliases.dedup();
        aliases.retain(|name| name != definition.name);
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { definition, inner: (definition.inner)(), aliases, signature }
    }

    fn arguments<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        all.get(..self.definition.arity).unwrap_or(all)
    }

    /// Whether its arguments are numbers that it takes as Float64.
    pub(super) fn takes_floats(&self) -> bool {
        self.definition.name != "sum" && self.definition.takes_numbers()
    }

    /// Refuses types that are no numbers where numbers are taken.
    pub(super) fn check_numbers(&self, types: &[ColumnType]) -> Result<()> {
        self.definition.check_numbers(self.arguments(types))
    }

    /// The arguments as the inner function takes them.
    fn inner_args<'a>(&self, args: &AccumulatorArgs<'a>) -> Result<AccumulatorArgs<'a>> {
        let expr_fields = self.arguments(args.expr_fields);
        Ok(AccumulatorArgs {
            return_field: self.inner.return_field(expr_fields)?,
            schema: args.schema,
            ignore_nulls: args.ignore_nulls || self.definition.ignore_nulls,
            order_bys: args.order_bys,
            is_reversed: args.is_reversed,
            name: args.name,
            is_distinct: args.is_distinct || self.definition.distinct,
            exprs: self.arguments(args.exprs),
            expr_fields,
        })
    }

    /// The first or last of values with lists in them: DataFusion's state of all groups puts lists whose elements have no type
    /// of ours where a group has no value, and cannot join them with the others.
    fn is_first_of_lists(&self, args: &AccumulatorArgs<'_>) -> bool {
        matches!(self.inner.name(), "first_value" | "last_value") && has_list(args.return_field.data_type())
    }

    /// What is averaged exactly.
    fn averaged(&self, args: &AccumulatorArgs<'_>) -> Option<Averaged> {
        let averaged = Averaged::of(self.definition.name, args.expr_fields).filter(|_| !args.is_distinct)?;
        Some(averaged.in_steps_of(&from_field(&args.return_field)))
    }

    /// The layouts of the inner states; none where no argument is a list.
    fn list_states(&self, args: &AccumulatorArgs<'_>) -> Result<Vec<DataType>> {
        let ordering = args.order_bys.iter().map(|key| key.expr.return_field(args.schema));
        let ordering = ordering.collect::<Result<Vec<_>>>()?;
        let is_list = |field: &FieldRef| matches!(field.data_type(), DataType::List(_));
        if !args.expr_fields.iter().chain(&ordering).any(is_list) {
            return Ok(vec![]);
        }
        let fields = self.inner.state_fields(StateFieldsArgs {
            name: args.name,
            input_fields: args.expr_fields,
            return_field: Arc::clone(&args.return_field),
            ordering_fields: &ordering,
            is_distinct: args.is_distinct,
        })?;
        Ok(fields.iter().map(|field| field.data_type().clone()).collect())
    }

    fn finish(&self, args: &AccumulatorArgs<'_>) -> Finish {
        let parameter = args.exprs.get(self.definition.arity).and_then(|expr| expr.downcast_ref::<Literal>());
        let elements_max = parameter.and_then(|literal| literal.value().cast_to(&DataType::UInt64).ok());
        let elements_max = match elements_max {
            Some(ScalarValue::UInt64(Some(max))) => usize::try_from(max).ok(),
            _ => None,
        };
        Finish {
            result: from_field(&args.return_field),
            empty: self.definition.empty,
            needs_rows: self.definition.needs_rows(),
            elements_max,
            parameters: self.arguments(args.exprs).len()..args.exprs.len(),
        }
    }
}

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapped").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

impl PartialEq for Wrapped {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name && self.inner == other.inner
    }
}

impl Eq for Wrapped {}

impl Hash for Wrapped {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
        self.inner.hash(state);
    }
}

fn has_list(layout: &DataType) -> bool {
    match layout {
        DataType::List(_) | DataType::Map(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_list(field.data_type())),
        _ => false,
    }
}

impl AggregateUDFImpl for Wrapped {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        if arg_types.len() > self.definition.arity && arg_types.contains(&DataType::Null) {
            // Too many arguments with a NULL among them: nothing is aggregated, and the NULL stays one without a type.
            return Ok(arg_types.to_vec());
        }
        // DataFusion would bury an error of this place in a text; `return_field` reports it.
        let Ok(mut types) = (self.definition.arguments)(self.definition, self.arguments(arg_types)) else {
            return Ok(arg_types.to_vec());
        };
        types.extend(arg_types.iter().skip(self.definition.arity).cloned());
        Ok(types)
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on more than layouts", self.definition.name)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        // Of a NULL as it is written nothing is aggregated, whatever stands behind the arguments.
        let is_null = |field: &FieldRef| *type_of_field(field).value_type() == ColumnType::Nothing;
        let is_of_null = self.definition.name != "count" && arg_fields.iter().any(is_null);
        if !is_of_null || arg_fields.len() < self.definition.arity {
            self.definition.check_count(arg_fields.len())?;
        }
        let layouts: Vec<DataType> = arg_fields.iter().map(|field| field.data_type().clone()).collect();
        (self.definition.arguments)(self.definition, self.arguments(&layouts))?;
        let types: Vec<ColumnType> =
            self.arguments(arg_fields).iter().map(|field| type_of_field(field)).collect();
        Ok(Arc::new(to_field(self.definition.name, &(self.definition.result)(&types))))
    }

    fn accumulator(&self, acc_args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let finish = self.finish(&acc_args);
        if let Some(inner) = wide_sum::accumulator(self.definition.name, &acc_args)? {
            return Ok(Box::new(Finished { inner, finish, states: vec![] }));
        }
        if let Some(averaged) = self.averaged(&acc_args) {
            let inner = Box::new(Average::new(averaged));
            return Ok(Box::new(Finished { inner, finish, states: vec![] }));
        }
        let args = self.inner_args(&acc_args)?;
        let states = self.list_states(&args)?;
        let (name, layout) = (self.definition.name, args.return_field.data_type());
        let own =
            float_extreme::accumulator(name, layout).or_else(|| nested_extreme::accumulator(name, layout));
        let own = match own {
            Some(own) => Some(own),
            None => collected::accumulator(name, &args, finish.elements_max)?,
        };
        let nests = args.expr_fields.iter().any(|field| field.data_type().is_nested());
        let inner = match own {
            Some(own) => own,
            None if nests => spare::spared(self.inner.accumulator(args)?),
            None => self.inner.accumulator(args)?,
        };
        Ok(Box::new(Finished { inner, finish, states }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let finish = self.finish(&args);
        if let Some(inner) = wide_sum::accumulator(self.definition.name, &args)? {
            return Ok(Box::new(Finished { inner, finish, states: vec![] }));
        }
        if let Some(averaged) = self.averaged(&args) {
            let inner = Box::new(Average::new(averaged));
            return Ok(Box::new(Finished { inner, finish, states: vec![] }));
        }
        let inner_args = self.inner_args(&args)?;
        let types: Vec<DataType> =
            inner_args.expr_fields.iter().map(|field| field.data_type().clone()).collect();
        if let Some(inner) = float_window::accumulator(self.definition.name, &types) {
            return Ok(Box::new(Finished { inner, finish, states: vec![] }));
        }
        let inner = self.inner.create_sliding_accumulator(inner_args)?;
        Ok(Box::new(Finished { inner, finish, states: vec![] }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if let Some(fields) = wide_sum::state_fields(self.definition.name, &args) {
            return Ok(fields);
        }
        let input_fields = self.arguments(args.input_fields);
        let averaged = Averaged::of(self.definition.name, input_fields).filter(|_| !args.is_distinct);
        if let Some(averaged) = averaged {
            return Ok(state_fields(args.name, &averaged));
        }
        self.inner.state_fields(StateFieldsArgs {
            name: args.name,
            input_fields,
            return_field: self.inner.return_field(input_fields)?,
            ordering_fields: args.ordering_fields,
            is_distinct: args.is_distinct || self.definition.distinct,
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        if wide_sum::groups_accumulator(self.definition.name, &args).is_ok_and(|own| own.is_some()) {
            return true;
        }
        if self.averaged(&args).is_some() {
            return true;
        }
        self.inner_args(&args).is_ok_and(|args| {
            nested_extreme::order_of(self.definition.name, args.return_field.data_type()).is_some()
                || (!self.is_first_of_lists(&args) && self.inner.groups_accumulator_supported(args))
        })
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let finish = self.finish(&args);
        if let Some(inner) = wide_sum::groups_accumulator(self.definition.name, &args)? {
            return Ok(Box::new(FinishedGroups { inner, finish, states: vec![], rows: vec![] }));
        }
        if let Some(averaged) = self.averaged(&args) {
            let inner = Box::new(Averages::new(averaged));
            return Ok(Box::new(FinishedGroups { inner, finish, states: vec![], rows: vec![] }));
        }
        let args = self.inner_args(&args)?;
        let states = self.list_states(&args)?;
        let (name, layout) = (self.definition.name, args.return_field.data_type());
        let own = float_extreme::groups_accumulator(name, layout);
        let own = own.or_else(|| nested_extreme::groups::accumulator(name, layout));
        let inner = own.map_or_else(|| self.inner.create_groups_accumulator(args), Ok)?;
        Ok(Box::new(FinishedGroups { inner, finish, states, rows: vec![] }))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        beneficial_ordering: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        let inner = self.inner.as_ref().clone().with_beneficial_ordering(beneficial_ordering)?;
        Ok(inner.map(|inner| {
            let rewrapped = Wrapped { inner: Arc::new(inner), ..self.as_ref().clone() };
            Arc::new(rewrapped) as Arc<dyn AggregateUDFImpl>
        }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Identical => ReversedUDAF::Identical,
            _ => ReversedUDAF::NotSupported,
        }
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    fn value_from_stats(&self, statistics_args: &StatisticsArgs) -> Option<ScalarValue> {
        // DataFusion counts a constant as one value, also where it is NULL or no row has it.
        if statistics_args.is_distinct {
            return None;
        }
        let value = self.inner.value_from_stats(statistics_args)?;
        value.cast_to(statistics_args.return_type).ok().filter(|value| !value.is_null())
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        match self.definition.name {
            "count" => Ok(ScalarValue::UInt64(Some(0))),
            _ => ScalarValue::try_from(data_type),
        }
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(data_type)
    }
}
