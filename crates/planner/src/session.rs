//! How the values of a session reach functions: as an extension of DataFusion's configuration.
//!
//! Invariant: a statement that sets none gets the defaults and the zone of the configuration, never another
//! statement's values.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{DataFusionError, Result};
use datafusion::prelude::SessionConfig;
use functions::SessionValues;

/// What DataFusion's options carry for us under a name.
trait Carried: Clone + fmt::Debug + Send + Sync + 'static {
    const PREFIX: &'static str;
}

/// What functions may ask about the query.
impl Carried for Arc<SessionValues> {
    const PREFIX: &'static str = "gristmill";
}

#[derive(Clone, Debug)]
struct Extension<T>(T);

impl<T: Carried> ConfigExtension for Extension<T> {
    const PREFIX: &'static str = T::PREFIX;
}

impl<T: Carried> ExtensionOptions for Extension<T> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _value: &str) -> Result<()> {
        Err(DataFusionError::Configuration(format!("option {}.{key} cannot be set", T::PREFIX)))
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// The configuration of a statement whose functions see these values.
pub fn with_session_values(config: SessionConfig, values: SessionValues) -> SessionConfig {
    config.with_option_extension(Extension(Arc::new(values)))
}

/// What a statement's settings change in the meaning of queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueryRules {
    /// Rows without a partner have NULLs, not defaults.
    pub join_use_nulls: bool,
}

impl Carried for QueryRules {
    const PREFIX: &'static str = "gristmill_rules";
}

/// The configuration of a statement that is planned by these rules.
pub fn with_query_rules(config: SessionConfig, rules: QueryRules) -> SessionConfig {
    config.with_option_extension(Extension(rules))
}

/// The rules put there by [`with_query_rules`].
pub(crate) fn query_rules(options: &ConfigOptions) -> QueryRules {
    options.extensions.get::<Extension<QueryRules>>().map_or_else(QueryRules::default, |carried| carried.0)
}

/// The zone in which times without one are shown and moved.
pub fn session_time_zone(options: &ConfigOptions) -> chrono_tz::Tz {
    session_values(options).time_zone
}

/// The values put there by [`with_session_values`].
pub(crate) fn session_values(options: &ConfigOptions) -> Arc<SessionValues> {
    if let Some(carried) = options.extensions.get::<Extension<Arc<SessionValues>>>() {
        return Arc::clone(&carried.0);
    }
    let mut values =
        SessionValues { database: options.catalog.default_schema.as_str().into(), ..Default::default() };
    if let Some(zone) = &options.execution.time_zone {
        // A zone that is not known leaves UTC; zones are checked where they are set.
        let _ = values.set_time_zone(zone);
    }
    Arc::new(values)
}
