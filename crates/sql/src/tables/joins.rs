//! What joins tables: the condition of a join, whatever kind of join it is.
//!
//! Invariant: every kind of join is named here, so that a new one does not compile: `guard` lets through what it does not
//! refuse by name. Must not know: which joins are carried out, and how.

use sqlparser::ast::{JoinConstraint, JoinOperator};

/// One list for reading and for changing.
macro_rules! constraint {
    ($operator:expr) => {
        match $operator {
            JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on)
            | JoinOperator::Right(on)
            | JoinOperator::RightOuter(on)
            | JoinOperator::FullOuter(on)
            | JoinOperator::CrossJoin(on)
            | JoinOperator::Semi(on)
            | JoinOperator::LeftSemi(on)
            | JoinOperator::RightSemi(on)
            | JoinOperator::Anti(on)
            | JoinOperator::LeftAnti(on)
            | JoinOperator::RightAnti(on)
            | JoinOperator::StraightJoin(on)
            | JoinOperator::AsOf { constraint: on, .. } => Some(on),
            JoinOperator::CrossApply
            | JoinOperator::OuterApply
            | JoinOperator::ArrayJoin
            | JoinOperator::LeftArrayJoin
            | JoinOperator::InnerArrayJoin => None,
        }
    };
}

/// The condition of a join that has a place for one.
pub fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    constraint!(operator)
}

/// The same, to be changed.
pub fn constraint_mut(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    constraint!(operator)
}
