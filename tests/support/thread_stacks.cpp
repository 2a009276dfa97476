#include "support/thread_stacks.hpp"

#include <execinfo.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace databuffer::support {

namespace {

constexpr int kMaxFrames = 64;
constexpr std::chrono::seconds kAnswerTime{2};

// One thread is asked at a time; [1] pairs with [2] and [3] with [4].
std::atomic<int> answer_fd{-1};
std::atomic<bool> has_answered{false};

void answer_with_stack(int /*signal*/) {
  const int saved_errno = errno;
  std::array<void*, kMaxFrames> frames{};
  const int count = backtrace(frames.data(), kMaxFrames);
  // [2] acquire: the descriptor the asking thread stored.
  backtrace_symbols_fd(frames.data(), count, answer_fd.load(std::memory_order_acquire));
  has_answered.store(true, std::memory_order_release);  // [3] what was written, is written
  errno = saved_errno;
}

std::string thread_name(const std::string& thread_id) {
  std::ifstream file("/proc/self/task/" + thread_id + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

void ask_thread(int fd, const std::string& thread_id) {
  int number = 0;
  std::from_chars(thread_id.data(), thread_id.data() + thread_id.size(), number);
  static_cast<void>(dprintf(fd, "Thread %d \"%s\":\n", number, thread_name(thread_id).c_str()));
  has_answered.store(false, std::memory_order_relaxed);  // ordered by the signal's delivery
  answer_fd.store(fd, std::memory_order_release);        // [1]
  if (syscall(SYS_tgkill, getpid(), number, SIGRTMAX) != 0) {
    static_cast<void>(dprintf(fd, "  (ended)\n"));
    return;
  }
  const auto deadline = std::chrono::steady_clock::now() + kAnswerTime;
  while (!has_answered.load(std::memory_order_acquire)) {  // [4]
    if (std::chrono::steady_clock::now() > deadline) {
      static_cast<void>(
          dprintf(fd, "  (no answer: it blocks signals, or a sanitizer holds them back)\n"));
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

void ask_every_thread(int fd) {
  const std::string self = std::to_string(syscall(SYS_gettid));
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string thread_id = entry.path().filename();
    if (thread_id != self) ask_thread(fd, thread_id);
  }
}

// While gdb is attached this whole process stands still: so its output goes into a memory file,
// where a pipe would fill up, and `timeout`, not we, ends it if it hangs.
bool run_gdb(int output) {
  const std::string process = std::to_string(getpid());
  std::vector<std::string> words{"timeout", "--kill-after=5",
                                 "60",      "gdb",
                                 "-nx",     "-batch",
                                 "-p",      process,
                                 "-iex",    "set debuginfod enabled off",
                                 "-iex",    "set width 0",
                                 "-ex",     "info threads",
                                 "-ex",     "thread apply all backtrace 40"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, "timeout", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t count = pread(file, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

void prepare_thread_stacks() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // lets our child gdb attach to us
  // The first backtrace loads a library, which a thread that holds the loader's lock cannot.
  std::array<void*, 1> frame{};
  backtrace(frame.data(), 1);
  struct sigaction action {};
  action.sa_handler = answer_with_stack;
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMAX, &action, nullptr);
}

void print_thread_stacks(int fd) {
  const int output = memfd_create("gdb-output", 0);
  if (output >= 0) {
    const bool is_done = run_gdb(output);
    const std::string text = read_all(output);
    close(output);
    // gdb also ends with 0 when it may not attach; then it has named no frame.
    if (is_done && text.find("\n#0 ") != std::string::npos) {
      write_all(fd, text);
      return;
    }
    write_all(fd, "(gdb is not installed or may not attach; asking each thread.)\n");
  }
  ask_every_thread(fd);
}

}  // namespace databuffer::support
