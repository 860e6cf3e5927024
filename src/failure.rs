//! How a command fails: an exit code for scripts and a message for people.

use puzzled_queue::Error as QueueError;
use puzzled_service::Exit;

/// The end of a command that did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// One message, which says what happened and what to do; empty when the command has said it already.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// The command has told its story; only the code is left.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }
}

impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Self {
        let exit = match &error {
            QueueError::NoBatch(_)
            | QueueError::NoName(_)
            | QueueError::NoJob(_)
            | QueueError::Collected(_)
            | QueueError::Missing(_) => Exit::NotFound,
            QueueError::Cancelled(_) => Exit::Cancelled,
            QueueError::Setting { .. }
            | QueueError::Taken { .. }
            | QueueError::Differs { .. }
            | QueueError::Closed(_)
            | QueueError::Ambiguous { .. }
            | QueueError::Incompatible(_) => Exit::Usage,
            QueueError::Malformed(_) | QueueError::Gap { .. } => Exit::Internal,
            _ => Exit::Redis,
        };
        Self::new(exit, error.to_string())
    }
}

macro_rules! failures {
    ($($error:ty => $exit:ident),+ $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(Exit::$exit, error.to_string())
            }
        })+
    };
}

failures! {
    puzzled_service::settings::SettingsError => Usage,
    puzzled_service::logging::LogError => Usage,
    puzzled_service::admin::BindError => Usage,
    puzzled_queue::ServerError => Redis,
    puzzled_queue::IdError => Usage,
    puzzled_worker::ConfigError => Usage,
    puzzled_producer::ConfigError => Usage,
    puzzled_dashboard::DashboardError => Internal,
    puzzled_producer::InputError => Input,
    prometheus::Error => Internal,
}

impl From<puzzled_worker::WorkerError> for Failure {
    fn from(error: puzzled_worker::WorkerError) -> Self {
        match error {
            puzzled_worker::WorkerError::Config(error) => error.into(),
            puzzled_worker::WorkerError::Queue(error) => error.into(),
            error @ (puzzled_worker::WorkerError::Threads(_) | puzzled_worker::WorkerError::WornOut(_)) => {
                Self::new(Exit::Internal, error.to_string())
            }
        }
    }
}
