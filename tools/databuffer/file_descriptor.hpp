#pragma once

#include <string>
#include <utility>

namespace databuffer::tools {

/// An open file descriptor, owned.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { close(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }

  /// Returns 0 or the errno of close(): some file systems report a full disk only here.
  int close() noexcept;

 private:
  int fd_ = -1;
};

/// Sees to it that no file we open becomes standard input, output or error because that was closed:
/// what is missing becomes a descriptor that can be neither read nor written as such.
/// Throws      std::system_error.
void reserve_standard_streams();

/// A second descriptor of the same open file, with close-on-exec. Throws std::system_error.
[[nodiscard]] FileDescriptor duplicate(int fd);

/// An eventfd, which becomes readable, and stays so, with set(). Throws std::system_error.
class EventFlag {
 public:
  EventFlag();
  void set() const noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

/// What the system calls an error: "No such file or directory".
[[nodiscard]] std::string error_text(int error);

enum class Readiness { kReady, kInterrupted };

/// Waits until `fd` is ready for `events` (POLLIN, POLLOUT), or has an error or end of file to
/// report; or until `interrupt_fd` is readable, which comes first. Throws std::system_error.
[[nodiscard]] Readiness wait_ready(int fd, short events, int interrupt_fd);

}  // namespace databuffer::tools
