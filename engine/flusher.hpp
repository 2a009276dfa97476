#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "databuffer/batch.hpp"
#include "databuffer/clock.hpp"
#include "databuffer/detail/cargo.hpp"
#include "databuffer/detail/core.hpp"
#include "engine/overdue_watch.hpp"

namespace databuffer::detail {

class BufferCore;
struct Partition;

/// Runs one batch through the handler: times it, catches what it throws, tells telemetry and the
/// overdue watch, and keeps the books. One for each consumer, on its thread.
class Flusher {
 public:
  Flusher(BufferCore& buffer, Partition& partition, HandlerCall& call) noexcept
      : buffer_(buffer), partition_(partition), call_(call) {}

  struct Batch {
    FlushReason reason = FlushReason::kSize;
    std::size_t waiting_behind = 0;
    Duration age{};  // of its first item
  };

  /// Hands the cargo to the handler, ends every item in the ledger, and empties the cargo.
  void run(Handler& handler, Cargo& cargo, const Batch& batch) noexcept;

  [[nodiscard]] std::string last_error() const;

 private:
  FlushResult call_handler(Handler& handler, Cargo& cargo, const FlushContext& context) noexcept;
  void keep_error(const std::string& message) noexcept;
  void settle(Cargo& cargo, const FlushContext& context, FlushResult result) noexcept;

  BufferCore& buffer_;
  Partition& partition_;
  HandlerCall& call_;
  std::uint64_t batch_id_ = 0;  // of the last batch; its own thread only
  mutable std::mutex error_mutex_;
  std::string last_error_;  // guarded by the mutex
};

}  // namespace databuffer::detail
