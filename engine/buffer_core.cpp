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
      current_(std::make_unique<std::atomic<Consumer*>[]>(options_.partitions)),
      router_(options_.partitions, options_.max_size),
      seats_(partitions_),
      seeds_(seed_of(options_)) {
  for (std::size_t index = 0; index < options_.partitions; ++index) {
    partitions_.push_back(std::make_unique<Partition>(index, options_, parts_.make_lane()));
    // relaxed: nobody else is there yet.
    current_[index].store(&add_consumer(index), std::memory_order_relaxed);
  }
  if (options_.threading == Threading::kOwn && options_.flush_timeout != kForever) {
    watch_ = std::make_unique<OverdueWatch>(
        clock_, options_.flush_timeout, options_.partitions,
        [this](std::size_t index) -> HandlerCall& { return consumer(index).call(); },
        [this](std::size_t index, HandlerCall::Overdue& overdue) {
          report_overdue(index, overdue);
          if (options_.on_overdue == OnOverdue::kReplace) replace_consumer(index, overdue.batch_id);
        });
  }
  LiveBuffers::instance().add(*this);
}

BufferCore::~BufferCore() { LiveBuffers::instance().remove(*this); }

// Requires the life mutex, or that nobody else is there.
Consumer& BufferCore::add_consumer(std::size_t partition_index) {
  consumers_.push_back(std::make_unique<Consumer>(*this, *partitions_[partition_index], seeds_()));
  return *consumers_.back();
}

void BufferCore::count_down(const Slot& slot, std::size_t count) noexcept {
  partitions_[slot.partition_index]->doorbell.count_down(count, clock_);
}

void BufferCore::flush() noexcept {
  if (is_forked()) return;
  for (const auto& partition : partitions_) {
    partition->requests.ask();
    partition->doorbell.ring();
  }
}

std::vector<FlushReport> BufferCore::sync_flush(Duration timeout) {
  std::vector<FlushReport> reports(partitions_.size());
  // While close is at work some partitions are finished and others are not: those count as usual.
  CallStatus refusal = CallStatus::kDone;
  if (is_forked() || all_finished()) {
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
  for (std::size_t index = 0; index < tickets.size(); ++index) {
    FlushRequests& requests = partitions_[index]->requests;
    const auto is_done = [&] {
      return requests.done() >= tickets[index].number || is_idle(*partitions_[index]);
    };
    if (options_.threading == Threading::kManual) poll_until(deadline, is_done);
    const bool is_done_already = is_done();
    if (!requests.wait(tickets[index], is_done_already ? TimePoint{} : deadline) &&
        !is_done_already) {
      tickets[index].report.status = CallStatus::kTimedOut;
    }
    tickets[index].report.partition_index = index;
    reports[index] = std::move(tickets[index].report);
  }
  return reports;
}

// Nothing is pending and nothing in a handler's hands. What was pending is in flight before it is
// not pending any more, and has its end in the books before it is not in flight any more.
bool BufferCore::is_idle(const Partition& partition) const noexcept {
  // acquire: pairs with Flusher::settle().
  return partition.pending() == 0 &&
         partition.counts.in_flight.load(std::memory_order_acquire) == 0;
}

TimePoint BufferCore::do_work(TimePoint now) {
  if (options_.threading != Threading::kManual || is_forked()) return TimePoint::max();
  return poll(now).value_or(now);
}

// kManual: one step of every consumer. Returns nothing if another thread, or one further up this
// stack, is at it. A handler may destroy the front: then everything is finished here.
std::optional<TimePoint> BufferCore::poll(TimePoint now) noexcept {
  // acquire: pairs with the release below: the consumers are as the last poller left them.
  if (is_polling_.exchange(true, std::memory_order_acquire)) return std::nullopt;
  TimePoint next = TimePoint::max();
  do {
    next = TimePoint::max();
    for (const auto& each : consumers_) next = std::min(next, each->do_work(now));
    // acquire: pairs with abandon(), whose last call may have come from a handler just now.
  } while (is_abandoned_.load(std::memory_order_acquire) && !all_finished());
  is_polling_.store(false, std::memory_order_release);  // release: pairs with the acquire above
  return next;
}

// kManual: a call that waits for the consumers does their work.
void BufferCore::poll_until(TimePoint deadline, const std::function<bool()>& is_done) noexcept {
  while (!is_done()) {
    const TimePoint now = this->now();
    const std::optional<TimePoint> next = poll(now);
    if (is_done() || steady_clock().now() >= deadline) return;
    if (!next || *next > now) std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
}

bool BufferCore::all_finished() const noexcept {
  for (std::size_t index = 0; index < partitions_.size(); ++index) {
    if (!consumer(index).is_finished()) return false;
  }
  return true;
}

TimePoint BufferCore::next_deadline() const noexcept {
  if (options_.threading != Threading::kManual || is_forked()) return TimePoint::max();
  TimePoint next = TimePoint::max();
  for (const auto& each : consumers_) next = std::min(next, each->next_deadline(now()));
  return next;
}

void BufferCore::drop(Partition& partition, void* items, std::size_t count,
                      DropInfo info) noexcept {
  if (count == 0) return;
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

void BufferCore::emit(TelemetryEvent& event) noexcept {
  if (!listens(event.event)) return;
  const RoleFrame role(*this, RoleFrame::Role::kHook);
  event.buffer = options_.name;
  event.system_time = wall_time();
  hooks_->emit(event);
  process_hooks_->emit(event);
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
}

bool BufferCore::is_forked() const noexcept {
  return (attention.load(std::memory_order_seq_cst) & kForked) != 0;  // seq_cst: as its writers
}

bool BufferCore::is_closed() const noexcept {
  // seq_cst: as its writers; RoomBell's rule relies on it.
  return (attention.load(std::memory_order_seq_cst) & (kClosed | kForked)) != 0;
}

bool BufferCore::has_given_up() const noexcept {
  return has_given_up_.load(std::memory_order_relaxed);  // relaxed: a hint to hurry
}

}  // namespace databuffer::detail
