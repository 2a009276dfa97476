// Goal: a buffer may live to the very end of the process, and the process still ends in time with
// everything flushed.
// Method: this program runs itself once more for each case. The second run, told by the
// environment, is the process that ends; the first reads what it wrote and how it ended.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "databuffer/databuffer.hpp"
#include "stress/threads.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::InsertStatus;
using databuffer::Options;

constexpr const char* kVariable = "DATABUFFER_STRESS_ENDING_PROCESS";

bool is_ending_process() { return std::getenv(kVariable) != nullptr; }

struct Ending {
  int code = 0;  // exit code, or minus the signal
  std::string output;
};

/// Runs the test case `name` of this program as the process that ends.
Ending run_ending_process(const std::string& name) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const char* const emulator = std::getenv("DATABUFFER_TEST_EMULATOR");  // preset aarch64
  const std::string command = std::string(kVariable) + "=1 exec timeout 60 " +
                              (emulator == nullptr ? "" : emulator) + " '" + program +
                              "' --no-intro --test-case='" + name + "' 2>&1";
  Ending ending;
  std::fflush(nullptr);
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  while (const std::size_t bytes = std::fread(part.data(), 1, part.size(), pipe)) {
    ending.output.append(part.data(), bytes);
  }
  const int status = pclose(pipe);
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ending;
}

/// Says how many items a handler got, in a way that works at any time.
void report(const std::string& who, std::size_t items) {
  const std::string line = who + " got " + std::to_string(items) + "\n";
  static_cast<void>(!write(STDOUT_FILENO, line.data(), line.size()));
}

Options named(const char* name) { return {.name = name, .flush_interval = 1h}; }

void insert_items(Buffer<int>& buffer, int count) {
  for (int item = 0; item < count; ++item) {
    if (buffer.insert(int{item}) != InsertStatus::kAccepted) std::abort();
  }
}

/// Inserts when it is destroyed.
struct LateInsert {
  Buffer<int>* buffer;
  ~LateInsert() { insert_items(*buffer, 1); }
};

void end_with_static_buffers() {
  static Buffer<int> first(named("first"),
                           [](std::span<int> items) { report("first", items.size()); });
  static LateInsert late{&first};  // ends before the buffer, after this thread's slots are gone
  static Buffer<int> second(named("second"),
                            [](std::span<int> items) { report("second", items.size()); });
  insert_items(first, 10);
  insert_items(second, 20);
  std::exit(0);
}

void end_with_thread_local_buffers() {
  const auto use = [](const char* name, int items) {
    thread_local Buffer<int> buffer(named(name),
                                    [name](std::span<int> batch) { report(name, batch.size()); });
    insert_items(buffer, items);
  };
  std::thread(use, "of-a-thread", 3).join();
  use("of-main", 4);
  std::exit(0);
}

void end_with_stuck_handler() {
  // Registered first, so it runs last: the handler returns when all static objects are gone.
  std::atexit([] { std::this_thread::sleep_for(500ms); });
  Options options = named("stuck");
  options.max_size = 1;
  options.close_timeout = 50ms;
  static Buffer<int> buffer(std::move(options), [](std::span<int> items) {
    std::this_thread::sleep_for(300ms);
    report("stuck", items.size());
  });
  insert_items(buffer, 3);
  std::exit(0);
}

}  // namespace

TEST_SUITE("process exit") {
  TEST_CASE("static buffers take inserts and flush them until they end") {
    if (is_ending_process()) end_with_static_buffers();
    const Ending ending =
        run_ending_process("static buffers take inserts and flush them until they end");
    CAPTURE(ending.output);
    CHECK(ending.code == 0);
    CHECK(ending.output.find("first got 11\n") != std::string::npos);
    CHECK(ending.output.find("second got 20\n") != std::string::npos);
  }

  TEST_CASE("thread-local buffers are flushed when their thread ends") {
    if (is_ending_process()) end_with_thread_local_buffers();
    const Ending ending =
        run_ending_process("thread-local buffers are flushed when their thread ends");
    CAPTURE(ending.output);
    CHECK(ending.code == 0);
    CHECK(ending.output.find("of-a-thread got 3\n") != std::string::npos);
    CHECK(ending.output.find("of-main got 4\n") != std::string::npos);
  }

  TEST_CASE("a handler stuck beyond close_timeout may return while the process ends") {
    if (is_ending_process()) end_with_stuck_handler();
    const Ending ending = run_ending_process(
        "a handler stuck beyond close_timeout may return while the process ends");
    CAPTURE(ending.output);
    CHECK(ending.code == 0);
    CHECK(ending.output.find("stuck got 1\n") != std::string::npos);
  }
}
