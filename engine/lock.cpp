#include "engine/lock.hpp"

namespace databuffer::detail {
namespace {

std::atomic<std::uint32_t> generation{0};

}  // namespace

// relaxed, both: written in a child that has one thread.
std::uint32_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }
void begin_fork_generation() noexcept { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace databuffer::detail
