#include "tools/databuffer/console.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

namespace databuffer::tools {

namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr std::string_view kNewLine = "\n";
constexpr std::size_t kUsualColumns = 80;

// There is nobody left to tell when standard error fails.
void print(std::string_view text) noexcept { static_cast<void>(write_fully(STDERR_FILENO, text)); }

}  // namespace

void Console::say(std::string_view message) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    std::string text;
    if (!progress_.empty()) text += kClearLine;
    text += prefix_;
    text += message;
    text += '\n';
    text += progress_;
    print(text);
  } catch (const std::bad_alloc&) {  // then in pieces
    for (const std::string_view part : {std::string_view(prefix_), message, kNewLine}) print(part);
  }
}

void Console::show_progress(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (line == progress_) return;
  progress_ = line;
  print(kClearLine);
  print(progress_);
}

bool Console::is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::size_t Console::columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

std::string failure_text(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) == nullptr ? error.what() : "out of memory";
}

int write_fully(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
      static_cast<void>(::poll(&wait, 1, -1));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace databuffer::tools
