#include "tools/databuffer/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "tools/databuffer/console.hpp"

namespace databuffer::tools {

OutputFile::OutputFile(std::string flag, std::string path)
    : flag_(std::move(flag)), path_(std::move(path)) {
  if (path_ == "-") {
    file_ = duplicate(STDOUT_FILENO);
    return;
  }
  constexpr mode_t kNewFileMode = 0666;  // less the umask
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK;
  file_ = FileDescriptor(::open(path_.c_str(), kFlags, kNewFileMode));
  if (!file_.is_open()) fail("cannot open it", errno);
}

void OutputFile::write(std::string_view text) {
  int error = write_fully(file_.get(), text);
  if (error == 0) error = file_.close();
  if (error != 0) fail("cannot write the results", error);
}

void OutputFile::fail(const char* doing, int error) const {
  throw std::runtime_error(flag_ + " " + path_ + ": " + doing + ": " + error_text(error));
}

}  // namespace databuffer::tools
