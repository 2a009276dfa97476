#include "tools/databuffer/used_files.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <utility>

namespace databuffer::tools {

namespace {

constexpr int kByName = -1;  // no standard stream
constexpr const char* kExpectedFile = "; expected a file";
constexpr const char* kSideFiles[] = {"-wal", "-shm", "-journal"};

[[noreturn]] void refuse(const std::string& argument, const std::string& name,
                         const std::string& why) {
  throw CLI::ValidationError(argument, "'" + name + "': " + why);
}

std::string text_of(const SinkSpec& sink) {
  using Kind = SinkSpec::Kind;
  if (sink.kind == Kind::kStdout) return "stdout";
  return (sink.kind == Kind::kSqlite ? "sqlite:" : "file:") + sink.path;
}

}  // namespace

UsedFiles::UsedFiles(const char* printed) {
  add({Role::kMessages, STDERR_FILENO, {}, {}, "where standard error goes"},
      find_file(STDERR_FILENO));
  if (printed == nullptr) return;
  add({Role::kOutput, STDOUT_FILENO, {}, {}, std::string("standard output, where ") + printed},
      find_file(STDOUT_FILENO));
}

void UsedFiles::add_sink(const SinkSpec& sink) {
  using Kind = SinkSpec::Kind;
  if (sink.kind == Kind::kNull) return;
  const std::string text = text_of(sink);
  Use use{Role::kOutput, kByName, "--sink", text, "where --sink " + text + " writes to"};
  if (sink.kind == Kind::kStdout) {
    use.stream = STDOUT_FILENO;
    return add(use, find_file(STDOUT_FILENO));
  }
  if (sink.kind == Kind::kFile) return add_named(use, sink.path);
  const std::string database = place_database(use, sink.path);
  add_named(use, database);
  for (const char* const ending : kSideFiles) {
    use.what = std::string("the \"") + ending + "\" file of --sink " + text;
    add_named(use, database + ending);
  }
}

// What SQLite is given to open, so that it is this file, and no other reading of its name, that is
// compared with the others.
std::string UsedFiles::place_database(const Use& use, const std::string& path) {
  refuse_closed(use, path);
  try {
    return real_path(path);
  } catch (const NoPlace& error) {
    refuse(use.argument, use.name, error.what() + std::string(kExpectedFile));
  }
}

void UsedFiles::add_input(const std::string& path) {
  const Use use{Role::kInput, kByName, "FILE", path, "the input '" + path + "'"};
  if (path != "-") return add_named(use, path);
  add({Role::kInput, STDIN_FILENO, "FILE", path, "standard input"}, find_file(STDIN_FILENO));
}

void UsedFiles::add_output(const std::string& flag, const std::optional<std::string>& path) {
  if (!path.has_value()) return;
  Use use{Role::kOutput, kByName, flag, *path, "where " + flag + " writes to"};
  if (path != "-") return add_named(use, *path);
  use.stream = STDOUT_FILENO;
  add(use, find_file(STDOUT_FILENO));
}

void UsedFiles::refuse_closed(const Use& use, const std::string& path) {
  if (!is_closed_descriptor(path)) return;
  refuse(use.argument, use.name, "that descriptor is not open" + std::string(kExpectedFile));
}

// An input that is not there is an error of its own, later: the others are read all the same.
void UsedFiles::add_named(const Use& use, const std::string& path) {
  refuse_closed(use, path);
  if (use.role == Role::kInput) return add(use, find_file(path));
  try {
    add(use, place_file(path));
  } catch (const NoPlace& error) {
    refuse(use.argument, use.name, error.what() + std::string(kExpectedFile));
  }
  if (is_folder(path))
    refuse(use.argument, use.name, "it is a folder" + std::string(kExpectedFile));
}

void UsedFiles::add(const Use& use, const std::optional<FoundFile>& file) {
  if (!file.has_value()) return;  // an input: to open it will fail, and that will be said
  std::vector<Use>& others = uses_[file->place];
  for (const Use& other : others) compare(other, use, file->kind);
  others.push_back(use);
}

void UsedFiles::compare(const Use& earlier, const Use& later, FileKind kind) {
  if (earlier.role == Role::kInput && later.role == Role::kInput) {
    if (kind == FileKind::kFlow) {
      refuse(later.argument, later.name,
             "that is " + earlier.what + ", which can be read only once; expected another file");
    }
    if (kind == FileKind::kStored) {
      warnings_.push_back("'" + later.name + "' is the same file as " + earlier.what +
                          ": its lines are stored once for each name");
    }
    return;
  }
  const bool are_streams = earlier.stream != kByName && later.stream != kByName;
  const bool is_same_stream = are_streams && earlier.stream == later.stream;
  // Who sends standard output and standard error to one place (2>&1) wants both there, and messages
  // may go into a pipe of ours: nothing is overwritten there.
  const bool has_messages = earlier.role == Role::kMessages;
  const bool is_wanted = has_messages && (later.stream == STDOUT_FILENO || kind == FileKind::kFlow);
  if (!is_same_stream && (kind == FileKind::kShared || is_wanted)) return;
  refuse(later.argument, later.name, "that is " + earlier.what + "; expected another file");
}

}  // namespace databuffer::tools
