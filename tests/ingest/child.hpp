#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/text.hpp"
#include "tools/databuffer/file_descriptor.hpp"

namespace databuffer::ingest_tests {

using support::contains;
using tools::FileDescriptor;
using Clock = std::chrono::steady_clock;

/// A sanitizer reserves more memory than any limit that we would set.
inline constexpr bool kHasNoMemoryLimit = support::kHasSanitizer;

/// How long a child process may run before it is killed and its test fails.
inline constexpr std::chrono::seconds kChildTimeout{support::kHasSanitizer ? 180 : 60};

/// How a process ended, and what it printed.
struct Outcome {
  int exit_code = -1;  ///< -1: a signal ended it.
  std::string out;
  std::string err;
  std::chrono::duration<double> took{};
};

struct ChildSettings {
  std::vector<std::string> arguments;
  std::optional<std::uint64_t> max_file_bytes{};    ///< RLIMIT_FSIZE: stands in for a full disk.
  std::optional<std::uint64_t> max_memory_bytes{};  ///< RLIMIT_AS. Not with a sanitizer.
  std::string folder{};                             ///< To work in; empty: ours.
  std::string output_file{};           ///< Its standard output goes there; empty: to us.
  std::string error_file{};            ///< Likewise standard error.
  std::vector<int> ignored_signals{};  ///< When it starts, as by nohup.
  bool has_terminal = false;           ///< Standard error is a terminal of 100 columns.
  bool has_streams = true;             ///< False: standard input and output are closed.
  bool reads_output = true;            ///< False: nobody reads standard output until wait().
};

/// The built command `databuffer`, as a child process, with its standard streams in our hands.
///
/// Even where the tests run as root, the child obeys the permissions of files.
class Child {
 public:
  explicit Child(ChildSettings settings) : settings_(std::move(settings)) { start(); }
  explicit Child(std::vector<std::string> arguments)
      : Child(ChildSettings{.arguments = std::move(arguments)}) {}
  ~Child() {
    if (pid_ > 0) kill_and_reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Writes to its standard input. At most what a pipe holds, unless it reads.
  void write_input(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(input_.get(), bytes.data(), bytes.size());
      if (count < 0) throw std::system_error(errno, std::system_category(), "write to the child");
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void close_input() { input_.close(); }
  void close_output() { output_.close(); }

  void send(int signal) const { REQUIRE(::kill(pid_, signal) == 0); }

  /// Waits until it has printed `text` on standard error.
  void wait_for_error(std::string_view text) {
    wait_until("for \"" + std::string(text) + "\" on standard error",
               [&] { return err_.find(text) != std::string::npos; });
  }

  /// Bytes that it has printed on standard output and nobody has read.
  [[nodiscard]] int output_waiting() const {
    int bytes = 0;
    REQUIRE(::ioctl(output_.get(), FIONREAD, &bytes) == 0);
    return bytes;
  }

  /// Whether it has the file `path` open.
  [[nodiscard]] bool has_open(const std::string& path) const {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd", error)) {
      if (std::filesystem::read_symlink(entry.path(), error) == path) return true;
    }
    return false;
  }

  /// Waits until it has ended, with its standard input still open; calls `meanwhile` now and then.
  template <class Meanwhile>
  void wait_for_exit(Meanwhile meanwhile) {
    wait_until("for its end", [&] {
      meanwhile();
      return has_exited();
    });
  }
  void wait_for_exit() {
    wait_for_exit([] {});
  }

  /// Waits until it has read everything that we have written to its standard input.
  void wait_until_input_is_read() {
    wait_until("until it has read its input", [this] {
      int bytes = 0;
      REQUIRE(::ioctl(input_.get(), FIONREAD, &bytes) == 0);
      return bytes == 0;
    });
  }

  /// Waits until SIGTERM no longer just ends it.
  void wait_until_it_heeds_signals() {
    wait_until("until it blocks SIGTERM", [this] {
      return ((std::stoull(look("status", "SigBlk:"), nullptr, 16) >> (SIGTERM - 1)) & 1U) != 0;
    });
  }

  /// The most memory it has used.
  [[nodiscard]] std::uint64_t peak_kilobytes() const {
    return std::stoull(look("status", "VmHWM:"));
  }

  /// Bytes that it has read, from files and pipes.
  [[nodiscard]] std::uint64_t bytes_read() const { return std::stoull(look("io", "rchar:")); }

  /// Waits until `condition` holds, looking every few milliseconds.
  template <class Condition>
  void wait_until(const std::string& what, Condition condition) {
    while (!condition()) {
      pump(std::chrono::milliseconds{5});
      if (Clock::now() > deadline_) fail_late(what);
    }
  }

  /// Closes its standard input and waits for its end.
  Outcome wait() {
    close_input();
    settings_.reads_output = true;
    while (!has_exited()) {
      pump(std::chrono::milliseconds{20});
      if (Clock::now() > deadline_) fail_late("for its end");
    }
    Outcome outcome;
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    while (pump(std::chrono::milliseconds{0})) {
    }
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.out = std::move(out_);
    outcome.err = std::move(err_);
    outcome.took = Clock::now() - started_;
    return outcome;
  }

 private:
  struct Pipe {
    FileDescriptor read;
    FileDescriptor write;
  };

  static Pipe make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::system_category(), "pipe2");
    }
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  }

  // A terminal whose one end we read, as if it were a pipe.
  static Pipe make_terminal() {
    int ours = -1;
    int theirs = -1;
    winsize size{.ws_row = 25, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
    if (::openpty(&ours, &theirs, nullptr, nullptr, &size) != 0) {
      throw std::system_error(errno, std::system_category(), "openpty");
    }
    ::fcntl(ours, F_SETFD, FD_CLOEXEC);
    ::fcntl(theirs, F_SETFD, FD_CLOEXEC);
    return {FileDescriptor(ours), FileDescriptor(theirs)};
  }

  void start() {
    Pipe input = make_pipe();
    Pipe output = make_pipe();
    Pipe error = settings_.has_terminal ? make_terminal() : make_pipe();
    std::vector<char*> words;
    std::string program = DATABUFFER_CLI_PATH;
    words.push_back(program.data());
    for (std::string& argument : settings_.arguments) words.push_back(argument.data());
    words.push_back(nullptr);

    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error(errno, std::system_category(), "fork");
    if (pid_ == 0) {
      become_child(input.read.get(), output.write.get(), error.write.get(), words.data());
    }
    input_ = std::move(input.write);
    output_ = std::move(output.read);
    error_ = std::move(error.read);
    exit_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (!exit_.is_open()) throw std::system_error(errno, std::system_category(), "pidfd_open");
  }

  // Between fork and exec: system calls only, for our threads' locks are held for ever.
  [[noreturn]] void become_child(int input, int output, int error, char* const* words) const {
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(error, STDERR_FILENO);
    if (!settings_.has_streams) {
      ::close(STDIN_FILENO);
      ::close(STDOUT_FILENO);
    }
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) ::signal(signal, SIG_DFL);
    for (const int signal : settings_.ignored_signals) ::signal(signal, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0);  // fails where there is nothing to drop
    ::prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0);
    if (!settings_.folder.empty() && ::chdir(settings_.folder.c_str()) != 0) ::_exit(126);
    redirect(settings_.output_file, STDOUT_FILENO);
    redirect(settings_.error_file, STDERR_FILENO);
    limit(RLIMIT_FSIZE, settings_.max_file_bytes);
    limit(RLIMIT_AS, settings_.max_memory_bytes);
    ::execv(words[0], words);
    ::_exit(127);
  }

  static void limit(decltype(RLIMIT_AS) resource, const std::optional<std::uint64_t>& most) {
    if (!most.has_value()) return;
    const rlimit both{*most, *most};
    ::setrlimit(resource, &both);
  }

  static void redirect(const std::string& path, int stream) {
    if (path.empty()) return;
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::dup2(file, stream) < 0) ::_exit(126);
  }

  // The word behind `name` in a file of /proc about it.
  [[nodiscard]] std::string look(const std::string& file, std::string_view name) const {
    std::ifstream words("/proc/" + std::to_string(pid_) + "/" + file);
    std::string word;
    while (words >> word && word != name) {
    }
    REQUIRE((words >> word));
    return word;
  }

  // Takes what it has printed; returns whether there was something.
  bool pump(std::chrono::milliseconds wait) {
    std::array<pollfd, 2> reads{
        pollfd{.fd = settings_.reads_output ? output_.get() : -1, .events = POLLIN, .revents = 0},
        pollfd{.fd = error_.get(), .events = POLLIN, .revents = 0}};
    ::poll(reads.data(), reads.size(), static_cast<int>(wait.count()));
    bool has_read = false;
    has_read |= reads[0].revents != 0 && take(output_, out_);
    has_read |= reads[1].revents != 0 && take(error_, err_);
    return has_read;
  }

  static bool take(FileDescriptor& from, std::string& to) {
    std::array<char, 65536> part;  // NOLINT: read() fills it
    const ssize_t count = ::read(from.get(), part.data(), part.size());
    if (count > 0) {
      to.append(part.data(), static_cast<std::size_t>(count));
      return true;
    }
    from.close();  // its end; for a terminal that is an error
    return false;
  }

  [[nodiscard]] bool has_exited() const {
    pollfd exit{.fd = exit_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&exit, 1, 0) == 1;
  }

  [[noreturn]] void fail_late(const std::string& what) {
    kill_and_reap();
    FAIL("the command was killed: waited too long " << what << "; it had printed: " << out_
                                                    << "\nand on standard error: " << err_);
    throw std::logic_error("FAIL returned");
  }

  void kill_and_reap() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  ChildSettings settings_;
  pid_t pid_ = -1;
  FileDescriptor input_;
  FileDescriptor output_;
  FileDescriptor error_;
  FileDescriptor exit_;  // readable when the child has ended
  std::string out_;
  std::string err_;
  const Clock::time_point started_ = Clock::now();
  const Clock::time_point deadline_ = started_ + kChildTimeout;
};

/// Runs `databuffer` with `arguments`, and `input` on its standard input, to its end.
inline Outcome run(std::vector<std::string> arguments, std::string_view input = {}) {
  Child child(std::move(arguments));
  child.write_input(input);
  return child.wait();
}

/// The object that `--json -` printed. Checks that it adds up, which it always must.
inline nlohmann::json summary_of(const Outcome& outcome) {
  INFO("standard output: ", outcome.out);
  INFO("standard error: ", outcome.err);
  const nlohmann::json json = nlohmann::json::parse(outcome.out, nullptr, false);
  REQUIRE_FALSE(json.is_discarded());
  const auto count = [&json](const char* key) { return json.at(key).get<std::uint64_t>(); };
  CHECK(count("lines") == count("accepted") + count("not_accepted"));
  CHECK(count("not_accepted") == count("refused_full") + count("refused_timed_out") +
                                     count("refused_closed") + count("refused_no_memory"));
  CHECK(count("accepted") == count("flushed") + count("failed") + count("dropped"));
  CHECK(json.at("exit_code").get<int>() == outcome.exit_code);
  std::uint64_t lines = 0;
  for (const auto& source : json.at("sources")) lines += source.at("lines").get<std::uint64_t>();
  CHECK(lines == count("lines"));
  return json;
}

}  // namespace databuffer::ingest_tests
