#include "tools/databuffer/file_descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace databuffer::tools {

int FileDescriptor::close() noexcept {
  if (fd_ < 0) return 0;
  // Not repeated on EINTR: on Linux the descriptor is gone all the same.
  const int result = ::close(std::exchange(fd_, -1));
  return result == 0 || errno == EINTR ? 0 : errno;
}

void reserve_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is the missing one. The wrong way round: using it fails.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) {
      throw std::system_error(errno, std::system_category(), "open /dev/null");
    }
  }
}

FileDescriptor duplicate(int fd) {
  FileDescriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) throw std::system_error(errno, std::system_category(), "dup");
  return copy;
}

EventFlag::EventFlag() : fd_(::eventfd(0, EFD_CLOEXEC)) {
  if (!fd_.is_open()) throw std::system_error(errno, std::system_category(), "eventfd");
}

void EventFlag::set() const noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the flag is up anyway.
  [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
}

std::string error_text(int error) { return std::system_category().message(error); }

Readiness wait_ready(int fd, short events, int interrupt_fd) {
  std::array<pollfd, 2> waits{pollfd{.fd = interrupt_fd, .events = POLLIN, .revents = 0},
                              pollfd{.fd = fd, .events = events, .revents = 0}};
  while (::poll(waits.data(), waits.size(), -1) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::system_category(), "poll");
  }
  return waits[0].revents != 0 ? Readiness::kInterrupted : Readiness::kReady;
}

}  // namespace databuffer::tools
