#include "engine/buffer_core.hpp"
#include "engine/times.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "databuffer/detail/fence.hpp"
#include "engine/live_buffers.hpp"
#include "engine/thread_name.hpp"

namespace databuffer::detail {
namespace {

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last_id{0};
  return last_id.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: only has to be unique
}

Options checked(Options options, const Parts& parts) {
  options.validate();
  if (options.on_drop && options.on_drop.item_type() != *parts.item_type) {
    throw OptionsError(
        "on_drop", options.on_drop.item_type().name(),
        std::string("must take the buffer's items, of type ") + parts.item_type->name());
  }
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
    : Core(next_id(), has_heavy_fence() ? 0 : kFullFence),
      options_(std::move(options)),
      parts_(std::move(parts)),
      clock_(options_.clock != nullptr ? *options_.clock : steady_clock()),
      hooks_(std::make_shared<HookTable>(&LiveBuffers::refresh_all)),
      process_hooks_(process_hooks()),
      router_(options_.partitions),
      seats_(partitions_, router_) {
  std::mt19937_64 seeds(seed_of(options_));
  std::vector<HandlerCall*> calls;
  for (std::size_t index = 0; index < options_.partitions; ++index) {
    partitions_.push_back(std::make_unique<Partition>(index, options_, parts_.make_lane()));
    consumers_.push_back(std::make_unique<Consumer>(*this, *partitions_.back(), seeds()));
    calls.push_back(&consumers_.back()->call());
  }
  if (options_.threading == Threading::kOwn && options_.flush_timeout != kForever) {
    watch_ =
        std::make_unique<OverdueWatch>(clock_, options_.flush_timeout, std::move(calls),
                                       [this](std::size_t index, HandlerCall::Overdue& overdue) {
                                         report_overdue(index, overdue);
                                       });
  }
  LiveBuffers::instance().add(*this);
}

BufferCore::~BufferCore() { LiveBuffers::instance().remove(*this); }

void BufferCore::launch() {
  if (options_.threading == Threading::kManual) {
    for (std::size_t index = 0; index < consumers_.size(); ++index) {
      consumers_[index]->set_handler(parts_.make_handler(index));
      consumers_[index]->prepare();
    }
    return;
  }
  std::size_t consumer_count = 0;
  std::exception_ptr failure;
  try {
    threads_.reserve(consumers_.size() + 1);
    for (; consumer_count < consumers_.size(); ++consumer_count) {
      threads_.emplace_back(&BufferCore::run_consumer, this, consumer_count, shared_from_this());
    }
    if (watch_ != nullptr) {
      is_watch_running_ = true;  // Nobody else looks before this call returns.
      threads_.emplace_back(&BufferCore::run_watch, this, shared_from_this());
    }
  } catch (...) {
    failure = std::current_exception();
  }
  await_start(consumer_count, failure);
}

// Waits until every consumer runs. If one does not, stops the others and throws the reason.
void BufferCore::await_start(std::size_t consumer_count, std::exception_ptr failure) {
  {
    std::unique_lock lock(life_mutex_);
    life_changed_.wait(lock, [&] { return started_ == consumer_count; });
    if (!failure) failure = start_failure_;
  }
  if (!failure) return;
  begin_close();
  if (watch_ != nullptr) watch_->stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  std::rethrow_exception(failure);
}

void BufferCore::run_consumer(std::size_t partition_index,
                              [[maybe_unused]] std::shared_ptr<BufferCore> self) noexcept {
  // The hooks, the factory and the handler's destructor may call the buffer.
  const RoleFrame role(*this);
  Consumer& consumer = *consumers_[partition_index];
  name_this_thread(options_.name, std::to_string(partition_index));
  // Naps are shorter than the default slack of 50 µs.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  std::exception_ptr failure;
  try {
    if (options_.on_thread_start) options_.on_thread_start(partition_index);
    consumer.set_handler(parts_.make_handler(partition_index));
  } catch (...) {
    failure = std::current_exception();
  }
  report_start(failure);
  if (!failure) {
    consumer.run();
    if (is_forked()) return;  // The handler forked, and returned in the child: see LiveBuffers.
    consumer.drop_handler();
  }
  try {
    if (options_.on_thread_stop) options_.on_thread_stop(partition_index);
  } catch (...) {
    count_hook_failure();
  }
  {
    const std::lock_guard lock(life_mutex_);
    ++ended_;
    life_changed_.notify_all();
  }
  // `self` goes last: it may be the last owner.
}

void BufferCore::run_watch([[maybe_unused]] std::shared_ptr<BufferCore> self) noexcept {
  const RoleFrame role(*this);  // Hooks on `overdue` run here.
  name_this_thread(options_.name, "watch");
  watch_->run();
  const std::lock_guard lock(life_mutex_);
  is_watch_running_ = false;
  life_changed_.notify_all();
}

void BufferCore::report_start(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(life_mutex_);
  ++started_;
  if (failure && !start_failure_) start_failure_ = std::move(failure);
  life_changed_.notify_all();
}

bool BufferCore::settle(Slot& slot) noexcept {
  return partitions_[slot.partition_index]->gate.settle(slot);
}

void BufferCore::draw_tickets(Seat& seat) noexcept { router_.draw(seat); }

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

void BufferCore::inspect(std::size_t partition_index, const std::function<void(Cargo&)>& visit) {
  if (is_forked()) return;
  Partition& partition = *partitions_[partition_index];
  if (RoleFrame::holds(partition.turn)) {
    throw ReentrantCall("dump() called while this thread moves items of " + partition.name);
  }
  partition.turn.acquire();
  const Turn::Holder holder(partition.turn, *this);
  partition.drain.stage_all();
  visit(partition.drain.staged());
}

void BufferCore::take(std::size_t partition_index, Cargo& cargo) {
  if (is_forked()) return;
  Partition& partition = *partitions_[partition_index];
  if (RoleFrame::holds(partition.turn)) {
    throw ReentrantCall("take() called while this thread moves items of " + partition.name);
  }
  {
    partition.turn.acquire();
    const Turn::Holder holder(partition.turn, *this);
    partition.drain.stage_all();
    Cargo& staged = partition.drain.staged();
    const std::size_t taken = staged.size();
    cargo.reserve(taken);
    staged.move_front(taken, cargo);
    partition.counts.taken.fetch_add(taken, std::memory_order_relaxed);  // relaxed: see ItemCounts
    partition.remove(taken);
  }
  ring_room();
}

std::size_t BufferCore::size() const noexcept {
  std::size_t pending = 0;
  for (const auto& partition : partitions_) pending += partition->pending();
  return pending;
}

std::vector<PartitionInfo> BufferCore::info() const {
  std::vector<PartitionInfo> infos;
  infos.reserve(partitions_.size());
  for (const auto& partition : partitions_) {
    const Consumer& consumer = *consumers_[partition->index];
    PartitionInfo& info = infos.emplace_back();
    info.partition_index = partition->index;
    info.name = partition->name;
    info.capacity = partition->capacity;
    info.ledger = partition->ledger();
    info.size = info.ledger.pending;
    info.in_flight = info.ledger.in_flight;
    info.producer_slots = partition->drain.slot_count();
    // relaxed: see ItemCounts.
    info.batches = partition->counts.batches.load(std::memory_order_relaxed);
    info.failed_batches = partition->counts.failed_batches.load(std::memory_order_relaxed);
    info.overdue_batches = partition->counts.overdue_batches.load(std::memory_order_relaxed);
    info.wake_ups = partition->doorbell.wake_ups();
    info.rings = partition->doorbell.rings();
    if (is_forked()) continue;  // The rest is behind locks that a lost thread may hold.
    consumer.call().describe(now(), info);
    info.last_error = consumer.flusher().last_error();
  }
  return infos;
}

Ledger BufferCore::ledger() const noexcept {
  Ledger sum;
  for (const auto& partition : partitions_) sum += partition->ledger();
  return sum;
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
    for (const auto& consumer : consumers_) next = std::min(next, consumer->do_work(now));
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
  return std::all_of(consumers_.begin(), consumers_.end(),
                     [](const auto& consumer) { return consumer->is_finished(); });
}

TimePoint BufferCore::next_deadline() const noexcept {
  if (options_.threading != Threading::kManual || is_forked()) return TimePoint::max();
  TimePoint next = TimePoint::max();
  for (const auto& consumer : consumers_) next = std::min(next, consumer->next_deadline(now()));
  return next;
}

void BufferCore::report_overdue(std::size_t partition_index, HandlerCall::Overdue& overdue) {
  // relaxed: see ItemCounts.
  partitions_[partition_index]->counts.overdue_batches.fetch_add(1, std::memory_order_relaxed);
  overdue.stop.request_stop();
  TelemetryEvent event;
  event.event = Event::kOverdue;
  event.partition_index = partition_index;
  event.batch_id = overdue.batch_id;
  event.size = overdue.items;
  event.duration = overdue.duration;
  emit(event);
}

void BufferCore::drop(Partition& partition, Cargo& cargo, DropInfo info) noexcept {
  const std::size_t items = cargo.size();
  if (items == 0) return;
  const RoleFrame role(*this, RoleFrame::Role::kDrop);
  if (info.reason != DropReason::kFailed) {
    // relaxed: see ItemCounts.
    partition.counts.dropped[static_cast<std::size_t>(info.reason)].fetch_add(
        items, std::memory_order_relaxed);
  }
  info.buffer = options_.name;
  info.partition_index = partition.index;
  if (options_.on_drop) {
    try {
      options_.on_drop(cargo.data(), items, info);
    } catch (...) {
      count_hook_failure();
    }
  }
  TelemetryEvent event;
  event.event = Event::kDrop;
  event.size = items;
  event.partition_index = partition.index;
  event.batch_id = info.batch_id;
  event.drop_reason = info.reason;
  event.error = info.error;
  emit(event);
  cargo.clear();
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
    attention.fetch_and(~kTelemetry, std::memory_order_seq_cst);
  }
}

void BufferCore::make_inert() noexcept {
  // seq_cst: as every change of `attention`; the child has one thread.
  attention.fetch_or(kForked, std::memory_order_seq_cst);
  hooks_->make_inert();
}

bool BufferCore::is_forked() const noexcept {
  return (attention.load(std::memory_order_seq_cst) & kForked) != 0;  // seq_cst: as its writers
}

bool BufferCore::is_closed() const noexcept {
  // seq_cst: as its writers; RoomBell's rule relies on it.
  return (attention.load(std::memory_order_seq_cst) & (kClosed | kForked)) != 0;
}

}  // namespace databuffer::detail
