#include "tools/databuffer/text_memory.hpp"

#include <chrono>

#include "databuffer/detail/assert.hpp"

namespace databuffer::tools {

namespace {

// Another reader's lines may have gone in behind our flush.
constexpr std::chrono::milliseconds kFlushAgain{50};

}  // namespace

void TextMemory::add(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  held_bytes_ += bytes;
}

void TextMemory::remove(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  DATABUFFER_ASSERT(bytes <= held_bytes_);
  held_bytes_ -= bytes;
  less_.notify_all();
}

bool TextMemory::wait_for_room(const std::stop_token& stop, const std::function<void()>& flush) {
  std::unique_lock lock(mutex_);
  const auto has_room = [this] { return held_bytes_ <= limit_bytes_; };
  while (!has_room()) {
    lock.unlock();
    flush();
    lock.lock();
    less_.wait_for(lock, stop, kFlushAgain, has_room);
    if (stop.stop_requested()) return false;
  }
  return true;
}

std::uint64_t TextMemory::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

}  // namespace databuffer::tools
