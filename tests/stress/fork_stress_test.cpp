// Goal: a forked child's copy of a buffer is inert: every call answers at once, nothing is
// delivered twice, and the parent does not notice. Method: fork again and again while threads
// insert, flush, look and listen. The child says by its exit code what went wrong; a hang ends it
// by SIGALRM.

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/witness.hpp"
#include "support/print.hpp"
#include "support/sanitizers.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::EventSet;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::stress::Crew;
using databuffer::stress::Item;
using databuffer::stress::scaled;
using databuffer::stress::Witness;

constexpr unsigned kChildSeconds = 60;
constexpr std::uint32_t kMostItems = 500'000;  // of one producer

/// A number that parent and children share.
class SharedCount {
 public:
  SharedCount()
      : count_(new (mmap(nullptr, sizeof(*count_), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<int>(0)) {}
  ~SharedCount() { munmap(count_, sizeof(*count_)); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  std::atomic<int>& operator*() const noexcept { return *count_; }

 private:
  std::atomic<int>* count_;
};

/// Counts the ends of its like.
struct Ending {
  Ending() = default;
  Ending(Ending&&) noexcept {}
  Ending& operator=(Ending&&) = delete;
  ~Ending() { ++count; }
  static int count;
};
int Ending::count = 0;

/// Runs `body` in a child; returns its exit code, or minus the signal that ended it.
template <class Body>
int run_child(Body body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 255;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Every call on the copy in a child. Returns 0, or the number of the call that answered wrongly.
int call_everything(Buffer<Item>& buffer) {
  const std::uint64_t refused = buffer.ledger().refused();
  if (buffer.insert(Item{}) != InsertStatus::kClosed) return 1;
  if (buffer.insert(Item{}, databuffer::kForever) != InsertStatus::kClosed) return 2;
  if (buffer.try_insert(Item{}) != InsertStatus::kClosed) return 3;
  if (buffer.insert_keyed(7, Item{}) != InsertStatus::kClosed) return 4;
  const auto batch = buffer.insert_batch(std::vector<Item>(5));
  if (batch.status != InsertStatus::kClosed || batch.accepted != 0) return 5;
  if (buffer.ledger().refused() != refused) return 12;  // It counts nothing.
  buffer.flush();
  for (const auto& report : buffer.sync_flush(databuffer::kForever)) {
    if (report.status != CallStatus::kClosed) return 6;
  }
  static_cast<void>(buffer.size());
  static_cast<void>(buffer.ledger());
  if (buffer.info().size() != buffer.options().partitions) return 7;
  if (!buffer.dump().empty() || !buffer.take().empty()) return 8;
  if (buffer.telemetry().attach("child", EventSet::all(), [](const auto&) {})) return 9;
  if (buffer.telemetry().detach("stays")) return 10;
  if (buffer.close(databuffer::kForever).status != CallStatus::kClosed) return 11;
  return 0;
}

/// A buffer of the child's own, without threads, which a sanitizer does not allow it.
int use_new_buffer() {
  int handled = 0;
  Options options{.name = "child", .max_size = 2};
  options.threading = databuffer::Threading::kManual;
  options.flush_timeout = databuffer::kForever;  // So it has no watch either.
  Buffer<Item> buffer(std::move(options),
                      [&](std::span<Item> items) { handled += static_cast<int>(items.size()); });
  for (int item = 0; item < 5; ++item) {
    if (buffer.insert(Item{}) != InsertStatus::kAccepted) return 20;
  }
  if (buffer.close().status != CallStatus::kDone) return 21;
  return handled == 5 ? 0 : 22;
}

}  // namespace

TEST_SUITE("fork") {
  TEST_CASE("forking in the middle of anything leaves an inert copy and an untouched parent") {
    constexpr std::size_t kProducers = 3;
    const pid_t parent = getpid();
    const SharedCount delivered_by_children;
    Witness witness(kProducers, 2, kMostItems);
    std::atomic<bool> is_over{false};
    auto buffer =
        std::make_unique<Buffer<Item>>(Options{.name = "forked", .partitions = 2, .max_size = 20},
                                       [&](std::span<Item> items, const FlushContext& context) {
                                         if (getpid() != parent) ++*delivered_by_children;
                                         witness.saw(context.partition_index, items);
                                         witness.ended(items);
                                       });
    buffer->telemetry().attach("stays", EventSet::all(), [](const databuffer::TelemetryEvent&) {});
    Crew crew;
    crew.add(kProducers, [&](std::size_t producer) {
      for (std::uint32_t sequence = 0; sequence < kMostItems && !is_over; ++sequence) {
        const Item item{static_cast<std::uint32_t>(producer), sequence};
        if (buffer->insert(item, databuffer::kForever) != InsertStatus::kAccepted) {
          witness.findings().add("refused");
        }
        witness.took(item);
        if (sequence % 16 == 0) std::this_thread::sleep_for(100us);
      }
    });
    crew.add([&] {
      while (!is_over) {
        static_cast<void>(buffer->sync_flush(1ms));
        static_cast<void>(buffer->info());
        static_cast<void>(buffer->dump());
        buffer->telemetry().attach("meddles", EventSet::all(), [](const auto&) {});
        buffer->telemetry().detach("meddles");
      }
    });
    const std::size_t forks = scaled(60);
    for (std::size_t index = 0; index < forks; ++index) {
      const int code = run_child([&] {
        if (const int wrong = call_everything(*buffer); wrong != 0) return wrong;
        if (const int wrong = use_new_buffer(); wrong != 0) return wrong;
        buffer.reset();  // joins nothing
        return 0;
      });
      REQUIRE(code == 0);
    }
    is_over = true;
    crew.join();
    CHECK(buffer->close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(buffer->ledger().balances());
    CHECK(buffer->ledger().flushed == witness.taken_items());
    CHECK(witness.verdict() == "");
    CHECK(*delivered_by_children == 0);
    MESSAGE(forks << " forks during " << witness.taken_items() << " items");
  }

  TEST_CASE("the end of a copy in a child touches no item: another thread may be moving it") {
    Options options{.name = "untouched"};
    options.threading = databuffer::Threading::kManual;
    auto buffer = std::make_unique<Buffer<Ending>>(options, [](std::span<Ending>) {});
    for (int item = 0; item < 10; ++item) {
      REQUIRE(buffer->insert(Ending{}) == InsertStatus::kAccepted);
    }
    CHECK(run_child([&] {
            Ending::count = 0;
            buffer.reset();
            return Ending::count;
          }) == 0);
  }

  TEST_CASE(
      "a kManual buffer may go out of scope in a child, whatever others do with it just then") {
    for (const bool works : {false, true}) {
      CAPTURE(works);
      Options options{.name = "by hand", .max_size = 100, .capacity = 10'000};
      options.threading = databuffer::Threading::kManual;
      options.overflow = databuffer::Overflow::kReject;
      auto buffer = std::make_unique<Buffer<std::string>>(options, [](std::span<std::string>) {});
      std::atomic<bool> is_over{false};
      std::atomic<std::uint64_t> accepted{0};
      Crew crew;
      crew.add(2, [&](std::size_t) {
        while (!is_over) {
          const auto status = buffer->try_insert(std::string(40, 'x'));
          if (status == InsertStatus::kAccepted) ++accepted;
        }
      });
      crew.add([&] {
        while (!is_over) {
          if (works) {
            buffer->do_work(databuffer::steady_clock().now());
          } else {
            static_cast<void>(buffer->take());
          }
        }
      });
      const std::size_t forks = scaled(100);
      for (std::size_t index = 0; index < forks; ++index) {
        const int code = run_child([&] {
          static_cast<void>(buffer->size());
          static_cast<void>(buffer->ledger());
          static_cast<void>(buffer->info());
          if (buffer->do_work(databuffer::steady_clock().now()) != databuffer::TimePoint::max()) {
            return 1;
          }
          buffer.reset();
          return 0;
        });
        REQUIRE(code == 0);
      }
      is_over = true;
      crew.join();
      CHECK(buffer->close(databuffer::kForever).status == CallStatus::kDone);
      CHECK(buffer->ledger().balances());
      CHECK(buffer->ledger().accepted == accepted);
    }
  }

  // Not under the thread sanitizer: where a thread that was not the first ends a forked child, its
  // own runtime fails one of its checks.
  TEST_CASE("a handler may fork: what returns in the child delivers nothing, and ends" *
            doctest::skip(databuffer::support::kHasThreadSanitizer)) {
    const pid_t parent = getpid();
    const SharedCount delivered_by_children;
    std::atomic<pid_t> child{0};
    std::atomic<int> handled{0};
    Buffer<Item> buffer({.name = "forks", .max_size = 1}, [&](std::span<Item> items) {
      if (getpid() != parent) ++*delivered_by_children;
      ++handled;
      if (items[0].sequence != 5) return;
      std::fflush(nullptr);
      const pid_t forked = fork();
      if (forked == 0) alarm(kChildSeconds);
      if (forked != 0) child = forked;
    });
    for (std::uint32_t sequence = 0; sequence < 20; ++sequence) {
      REQUIRE(buffer.insert(Item{0, sequence}) == InsertStatus::kAccepted);
    }
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(handled == 20);
    REQUIRE(child > 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(*delivered_by_children == 0);
  }
}
