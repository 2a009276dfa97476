#include "tools/databuffer/bench_cli.hpp"

#include "tools/databuffer/outputs_cli.hpp"
#include "tools/databuffer/quantities.hpp"
#include "tools/databuffer/used_files.hpp"

namespace databuffer::tools {

namespace {

using namespace std::chrono_literals;

constexpr const char* kDescription =
    "Measure one configuration of a buffer: for a workload, and a simulated or a real sink.";

constexpr const char* kFooter = R"(
Producers insert items for --warmup and then for --seconds, of which everything is reported:

  measured        how long that was
  throughput      items per second that the handler has taken; batches that are under way at either
                  end count in part
  items           inserted: accepted by the buffer; flushed: taken by the handler; failed: in batches
                  that failed for good; dropped: given up by --overflow, or refused. What is missing in
                  the sum was still in the buffer at the end. With --rate also what was due and not
                  offered by then
  insert latency  of one call. Without --rate of a sample of the calls (one in 16 items or fewer),
                  less what the clock costs; max also knows every call that had to wait for room.
                  With --rate of every call, from the moment at which it was due, so that what waits
                  behind a call that takes long is not hidden; "woken late" is the machine's part:
                  how late it woke a producer that slept
  age             of items, from when they were due to when the handler gets them; of 16 items in
                  each batch
  batches         that the handler was given, their mean size, and why they were flushed: by --max-size,
                  by --flush-interval, or otherwise (a flush or the close)
  blocked         time that producers waited for room
  handler         time that consumers spent in the handler; 100 % is all consumers, all the time
  CPU             of the whole process, producers and a computing handler included
  wake-ups        how often a consumer was woken from its sleep
  peak memory     the most resident memory in that time, less what there was before the buffer was
                  made (VmHWM of Linux; where that cannot be reset, looked at every 10 ms)

With --rate a producer sleeps until its next insert is due; beyond some ten thousand inserts per
second and producer several are due when it wakes, and come as a small burst.

A simulated handler takes --handler-fixed and --handler-per-item for a batch; with none of them it
does nothing. --sink sqlite:PATH and file:PATH store each item as a line of as many bytes, appended to
what is there, as databuffer ingest does: name a file that may be thrown away.

Units: TIME is a number with ns, us, ms, s, m or h; SECONDS is a TIME, or a number of seconds; COUNT
may end in k, M or G; BYTES also in Ki, Mi or Gi.

Ctrl-C (SIGINT), Ctrl-\ (SIGQUIT), SIGTERM and SIGHUP end the run early, with what was measured so far.
A second one ends it at once, with nothing.

Exit codes: 0 measured, 1 something failed, 2 wrong arguments, 128 + signal ended by a signal.)";

constexpr Duration kMinMeasured = 10ms;
constexpr Duration kMaxMeasured = 24h;
constexpr Duration kMaxWarmUp = 1h;

Options bench_defaults() {
  Options options;
  options.name = "bench";
  options.close_timeout = 10s;  // for a handler that does not come back
  return options;
}

}  // namespace

BenchCli::BenchCli() : buffer_(bench_defaults()) {}

CLI::App* BenchCli::add_to(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("bench", kDescription);
  command->footer(kFooter);
  add_flags(*command);
  workload_.add_to(*command);
  buffer_.add_to(*command);
  buffer_.add_retry_to(*command);
  return command;
}

void BenchCli::add_flags(CLI::App& command) {
  add_parsed(
      command, "--seconds", settings_.measured,
      [](const std::string& text) {
        return parse_seconds_within(text, kMinMeasured, kMaxMeasured);
      },
      "How long to measure; 10ms to 24h")
      ->default_str(format_duration(settings_.measured))
      ->type_name("SECONDS");
  add_parsed(
      command, "--warmup", warm_up_,
      [](const std::string& text) {
        return parse_seconds_within(text, Duration::zero(), kMaxWarmUp);
      },
      "How long to run before that; 0 to 1h")
      ->default_str(format_duration(warm_up_))
      ->type_name("SECONDS");
  add_output(command, "--json", settings_.json_path, "Write the results as one JSON object");
  add_output(command, "--csv", settings_.csv_path, "Write them as a line of CSV, with a header,");
}

BenchSettings BenchCli::settings() const {
  BenchSettings settings = settings_;
  settings.buffer = buffer_.checked();
  settings.workload = workload_.checked(settings.buffer.seed);
  settings.workload.workload.warm_up = warm_up_;
  UsedFiles used(settings.prints_table() ? "the results go" : nullptr);
  if (settings.workload.sink.has_value()) used.add_sink(*settings.workload.sink);
  used.add_output("--json", settings.json_path);
  used.add_output("--csv", settings.csv_path);
  check_rate(settings.workload.workload, "--seconds", settings.measured);
  return settings;
}

}  // namespace databuffer::tools
