#include "tools/databuffer/line_reader.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "databuffer/detail/assert.hpp"

namespace databuffer::tools {

namespace {

// Large enough that the system calls do not show, small enough to stay in the second-level cache.
constexpr std::size_t kChunkBytes = 256U << 10U;

// With less space left we rather begin a new chunk than read in small pieces.
constexpr std::size_t kMinReadBytes = kChunkBytes / 16;

bool is_regular_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

FileDescriptor open_input(const std::string& name) {
  if (name == "-") return duplicate(STDIN_FILENO);
  // Non-blocking: a FIFO without a writer opens at once, and fill() waits where it can be stopped.
  FileDescriptor input(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!input.is_open()) throw ReadError(error_text(errno));
  struct stat status {};
  if (::fstat(input.get(), &status) != 0) throw ReadError(error_text(errno));
  if (S_ISDIR(status.st_mode)) throw ReadError(error_text(EISDIR));
  return input;
}

bool may_wait(const std::string& name) {
  struct stat status {};
  const int result = name == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(name.c_str(), &status);
  return result == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

LineReader::LineReader(FileDescriptor input, Source& source, const ReaderContext& context)
    : input_(std::move(input)),
      context_(context),
      is_rereadable_(is_regular_file(input_.get())),
      chunk_(Chunk::make(source, kChunkBytes, context.memory)) {}

LineReader::~LineReader() { chunk_->retire(given_); }

bool LineReader::fill() {
  DATABUFFER_ASSERT(searched_ == filled_);
  if (is_at_end_ || !make_space()) return false;
  for (;;) {
    if (wait_ready(input_.get(), POLLIN, context_.control.stopping_fd()) ==
        Readiness::kInterrupted) {
      return false;
    }
    // At most a chunk at a time, also behind a long line, so that a stop is seen soon.
    const std::size_t space = std::min(chunk_->capacity() - filled_, kChunkBytes);
    const ssize_t count = ::read(input_.get(), chunk_->bytes() + filled_, space);
    if (count > 0) {
      filled_ += static_cast<std::size_t>(count);
      bytes_read_ += static_cast<std::uint64_t>(count);
      return true;
    }
    if (count == 0) {
      is_at_end_ = true;
      return unfinished() != 0;
    }
    if (errno != EINTR && errno != EAGAIN) throw ReadError(error_text(errno));
  }
}

bool LineReader::next(Line& line) {
  const char* const bytes = chunk_->bytes();
  const void* const found = std::memchr(bytes + searched_, '\n', filled_ - searched_);
  if (found != nullptr) {
    const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - bytes);
    check_length(end - begin_);
    line = cut(end, true);
    return true;
  }
  searched_ = filled_;
  check_length(unfinished());
  if (!is_at_end_ || unfinished() == 0) return false;
  line = cut(filled_, false);
  return true;
}

bool LineReader::next_cut_line(Line& line) {
  DATABUFFER_ASSERT(searched_ == filled_);
  if (unfinished() == 0) return false;
  line = cut(filled_, false);
  return true;
}

// Gives out the line that ends at `end`, and steps over its '\n'.
Line LineReader::cut(std::size_t end, bool is_terminated) {
  const std::string_view text(chunk_->bytes() + begin_, end - begin_);
  begin_ = searched_ = is_terminated ? end + 1 : end;
  ++given_;
  return Line(*chunk_, text, ++number_, is_terminated);
}

// Where the chunk is full, goes on in a new one that begins with the unfinished line. A long line
// doubles the chunk each time, so it is copied about once in all.
bool LineReader::make_space() {
  if (chunk_->capacity() - filled_ >= kMinReadBytes) return true;
  if (!context_.memory.wait_for_room(context_.control.stopping(), context_.flush)) return false;
  const std::size_t kept = unfinished();
  Chunk* const next =
      Chunk::make(chunk_->source(), std::max(kChunkBytes, 2 * kept), context_.memory);
  std::memcpy(next->bytes(), chunk_->bytes() + begin_, kept);
  chunk_->retire(given_);
  chunk_ = next;
  begin_ = 0;
  searched_ = filled_ = kept;
  given_ = 0;
  return true;
}

void LineReader::check_length(std::size_t bytes) const {
  if (bytes <= context_.max_line_bytes) return;
  throw ReadError("line " + std::to_string(number_ + 1) + " is longer than " +
                  std::to_string(context_.max_line_bytes) + " bytes (--max-line)");
}

}  // namespace databuffer::tools
