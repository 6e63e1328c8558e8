//! Lambdas: their parameters get names of their own, and those that WITH names are put where they are called.
//!
//! Invariant: a parameter wins over aliases and columns of its name. Its new name says only how deep its lambda stands,
//! so that the same expression written twice stays the same expression.

use model::ErrorCode;
use sql::dialect::{call, name_of, plain_args};
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, Function, Ident, LambdaFunction, LambdaFunctionParameter, LambdaSyntax, OneOrManyWithParens,
};

use crate::Rewriter;
use crate::access::part;
use crate::aliases::resolve;
use planner::words::{BODY, planned_name};

/// What the parameters of one lambda stand for.
pub(crate) type Frame = Vec<(String, Expr)>;

fn parameters(lambda: &LambdaFunction) -> Result<Vec<String>> {
    let all: Vec<&LambdaFunctionParameter> = match &lambda.params {
        OneOrManyWithParens::One(one) => vec![one],
        OneOrManyWithParens::Many(many) => many.iter().collect(),
    };
    let mut names: Vec<String> = vec![];
    for LambdaFunctionParameter { name, data_type } in all {
        if data_type.is_some() {
            return Err(SqlError::not_implemented(format!("a type of the lambda's parameter {name}")));
        }
        if names.contains(&name.value) {
            return Err(SqlError::bad_arguments(format!("two parameters of a lambda are called {name}")));
        }
        names.push(name.value.clone());
    }
    Ok(names)
}

/// `lambda(tuple(x, y), body)`, which is how ClickHouse shows `(x, y) -> body`.
fn spelled_out(function: &Function) -> Option<LambdaFunction> {
    let args = plain_args(function);
    let ("lambda", [list, body]) = (name_of(function).as_str(), args.as_slice()) else { return None };
    let names = match list {
        Expr::Tuple(names) => names.clone(),
        Expr::Nested(one) => vec![one.as_ref().clone()],
        Expr::Function(tuple) if name_of(tuple) == "tuple" => plain_args(tuple),
        _ => return None,
    };
    let parameter = |name: Expr| match name {
        Expr::Identifier(name) => Some(LambdaFunctionParameter { name, data_type: None }),
        _ => None,
    };
    Some(LambdaFunction {
        params: OneOrManyWithParens::Many(names.into_iter().map(parameter).collect::<Option<_>>()?),
        body: Box::new(body.clone()),
        syntax: LambdaSyntax::Arrow,
    })
}

impl Rewriter {
    /// What a name means inside the lambdas around it.
    pub(crate) fn parameter(&self, name: &str) -> Option<Expr> {
        let frames = self.frames.iter().rev().flatten();
        frames.into_iter().find(|(parameter, _)| parameter == name).map(|(_, meaning)| meaning.clone())
    }

    /// `t.name` where t is a parameter: an element of the tuple.
    pub(crate) fn parameter_element(&self, names: &[Ident]) -> Option<Expr> {
        let (first, rest) = names.split_first()?;
        Some(rest.iter().fold(self.parameter(&first.value)?, part))
    }

    /// The lambda that an argument is, or that it names.
    pub(crate) fn lambda_of(&self, arg: &Expr) -> Option<LambdaFunction> {
        match arg {
            Expr::Lambda(lambda) => Some(lambda.clone()),
            Expr::Nested(inner) => self.lambda_of(inner),
            Expr::Function(function) => spelled_out(function),
            Expr::Identifier(name) if self.parameter(&name.value).is_none() => {
                match resolve(&self.scopes, &name.value) {
                    Some(Expr::Lambda(lambda)) => Some(lambda.clone()),
                    Some(Expr::Nested(inner)) => self.lambda_of(inner),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A call of a function with a lambda, which stands at a place among the other arguments.
    pub(crate) fn with_lambda(
        &mut self,
        name: &str,
        lambda: LambdaFunction,
        (place, rest): (usize, Vec<Expr>),
    ) -> Result<Expr> {
        let Some(function) = functions::lambda_function(name).filter(|_| place == 0) else {
            let message = format!("function {name} can't have lambda-expressions as arguments");
            return Err(SqlError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
        };
        let names = parameters(&lambda)?;
        let apart = function.takes_apart(names.len(), rest.len()).map_err(|error| {
            let code = match error.code {
                count @ ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH => count,
                _ => ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            };
            SqlError::new(code, error.message)
        })?;
        self.weight.enter_lambda()?;
        let rest = self.values(rest)?;
        let depth = self.frames.len();
        let unique = |name: &String| Ident::with_quote('`', format!("{name}#{depth}"));
        let frame = names.iter().map(|name| (name.clone(), Expr::Identifier(unique(name)))).collect();
        let params = names.iter().map(|name| LambdaFunctionParameter { name: unique(name), data_type: None });
        let body = self.inside(frame, *lambda.body)?;
        self.weight.leave_lambda();
        let lambda = LambdaFunction {
            params: OneOrManyWithParens::Many(params.collect()),
            body: Box::new(call(BODY, vec![body])),
            syntax: LambdaSyntax::Arrow,
        };
        let args = std::iter::once(Expr::Lambda(lambda)).chain(rest).collect();
        Ok(call(&planned_name(function, apart), args))
    }

    /// `f(a)`, where WITH says what f is.
    pub(crate) fn applied(&mut self, name: &str, lambda: &LambdaFunction, args: Vec<Expr>) -> Result<Expr> {
        let names = parameters(lambda)?;
        if names.len() != args.len() {
            let message = format!("lambda {name} takes {} arguments, {} given", names.len(), args.len());
            return Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        }
        let frame = names.into_iter().zip(self.values(args)?).collect();
        self.inside(frame, lambda.body.as_ref().clone())
    }

    fn inside(&mut self, frame: Frame, body: Expr) -> Result<Expr> {
        self.frames.push(frame);
        let body = self.value(body);
        self.frames.pop();
        body.map(crate::lower::nested)
    }
}
