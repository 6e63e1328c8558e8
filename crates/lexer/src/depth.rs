//! How deep a statement's syntax tree will be, told from its tokens before anything that recurses has run.
//!
//! Trees are built, cloned, walked, planned and dropped recursively. Brackets nest them, but so does each link of a chain:
//! `a[1][1]`, `a + b + c`, `t.1.1`, `x::A::B`, JOIN behind JOIN, UNION behind UNION. Every link is counted, also of what is
//! no chain (too many is refused, too few would be a full stack), so a word behind a value counts whatever it is.
//! Chains of AND, OR and UNION have a limit of their own: the rewrite makes balanced trees of them.
//! Invariant: what passes fits into [`Measure::room`] bytes of stack, from parsing to dropping. Must not know: the grammar.

use model::ErrorCode;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::{Result, SqlError};

/// Links and brackets around the innermost value. Planning a chain takes the square of its length.
const DEPTH_MAX: usize = 300;
/// Operands of AND and OR, and SELECTs of UNION, around the innermost value.
const TERMS_MAX: usize = 5000;
/// Operands that one SELECT of UNION counts as: it takes a millisecond to plan.
const UNION_TERMS: usize = 5;

/// Parts of a dotted name that are one link. The parser looks at each further part as the start of a name of its own, which takes
/// the square of their number.
const NAME_PARTS_MAX: usize = 32;

/// Nodes of a tree, whatever the settings say: they are known only when it has been made.
const NODES_MAX: usize = 500_000;

/// Stack for each, generous: the largest frames of unoptimized builds are counted.
const LEVEL_BYTES: usize = 96 << 10;
const TERM_BYTES: usize = 12 << 10;
/// What a statement without any depth takes; every thread of the pools has it.
const BASE_BYTES: usize = 1 << 20;

/// How deep a statement is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measure {
    /// Brackets and links.
    pub levels: usize,
    /// Operands of AND and OR; SELECTs of UNION count as several.
    pub terms: usize,
    /// Values, operators, calls and clauses.
    pub elements: usize,
    /// The same as ClickHouse counts them: a bracket with nothing but constants in it is one.
    pub nodes: usize,
}

impl Measure {
    /// Bytes of stack that are enough for it.
    pub fn room(self) -> usize {
        BASE_BYTES + self.levels * LEVEL_BYTES + self.terms * TERM_BYTES
    }

    /// Of both together, side by side or one in the other.
    pub fn and(self, other: Measure) -> Measure {
        Measure {
            levels: self.levels + other.levels,
            terms: self.terms + other.terms,
            elements: self.elements + other.elements,
            nodes: self.nodes + other.nodes,
        }
    }

    /// Runs `work` where there is room for it: on this stack if enough of it is left, else on a larger one.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        stacker::maybe_grow(self.room(), self.room(), work)
    }
}

/// What one open bracket, or CASE, holds up to here.
#[derive(Default)]
struct Level {
    is_case: bool,
    /// INTERSECT and EXCEPT.
    sets: usize,
    unions: usize,
    /// Tables behind the first of the FROM.
    joins: usize,
    in_from: bool,
    /// Ternaries, lambdas, aliases, XOR: weaker than AND and OR, or not to be balanced.
    weak: usize,
    /// Operands of AND and OR.
    conditions: usize,
    /// Operators, and all words behind a value, since the last AND or OR.
    operators: usize,
    /// Words that would start an item if the one before is no operator, which only the grammar knows.
    doubtful: usize,
    /// Something that is no constant stands in it.
    varies: bool,
    /// [`Walk::nodes`] when it was opened.
    nodes: usize,
}

impl Level {
    fn levels(&self) -> usize {
        1 + self.sets + self.joins + self.weak + self.operators + self.doubtful
    }

    fn terms(&self) -> usize {
        self.unions * UNION_TERMS + self.conditions
    }

    /// A new item of a list, or a new clause.
    fn next_item(&mut self) {
        (self.weak, self.conditions, self.operators) = (0, 0, 0);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// The start of an item: a clause's word, a comma, an open bracket.
    Nothing,
    /// A word, which a parenthesis makes a call.
    Name,
    /// Any other end of a value.
    Value,
    Operator,
}

struct Walk {
    levels: Vec<Level>,
    /// Sums over all levels but the last.
    outer: (usize, usize),
    before: Before,
    /// The last word joins what follows to what is before: `IS DISTINCT FROM`, `WITHIN GROUP`.
    continues: bool,
    /// The last word may be an operator that we do not know, or an alias.
    is_unknown: bool,
    /// Dots of the name that may go on.
    dots: usize,
    behind_dot: bool,
    elements: usize,
    nodes: usize,
}

/// Measures the tokens of a statement.
///
/// # Errors
/// The tree would be deeper than anything here can walk.
pub fn measure(tokens: &[TokenWithSpan]) -> Result<Measure> {
    let levels = vec![Level::default()];
    let mut walk = Walk {
        levels,
        outer: (0, 0),
        before: Before::Nothing,
        continues: false,
        is_unknown: false,
        dots: 0,
        behind_dot: false,
        elements: 0,
        nodes: 0,
    };
    let mut most = Measure::default();
    for token in tokens {
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        walk.token(&token.token);
        let (levels, terms) = walk.deep();
        most.levels = most.levels.max(levels);
        most.terms = most.terms.max(terms);
        (most.elements, most.nodes) = (walk.elements, walk.nodes);
        // A bracket of constants may still turn out to be one node.
        if walk.nodes > NODES_MAX && walk.last().varies {
            return Err(SqlError::new(
                ErrorCode::TOO_BIG_AST,
                format!("AST is too big. Maximum: {NODES_MAX}"),
            ));
        }
        if levels > DEPTH_MAX || terms > TERMS_MAX {
            return Err(too_deep(levels > DEPTH_MAX));
        }
    }
    Ok(most)
}

fn too_deep(is_level: bool) -> SqlError {
    let message = match is_level {
        true => format!(
            "query is nested deeper than {DEPTH_MAX} levels; brackets, operators in a row, joins and accesses such as \
             a[1][2] all count. Name parts of it in subqueries or tables; IN takes any number of values"
        ),
        false => format!(
            "more than {TERMS_MAX} operands of AND and OR, or {} SELECTs of UNION, in a row: IN takes any number of values",
            TERMS_MAX / UNION_TERMS
        ),
    };
    SqlError::new(ErrorCode::TOO_DEEP_RECURSION, message)
}

impl Walk {
    fn deep(&self) -> (usize, usize) {
        let last = self.levels.last();
        let (levels, terms) = last.map_or((0, 0), |last| (last.levels(), last.terms()));
        (self.outer.0 + levels, self.outer.1 + terms)
    }

    fn last(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn open(&mut self, is_case: bool) {
        self.outer = self.deep();
        self.levels.push(Level { is_case, nodes: self.nodes, ..Level::default() });
        self.before = Before::Nothing;
    }

    fn close(&mut self) {
        if self.levels.len() > 1 {
            if let Some(Level { varies: false, nodes, .. }) = self.levels.pop() {
                self.nodes = nodes + 1;
            } else {
                self.last().varies = true;
            }
            let last = self.levels.last().map_or((0, 0), |last| (last.levels(), last.terms()));
            self.outer = (self.outer.0 - last.0, self.outer.1 - last.1);
        }
        self.before = Before::Value;
    }

    fn token(&mut self, token: &Token) {
        let (elements, is_unknown) = (self.elements, std::mem::take(&mut self.is_unknown));
        if !is_constant(token) {
            self.last().varies = true;
        }
        self.dots = match token {
            Token::Period => self.dots + 1,
            Token::Word(_) if self.behind_dot => self.dots,
            _ => 0,
        };
        self.behind_dot = *token == Token::Period;
        self.step(token, is_unknown);
        self.nodes += self.elements - elements;
    }

    fn step(&mut self, token: &Token, is_unknown: bool) {
        let behind_value = matches!(self.before, Before::Name | Before::Value);
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                let is_call = *token == Token::LParen && self.before == Before::Name;
                if behind_value && !is_call {
                    self.last().operators += 1;
                }
                self.elements += 1;
                self.open(false);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                while self.levels.len() > 1 && self.last().is_case {
                    self.close();
                }
                self.close();
            }
            Token::Comma => {
                // No CASE goes on behind a comma: it was a column's name.
                while self.levels.len() > 1 && self.last().is_case {
                    self.close();
                }
                let last = self.last();
                last.joins += usize::from(last.in_from);
                last.next_item();
                self.before = Before::Nothing;
            }
            Token::Word(word) => self.word(word, behind_value, is_unknown),
            Token::Number(digits, _) => {
                let accesses = if digits.starts_with('.') { digits.matches('.').count() } else { 0 };
                self.last().operators += accesses;
                self.elements += 1 + accesses;
                self.before = Before::Value;
            }
            // All columns.
            Token::Mul if !behind_value => self.before = Before::Value,
            Token::Period => {
                self.last().operators += usize::from(self.dots > NAME_PARTS_MAX);
                self.before = Before::Operator;
            }
            Token::SingleQuotedString(_) | Token::HexStringLiteral(_) | Token::DollarQuotedString(_) => {
                self.elements += 1;
                self.before = Before::Value;
            }
            Token::Arrow | Token::Colon | Token::Placeholder(_) => self.weak_link(),
            // A comparison is planned as two links: itself, and the number that it is.
            Token::Eq | Token::DoubleEq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => {
                self.last().operators += 1;
                self.operator();
            }
            _ => self.operator(),
        }
    }

    fn operator(&mut self) {
        self.last().operators += 1;
        self.elements += 2;
        self.before = Before::Operator;
    }

    fn weak_link(&mut self) {
        let last = self.last();
        last.weak += last.operators + 1;
        last.operators = 0;
        self.elements += 2;
        self.before = Before::Operator;
    }

    fn word(&mut self, word: &Word, behind_value: bool, is_unknown: bool) {
        let is = |wanted: &[&str]| {
            word.quote_style.is_none() && wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(&word.value))
        };
        let starts_item = self.before != Before::Operator && !self.continues;
        self.continues = is(&["DISTINCT", "WITHIN"]) && self.before != Before::Nothing;
        if is(&["CASE"]) && !behind_value {
            self.elements += 1;
            self.open(true);
        } else if self.last().is_case && is(&["WHEN", "THEN", "ELSE"]) {
            self.last().doubtful += usize::from(is_unknown);
            self.last().next_item();
            self.before = Before::Nothing;
        } else if self.last().is_case && is(&["END"]) {
            self.close();
        } else if starts_item && behind_value && is(SETS) {
            self.set_operation(is(&["UNION"]));
        } else if starts_item && is(&["JOIN"]) {
            let last = self.last();
            last.joins += 1;
            last.next_item();
            self.before = Before::Nothing;
        } else if starts_item && is(CLAUSES) {
            self.last().doubtful += usize::from(is_unknown);
            self.clause(is(&["SELECT"]), is(&["FROM"]));
        } else if behind_value && is(&["AND", "OR"]) {
            let last = self.last();
            last.conditions += 1;
            last.operators = 0;
            self.elements += 1;
            self.before = Before::Operator;
        } else if behind_value && is(&["AS", "XOR"]) {
            self.weak_link();
            if is(&["AS"]) {
                // ClickHouse counts neither the word nor the name behind it.
                self.nodes = self.nodes.saturating_sub(3);
            }
        } else if is(&["NOT", "EXPLAIN"]) || (behind_value && word.quote_style.is_none()) {
            // An operator, or a word of some clause.
            self.operator();
            if !is(OPERATORS) {
                (self.before, self.is_unknown) = (Before::Name, true);
            }
        } else {
            self.elements += 1;
            self.before = Before::Name;
        }
    }

    /// UNION and its kin, and EXCEPT behind a `*`.
    fn set_operation(&mut self, is_union: bool) {
        let last = self.last();
        // Joins of the next SELECT stand beside those of this one, under the chain.
        (last.joins, last.in_from, last.doubtful) = (0, false, 0);
        last.next_item();
        if is_union {
            last.unions += 1;
        } else {
            last.sets += 1;
        }
        self.elements += 2;
        self.before = Before::Nothing;
    }

    fn clause(&mut self, selects: bool, reads: bool) {
        let last = self.last();
        last.next_item();
        last.in_from = reads;
        if selects {
            self.elements += 2;
        }
        self.before = Before::Nothing;
    }
}

/// Literals, and what may stand between and before them.
fn is_constant(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case("null"),
        Token::LParen | Token::LBracket | Token::RParen | Token::RBracket => true,
        Token::Comma | Token::Minus | Token::Plus | Token::Number(..) => true,
        Token::SingleQuotedString(_) | Token::HexStringLiteral(_) | Token::DollarQuotedString(_) => true,
        _ => false,
    }
}

const SETS: &[&str] = &["UNION", "INTERSECT", "EXCEPT"];

/// Words that start another expression.
const CLAUSES: &[&str] = &[
    "SELECT", "FROM", "WHERE", "PREWHERE", "HAVING", "QUALIFY", "ORDER", "GROUP", "LIMIT", "OFFSET", "ON",
    "USING", "SETTINGS", "VALUES", "DEFAULT",
];

/// Words behind which a value stands.
const OPERATORS: &[&str] = &[
    "NOT", "IN", "LIKE", "ILIKE", "BETWEEN", "IS", "DIV", "MOD", "REGEXP", "RLIKE", "GLOBAL", "COLLATE",
    "APPLY", "REPLACE", "EXPLAIN",
];
