#pragma once

#include <string>
#include <string_view>

#include "tools/databuffer/file_descriptor.hpp"

namespace databuffer::tools {

/// A file for results, opened before the run, so that it is not made in vain. Emptied at once: if
/// the run is killed, the results of an earlier one must not be taken for its own.
class OutputFile {
 public:
  /// `path` "-" is standard output. `flag` is named in errors: "--json".
  /// Throws      std::runtime_error that names flag, path and cause.
  OutputFile(std::string flag, std::string path);

  /// Writes all of it, and closes. Throws      std::runtime_error, as above.
  void write(std::string_view text);

 private:
  [[noreturn]] void fail(const char* doing, int error) const;

  const std::string flag_;
  const std::string path_;
  FileDescriptor file_;
};

}  // namespace databuffer::tools
