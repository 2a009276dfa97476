#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "databuffer/detail/requirements.hpp"

namespace databuffer {

/// Why a batch was handed over.
enum class FlushReason : std::uint8_t {
  kSize,      ///< `max_size` (plus its jitter) items were pending.
  kInterval,  ///< The first item had waited `flush_interval` (plus its jitter).
  kManual,    ///< flush() or sync_flush() asked.
  kClose,     ///< The buffer is closing.
};

[[nodiscard]] std::string_view to_string(FlushReason reason) noexcept;

/// A batch in its handler's hands: contiguous and mutable, so items may be moved out.
/// Borrowed: it ends when the handler returns.
template <class T>
class Batch {
 public:
  using value_type = T;             ///< The item type.
  using iterator = T*;              ///< Contiguous.
  using const_iterator = const T*;  ///< Likewise.

  /// The library makes one for each handler call.
  Batch(std::span<T> items, bool& is_taken) noexcept : items_(items), is_taken_(&is_taken) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Its items; never none.
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  /// The first item.
  [[nodiscard]] T* data() const noexcept { return items_.data(); }
  /// The first item.
  [[nodiscard]] T* begin() const noexcept { return items_.data(); }
  /// Behind the last item.
  [[nodiscard]] T* end() const noexcept { return items_.data() + items_.size(); }
  /// The item at `index`, which is not checked.
  [[nodiscard]] T& operator[](std::size_t index) const noexcept { return items_[index]; }
  /// All of them.
  [[nodiscard]] std::span<T> items() const noexcept { return items_; }

  /// Moves all items out: they are the handler's now, whatever it answers. A batch that was taken
  /// is not retried and not given to on_drop: a failure only counts. (Items moved out one by one
  /// are not noticed: do not ask for a retry then.)
  [[nodiscard]] std::vector<T> take() {
    std::vector<T> taken(std::make_move_iterator(begin()), std::make_move_iterator(end()));
    *is_taken_ = true;
    return taken;
  }

 private:
  std::span<T> items_;  // borrowed from the consumer
  bool* is_taken_;      // likewise
};

/// What a handler is told about its batch. Borrowed until the handler returns.
struct FlushContext {
  std::string_view buffer;          ///< `Options::name`.
  std::string_view partition;       ///< The buffer's name and the partition's index: "name.0".
  std::size_t partition_index = 0;  ///< 0 … partitions - 1.
  std::size_t size = 0;             ///< Items in this call; never 0.
  FlushReason reason = FlushReason::kSize;  ///< Why the batch was due.
  std::uint64_t batch_id = 0;               ///< Counts from 1 in each partition.
  std::uint32_t attempt = 1;                ///< Counts the calls with this batch, from 1.
  std::size_t waiting_behind = 0;  ///< Items that stayed in the partition when this batch left.
  const std::any* meta = nullptr;  ///< `Options::flush_meta`; never null inside a handler.
  /// Set when the call is overdue (`Options::flush_timeout`). The call after an overdue one gets a
  /// token that is never set if there is no memory for another.
  std::stop_token stop_token;
};

}  // namespace databuffer
