// libFuzzer target: the arguments of `databuffer ingest`, and the bytes of its input.
//
// Whatever they are: arguments are refused with a text, or make settings that hold together; lines
// put together again are the input; one in a few inputs goes all the way into a sink, which must
// get each line once, in order. The input is: a byte of flags, the arguments, each with a NUL
// behind it, a second NUL, then the bytes of the input file.

#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "fuzz/plain_utf8.hpp"
#include "tools/databuffer/console.hpp"
#include "tools/databuffer/ingest.hpp"
#include "tools/databuffer/ingest_cli.hpp"
#include "tools/databuffer/line_reader.hpp"
#include "tools/databuffer/quantities.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/summary.hpp"
#include "tools/databuffer/utf8.hpp"

namespace {

using namespace databuffer::tools;
using namespace std::chrono_literals;

constexpr unsigned kIsRun = 15;  // flags & this == 0: the whole command runs
constexpr std::uint64_t kMaxLineBytes = 1U << 20U;

void require(bool is_so, const char* what) {
  if (is_so) return;
  std::cerr << "the command is wrong: " << what << "\n";
  std::abort();
}

struct Input {
  unsigned flags = 0;
  std::vector<std::string> arguments;
  std::string bytes;
};

Input cut(std::string_view data) {
  Input input;
  if (data.empty()) return input;
  input.flags = static_cast<unsigned char>(data.front());
  data.remove_prefix(1);
  while (!data.empty()) {
    const std::size_t end = std::min(data.find('\0'), data.size());
    if (end > 0) input.arguments.emplace_back(data.substr(0, end));
    data.remove_prefix(std::min(end + 1, data.size()));
    if (end == 0) break;
  }
  input.bytes = std::string(data);
  return input;
}

void check_quantities(const std::string& text) {
  try {
    const databuffer::Duration duration = parse_duration(text);
    require(duration >= 0s, "a negative duration");
    require(parse_duration(format_duration(duration)) == duration, "a duration printed wrongly");
  } catch (const BadQuantity& error) {
    require(*error.what() != '\0', "a refusal without a text");
  }
  try {
    const std::uint64_t count = parse_count(text);
    require(parse_count(std::to_string(count)) == count, "a count read wrongly");
    require(parse_bytes(text) == count, "a count that is another number of bytes");
  } catch (const BadQuantity& error) {
    require(*error.what() != '\0', "a refusal without a text");
  }
}

// As main() does it, up to the run.
void check_arguments(const std::vector<std::string>& arguments) {
  CLI::App app("fuzz", "databuffer");
  app.require_subcommand(1);
  IngestCli ingest;
  ingest.add_to(app);
  std::vector<const char*> words{"databuffer", "ingest"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  try {
    app.parse(static_cast<int>(words.size()), words.data());
    const IngestSettings settings = ingest.settings();
    settings.buffer.validate();
    require(!settings.inputs.empty(), "no input");
    for (const std::string& input : settings.inputs) {
      const bool is_typed = std::find(arguments.begin(), arguments.end(), input) != arguments.end();
      require(is_typed || settings.inputs == std::vector<std::string>{"-"}, "a FILE nobody named");
    }
    require(settings.max_line_bytes > 0, "no line is short enough");
    const bool needs_path = settings.sink.kind == SinkSpec::Kind::kSqlite ||
                            settings.sink.kind == SinkSpec::Kind::kFile;
    require(needs_path != settings.sink.path.empty(), "a sink's path");
  } catch (const CLI::ParseError& error) {
    require(error.get_exit_code() == 0 || *error.what() != '\0', "a refusal without a text");
  }
}

/// A file in memory.
databuffer::tools::FileDescriptor file_of(std::string_view bytes) {
  FileDescriptor file(::memfd_create("fuzz", MFD_CLOEXEC));
  if (!file.is_open()) throw std::system_error(errno, std::generic_category(), "memfd_create");
  require(write_fully(file.get(), bytes) == 0, "no memory for the input");
  require(::lseek(file.get(), 0, SEEK_SET) == 0, "no way back in the input");
  return file;
}

void check_lines(const std::string& bytes) {
  TextMemory memory(1U << 30U);
  const RunControl control;
  databuffer::tools::Source source{.name = "fuzz"};
  const ReaderContext context{memory, control, kMaxLineBytes, [] {}};
  std::string together;
  {
    LineReader reader(file_of(bytes), source, context);
    Line line;
    std::uint64_t number = 0;
    while (reader.fill()) {
      while (reader.next(line)) {
        require(line.number() == ++number, "the lines' numbers");
        require(is_clean_text(line.text()) == databuffer::fuzz::is_plain_utf8(line.text()),
                "what is text and what is not");
        together += line.text();
        if (line.is_terminated()) together += '\n';
      }
    }
    require(reader.is_at_end(), "a reader that stops early");
  }
  require(together == bytes, "lines that are not the input");
  require(memory.held_bytes() == 0, "memory that is not given back");
}

class MemorySink final : public Sink {
 public:
  explicit MemorySink(std::string& to) : to_(to) {}
  void write(std::span<const Line> lines) override {
    for (const Line& line : lines) {
      require(line.number() == ++number_, "the stored lines' order");
      to_ += line.text();
      if (line.is_terminated()) to_ += '\n';
    }
  }
  void finish() override {}

 private:
  std::string& to_;  // borrowed
  std::uint64_t number_ = 0;
};

void check_run(const Input& input) {
  const FileDescriptor file = file_of(input.bytes);
  IngestSettings settings;
  settings.inputs = {"/proc/self/fd/" + std::to_string(file.get())};
  settings.producers = 1;
  settings.max_line_bytes = kMaxLineBytes;
  settings.is_quiet = true;
  settings.buffer.name = "fuzz";
  settings.buffer.max_size = 1 + (input.flags >> 6U);
  settings.buffer.partitions = 1 + (input.flags >> 4U & 3U);
  settings.buffer.flush_interval = 1ms;
  settings.buffer.insert_timeout = settings.buffer.close_timeout = databuffer::kForever;
  RunControl control;
  Console console("fuzz: ");
  std::string stored;
  Ingest ingest(settings, control, console);
  ingest.use_sink(std::make_unique<MemorySink>(stored));
  const Summary summary = ingest.run();
  require(summary.exit_code() == 0, "a run that fails");
  require(stored == input.bytes, "what is stored is not the input");
}

}  // namespace

// libFuzzer's name, not ours.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {  // NOLINT
  const Input input = cut({reinterpret_cast<const char*>(data), size});
  check_arguments(input.arguments);
  for (const std::string& argument : input.arguments) check_quantities(argument);
  check_lines(input.bytes);
  if ((input.flags & kIsRun) == 0) check_run(input);
  return 0;
}
