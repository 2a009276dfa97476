#include "engine/hook_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "databuffer/detail/forced_unwind.hpp"
#include "engine/cancellation.hpp"
#include "engine/live_buffers.hpp"

namespace databuffer {
namespace detail {

bool HookTable::attach(std::string id, EventSet events, TelemetryHook hook) {
  if (!hook) throw std::invalid_argument("databuffer: the telemetry hook '" + id + "' is null");
  if (is_inert_.load(std::memory_order_relaxed)) return false;  // relaxed: set before other threads
  const CancellationHeld cancellation;
  auto entry = std::make_shared<const Entry>(Entry{std::move(id), events, std::move(hook)});
  {
    const MutexLock lock(mutex_);
    for (const auto& known : *entries_) {
      if (known->id == entry->id) return false;
    }
    auto grown = std::make_shared<Entries>(*entries_);
    grown->push_back(std::move(entry));
    publish(std::move(grown));
  }
  if (on_change_) on_change_();
  return true;
}

bool HookTable::detach(std::string_view id) {
  return remove([id](const auto& entry) { return entry->id == id; });
}

template <class IsIt>
bool HookTable::remove(IsIt is_it) {
  if (is_inert_.load(std::memory_order_relaxed)) return false;  // relaxed: as in attach()
  const CancellationHeld cancellation;
  std::shared_ptr<const Entries> before;  // Ends outside the lock: it may own the user's hook.
  {
    const MutexLock lock(mutex_);
    before = entries_;
    auto shrunk = std::make_shared<Entries>();
    std::copy_if(before->begin(), before->end(), std::back_inserter(*shrunk),
                 [&is_it](const auto& entry) { return !is_it(entry); });
    if (shrunk->size() == before->size()) return false;
    publish(std::move(shrunk));
  }
  if (on_change_) on_change_();
  return true;
}

void HookTable::clear() noexcept {
  std::shared_ptr<const Entries> before;  // Ends outside the lock, as in detach().
  const MutexLock lock(mutex_);
  before = std::exchange(entries_, none_);
  listening_.store(0, std::memory_order_relaxed);  // relaxed: see listening()
}

void HookTable::emit(const TelemetryEvent& event) {
  if ((listening() & EventSet(event.event).bits()) == 0) return;
  const std::shared_ptr<const Entries> entries = snapshot();
  const std::uint32_t generation = fork_generation();
  for (const auto& entry : *entries) {
    if (fork_generation() != generation) return;
    if (!entry->events.contains(event.event)) continue;
    try {
      entry->hook(event);
    } catch (const ForcedUnwind&) {
      throw;
    } catch (...) {
      count_failure();
      try {
        remove([&entry](const auto& known) { return known == entry; });  // not another of its id
      } catch (...) {
        count_failure();  // No memory to shorten the list: it stays, and is counted again.
      }
    }
  }
}

void HookTable::make_inert() noexcept {
  // relaxed, both: the child has one thread.
  listening_.store(0, std::memory_order_relaxed);
  is_inert_.store(true, std::memory_order_relaxed);
}

std::shared_ptr<const HookTable::Entries> HookTable::snapshot() {
  const MutexLock lock(mutex_);
  return entries_;
}

void HookTable::publish(std::shared_ptr<const Entries> entries) {
  std::uint32_t bits = 0;
  for (const auto& entry : *entries) bits |= entry->events.bits();
  entries_ = std::move(entries);
  listening_.store(bits, std::memory_order_relaxed);  // relaxed: see listening()
}

const std::shared_ptr<HookTable>& process_hooks() {
  static const auto* const hooks =
      new std::shared_ptr<HookTable>(std::make_shared<HookTable>(&LiveBuffers::refresh_all));
  return *hooks;
}

}  // namespace detail

Telemetry::Telemetry(std::shared_ptr<detail::HookTable> hooks) noexcept
    : hooks_(std::move(hooks)) {}

bool Telemetry::attach(std::string id, EventSet events, TelemetryHook hook) {
  return hooks_->attach(std::move(id), events, std::move(hook));
}

bool Telemetry::detach(std::string_view id) { return hooks_->detach(id); }

std::uint64_t Telemetry::hook_failures() const noexcept { return hooks_->failures(); }

Telemetry telemetry() { return Telemetry(detail::process_hooks()); }

}  // namespace databuffer
