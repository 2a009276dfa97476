#pragma once

#include <cstddef>

namespace databuffer::detail {

/// Bytes that keep two fields from disturbing each other: two cache lines, since x86-64 fetches
/// lines in pairs. Our own constant: the standard's warns (g++) or is missing (clang 14).
inline constexpr std::size_t kDestructiveBytes = 128;

}  // namespace databuffer::detail
