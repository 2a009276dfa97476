#include "tools/databuffer/sink_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace databuffer::tools {

namespace {

constexpr std::size_t kWriteBytes = 256U << 10U;
constexpr int kReaderPauseMilliseconds = 20;
constexpr mode_t kNewFileMode = 0666;  // less the umask

FileDescriptor open_output(const std::string& path, const RunControl& control) {
  struct stat status {};
  const bool is_special = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  // A regular file is opened for reading, too: we want to know how it ends.
  const int flags = is_special ? O_WRONLY | O_NONBLOCK : O_RDWR | O_CREAT | O_APPEND;
  for (;;) {
    FileDescriptor output(::open(path.c_str(), flags | O_CLOEXEC, kNewFileMode));
    if (output.is_open()) return output;
    const bool waits_for_reader = errno == ENXIO && S_ISFIFO(status.st_mode);
    if (!waits_for_reader) throw SinkError(path + ": cannot open it: " + error_text(errno));
    pollfd stop{.fd = control.stopping_fd(), .events = POLLIN, .revents = 0};
    static_cast<void>(::poll(&stop, 1, kReaderPauseMilliseconds));
    if (stop.revents != 0) throw SinkError(path + ": interrupted while nobody was reading it");
  }
}

}  // namespace

std::unique_ptr<FileSink> FileSink::open(const std::string& path, const RunControl& control) {
  FileDescriptor output = open_output(path, control);
  std::unique_ptr<FileSink> sink(new FileSink(path, std::move(output), true, control));
  if (!sink->is_regular_) return sink;
  sink->begin_batch();
  if (sink->size_before_ == 0) return sink;
  char last = '\n';
  if (::pread(sink->output_.get(), &last, 1, static_cast<off_t>(sink->size_before_ - 1)) < 0) {
    throw SinkError(path + ": cannot read how it ends: " + error_text(errno));
  }
  sink->is_line_open_ = last != '\n';
  return sink;
}

std::unique_ptr<FileSink> FileSink::standard_output(const RunControl& control) {
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    throw SinkError("standard output: cannot write to it: " + error_text(EBADF));
  }
  return std::unique_ptr<FileSink>(
      new FileSink("standard output", duplicate(STDOUT_FILENO), false, control));
}

FileSink::FileSink(std::string name, FileDescriptor output, bool is_ours, const RunControl& control)
    : name_(std::move(name)), output_(std::move(output)), is_ours_(is_ours), control_(control) {
  struct stat status {};
  if (::fstat(output_.get(), &status) != 0) throw SinkError(name_ + ": " + error_text(errno));
  is_regular_ = S_ISREG(status.st_mode);
  id_ = {status.st_dev, status.st_ino};
  pending_.reserve(kWriteBytes);
}

std::optional<FileId> FileSink::file_id() const {
  if (!is_regular_) return std::nullopt;
  return id_;
}

void FileSink::write(std::span<const Line> lines) {
  begin_batch();
  try {
    for (const Line& line : lines) {
      if (is_line_open_) append("\n");
      append(line.text());
      is_line_open_ = !line.is_terminated();
      if (line.is_terminated()) append("\n");
    }
    drain();
  } catch (const SinkError& error) {
    throw SinkError(error.what() + take_back(lines));
  }
}

void FileSink::finish() {
  if (const int error = output_.close(); error != 0) {
    throw SinkError(name_ + ": cannot close it: " + error_text(error));
  }
}

void FileSink::begin_batch() {
  began_with_open_line_ = is_line_open_;
  written_ = 0;
  struct stat status {};
  if (::fstat(output_.get(), &status) != 0) throw SinkError(name_ + ": " + error_text(errno));
  size_before_ = static_cast<std::uint64_t>(status.st_size);
}

void FileSink::append(std::string_view bytes) {
  if (bytes.size() > pending_.capacity() - pending_.size()) drain();
  if (bytes.size() >= pending_.capacity()) return write_out(bytes);
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
}

void FileSink::drain() {
  write_out({pending_.data(), pending_.size()});
  pending_.clear();
}

// What is not a regular file may be full for ever, so we wait in poll(), where we can be stopped.
// Ours does not block; a standard output's flags are shared with whoever gave it to us, so there we
// write only what surely fits when poll() says there is room.
void FileSink::write_out(std::string_view bytes) {
  const bool never_blocks = is_ours_ || is_regular_;
  while (!bytes.empty()) {
    if (wait_ready(output_.get(), POLLOUT, control_.aborting_fd()) == Readiness::kInterrupted) {
      throw SinkError(name_ + ": interrupted");
    }
    const std::size_t most = never_blocks ? kWriteBytes : PIPE_BUF;
    const ssize_t count = ::write(output_.get(), bytes.data(), std::min(bytes.size(), most));
    if (count >= 0) {
      written_ += static_cast<std::uint64_t>(count);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR && errno != EAGAIN) {
      throw SinkError(name_ + ": cannot write to it: " + error_text(errno));
    }
  }
}

// After an error: back to where the batch began, or else how far it got.
std::string FileSink::take_back(std::span<const Line> lines) {
  pending_.clear();
  struct stat status {};
  const bool is_only_writer = is_ours_ && is_regular_ && ::fstat(output_.get(), &status) == 0 &&
                              static_cast<std::uint64_t>(status.st_size) == size_before_ + written_;
  if (is_only_writer && ::ftruncate(output_.get(), static_cast<off_t>(size_before_)) == 0) {
    is_line_open_ = began_with_open_line_;
    return {};
  }
  if (written_ == 0) return {};
  return "; " + std::to_string(lines_out(lines)) + " lines of its last batch of " +
         std::to_string(lines.size()) + " were already out";
}

std::size_t FileSink::lines_out(std::span<const Line> lines) const {
  std::uint64_t end = 0;
  bool is_open = began_with_open_line_;
  std::size_t count = 0;
  for (const Line& line : lines) {
    end += line.text().size() + (is_open ? 1 : 0) + (line.is_terminated() ? 1 : 0);
    if (end > written_) break;
    is_open = !line.is_terminated();
    ++count;
  }
  return count;
}

}  // namespace databuffer::tools
