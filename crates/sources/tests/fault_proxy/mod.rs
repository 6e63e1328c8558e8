//! The proxy of the command `fault-proxy`, compiled into these tests: `sources` must not depend on the command.

#[path = "../../../cli/src/fault_proxy/kinds.rs"]
pub(crate) mod kinds;
#[path = "../../../cli/src/fault_proxy/proxy.rs"]
pub(crate) mod proxy;
