// Goal: a buffer's threads start together or not at all, are named, and call the user's hooks.
// Method: hooks and factories that throw at the k-th partition; threads that the system refuses.

#include <doctest/doctest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::stress::eventually;
using databuffer::stress::tasks_named;

std::string own_name() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

void set_stack_bytes(std::size_t bytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

/// Makes the system refuse every further thread, from begin() to end(), by asking for stacks larger
/// than any address space.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_attr_t usual;
    pthread_getattr_default_np(&usual);
    pthread_attr_getstacksize(&usual, &usual_bytes_);
    pthread_attr_destroy(&usual);
  }
  ~NoMoreThreads() { end(); }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

  void begin() { set_stack_bytes(std::size_t{1} << 47U); }
  void end() { set_stack_bytes(usual_bytes_); }

 private:
  std::size_t usual_bytes_ = 0;
};

/// The signals that a thread blocks, as the kernel says: bit k for signal k + 1.
std::uint64_t blocked_signals(const std::string& task) {
  std::ifstream file("/proc/self/task/" + task + "/status");
  const std::string key = "SigBlk:";
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) == 0) return std::stoull(line.substr(key.size()), nullptr, 16);
  }
  return 0;
}

/// Every signal but the two that cannot be blocked, the two that the C library keeps for itself,
/// and those that a fault raises.
std::uint64_t all_but_faults() {
  std::uint64_t signals = ~std::uint64_t{0};
  for (const int signal :
       {SIGKILL, SIGSTOP, 32, 33, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    signals &= ~(std::uint64_t{1} << static_cast<unsigned>(signal - 1));
  }
  return signals;
}

/// A thread that was joined may be listed a moment longer.
bool have_ended(const std::string& threads) {
  return eventually([&] { return tasks_named(threads).empty(); });
}

}  // namespace

TEST_SUITE("consumer threads") {
  TEST_CASE("they are named after buffer and partition, and call the hooks, once each") {
    constexpr std::size_t kPartitions = 3;
    std::mutex mutex;
    std::multiset<std::string> started;
    std::multiset<std::string> stopped;
    std::set<std::string> handling;
    Options options{.name = "named", .partitions = kPartitions, .max_size = 1};
    options.on_thread_start = [&](std::size_t index) {
      const std::lock_guard lock(mutex);
      started.insert(own_name() + "/" + std::to_string(index));
    };
    options.on_thread_stop = [&](std::size_t index) {
      const std::lock_guard lock(mutex);
      stopped.insert(own_name() + "/" + std::to_string(index));
      throw std::runtime_error("nobody hears");
    };
    const std::multiset<std::string> expected{"named.0/0", "named.1/1", "named.2/2"};
    {
      Buffer<int> buffer(std::move(options), [&](std::span<int>, const FlushContext& context) {
        const std::lock_guard lock(mutex);
        handling.insert(own_name());
        handling.insert(std::string(context.partition));
      });
      for (int item = 0; item < 30; ++item)
        REQUIRE(buffer.insert(int{item}) == InsertStatus::kAccepted);
      static_cast<void>(buffer.sync_flush());
      const std::lock_guard lock(mutex);
      CHECK(started == expected);
      CHECK(stopped.empty());
    }
    CHECK(stopped == expected);
    CHECK(handling == std::set<std::string>{"named.0", "named.1", "named.2"});
    CHECK(have_ended("named."));
  }

  TEST_CASE("a long name leaves room for the partition's number") {
    Buffer<int> buffer({.name = "a-name-longer-than-a-thread's", .partitions = 11},
                       [](std::span<int>) {});
    CHECK(tasks_named("a-name-longer.0").size() == 1);
    CHECK(tasks_named("a-name-longe.10").size() == 1);
  }

  TEST_CASE("consumers, spares and the watch leave the process's signals to the user's threads") {
    const std::string self = std::to_string(gettid());
    const std::uint64_t before = blocked_signals(self);
    std::atomic<bool> is_stuck{true};
    std::atomic<int> seen_by_hook{0};
    Options options{.name = "signals",
                    .partitions = 2,
                    .max_size = 1,
                    .flush_timeout = 1ms,
                    .on_overdue = databuffer::OnOverdue::kReplace};
    options.on_thread_start = [&](std::size_t) {  // From the thread's first moment on.
      if (blocked_signals(std::to_string(gettid())) == all_but_faults()) ++seen_by_hook;
    };
    Buffer<int> buffer(options, [&](std::span<int>) {
      while (is_stuck) std::this_thread::sleep_for(1ms);
    });
    REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
    REQUIRE(eventually([&] { return seen_by_hook >= 3; }));  // both, and a spare
    const std::vector<std::string> tasks = tasks_named("signals.");
    CHECK(tasks.size() >= 4);
    for (const std::string& task : tasks) CHECK(blocked_signals(task) == all_but_faults());
    CHECK(blocked_signals(self) == before);
    is_stuck = false;
  }

  TEST_CASE("a start hook that throws at any partition stops all, with its exception") {
    constexpr std::size_t kPartitions = 5;
    for (std::size_t bad = 0; bad < kPartitions; ++bad) {
      std::atomic<int> handlers{0};
      Options options{.name = "bad-hook", .partitions = kPartitions};
      options.on_thread_start = [&](std::size_t index) {
        if (index == bad) throw std::runtime_error("hook " + std::to_string(index));
      };
      const std::string what = "hook " + std::to_string(bad);
      CHECK_THROWS_WITH(Buffer<int>(options, [&](std::span<int>) { ++handlers; }), what.c_str());
      CHECK(have_ended("bad-hook"));
    }
  }

  TEST_CASE("a factory that throws at any partition stops all, and destroys the handlers made") {
    constexpr std::size_t kPartitions = 5;
    for (std::size_t bad = 0; bad < kPartitions; ++bad) {
      const auto counted = std::make_shared<int>(0);
      const auto factory = [&](std::size_t index) {
        if (index == bad) throw std::runtime_error("factory");
        return [counted](std::span<int>) {};
      };
      CHECK_THROWS_WITH(static_cast<void>(Buffer<int>::per_partition(
                            {.name = "bad-factory", .partitions = kPartitions}, factory)),
                        "factory");
      CHECK(counted.use_count() == 1);
      CHECK(have_ended("bad-factory"));
    }
  }

  TEST_CASE("a thread that the system refuses stops all, with the system's error") {
    constexpr std::size_t kPartitions = 64;
    NoMoreThreads no_more;
    std::atomic<std::size_t> started{0};
    std::size_t failures = 0;
    std::size_t late_failures = 0;  // when others were running already
    for (int round = 0; round < 200 && late_failures < 5; ++round) {
      started = 0;
      Options options{.name = "refused", .partitions = kPartitions};
      options.on_thread_start = [&](std::size_t) {
        if (++started == 1) no_more.begin();
      };
      try {
        const Buffer<int> buffer(options, [](std::span<int>) {});
      } catch (const std::system_error& error) {
        CHECK(error.code() == std::errc::resource_unavailable_try_again);
        ++failures;
        if (started > 0) ++late_failures;
      }
      no_more.end();
      CHECK(have_ended("refused"));
    }
    CHECK(late_failures > 0);
    MESSAGE(failures << " failures");
  }
}
