//! The columns of each table of TPC-H, in the order of the specification (revision 3, 1.4.1).
//!
//! Invariant: plain tables; how a value becomes a column is decided above.

use tpchgen::generators::{Customer, LineItem, Nation, Order, Part, PartSupp, Region, Supplier};

use super::{Columns, Get};

pub(super) const LINEITEM: &Columns<LineItem<'static>> = &[
    ("l_orderkey", Get::Long(|row| row.l_orderkey)),
    ("l_partkey", Get::Long(|row| row.l_partkey)),
    ("l_suppkey", Get::Long(|row| row.l_suppkey)),
    ("l_linenumber", Get::Int(|row| row.l_linenumber)),
    ("l_quantity", Get::Money(|row| row.l_quantity * 100)),
    ("l_extendedprice", Get::Money(|row| row.l_extendedprice.into_inner())),
    ("l_discount", Get::Money(|row| row.l_discount.into_inner())),
    ("l_tax", Get::Money(|row| row.l_tax.into_inner())),
    ("l_returnflag", Get::Text(|row| row.l_returnflag)),
    ("l_linestatus", Get::Text(|row| row.l_linestatus)),
    ("l_shipdate", Get::Date(|row| row.l_shipdate.to_unix_epoch())),
    ("l_commitdate", Get::Date(|row| row.l_commitdate.to_unix_epoch())),
    ("l_receiptdate", Get::Date(|row| row.l_receiptdate.to_unix_epoch())),
    ("l_shipinstruct", Get::Text(|row| row.l_shipinstruct)),
    ("l_shipmode", Get::Text(|row| row.l_shipmode)),
    ("l_comment", Get::Text(|row| row.l_comment)),
];

pub(super) const ORDERS: &Columns<Order<'static>> = &[
    ("o_orderkey", Get::Long(|row| row.o_orderkey)),
    ("o_custkey", Get::Long(|row| row.o_custkey)),
    ("o_orderstatus", Get::Shown(|row| &row.o_orderstatus)),
    ("o_totalprice", Get::Money(|row| row.o_totalprice.into_inner())),
    ("o_orderdate", Get::Date(|row| row.o_orderdate.to_unix_epoch())),
    ("o_orderpriority", Get::Text(|row| row.o_orderpriority)),
    ("o_clerk", Get::Shown(|row| &row.o_clerk)),
    ("o_shippriority", Get::Int(|row| row.o_shippriority)),
    ("o_comment", Get::Text(|row| row.o_comment)),
];

pub(super) const CUSTOMER: &Columns<Customer<'static>> = &[
    ("c_custkey", Get::Long(|row| row.c_custkey)),
    ("c_name", Get::Shown(|row| &row.c_name)),
    ("c_address", Get::Shown(|row| &row.c_address)),
    ("c_nationkey", Get::Long(|row| row.c_nationkey)),
    ("c_phone", Get::Shown(|row| &row.c_phone)),
    ("c_acctbal", Get::Money(|row| row.c_acctbal.into_inner())),
    ("c_mktsegment", Get::Text(|row| row.c_mktsegment)),
    ("c_comment", Get::Text(|row| row.c_comment)),
];

pub(super) const PART: &Columns<Part<'static>> = &[
    ("p_partkey", Get::Long(|row| row.p_partkey)),
    ("p_name", Get::Shown(|row| &row.p_name)),
    ("p_mfgr", Get::Shown(|row| &row.p_mfgr)),
    ("p_brand", Get::Shown(|row| &row.p_brand)),
    ("p_type", Get::Text(|row| row.p_type)),
    ("p_size", Get::Int(|row| row.p_size)),
    ("p_container", Get::Text(|row| row.p_container)),
    ("p_retailprice", Get::Money(|row| row.p_retailprice.into_inner())),
    ("p_comment", Get::Text(|row| row.p_comment)),
];

pub(super) const PARTSUPP: &Columns<PartSupp<'static>> = &[
    ("ps_partkey", Get::Long(|row| row.ps_partkey)),
    ("ps_suppkey", Get::Long(|row| row.ps_suppkey)),
    ("ps_availqty", Get::Int(|row| row.ps_availqty)),
    ("ps_supplycost", Get::Money(|row| row.ps_supplycost.into_inner())),
    ("ps_comment", Get::Text(|row| row.ps_comment)),
];

pub(super) const SUPPLIER: &Columns<Supplier> = &[
    ("s_suppkey", Get::Long(|row| row.s_suppkey)),
    ("s_name", Get::Shown(|row| &row.s_name)),
    ("s_address", Get::Shown(|row| &row.s_address)),
    ("s_nationkey", Get::Long(|row| row.s_nationkey)),
    ("s_phone", Get::Shown(|row| &row.s_phone)),
    ("s_acctbal", Get::Money(|row| row.s_acctbal.into_inner())),
    ("s_comment", Get::Shown(|row| &row.s_comment)),
];

pub(super) const NATION: &Columns<Nation<'static>> = &[
    ("n_nationkey", Get::Long(|row| row.n_nationkey)),
    ("n_name", Get::Text(|row| row.n_name)),
    ("n_regionkey", Get::Long(|row| row.n_regionkey)),
    ("n_comment", Get::Text(|row| row.n_comment)),
];

pub(super) const REGION: &Columns<Region<'static>> = &[
    ("r_regionkey", Get::Long(|row| row.r_regionkey)),
    ("r_name", Get::Text(|row| row.r_name)),
    ("r_comment", Get::Text(|row| row.r_comment)),
];
