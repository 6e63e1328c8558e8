//! Tasks that DataFusion starts for a statement work for its account.
//!
//! Invariant: set once in a process, before the first statement. Must not know: what the tasks do.

use std::any::Any;

use datafusion::common::runtime::{JoinSetTracer, set_join_set_tracer};
use futures::FutureExt;
use futures::future::BoxFuture;
use host::meter;

struct Inherited;

impl JoinSetTracer for Inherited {
    fn trace_future(
        &self,
        task: BoxFuture<'static, Box<dyn Any + Send>>,
    ) -> BoxFuture<'static, Box<dyn Any + Send>> {
        match meter::current() {
            None => task,
            account => meter::metered(account, task).boxed(),
        }
    }

    fn trace_block(
        &self,
        work: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
    ) -> Box<dyn FnOnce() -> Box<dyn Any + Send> + Send> {
        let account = meter::current();
        Box::new(move || {
            let _entered = meter::enter(account);
            work()
        })
    }
}

pub fn follow_tasks() {
    // Another database of this process has done it.
    let _set_already = set_join_set_tracer(&Inherited);
}
