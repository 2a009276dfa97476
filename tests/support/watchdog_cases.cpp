// The watchdog's own test: cases for it to catch, and cases for it to leave alone. Run by ctest one
// suite at a time, with a short limit; see tests/CMakeLists.txt.

#include <doctest/doctest.h>

#include <chrono>
#include <mutex>
#include <thread>

// Not in an unnamed namespace: the stacks must show their names.
namespace databuffer::support {

constexpr std::chrono::milliseconds kPart{1500};

[[gnu::noinline]] void wait_for_a_lock_that_nobody_releases(std::mutex& mutex) {
  mutex.lock();
  mutex.unlock();
}

[[gnu::noinline]] void sleep_for_ever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours{1});
}

}  // namespace databuffer::support

namespace support = databuffer::support;

TEST_SUITE("watchdog hang") {
  TEST_CASE("a case that ends") { CHECK(true); }

  TEST_CASE("a case that never ends") {
    std::thread([] { support::sleep_for_ever(); }).detach();
    std::mutex mutex;
    mutex.lock();
    std::thread waiting([&] { support::wait_for_a_lock_that_nobody_releases(mutex); });
    waiting.join();
  }
}

TEST_SUITE("watchdog patience") {
  // Together longer than the limit, each alone well within it.
  TEST_CASE("the first short case") { std::this_thread::sleep_for(support::kPart); }
  TEST_CASE("the second short case") { std::this_thread::sleep_for(support::kPart); }
  TEST_CASE("a case of short subcases") {
    SUBCASE("one") { std::this_thread::sleep_for(support::kPart); }
    SUBCASE("two") { std::this_thread::sleep_for(support::kPart); }
    SUBCASE("three") { std::this_thread::sleep_for(support::kPart); }
  }
}
