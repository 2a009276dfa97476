#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "databuffer/databuffer.hpp"

namespace databuffer::reference {

/// A span of time in which something must happen: not before `low`, at the latest at `high`. They
/// differ where the options have jitter, and where the contract allows an item to wait a little
/// less than its interval.
struct Window {
  TimePoint low = TimePoint::max();
  TimePoint high = TimePoint::max();
};

/// How a handler call ended, as the handler decided it.
struct Verdict {
  FlushStatus status = FlushStatus::kOk;
  bool is_exception = false;
  bool is_taken = false;  // Batch::take
  std::string message{};
  Duration retry_after{};
  std::vector<ItemResult> items{};  // named
  bool is_word_by_word = false;     // … by fail_item and retry_item, else by only_items
};

/// Items that on_drop receives in one call.
struct Drop {
  DropReason reason = DropReason::kNewest;
  std::size_t partition_index = 0;
  std::uint64_t batch_id = 0;
  std::string error{};
  std::vector<std::uint32_t> numbers{};
  LastAnswer last_answer = LastAnswer::kNone;
  std::uint32_t attempts = 0;
  std::vector<std::string> reasons{};  // of each item, where it failed
  friend bool operator==(const Drop&, const Drop&) = default;
};

/// One partition as the contract describes it: a list of items, and at most one batch on its way
/// through the handler. Every operation says what happened; what may happen is asked for by name.
class PartitionModel {
 public:
  struct Entry {
    std::uint32_t number = 0;
    std::size_t weight = 0;
    TimePoint inserted_at{};
    std::uint64_t place = 0;  // in the order of the partition
  };

  PartitionModel(const Options& options, std::size_t index, TimePoint start)
      : options_(&options), index_(index), last_call_ended_(start) {}

  // Items.

  [[nodiscard]] bool has_room(std::size_t weight) const;
  void put(std::uint32_t number, std::size_t weight, TimePoint now);
  /// Removes the oldest items until there is room. Returns their numbers.
  std::vector<std::uint32_t> remove_oldest(std::size_t weight);
  /// Removes and returns everything pending.
  std::vector<std::uint32_t> remove_all();
  [[nodiscard]] const std::deque<Entry>& pending() const noexcept { return pending_; }
  [[nodiscard]] std::size_t pending_weight() const noexcept { return weight_; }
  [[nodiscard]] std::uint64_t last_place() const noexcept { return last_place_; }
  /// Whether everything up to this place has its end.
  [[nodiscard]] bool is_through(std::uint64_t place) const;

  // What is due.

  void ask_flush();
  void begin_close() { is_closing_ = true; }
  /// When the next handler call is due, as things are at `now`.
  [[nodiscard]] Window due(TimePoint now) const;
  /// The partition was looked at, and nothing was handed over.
  void looked(bool is_exact);
  /// The clock has moved while it was looked at: what came in meanwhile is dated `now`.
  void date_back(TimePoint now);
  [[nodiscard]] bool has_batch() const noexcept { return !ranges_.empty(); }
  [[nodiscard]] bool is_idle() const noexcept { return pending_.empty() && !has_batch(); }
  [[nodiscard]] bool is_finished() const noexcept { return is_finished_; }
  /// close() has reached its deadline: what is left of the batch under way, and what is pending.
  void give_up_all(std::vector<Drop>& drops);

  // Handler calls.

  /// The handler sees these items. Returns what is wrong with that; empty: nothing.
  [[nodiscard]] std::string begin_call(const std::vector<std::uint32_t>& numbers,
                                       const FlushContext& context, TimePoint work_now,
                                       TimePoint now);
  /// … and returns. Adds what goes to on_drop.
  void end_call(const Verdict& verdict, TimePoint now, bool has_given_up, std::vector<Drop>& drops);

  /// What info() must say; `name`, `producer_slots`, `wake_ups`, `rings` and the ages are left out.
  [[nodiscard]] PartitionInfo info(TimePoint now) const;
  /// What is wrong with the ages that info() gives at `now`; empty: nothing.
  [[nodiscard]] std::string check_ages(const PartitionInfo& actual, TimePoint now) const;
  [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }
  [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }
  [[nodiscard]] const FlushReport& ended() const noexcept { return ended_; }

 private:
  using Range = std::vector<Entry>;

  [[nodiscard]] std::size_t largest_batch() const;
  [[nodiscard]] bool is_due_by_weight() const;
  [[nodiscard]] bool is_surely_due_by_size() const;
  [[nodiscard]] bool may_be_due_by_size() const;
  [[nodiscard]] Window deadline() const;
  [[nodiscard]] Window first_pending() const;
  [[nodiscard]] std::string check_reason(FlushReason reason, TimePoint now) const;
  [[nodiscard]] std::string gather(const std::vector<std::uint32_t>& numbers,
                                   const FlushContext& context, TimePoint now);
  Entry remove_front();
  void settle_items(const Verdict& verdict, Range& range, std::vector<std::string>& reasons,
                    std::vector<Drop>& drops);
  [[nodiscard]] bool schedule_retry(const Verdict& verdict, TimePoint now);
  void fail(const Range& range, const Verdict& verdict);
  void give_up(const Range& range, const Verdict& verdict, LastAnswer answer,
               std::vector<std::string> reasons, std::vector<Drop>& drops);
  void end_batch();

  const Options* options_;  // borrowed
  std::size_t index_;

  std::deque<Entry> pending_;
  std::size_t weight_ = 0;
  std::uint64_t last_place_ = 0;
  // The time that the next batch's deadline may run from at the earliest; none: from its first
  // item.
  std::optional<TimePoint> earliest_;
  bool is_flush_asked_ = false;    // and not surely answered
  std::uint64_t flush_up_to_ = 0;  // the last place the flush was asked for
  bool is_closing_ = false;
  bool is_finished_ = false;

  // The batch under way: what is left of it, the next range last.
  std::vector<Range> ranges_;
  Range in_hand_;  // with the handler right now
  std::vector<std::uint32_t> expected_;
  std::size_t batch_items_ = 0;
  std::size_t failed_items_ = 0;
  FlushReason reason_ = FlushReason::kSize;
  std::size_t waiting_behind_ = 0;
  std::uint64_t batch_id_ = 0;
  std::uint32_t attempt_ = 0;
  TimePoint batch_began_{};
  Window batch_first_{};  // when its first item came
  TimePoint call_began_{};
  Window retry_due_{};
  bool is_halving_ = false;
  std::string last_answer_{};                // that asked for a retry of the batch under way
  std::vector<std::string> last_reasons_{};  // … of each item left
  bool is_in_call_ = false;

  // What info() and sync_flush report.
  Ledger ledger_;
  FlushReport ended_;
  PartitionInfo counts_;
  TimePoint last_call_ended_;
};

}  // namespace databuffer::reference
