#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"

namespace databuffer::support {

struct Call {
  std::vector<int> items;
  std::uint64_t batch_id;
  std::uint32_t attempt;
  TimePoint at;
};

/// A hand-run buffer of ints whose handler is the test's, and every call of it.
class RetryBuffer {
 public:
  using Answer = std::function<FlushResult(Batch<int>&, const FlushContext&)>;

  RetryBuffer(Retry retry, Answer answer, std::size_t max_size = 4)
      : answer_(std::move(answer)),
        buffer_(
            {.name = "retry",
             .max_size = max_size,
             .flush_jitter = Duration::zero(),
             .retry = retry,
             .on_drop =
                 [this](std::span<int> items, const DropInfo& info) {
                   dropped.insert(dropped.end(), items.begin(), items.end());
                   drop_errors.emplace_back(info.error);
                 },
             .threading = Threading::kManual,
             .clock = &clock,
             .seed = 7},
            [this](Batch<int>& batch, const FlushContext& context) {
              calls.push_back(
                  {{batch.begin(), batch.end()}, context.batch_id, context.attempt, clock.now()});
              return answer_(batch, context);
            }) {}

  void insert(int first, int last) {
    for (int value = first; value <= last; ++value) {
      REQUIRE(buffer_.insert(int{value}) == InsertStatus::kAccepted);
    }
  }

  /// Runs whatever is due now.
  void run() {
    while (buffer_.do_work(clock.now()) <= clock.now()) {
    }
  }

  /// Runs until nothing is due but by an insert; moves the clock to each deadline on the way.
  void run_out() {
    for (TimePoint next = buffer_.do_work(clock.now()); next != TimePoint::max();
         next = buffer_.do_work(clock.now())) {
      if (next > clock.now()) clock.advance(next - clock.now());
    }
  }

  [[nodiscard]] TimePoint next() const noexcept { return buffer_.next_deadline(); }

  Buffer<int>& buffer() { return buffer_; }
  void check_ledger() {
    CHECK(buffer_.ledger().balances());
    CHECK(buffer_.ledger().in_flight == 0);
  }

  ManualClock clock{TimePoint{std::chrono::hours{1}}};
  std::vector<Call> calls;
  std::vector<int> dropped;
  std::vector<std::string> drop_errors;

 private:
  Answer answer_;
  Buffer<int> buffer_;
};

constexpr Retry kThreeTimes{.attempts = 3,
                            .initial_backoff = std::chrono::milliseconds{100},
                            .max_backoff = std::chrono::seconds{1}};

}  // namespace databuffer::support
