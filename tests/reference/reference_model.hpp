#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "reference/item.hpp"
#include "reference/partition_model.hpp"

namespace databuffer::reference {

/// The contract of a whole buffer that is run by hand and used by one thread, written down as
/// plainly as can be: lists of numbers, no concurrency, no cleverness. It is told each call and
/// says what the call must answer; of the handler calls, which it cannot foresee to the last, it
/// says whether they are allowed.
class ReferenceModel {
 public:
  static constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

  /// One call of the insert family.
  struct Offer {
    std::vector<Item> items{};
    std::size_t partition_index = kAny;
    bool may_wait = true;
    bool knows_length = true;      // a range that does not is read to find its end
    bool takes_items_back = true;  // else what was read of it cannot stay with the caller
    std::size_t throws_at = kAny;  // the index of the item whose reading throws
  };
  struct Outcome {
    InsertBatchResult result{};
    bool has_thrown = false;
    friend bool operator==(const Outcome&, const Outcome&) = default;
  };

  ReferenceModel(const Options& options, TimePoint start);

  // Calls of the caller, or of a handler.

  Outcome insert(const Offer& offer, TimePoint now);
  void flush();
  [[nodiscard]] std::vector<std::uint32_t> dump() const;
  std::vector<std::uint32_t> take();
  void begin_close();
  /// close() has reached its deadline with this left undone.
  void give_up_pending();
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }
  [[nodiscard]] bool is_finished() const;
  [[nodiscard]] bool has_nothing_left() const;
  [[nodiscard]] bool has_given_up() const noexcept { return has_given_up_; }

  // One look at every partition: do_work, or a step of a call that waits.

  void begin_look(TimePoint now);
  /// A handler call within it. Returns what is wrong; empty: nothing.
  [[nodiscard]] std::string begin_call(const std::vector<std::uint32_t>& numbers,
                                       const FlushContext& context, TimePoint now);
  void end_call(std::size_t partition_index, const Verdict& verdict, TimePoint now);
  /// The look is over. `is_exact`: no handler has called the buffer or moved the clock. Returns
  /// what is missing; empty: nothing.
  [[nodiscard]] std::string end_look(bool is_exact);
  /// When the next look is wanted, after end_look().
  [[nodiscard]] Window wants_look() const;
  /// When the next look is wanted at the latest, as things are now.
  [[nodiscard]] TimePoint needs_look(TimePoint now) const;

  [[nodiscard]] Ledger ledger() const;
  [[nodiscard]] std::vector<PartitionModel>& partitions() noexcept { return partitions_; }
  /// What on_drop must have received since the last call of this.
  [[nodiscard]] std::vector<Drop> take_drops();

 private:
  /// Where an insert call stands.
  struct Progress {
    std::size_t at = 0;            // items taken
    std::size_t target = kAny;     // its partition, once that is settled
    bool has_read = false;         // the next item, ahead of the room for it
    bool gives_up_oldest = false;  // has begun to: the last of drops_
  };

  [[nodiscard]] bool read_ahead(const Offer& offer, Progress& progress, Outcome& outcome);
  [[nodiscard]] std::size_t find_room(const Progress& progress, std::size_t weight);
  void put(const Offer& offer, Progress& progress, std::size_t partition_index, TimePoint now);
  bool overflow(const Offer& offer, Progress& progress, Outcome& outcome, TimePoint now);
  void drop_rest(const Offer& offer, Progress& progress, Outcome& outcome);
  void drop_next(const Offer& offer, Progress& progress, std::size_t partition_index, Drop& drop);
  void strand(const Offer& offer, Progress& progress);
  void count_refused(const Offer& offer, const Progress& progress, const Outcome& outcome);
  [[nodiscard]] std::size_t weight_of(const Item& item) const;
  void draw_tickets();

  const Options options_;
  std::vector<PartitionModel> partitions_;
  std::vector<Drop> drops_;
  bool is_closed_ = false;
  bool has_given_up_ = false;
  std::size_t calls_running_ = 0;  // of handlers: inserts from inside do not wait

  // Round robin: in runs of tickets, as one thread draws them.
  bool has_tickets_ = false;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t tickets_left_ = 0;
  std::size_t cursor_ = 0;

  // The look under way.
  TimePoint look_began_{};
  std::vector<bool> was_called_;
  std::vector<bool> must_be_called_;
};

}  // namespace databuffer::reference
