//! The functions of dictionaries that users call, with their documentation.
//!
//! A query is planned with calls that its dictionaries made of these; anywhere else they are an error. Must not know: which
//! dictionaries there are.

use std::sync::LazyLock;

use functions::{FunctionError, ScalarFunction};
use model::ErrorCode;

/// Ends of `dictGet..`, and the types that attributes then have.
pub const TYPED: [(&str, &str); 17] = [
    ("Int8", "Int8"),
    ("Int16", "Int16"),
    ("Int32", "Int32"),
    ("Int64", "Int64"),
    ("UInt8", "UInt8"),
    ("UInt16", "UInt16"),
    ("UInt32", "UInt32"),
    ("UInt64", "UInt64"),
    ("Float32", "Float32"),
    ("Float64", "Float64"),
    ("Date", "Date"),
    ("DateTime", "DateTime"),
    ("UUID", "UUID"),
    ("IPv4", "IPv4"),
    ("IPv6", "IPv6"),
    ("String", "String"),
    ("Int128", "Int128"),
];

/// Whether the first argument of a function names a dictionary.
pub fn asks_dictionary(name: &str) -> bool {
    functions().iter().any(|function| function.name == name)
}

static FUNCTIONS: LazyLock<Vec<ScalarFunction>> = LazyLock::new(|| {
    let mut all = vec![
        outside("dictGet", 3).doc(
            "dictGet('dictionary', 'attribute', key[, point])",
            "The attribute's value of a key, or its default where the key is not there. A tuple of attributes gives a tuple. The \
             key is an integer, a tuple of a dictionary of complex keys, or an address of an IP_TRIE. A dictionary with ranges is \
             asked for the row of the key whose range is around the point.",
            "dictGet('products', 'name', toUInt64(1))",
        ),
        outside("dictGetOrDefault", 4).doc(
            "dictGetOrDefault('dictionary', 'attribute', key, default)",
            "As dictGet, with a default of the call's own.",
            "dictGetOrDefault('products', 'name', toUInt64(1), 'none')",
        ),
        outside("dictGetOrNull", 3).doc(
            "dictGetOrNull('dictionary', 'attribute', key)",
            "As dictGet, and NULL where the key is not there.",
            "dictGetOrNull('products', 'name', toUInt64(1))",
        ),
        outside("dictHas", 2).doc(
            "dictHas('dictionary', key)",
            "1 if the key is there, 0 otherwise.",
            "dictHas('products', toUInt64(1))",
        ),
        outside("dictGetKeys", 3).doc(
            "dictGetKeys('dictionary', 'attribute', value)",
            "The keys whose attribute has the value, in ascending order; keys of several columns are tuples.",
            "dictGetKeys('products', 'name', 'apple')",
        ),
        outside("dictGetHierarchy", 2).doc(
            "dictGetHierarchy('dictionary', key)",
            "The key, and those above it, by the attribute that is HIERARCHICAL; empty if the key is not there.",
            "dictGetHierarchy('regions', toUInt64(4)) -> [4, 2, 1]",
        ),
        outside("dictIsIn", 3).doc(
            "dictIsIn('dictionary', key, above)",
            "1 if `above` is the key or one of those above it, 0 otherwise.",
            "dictIsIn('regions', toUInt64(4), toUInt64(1)) -> 1",
        ),
        outside("dictGetChildren", 2).doc(
            "dictGetChildren('dictionary', key)",
            "The keys right below a key, in ascending order.",
            "dictGetChildren('regions', toUInt64(1)) -> [2, 3]",
        ),
        outside("dictGetDescendants", 3).doc(
            "dictGetDescendants('dictionary', key[, level])",
            "The keys below a key, of one level or, of level 0, which is the default, of all, nearest first.",
            "dictGetDescendants('regions', toUInt64(1)) -> [2, 3, 4]",
        ),
    ];
    for (end, _) in TYPED {
        // Names of functions live as long as the process.
        let name: &'static str = Box::leak(format!("dictGet{end}").into_boxed_str());
        all.push(outside(name, 3).doc(
            Box::leak(format!("{name}('dictionary', 'attribute', key)").into_boxed_str()),
            "As dictGet, of an attribute of this type.",
            "dictGetString('products', 'name', toUInt64(1))",
        ));
        let name: &'static str = Box::leak(format!("dictGet{end}OrDefault").into_boxed_str());
        all.push(outside(name, 4).doc(
            Box::leak(format!("{name}('dictionary', 'attribute', key, default)").into_boxed_str()),
            "As dictGetOrDefault, of an attribute of this type.",
            "dictGetStringOrDefault('products', 'name', toUInt64(1), 'none')",
        ));
    }
    all
});

/// The functions where no dictionaries are known.
pub(crate) fn functions() -> &'static [ScalarFunction] {
    &FUNCTIONS
}

fn outside(name: &'static str, arguments: usize) -> ScalarFunction {
    let refused = move || {
        FunctionError::new(ErrorCode::NOT_IMPLEMENTED, format!("{name} outside of a query is not supported"))
    };
    // Of ranges there is a point more, and some arguments may be left out.
    ScalarFunction::new(name, 1..=arguments + 1, move |_| Err(refused()), move |_| Err(refused())).own_nulls()
}
