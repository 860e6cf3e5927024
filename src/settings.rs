//! All settings of the program: one section a room.

use serde::{Deserialize, Serialize};

/// The settings file, the `PUZZLED_..` variables and the flags all name these.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    pub(crate) redis: puzzled_queue::Config,
    pub(crate) worker: puzzled_worker::Config,
    pub(crate) producer: puzzled_producer::Config,
    pub(crate) dashboard: puzzled_dashboard::Config,
    pub(crate) log: puzzled_service::logging::LogConfig,
    pub(crate) shutdown: puzzled_service::shutdown::ShutdownConfig,
}
