//! The one binary. This file only wires: flags, settings, logs, runtime, command, exit code.

mod cli;
mod commands;
mod embedded;
mod failure;
mod settings;
mod terminal;

use std::process::ExitCode;

use clap::Parser;
use puzzled_service::Exit;
use puzzled_service::logging;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::settings::Settings;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(()) => Exit::Ok.into(),
        Err(failure) => {
            if !failure.message.is_empty() {
                terminal::say(&format!("puzzled: {}", failure.message));
            }
            failure.exit.into()
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let loaded = puzzled_service::settings::load::<Settings>(cli.settings_file(), &cli.flags())?;
    let settings = loaded.value;
    logging::init(&settings.log)?;
    let mut builder = match cli.command {
        Command::Worker(_) => tokio::runtime::Builder::new_multi_thread(),
        // Reading, writing and solving have threads of their own; what is left is one conversation with Redis, and
        // passing it from thread to thread would cost more than it takes.
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder
        // I/O only: solving has threads of its own.
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("cannot start the runtime: {e}")))?;
    runtime.block_on(async {
        match &cli.command {
            Command::Solve(args) => commands::solve::run(&settings, args).await,
            Command::Submit(args) => commands::submit::run(&settings, args).await,
            Command::Status(args) => commands::status::run(&settings, args).await,
            Command::Watch(args) => commands::watch::run(&settings, args).await,
            Command::Results(args) => commands::results::run(&settings, args).await,
            Command::Get(args) => commands::get::run(&settings, args).await,
            Command::Cancel(args) => commands::cancel::run(&settings, args).await,
            Command::Batches(args) => commands::batches::run(&settings, args).await,
            Command::Worker(_) => commands::worker::run(&settings).await,
        }
    })
}
