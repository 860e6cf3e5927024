//! The one binary. This file only wires: flags, settings, logs, runtime, command, exit code.

mod cli;
mod commands;
mod embedded;
mod failure;
mod settings;
mod terminal;

use std::process::ExitCode;

use puzzled_service::Exit;
use puzzled_service::logging;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::settings::Settings;

fn main() -> ExitCode {
    let cli = Cli::read();
    match run(&cli) {
        Ok(code) => code,
        Err(failure) => {
            if !failure.message.is_empty() {
                terminal::say(&format!("puzzled: {}", failure.message));
            }
            failure.exit.into()
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    if let Command::Guard(args) = &cli.command {
        // It has no settings, and ends with its program's code.
        return runtime()?.block_on(commands::guard::run(args)).map(ExitCode::from);
    }
    let loaded = puzzled_service::settings::load::<Settings>(cli.settings_file(), &cli.flags())?;
    let mut settings = loaded.value.clone();
    if commands::is_quiet(&cli.command) && commands::is_default(&loaded, "log.level") {
        settings.log.level = "warn".to_owned();
    }
    logging::init(&settings.log)?;
    runtime()?.block_on(async {
        match &cli.command {
            Command::Solve(args) => commands::solve::run(&settings, args).await,
            Command::Generate(args) => commands::generate::run(&settings, args).await,
            Command::Submit(args) => commands::submit::run(&settings, args).await,
            Command::Status(args) => commands::status::run(&settings, args).await,
            Command::Watch(args) => commands::watch::run(&settings, args).await,
            Command::Results(args) => commands::results::run(&settings, args).await,
            Command::Get(args) => commands::get::run(&settings, args).await,
            Command::Cancel(args) => commands::cancel::run(&settings, args).await,
            Command::Pause(args) => commands::pause::pause(&settings, args).await,
            Command::Resume(args) => commands::pause::resume(&settings, args).await,
            Command::Dead(args) => commands::dead::run(&settings, args).await,
            Command::Batches(args) => commands::batches::run(&settings, args).await,
            Command::Worker(_) => commands::worker::run(&settings).await,
            Command::Bench(args) => commands::bench::run(args).await,
            Command::Up(args) => commands::up::run(cli, args, &settings).await,
            Command::Demo(args) => commands::demo::run(cli, args, &settings).await,
            Command::Dashboard(_) => commands::dashboard::run(&settings).await,
            Command::Doctor(args) => commands::doctor::run(args, &settings).await,
            Command::Config(args) => commands::config::run(args, &loaded),
            Command::Guard(_) => unreachable!("it was run above"),
        }
    })?;
    Ok(Exit::Ok.into())
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    // I/O only: solving has threads of its own. One thread, because a hop between threads costs more than the work
    // that would be shared.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("cannot start the runtime: {e}")))
}
