//! The one binary. This file only wires: flags, settings, logs, runtime, command, exit code.

mod cli;
mod commands;
mod failure;
mod settings;

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
                eprintln!("puzzled: {}", failure.message);
            }
            failure.exit.into()
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let loaded = puzzled_service::settings::load::<Settings>(cli.settings_file(), &cli.flags())?;
    let settings = loaded.value;
    logging::init(&settings.log)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        // I/O only: solving has threads of its own. One thread, because every hop between threads costs more than
        // the work that would be shared.
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("cannot start the runtime: {e}")))?;
    runtime.block_on(async {
        match &cli.command {
            Command::Worker(_) => commands::worker::run(&settings).await,
            Command::Bench(args) => commands::bench::run(args).await,
        }
    })
}
