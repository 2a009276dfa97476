#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/databuffer/file_place.hpp"
#include "tools/databuffer/sink.hpp"

namespace databuffer::tools {

/// The files that a command line names, each under whatever name. Refuses, before any of them is
/// touched, that an output is also an input, another output, or a file of the sink: it would
/// destroy what the other one holds. Files of the sink are its file, or its database and what
/// SQLite keeps beside it.
///
/// Refuses likewise an output that cannot be placed: its folder is missing, it ends in a slash, or
/// it is a folder. What cannot be placed cannot be compared.
///
/// Devices are no such thing: several outputs may be /dev/null, and input and output one terminal.
///
/// All calls throw CLI::ValidationError, which names the argument, the file and the other use. Add
/// the sink first, then the inputs, then the outputs: the later one is blamed.
class UsedFiles {
 public:
  /// Of every command: its messages go to standard error. `printed` says what goes to
  /// standard output beside what is added here ("the summary goes"), or is null.
  explicit UsedFiles(const char* printed);

  void add_sink(const SinkSpec& sink);

  /// `path` "-" is standard input.
  void add_input(const std::string& path);

  /// `path` "-" is standard output. Without `path` nothing happens.
  void add_output(const std::string& flag, const std::optional<std::string>& path);

  /// What is allowed, but may be a mistake: one file among the inputs under two names.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  enum class Role { kMessages, kInput, kOutput };

  struct Use {
    Role role;
    int stream;            // of the process, or -1: opened by name
    std::string argument;  // "--json"
    std::string name;      // as it was typed: "a.log"
    std::string what;      // for the error of another one: "the input 'a.log'"
  };

  static std::string place_database(const Use& use, const std::string& path);
  static void refuse_closed(const Use& use, const std::string& path);
  void add_named(const Use& use, const std::string& path);
  void add(const Use& use, const std::optional<FoundFile>& file);
  void compare(const Use& earlier, const Use& later, FileKind kind);

  std::map<FilePlace, std::vector<Use>> uses_;
  std::vector<std::string> warnings_;
};

}  // namespace databuffer::tools
