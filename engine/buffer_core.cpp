#include "engine/buffer_core.hpp"
#include "engine/times.hpp"

#include <cxxabi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <typeinfo>
#include <utility>

#include "databuffer/detail/fence.hpp"
#include "databuffer/detail/forced_unwind.hpp"
#include "engine/cancellation.hpp"
#include "engine/live_buffers.hpp"
#include "engine/thread_name.hpp"

namespace databuffer::detail {
namespace {

std::string name_of(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : type.name();
}

template <class Callable>
void check_item_type(const char* field, const Callable& callable, const std::type_info& item_type) {
  if (!callable || callable.item_type() == item_type) return;
  throw OptionsError(field, "a callable for items of type " + name_of(callable.item_type()),
                     "must take the buffer's items, of type " + name_of(item_type));
}

Options checked(Options options, const Parts& parts) {
  options.validate();
  check_item_type("on_drop", options.on_drop, *parts.item_type);
  check_item_type("weigh", options.weigh, *parts.item_type);
  return options;
}

std::uint64_t seed_of(const Options& options) {
  if (options.seed != 0) return options.seed;
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace

std::shared_ptr<Core> Core::start(Options options, Parts parts) {
  const CancellationHeld cancellation;
  auto buffer = std::make_shared<BufferCore>(checked(std::move(options), parts), std::move(parts));
  buffer->launch();
  return buffer;
}

BufferCore::BufferCore(Options options, Parts parts)
    : Core(options.weigh ? kWeighed : 0),
      options_(std::move(options)),
      parts_(std::move(parts)),
      clock_(options_.clock != nullptr ? *options_.clock : steady_clock()),
      hooks_(std::make_shared<HookTable>(&LiveBuffers::refresh_all)),
      process_hooks_(process_hooks()),
      router_(options_.partitions, options_.max_size),
      seats_(partitions_),
      space_waiters_(partitions_, options_.partitions, attention),
      seeds_(seed_of(options_)) {
  for (std::size_t index = 0; index < options_.partitions; ++index) {
    partitions_.push_back(std::make_unique<Partition>(index, options_, parts_.make_lane()));
    current_.push_back(make_consumer(index));
  }
  // A test's clock stands while a handler runs: nobody could watch by it.
  const bool has_real_clock = &clock_ == &steady_clock();
  if (options_.flush_timeout != kForever && (!is_manual() || has_real_clock)) {
    watch_ = std::make_unique<OverdueWatch>(
        clock_, options_.flush_timeout, options_.partitions,
        [this](std::size_t index) {
          std::shared_ptr<Consumer> own = consumer(index);
          HandlerCall* const call = &own->call();
          return std::shared_ptr<HandlerCall>(std::move(own), call);
        },
        [this](std::size_t index, HandlerCall::Overdue& overdue) {
          report_overdue(index, overdue);
          if (options_.on_overdue == OnOverdue::kReplace) replace_consumer(index, overdue.batch_id);
        });
  }
  LiveBuffers::instance().add(*this);
}

BufferCore::~BufferCore() { LiveBuffers::instance().remove(*this); }

void BufferCore::count_down(const Slot& slot, std::size_t count) noexcept {
  Partition& partition = *partitions_[slot.partition_index];
  partition.doorbell.count_down(count, clock_);
  // close() has given up what was pending; this came too late to be seen.
  if (partition.doorbell.is_sealed()) sweep(partition);
}

void BufferCore::flush() noexcept {
  if (is_forked()) return;
  for (const auto& partition : partitions_) {
    partition->requests.ask();
    partition->doorbell.ring();
  }
}

std::vector<FlushReport> BufferCore::sync_flush(Duration timeout) {
  CancellationHeld cancellation;
  std::vector<FlushReport> reports(partitions_.size());
  // While close is at work some partitions are finished and others are not: those count as usual.
  CallStatus refusal = CallStatus::kDone;
  if (is_forked() || all_finished() || has_nothing_left()) {
    refusal = CallStatus::kClosed;
  } else if (RoleFrame::works_for(*this)) {
    refusal = CallStatus::kReentrant;
  }
  for (std::size_t index = 0; index < reports.size(); ++index) {
    reports[index].partition_index = index;
    reports[index].status = refusal;
  }
  if (refusal != CallStatus::kDone) return reports;

  const TimePoint deadline = wait_deadline(timeout);
  // All are asked before any is waited for: it takes as long as the slowest, not as all together.
  std::vector<FlushRequests::Ticket> tickets(partitions_.size());
  for (std::size_t index = 0; index < tickets.size(); ++index) {
    partitions_[index]->requests.enter(tickets[index]);
    partitions_[index]->doorbell.ring();
  }
  const auto is_done = [&](std::size_t index) {
    return partitions_[index]->requests.done() >= tickets[index].number ||
           is_idle(*partitions_[index]);
  };
  if (is_manual()) {
    // All of them, before any report is closed.
    attend(deadline, false, [&] {
      for (std::size_t index = 0; index < tickets.size(); ++index) {
        if (!is_done(index)) return false;
      }
      return true;
    });
  }
  for (std::size_t index = 0; index < tickets.size(); ++index) {
    FlushRequests& requests = partitions_[index]->requests;
    const bool is_done_already = is_done(index);
    const bool waits = !is_done_already && !is_manual();
    if (!requests.wait(tickets[index], waits ? deadline : TimePoint{}) && !is_done_already) {
      tickets[index].report.status = CallStatus::kTimedOut;
    }
    tickets[index].report.partition_index = index;
    reports[index] = std::move(tickets[index].report);
  }
  cancellation.act_on_pending();
  return reports;
}

// Nothing is pending and nothing in a handler's hands. What was pending is in flight before it is
// not pending any more, and has its end in the books before it is not in flight any more.
bool BufferCore::is_idle(const Partition& partition) const noexcept {
  // acquire: pairs with Flusher::settle().
  return partition.pending() == 0 &&
         partition.counts.in_flight.load(std::memory_order_acquire) == 0;
}

bool BufferCore::all_finished() const noexcept {
  for (const auto& partition : partitions_) {
    if (!partition->is_finished()) return false;
  }
  return true;
}

void BufferCore::drop(Partition& partition, void* items, std::size_t count, DropInfo info) {
  if (count == 0 || is_forked()) return;
  const RoleFrame role(*this, RoleFrame::Role::kDrop);
  if (info.reason != DropReason::kFailed) {
    // relaxed: see ItemCounts.
    partition.counts.dropped[static_cast<std::size_t>(info.reason)].fetch_add(
        count, std::memory_order_relaxed);
  }
  info.buffer = options_.name;
  info.partition_index = partition.index;
  if (options_.on_drop) {
    try {
      options_.on_drop(items, count, info);
    } catch (const ForcedUnwind&) {
      throw;
    } catch (...) {
      count_hook_failure();
    }
  }
  TelemetryEvent event;
  event.event = Event::kDrop;
  event.size = count;
  event.partition_index = partition.index;
  event.batch_id = info.batch_id;
  event.drop_reason = info.reason;
  event.error = info.error;
  emit(event);
}

void BufferCore::emit(TelemetryEvent& event) {
  if (!listens(event.event) || is_forked()) return;
  const RoleFrame role(*this, RoleFrame::Role::kHook);
  event.buffer = options_.name;
  event.system_time = wall_time();
  hooks_->emit(event);
  if (!is_forked()) process_hooks_->emit(event);
}

void BufferCore::refresh_attention() noexcept {
  const bool is_heard =
      has_hooks({Event::kInsertStart, Event::kInsertStop, Event::kInsertException});
  // seq_cst, as every change of `attention`; producers read it when they next insert.
  if (is_heard) {
    attention.fetch_or(kTelemetry, std::memory_order_seq_cst);
  } else {
    attention.fetch_and(~kTelemetry, std::memory_order_seq_cst);  // seq_cst: as above
  }
  // seq_cst: as above.
  if (!has_heavy_fence()) attention.fetch_or(kFullFence, std::memory_order_seq_cst);
}

bool BufferCore::has_producer_inside() const noexcept {
  if (is_forked()) return false;  // Nobody is left in there, whatever the marks say.
  return std::any_of(partitions_.begin(), partitions_.end(),
                     [](const auto& partition) { return partition->drain.has_producer_inside(); });
}

void BufferCore::make_inert() noexcept {
  // seq_cst: as every change of `attention`; the child has one thread.
  attention.fetch_or(kForked, std::memory_order_seq_cst);
  // No destructor may run over a queue that a lost thread was inside of. (Null if that thread was
  // the buffer's last owner: then nobody destroys it here.)
  pinned_ = weak_from_this().lock();
  hooks_->make_inert();
  for (const auto& partition : partitions_) partition->lane->make_inert();
}

bool BufferCore::is_forked() const noexcept {
  return (attention.load(std::memory_order_seq_cst) & kForked) != 0;  // seq_cst: as its writers
}

bool BufferCore::is_closed() const noexcept {
  // seq_cst: as its writers.
  return (attention.load(std::memory_order_seq_cst) & (kClosed | kForked)) != 0;
}

bool BufferCore::has_given_up() const noexcept {
  return has_given_up_.load(std::memory_order_relaxed);  // relaxed: a hint to hurry
}

}  // namespace databuffer::detail
