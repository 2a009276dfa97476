#pragma once

#include <cstddef>
#include <string>
#include <system_error>

namespace databuffer::tuning {

/// Calls `start`, which starts threads, and returns what it returns. If the system refuses, the
/// error says what could not be started: "cannot start a buffer of 64 partitions: Resource
/// temporarily unavailable", and not only the latter.
template <class Start>
decltype(auto) starting(const std::string& what, Start start) {
  try {
    return start();
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "cannot start " + what);
  }
}

/// "a buffer of 4 partitions".
[[nodiscard]] inline std::string buffer_text(std::size_t partitions) {
  return "a buffer of " + std::to_string(partitions) +
         (partitions == 1 ? " partition" : " partitions");
}

}  // namespace databuffer::tuning
