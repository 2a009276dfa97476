#include "tools/databuffer/ingest_cli.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "tools/databuffer/line_reader.hpp"
#include "tools/databuffer/used_files.hpp"

namespace databuffer::tools {

namespace {

constexpr std::size_t kMaxProducers = 1024;

constexpr const char* kDescription =
    "Read lines from files, several at once, and store them in batches.\n"
    "Without FILE, or where it is -, read standard input.";

constexpr const char* kFooter = R"(
Sinks:
  sqlite:PATH  appends to the table lines(source, line, text), which it creates if need be: one
               transaction for each batch. text is the line without its newline, as TEXT where it
               is UTF-8 without NUL, else as BLOB; CAST(text AS BLOB) has the exact bytes of both.
               A last line without newline is also named in lines_unterminated(source, line).
               Write-ahead log, synchronous = NORMAL: killing the process loses no stored batch; a
               power failure may lose the newest ones until the command has ended.
  file:PATH    appends the lines, each with its newline; a last line without newline gets one only
               when another line follows. A failed batch is cut off again.
  stdout       the same, to standard output; the summary then goes to standard error.
  null         counts, and stores nothing.

No output may be a FILE, another output, or a file of the sink: that is refused, whatever name it has.
So is an output whose folder is missing, whose name ends in a slash, or that is itself a folder.
Devices, such as /dev/null, may be shared. A FILE under two names is read twice, with a warning.

Lines of one FILE are stored in their order, whatever the number of partitions and producers. Pipes,
FIFOs and devices are all read at the same time, so it does not matter in which order they are filled.
A FILE that cannot be read is reported, and the others are read all the same. When the sink fails, reading
stops, and of every FILE the lines before the failed batch are stored, and none behind it.
Lines are lost only if you ask for it, by --overflow, --insert-timeout or --close-timeout: the
summary counts them, a line on standard error says so, and the exit code is 1.

Units: TIME is a number with ns, us, ms, s, m or h, or forever; COUNT may end in k, M or G; SIZE
is in bytes and may end in k, M, G, Ki, Mi or Gi.

Ctrl-C (SIGINT), Ctrl-\ (SIGQUIT), SIGTERM and SIGHUP stop reading, store what was read, and print the
summary. A second one stops at once, and says what is lost. A signal that was ignored at the start
(nohup) stays so. Other signals that end a process, such as SIGUSR1 or SIGKILL, end this one at once: of
a database whole batches are left, and there is no summary.

Exit codes: 0 all stored, 1 something failed or a line was lost, 2 wrong arguments, 128 + signal stopped by a signal.)";

Options ingest_defaults() {
  Options options;
  options.name = "ingest";
  options.insert_timeout = kForever;  // no line is lost because the sink is slow
  options.close_timeout = kForever;
  return options;
}

// Each of them has a thread of its own.
void check_waiting(const std::vector<std::string>& inputs) {
  const auto count = std::count_if(inputs.begin(), inputs.end(), may_wait);
  if (count <= static_cast<std::ptrdiff_t>(kMaxProducers)) return;
  throw CLI::ValidationError("FILE", std::to_string(count) +
                                         " pipes, FIFOs and devices: expected at most " +
                                         std::to_string(kMaxProducers) + " such files");
}

}  // namespace

IngestCli::IngestCli() : buffer_(ingest_defaults()) {}

CLI::App* IngestCli::add_to(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("ingest", kDescription);
  command->footer(kFooter);
  // Each word as it is. CLI11 would take "[a,b]" for two words where it takes extra arguments, and
  // "{}" for none where it converts them; so it is told to wait for very many.
  files_ =
      command->add_option("FILE")
          ->description("Files to read; - is standard input")
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->expected(CLI::detail::expected_max_vector_size, CLI::detail::expected_max_vector_size)
          ->type_name("");
  add_flags(*command);
  buffer_.add_to(*command);
  return command;
}

void IngestCli::add_flags(CLI::App& command) {
  add_parsed(command, "--sink", settings_.sink, parse_sink,
             "Where the lines go: sqlite:PATH, file:PATH, stdout or null")
      ->required()
      ->type_name("SINK");
  add_parsed(
      command, "--producers", settings_.producers,
      [](const std::string& text) { return parse_count_within(text, 1, kMaxProducers); },
      "Threads that read, each a whole FILE at a time; 1 to 1024. A pipe, a FIFO or a device has "
      "one more of its own")
      ->default_str("one for each FILE, at most one for each core")
      ->type_name("COUNT");
  add_parsed(command, "--memory", settings_.memory_bytes, parse_bytes,
             "Text that may wait to be stored, beside what each producer is reading")
      ->default_str("256Mi")
      ->type_name("SIZE");
  add_parsed(
      command, "--max-line", settings_.max_line_bytes,
      [](const std::string& text) {
        const std::uint64_t bytes = parse_bytes(text);
        if (bytes == 0) throw BadQuantity("expected 1 or more bytes");
        return bytes;
      },
      "The longest line; a longer one is an error, and ends its FILE")
      ->default_str("1G, what SQLite can store")
      ->type_name("SIZE");
  add_parsed(command, "--busy-timeout", settings_.sink_settings.busy_timeout, parse_duration,
             "How long to wait for another process that writes to the database")
      ->default_str(format_duration(settings_.sink_settings.busy_timeout))
      ->type_name("TIME");
  add_parsed(
      command, "--json", settings_.json_path,
      [](const std::string& text) {
        if (text.empty()) throw BadQuantity("expected a path, or - for standard output");
        return text;
      },
      "Write the summary as one JSON object to FILE; - is standard output")
      ->type_name("FILE");
  command.add_flag("--quiet", settings_.is_quiet,
                   "No progress, and no summary but --json; errors are still reported");
}

IngestSettings IngestCli::settings() const {
  IngestSettings settings = settings_;
  settings.buffer = buffer_.checked();
  settings.inputs = files_->results();
  if (settings.inputs.empty()) settings.inputs.emplace_back("-");
  std::set<std::string> seen;
  for (const std::string& input : settings.inputs) {
    if (!seen.insert(input).second) {
      throw CLI::ValidationError(
          "FILE", "'" + input +
                      "' is given twice: lines are stored under their file's name, so "
                      "expected each once");
    }
  }
  check_waiting(settings.inputs);
  UsedFiles used(settings.prints_to_output() ? "the summary goes" : nullptr);
  used.add_sink(settings.sink);
  for (const std::string& input : settings.inputs) used.add_input(input);
  used.add_output("--json", settings.json_path);
  settings.warnings = used.warnings();
  return settings;
}

}  // namespace databuffer::tools
