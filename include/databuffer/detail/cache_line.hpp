#pragma once

#include <cstddef>

namespace databuffer::detail {

/// Bytes that keep two fields from disturbing each other: two cache lines, since x86-64 fetches
/// lines in pairs. Our own constant: the standard's warns (g++) or is missing (clang 14).
inline constexpr std::size_t kDestructiveBytes = 128;

/// One line. What an insert touches of one buffer lies in first and in second lines of such pairs:
/// were it all in first ones, a thread that goes through many buffers would use half of its level-1
/// cache.
inline constexpr std::size_t kLineBytes = kDestructiveBytes / 2;

}  // namespace databuffer::detail
