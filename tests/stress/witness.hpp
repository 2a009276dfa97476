#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"

namespace databuffer::stress {

/// What threads find wrong. Any thread adds; the main thread requires that nothing was added.
class Findings {
 public:
  void add(std::string text) {
    const std::lock_guard lock(mutex_);
    if (++count_ <= kShown) text_ += text + "\n";
  }
  /// Empty if nothing was found.
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    return count_ <= kShown ? text_ : text_ + "… " + std::to_string(count_) + " in all\n";
  }

 private:
  static constexpr std::size_t kShown = 10;
  mutable std::mutex mutex_;
  std::string text_;       // guarded by the mutex
  std::size_t count_ = 0;  // likewise
};

/// An item that says where it comes from: each producer numbers its own from 0.
struct Item {
  std::uint32_t producer = 0;
  std::uint32_t sequence = 0;
};

/// Follows every item from the producers to its end, and finds those that are lost, come twice,
/// come from nowhere, or overtake another of the same producer in the same partition.
class Witness {
 public:
  /// `most_items`: of one producer.
  Witness(std::size_t producers, std::size_t partitions, std::size_t most_items)
      : was_taken_(producers, std::vector<std::uint8_t>(most_items)), in_order_(partitions) {
    for (std::size_t producer = 0; producer < producers; ++producer) {
      ends_.emplace_back(most_items);
    }
    for (auto& last : in_order_) last.assign(producers, -1);
  }

  /// The buffer took the item, whatever it does with it. Threads: its producer.
  void took(const Item& item) { was_taken_[item.producer][item.sequence] = 1; }

  /// A handler sees items. Threads: one at a time in each partition.
  void saw(std::size_t partition_index, std::span<const Item> items) {
    for (const Item& item : items) {
      std::int64_t& last = in_order_[partition_index][item.producer];
      if (item.sequence <= last) findings_.add(name(item) + " comes after " + std::to_string(last));
      last = item.sequence;
    }
  }

  /// Items have reached their end: flushed, dropped or taken. Any thread.
  void ended(std::span<const Item> items) {
    for (const Item& item : items) {
      // relaxed: read after the threads have been joined.
      ends_[item.producer][item.sequence].fetch_add(1, std::memory_order_relaxed);
    }
    // relaxed: likewise.
    ended_.fetch_add(items.size(), std::memory_order_relaxed);
  }

  /// relaxed: see ended().
  [[nodiscard]] std::uint64_t ended_items() const { return ended_.load(std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t taken_items() const {
    std::uint64_t count = 0;
    for (const auto& flags : was_taken_) {
      for (const std::uint8_t flag : flags) count += flag;
    }
    return count;
  }

  /// Everything that is wrong, when all is over. Threads: none of the others runs any more.
  [[nodiscard]] std::string verdict() {
    for (std::uint32_t producer = 0; producer < ends_.size(); ++producer) {
      for (std::uint32_t sequence = 0; sequence < ends_[producer].size(); ++sequence) {
        const unsigned ends = ends_[producer][sequence].load(std::memory_order_relaxed);
        const unsigned wanted = was_taken_[producer][sequence];
        if (ends == wanted) continue;
        findings_.add(name({producer, sequence}) + (wanted == 1 ? " (taken)" : " (not taken)") +
                      " has " + std::to_string(ends) + " ends");
      }
    }
    return findings_.text();
  }

  [[nodiscard]] Findings& findings() noexcept { return findings_; }

 private:
  static std::string name(const Item& item) {
    return "item " + std::to_string(item.producer) + ":" + std::to_string(item.sequence);
  }

  std::vector<std::vector<std::uint8_t>> was_taken_;      // written by each item's producer
  std::vector<std::vector<std::atomic<unsigned>>> ends_;  // written by who ends an item
  std::vector<std::vector<std::int64_t>> in_order_;       // written by each partition's handler
  std::atomic<std::uint64_t> ended_{0};                   // likewise
  Findings findings_;
};

/// Items given to on_drop, by reason.
class DropCounts {
 public:
  void add(DropReason reason, std::size_t items) {
    counts_[static_cast<std::size_t>(reason)].fetch_add(items);
  }
  [[nodiscard]] std::uint64_t of(DropReason reason) const {
    return counts_[static_cast<std::size_t>(reason)].load();
  }

 private:
  std::array<std::atomic<std::uint64_t>, 5> counts_{};
};

}  // namespace databuffer::stress
