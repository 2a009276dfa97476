#include "engine/thread_name.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace databuffer::detail {

void name_this_thread(const std::string& name, const std::string& suffix) noexcept {
  constexpr std::size_t kLongest = 15;
  std::array<char, kLongest + 1> text{};
  const std::size_t tail = std::min(suffix.size(), kLongest - 1);
  const std::size_t head = std::min(name.size(), kLongest - 1 - tail);
  std::memcpy(text.data(), name.data(), head);
  text[head] = '.';
  std::memcpy(text.data() + head + 1, suffix.data(), tail);
  pthread_setname_np(pthread_self(), text.data());  // Only a convenience: a failure is no matter.
}

}  // namespace databuffer::detail
