// Runs random rounds (stress/random_round.hpp) for as long as it is told: buffers with random
// options, callers and faults, in each of which every item must have exactly one end, in order, and
// the ledger must say which.
//
// Half of the rounds are short and full of faults, some of them with threads that come and go by
// the thousand; half let millions of items pass. In a quarter of all, the program loads two
// plugins, each with its own copy of the library: any copy makes the buffer, and producers use the
// code of all.
//
//   soak [--seconds N] [--rounds N] [--seed N] [--interval N]
//
// It runs one round at least. Prints a line every `interval` seconds and one at the end. Ends at
// the first violation with exit code 1, the seed and the configuration: `--seed THAT --rounds 1`
// runs the same options and decisions again (the threads still meet as they like). A round that
// hangs ends with the stacks of all threads and exit code 124.

#include <dlfcn.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <list>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "stress/copy.hpp"
#include "stress/random_numbers.hpp"
#include "stress/random_round.hpp"
#include "stress/random_setting.hpp"
#include "support/counted_memory.hpp"
#include "support/watchdog.hpp"

namespace {

using databuffer::stress::Copy;
using databuffer::stress::Outside;
using databuffer::stress::Random;
using databuffer::stress::Round;
using databuffer::stress::Setting;
using Clock = std::chrono::steady_clock;

constexpr int kViolation = 1;
constexpr int kWrongArguments = 2;

struct Arguments {
  std::uint64_t seconds = 60;
  std::uint64_t rounds = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t seed = std::random_device{}();
  std::uint64_t interval = 30;
};

std::uint64_t parse_number(std::string_view name, std::string_view text) {
  const std::uint64_t least = name == "--rounds" ? 1 : 0;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (is_number && number >= least) return number;
  throw std::invalid_argument(std::string(name) + " '" + std::string(text) +
                              "': expected a whole number, " + std::to_string(least) +
                              " to 2^64 - 1");
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int index = 1; index < argc; index += 2) {
    const std::string_view name = argv[index];
    std::uint64_t* const target = name == "--seconds"    ? &arguments.seconds
                                  : name == "--rounds"   ? &arguments.rounds
                                  : name == "--seed"     ? &arguments.seed
                                  : name == "--interval" ? &arguments.interval
                                                         : nullptr;
    if (target == nullptr) {
      throw std::invalid_argument("'" + std::string(name) +
                                  "': expected --seconds, --rounds, --seed or --interval");
    }
    if (index + 1 == argc) throw std::invalid_argument(std::string(name) + ": expected a number");
    *target = parse_number(name, argv[index + 1]);
  }
  return arguments;
}

/// A plugin: stress/copy.cpp.
class LoadedCopy {
 public:
  explicit LoadedCopy(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~LoadedCopy() { dlclose(handle_); }
  LoadedCopy(const LoadedCopy&) = delete;
  LoadedCopy& operator=(const LoadedCopy&) = delete;

  [[nodiscard]] Copy copy() const {
    const auto entry =
        reinterpret_cast<decltype(&databuffer_test_copy)>(dlsym(handle_, "databuffer_test_copy"));
    if (entry == nullptr) throw std::runtime_error(dlerror());
    return entry();
  }

 private:
  void* handle_;
};

Setting any_setting(Random& random) {
  if (random.one_in(2)) return databuffer::stress::crowded_setting(random, true);
  if (random.one_in(3)) return databuffer::stress::swarming_setting(random, true);
  return databuffer::stress::random_setting(random, true);
}

void refuse_memory(std::size_t request, const std::function<void()>& call) {
  static_cast<void>(databuffer::support::refuse_from(request, call));
}

/// What has been done so far, for the lines that say so.
class Account {
 public:
  void add(std::uint64_t items) {
    ++rounds_;
    items_ += items;
  }
  void print(const char* what) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    std::printf("%s: %.0f s, %llu rounds, %llu items, %.2f M items/s\n", what, seconds,
                static_cast<unsigned long long>(rounds_), static_cast<unsigned long long>(items_),
                static_cast<double>(items_) / seconds / 1e6);
    std::fflush(stdout);
  }
  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }

 private:
  Clock::time_point began_ = Clock::now();
  std::uint64_t rounds_ = 0;
  std::uint64_t items_ = 0;
};

int soak(const Arguments& arguments) {
  auto* const watchdog = new databuffer::support::Watchdog(  // never destroyed
      databuffer::support::test_time_limit());
  const Clock::time_point end = Clock::now() + std::chrono::seconds(arguments.seconds);
  const std::chrono::seconds interval(arguments.interval);
  Clock::time_point next_line = Clock::now() + interval;
  Account account;
  do {
    const std::uint64_t seed = arguments.seed + account.rounds();
    Random random(seed);
    Setting setting = any_setting(random);
    std::list<LoadedCopy> loaded;
    Outside outside{.refuse_memory = &refuse_memory};
    if (random.one_in(4)) {
      for (const char* const path : {DATABUFFER_COPIES}) {
        outside.copies.push_back(loaded.emplace_back(path).copy());
      }
    }
    const std::string what = "--seed " + std::to_string(seed) + ": " +
                             databuffer::stress::describe(setting) + ", copies of the library " +
                             std::to_string(1 + loaded.size());
    watchdog->start(what);
    Round round(std::move(setting), random, std::move(outside));
    const std::string wrong = round.run(random);
    watchdog->stop();
    account.add(round.items());
    if (!wrong.empty()) {
      static_cast<void>(std::fprintf(stderr, "soak: %s\n%s", what.c_str(), wrong.c_str()));
      account.print("soak: failed");
      return kViolation;
    }
    if (Clock::now() >= next_line) {
      account.print("soak");
      next_line = Clock::now() + interval;
    }
  } while (Clock::now() < end && account.rounds() < arguments.rounds);
  account.print("soak: nothing lost, doubled or stuck");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return soak(parse(argc, argv));
  } catch (const std::invalid_argument& error) {
    static_cast<void>(std::fprintf(stderr, "soak: %s\n", error.what()));
    return kWrongArguments;
  } catch (const std::runtime_error& error) {  // a plugin does not load
    static_cast<void>(std::fprintf(stderr, "soak: %s\n", error.what()));
    return kViolation;
  }
}
