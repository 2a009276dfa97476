// The command `databuffer`. What its subcommands do is in the library databuffer_tools.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "databuffer/version.hpp"
#include "tools/databuffer/bench_cli.hpp"
#include "tools/databuffer/bench_command.hpp"
#include "tools/databuffer/console.hpp"
#include "tools/databuffer/file_descriptor.hpp"
#include "tools/databuffer/ingest_cli.hpp"
#include "tools/databuffer/ingest_command.hpp"
#include "tools/databuffer/tune_cli.hpp"
#include "tools/databuffer/tune_command.hpp"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongArguments = 2;

// A flag that was given more often than it can be, and every value that it was given; else nothing.
std::string repeated_flag(const CLI::App& command) {
  for (const CLI::Option* const option : command.get_options()) {
    const auto most = static_cast<std::size_t>(option->get_items_expected_max());
    if (option->count() <= most) continue;
    std::string values;
    for (const std::string& value : option->results()) {
      values += (values.empty() ? "'" : ", '") + value + "'";
    }
    return option->get_name() + ": given " + std::to_string(option->count()) + " times, as " +
           values + "; expected once";
  }
  return {};
}

// Returns the exit code for an argument that does not parse, or for --help and --version.
int explain(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::string message = error.what();
  std::string names;
  for (const CLI::App* const command : app.get_subcommands({})) {
    names += (names.empty() ? "" : " or ") + command->get_name();
  }
  if (app.get_subcommands().empty() && !app.remaining().empty()) {
    message = "'" + app.remaining().front() + "': expected a subcommand: " + names;
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    for (const CLI::App* const command : app.get_subcommands()) {
      if (std::string repeated = repeated_flag(*command); !repeated.empty()) message = repeated;
    }
  }
  const std::string command =
      app.get_subcommands().empty() ? "ingest" : app.get_subcommands().front()->get_name();
  static_cast<void>(std::fprintf(stderr,
                                 "databuffer: %s\nTry databuffer --help, or databuffer %s "
                                 "--help.\n",
                                 message.c_str(), command.c_str()));
  return kWrongArguments;
}

// For CLI11 "++" ends a subcommand, silently: a file of that name would be ignored.
void refuse_terminators(int argc, char** argv) {
  for (int index = 1; index < argc; ++index) {
    if (std::string_view(argv[index]) != "++") continue;
    throw CLI::ValidationError("'++'", "expected ./++ for a file of that name");
  }
}

int run(int argc, char** argv) {
  CLI::App app("Gather items into batches, and store them; or measure how fast that is.",
               "databuffer");
  app.set_version_flag("--version", std::string("databuffer ") + databuffer::kVersion);
  app.require_subcommand(1);
  databuffer::tools::IngestCli ingest;
  ingest.add_to(app);
  databuffer::tools::BenchCli bench;
  const CLI::App* const bench_command = bench.add_to(app);
  databuffer::tools::TuneCli tune;
  const CLI::App* const tune_command = tune.add_to(app);
  try {
    refuse_terminators(argc, argv);
    app.parse(argc, argv);
    if (bench_command->parsed()) return databuffer::tools::run_bench(bench.settings());
    if (tune_command->parsed()) return databuffer::tools::run_tune(tune.settings());
    return databuffer::tools::run_ingest(ingest.settings());
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    databuffer::tools::reserve_standard_streams();
    return run(argc, argv);
  } catch (const std::exception& error) {
    static_cast<void>(
        std::fprintf(stderr, "databuffer: %s\n", databuffer::tools::failure_text(error).c_str()));
    return kFailed;
  }
}
