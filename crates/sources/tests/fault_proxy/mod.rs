//! The proxy of the command `fault-proxy`, compiled into these tests: `sources` must not depend on the command.

#[path = "../../../lab/src/fault_proxy/kinds.rs"]
pub(crate) mod kinds;
#[path = "../../../lab/src/fault_proxy/proxy.rs"]
pub(crate) mod proxy;
