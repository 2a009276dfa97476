#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "reference/bytes.hpp"
#include "reference/item.hpp"
#include "reference/reference_model.hpp"

namespace databuffer::reference {

template <class T>
void print_list(std::ostream& out, const std::vector<T>& values) {
  out << "{";
  for (const T& value : values) out << " " << value;
  out << " }";
}
[[nodiscard]] std::vector<std::uint32_t> numbers_of(std::span<const Item> items);
[[nodiscard]] std::string text(TimePoint time);
[[nodiscard]] std::string text(const Ledger& ledger);
[[nodiscard]] std::string text(const std::vector<Drop>& drops);
[[nodiscard]] std::string text(const ReferenceModel::Outcome& outcome);

/// A buffer and its model, and the calls that both get.
class Scenario {
 public:
  Scenario(std::span<const std::uint8_t> bytes, std::ostream* trace);

  std::string run();

 private:
  using Offer = ReferenceModel::Offer;
  using Outcome = ReferenceModel::Outcome;

  Options complete(Options options);

  // Findings.
  [[nodiscard]] bool is_right() const { return wrong_.empty(); }
  void fail(const std::string& what) {
    if (is_right()) wrong_ = what;
  }
  template <class T>
  void expect_equal(const char* what, const T& actual, const T& expected) {
    if (actual == expected || !is_right()) return;
    std::ostringstream out;
    out << what << ": " << actual << ", expected " << expected;
    fail(out.str());
  }
  void expect_same_items(const char* what, const std::vector<std::uint32_t>& actual,
                         const std::vector<std::uint32_t>& expected);
  template <class... Parts>
  void log(const Parts&... parts) {
    if (trace_ == nullptr) return;
    *trace_ << std::string(nesting_ * 2, ' ');
    static_cast<void>((*trace_ << ... << parts));
    *trace_ << "\n";
  }

  // Calls.
  void call();
  Item next_item();
  void insert_one();
  void insert_range();
  Outcome insert_range_as(std::size_t form, Offer& offer);
  void expect_moved(const std::vector<Item>& items, std::size_t accepted);
  void expect_insert(const Outcome& actual, const Offer& offer);
  void flush();

  // Looks.
  TimePoint work();
  void work_all();
  void begin_look();
  void end_look();
  void sync_flush();
  void compare_report(const FlushReport& report, const FlushReport& before, std::uint64_t place);
  void close(Duration timeout);

  // The handler.
  FlushResult handle(Batch<Item>& batch, const FlushContext& context);
  void fail_if(const std::string& what) {
    if (!what.empty()) fail(what);
  }
  // A call that waits looks several times: each time at the partitions in order.
  void begin_next_look(std::size_t partition_index);
  // What a handler does to its own buffer, and to the time.
  void meddle();
  Verdict decide(Batch<Item>& batch);
  // Each item named has a word of its own.
  void speak_of_each(Verdict& verdict);
  static FlushResult give(const Verdict& verdict);
  static FlushResult give_of_each(const Verdict& verdict);

  // Time and telemetry.
  void advance(Duration by);
  void move_clock(Duration by);
  void advance_to(TimePoint time);
  // While somebody listens an insert takes another way.
  void listen();

  // Comparisons.
  void compare();
  void compare_info();
  // Whoever runs the buffer from an event loop asks when to come back.
  void compare_next_deadline();
  void end();

  Bytes bytes_;
  std::ostream* trace_;  // borrowed; may be null
  ManualClock clock_{TimePoint{std::chrono::hours{1}}};
  const Options options_;
  ReferenceModel model_;
  std::string wrong_;
  std::vector<Drop> drops_;  // since the last comparison
  std::uint32_t next_number_ = 0;
  TimePoint wanted_{};           // what do_work returned last
  bool is_wanted_ = false;       // no other call has looked since
  std::size_t nesting_ = 0;      // 1: within a handler
  bool is_look_exact_ = true;    // the look under way is one look, and nobody meddles
  bool is_waiting_ = false;      // close(kForever) looks until all is done
  bool may_move_clock_ = false;  // handlers may
  std::size_t last_called_ = ReferenceModel::kAny;  // partition, in this look
  bool is_listened_ = false;
  std::uint64_t handler_calls_ = 0;
  std::uint64_t told_calls_ = 0;
  std::uint64_t calls_untold_ = 0;
  std::unique_ptr<Buffer<Item>> buffer_;
  Buffer<Item>* live_ = buffer_.get();  // while it is destroyed, too, when its handlers call it
};

}  // namespace databuffer::reference
