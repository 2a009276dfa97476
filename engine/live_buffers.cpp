#include "engine/live_buffers.hpp"

#include <pthread.h>

#include <algorithm>

#include "engine/buffer_core.hpp"
#include "engine/hook_table.hpp"
#include "engine/lock.hpp"
#include "engine/thread_id.hpp"

namespace databuffer::detail {

LiveBuffers& LiveBuffers::instance() {
  static auto* const buffers = new LiveBuffers;
  return *buffers;
}

LiveBuffers::LiveBuffers() {
  pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
}

void LiveBuffers::add(BufferCore& buffer) {
  const MutexLock lock(mutex_);
  buffers_.push_back(&buffer);
  buffer.refresh_attention();
}

void LiveBuffers::remove(BufferCore& buffer) noexcept {
  const MutexLock lock(mutex_);
  std::erase(buffers_, &buffer);
}

void LiveBuffers::refresh_all() {
  const MutexLock lock(instance().mutex_);
  for (BufferCore* const buffer : instance().buffers_) buffer->refresh_attention();
}

void LiveBuffers::require_full_fences() noexcept {
  const MutexLock lock(mutex_);
  for (BufferCore* const buffer : buffers_) buffer->refresh_attention();
}

bool LiveBuffers::has_producer_inside() noexcept {
  const MutexLock lock(mutex_);
  return std::any_of(buffers_.begin(), buffers_.end(),
                     [](const BufferCore* buffer) { return buffer->has_producer_inside(); });
}

void LiveBuffers::before_fork() noexcept {
  instance().mutex_.lock();
  process_hooks()->mutex().lock();
}

void LiveBuffers::after_fork_in_parent() noexcept {
  process_hooks()->mutex().unlock();
  instance().mutex_.unlock();
}

void LiveBuffers::after_fork_in_child() noexcept {
  forget_thread_id();
  begin_fork_generation();
  // Held by this thread, since before_fork().
  instance().mutex_.keep_in_child();
  process_hooks()->mutex().keep_in_child();
  for (BufferCore* const buffer : instance().buffers_) buffer->make_inert();
  after_fork_in_parent();
}

}  // namespace databuffer::detail
