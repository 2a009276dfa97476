#include "tools/databuffer/ingest_command.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "tools/databuffer/console.hpp"
#include "tools/databuffer/file_descriptor.hpp"
#include "tools/databuffer/ingest.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/signals.hpp"
#include "tools/databuffer/summary.hpp"

namespace databuffer::tools {

namespace {

constexpr int kFailed = 1;
constexpr mode_t kNewFileMode = 0666;  // less the umask

// Opened before the run, so that nothing is read in vain. Emptied at once: if the run is killed,
// the summary of an earlier one must not be taken for its own.
FileDescriptor open_json(const std::string& path) {
  if (path == "-") return duplicate(STDOUT_FILENO);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK;
  return FileDescriptor(::open(path.c_str(), kFlags, kNewFileMode));
}

void react(int signal, RunControl& control, Console& console) {
  const int requests = control.stop_for_signal(signal);
  if (requests == 1) {
    console.say(signal_name(signal) +
                ": reads no more, and stores what was read; a second signal stops at once");
  } else if (requests == 2) {
    console.say(signal_name(signal) + ": stops at once");
  }
}

// Returns the exit code. The JSON is last, because it has that code, too: an output before it that
// cannot be written is one more error.
int print(Summary summary, const IngestSettings& settings, FileDescriptor* json, Console& console) {
  for (const std::string& message : losses(summary)) console.say(message);
  const auto check = [&](int error, const std::string& output) {
    if (error == 0) return;
    summary.errors.push_back(output + ": cannot write the summary: " + error_text(error));
    console.say(summary.errors.back());
  };
  if (settings.prints_to_output()) {
    check(write_fully(STDOUT_FILENO, to_text(summary)), "standard output");
  } else if (settings.is_for_people()) {
    check(write_fully(STDERR_FILENO, to_text(summary)), "standard error");
  }
  if (json != nullptr) {
    const int error = write_fully(json->get(), to_json(summary));
    check(error == 0 ? json->close() : error, "--json " + *settings.json_path);
  }
  return summary.exit_code();
}

}  // namespace

int run_ingest(const IngestSettings& settings) {
  Console console("databuffer ingest: ");
  RunControl control;
  const SignalWatcher signals([&](int signal) { react(signal, control, console); });

  for (const std::string& warning : settings.warnings) console.say(warning);
  std::optional<FileDescriptor> json;
  if (settings.json_path.has_value()) {
    json = open_json(*settings.json_path);
    if (!json->is_open()) {
      console.say("--json " + *settings.json_path + ": cannot open it: " + error_text(errno));
      return kFailed;
    }
  }

  auto ingest = std::make_unique<Ingest>(settings, control, console);
  const int exit_code =
      print(ingest->run(), settings, json.has_value() ? &*json : nullptr, console);
  // Threads that are stuck use what the stack and `ingest` hold, so none of it may be destroyed.
  if (ingest->is_stuck()) std::_Exit(exit_code);
  return exit_code;
}

}  // namespace databuffer::tools
