#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "databuffer/telemetry.hpp"
#include "engine/lock.hpp"

namespace databuffer::detail {

/// The hooks of one buffer, or of the whole process. Readers take a snapshot, so that no lock is
/// held while a hook runs and a hook may attach and detach.
class HookTable {
 public:
  /// `on_change` is called, with no lock held, after the set of events listened to has changed.
  explicit HookTable(std::function<void()> on_change = {}) : on_change_(std::move(on_change)) {}

  bool attach(std::string id, EventSet events, TelemetryHook hook);
  bool detach(std::string_view id);
  /// The buffer is gone: detaches all.
  void clear() noexcept;

  /// Which events anybody listens to, as EventSet::bits().
  [[nodiscard]] std::uint32_t listening() const noexcept {
    // relaxed: a hook attached just now may miss an event that is happening just now.
    return listening_.load(std::memory_order_relaxed);
  }

  /// Calls the hooks that listen. A hook that throws is detached and counted. After one that forks
  /// no other is called in the child.
  void emit(const TelemetryEvent& event);

  void count_failure() noexcept {
    failures_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  }
  [[nodiscard]] std::uint64_t failures() const noexcept {
    return failures_.load(std::memory_order_relaxed);  // relaxed: a statistic
  }

  // For fork. The process's table: nobody may hold its mutex while the process is copied. A
  // buffer's: in the child somebody may hold it for ever, so nothing asks for it any more.
  Mutex& mutex() noexcept DATABUFFER_RETURN_CAPABILITY(mutex_) { return mutex_; }
  void make_inert() noexcept;

 private:
  struct Entry {
    std::string id;
    EventSet events;
    TelemetryHook hook;
  };
  using Entries = std::vector<std::shared_ptr<const Entry>>;

  template <class IsIt>
  bool remove(IsIt is_it);
  [[nodiscard]] std::shared_ptr<const Entries> snapshot();
  void publish(std::shared_ptr<const Entries> entries) DATABUFFER_REQUIRES(mutex_);

  std::function<void()> on_change_;  // fixed
  Mutex mutex_;
  const std::shared_ptr<const Entries> none_ = std::make_shared<Entries>();
  std::shared_ptr<const Entries> entries_ DATABUFFER_GUARDED_BY(mutex_) = none_;
  std::atomic<std::uint32_t> listening_{0};  // written under the mutex
  std::atomic<std::uint64_t> failures_{0};   // written by who emits
  std::atomic<bool> is_inert_{false};        // written in a forked child, which has one thread
};

/// The hooks of the whole process; never destroyed, for buffers may outlive everything.
[[nodiscard]] const std::shared_ptr<HookTable>& process_hooks();

}  // namespace databuffer::detail
