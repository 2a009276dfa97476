// Goal: a sandbox that refuses membarrier, whenever it comes, costs no item and no wake-up.
// Method: this program runs itself once more for each case. The second run, told by the
// environment, puts a seccomp filter on while threads insert into buffers; the first looks how it
// ended.

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/witness.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::kForever;
using databuffer::Options;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::Item;
using databuffer::stress::scaled;
using databuffer::stress::Witness;

constexpr const char* kVariable = "DATABUFFER_STRESS_SANDBOX";
constexpr int kRefusedSandbox = 77;  // the system allows no filter: an emulator, a sandbox

/// Has the kernel refuse membarrier, to this thread or to all. Returns whether it does.
bool refuse_membarrier(bool all_threads) {
  std::array<sock_filter, 4> filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{filter.size(), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0,
                 &program) == 0;
}

/// Whose thread puts it on, and whether for all.
enum class Where { kEverywhere, kConsuming, kClosing };

/// Threads insert in bursts, so that consumers arm their doorbells all the time, and the sandbox
/// comes in the middle. Returns an exit code.
int insert_into_a_sandbox(Where where) {
  constexpr std::size_t kProducers = 3;
  constexpr std::uint32_t kItems = 10'000;
  Witness witness(kProducers, 2, kItems);
  std::atomic<bool> is_due{false};
  std::atomic<bool> is_possible{true};
  const auto refuse = [&](Where here) {
    if (here != where || !is_due.exchange(false)) return;
    is_possible = refuse_membarrier(where == Where::kEverywhere);
  };
  Options options{.name = "sandboxed", .partitions = 2, .max_size = 20};
  options.flush_interval = 1ms;
  options.flush_jitter = 0ms;
  Buffer<Item> buffer(options, [&](std::span<Item> items, const FlushContext& context) {
    refuse(Where::kConsuming);
    witness.saw(context.partition_index, items);
    witness.ended(items);
  });
  Crew crew;
  crew.add(kProducers, [&](std::size_t producer) {
    for (std::uint32_t sequence = 0; sequence < kItems; ++sequence) {
      if (producer == 0 && sequence == kItems / 4) is_due = true;
      refuse(Where::kEverywhere);
      const Item item{static_cast<std::uint32_t>(producer), sequence};
      if (buffer.insert(item, kForever) != InsertStatus::kAccepted) return;
      witness.took(item);
      // What is in goes out by itself, or a wake-up was lost.
      if (sequence % 100 == 0 && !eventually([&] { return buffer.size() < 20; })) return;
    }
  });
  if (where != Where::kClosing) crew.join();
  if (!eventually([&] { return where != Where::kClosing || is_due; })) return 1;
  if (where == Where::kClosing) is_possible = refuse_membarrier(false);
  if (buffer.close(kForever).status != CallStatus::kDone) return 2;
  crew.join();
  if (!is_possible) return kRefusedSandbox;
  if (!buffer.ledger().balances() || buffer.ledger().flushed != witness.taken_items()) return 3;
  if (where != Where::kClosing && witness.taken_items() != kProducers * kItems) return 4;
  if (witness.verdict() != "") return 5;

  int handled = 0;
  Buffer<Item> later({.name = "later", .max_size = 1},
                     [&](std::span<Item> items) { handled += static_cast<int>(items.size()); });
  for (std::uint32_t item = 0; item < 100; ++item) {
    if (later.insert(Item{0, item}) != InsertStatus::kAccepted) return 6;
  }
  return later.close(kForever).status == CallStatus::kDone && handled == 100 ? 0 : 7;
}

/// Runs the test case `name` of this program in a process of its own; returns how that ended.
int run_sandboxed(const std::string& name) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const char* const emulator = std::getenv("DATABUFFER_TEST_EMULATOR");  // preset aarch64
  const std::string command = std::string(kVariable) + "=1 exec " +
                              (emulator == nullptr ? "" : emulator) + " '" + program +
                              "' --no-intro --test-case='" + name + "'";
  std::fflush(nullptr);
  const int status = std::system(command.c_str());  // NOLINT: our own words
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void check_sandbox(const std::string& name, Where where) {
  if (std::getenv(kVariable) != nullptr) std::_Exit(insert_into_a_sandbox(where));
  for (std::size_t round = 0; round < scaled(3); ++round) {
    const int code = run_sandboxed(name);
    if (code == kRefusedSandbox) {
      MESSAGE("no seccomp here: nothing was refused");
      return;
    }
    REQUIRE(code == 0);
  }
}

}  // namespace

TEST_SUITE("no membarrier") {
  TEST_CASE("refused to all threads while they insert: nothing is lost, and close ends") {
    check_sandbox("refused to all threads while they insert*", Where::kEverywhere);
  }

  TEST_CASE("refused to one consumer: nothing is lost, and close ends") {
    check_sandbox("refused to one consumer*", Where::kConsuming);
  }

  TEST_CASE("refused to the thread that closes, while others insert: nothing is lost") {
    check_sandbox("refused to the thread that closes*", Where::kClosing);
  }
}
