#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>

namespace databuffer::tools {

/// Bounds the bytes of text that wait to be stored, which the buffer's capacity, counted in lines,
/// does not.
///
/// It counts the chunks that no reader writes to any more, but whose lines are not all stored yet.
/// Those are emptied by flushes alone, never by a reader, so readers may wait for them. The chunk
/// that each reader is filling comes on top.
///
/// Threads     any number at once.
class TextMemory {
 public:
  explicit TextMemory(std::uint64_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}
  TextMemory(const TextMemory&) = delete;
  TextMemory& operator=(const TextMemory&) = delete;

  void add(std::uint64_t bytes);
  void remove(std::uint64_t bytes);

  /// Returns true when at most the limit is held; false if `stop` was requested first. While it has
  /// to wait it calls `flush` now and then, with no lock held, so that the buffer does not wait for
  /// a batch to fill which we will not fill.
  [[nodiscard]] bool wait_for_room(const std::stop_token& stop, const std::function<void()>& flush);

  [[nodiscard]] std::uint64_t held_bytes() const;

 private:
  const std::uint64_t limit_bytes_;

  mutable std::mutex mutex_;
  std::condition_variable_any less_;  // held_bytes_ went down
  std::uint64_t held_bytes_ = 0;      // guarded by mutex_
};

}  // namespace databuffer::tools
