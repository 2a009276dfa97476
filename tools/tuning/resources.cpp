#include "tools/tuning/resources.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

// Of mimalloc, which may not be there. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((weak)) void mi_collect(bool force) noexcept;

namespace databuffer::tuning {

namespace {

// The number behind `name` in /proc/self/status, which is in kB; 0 if there is none. Without
// streams, which would allocate.
std::uint64_t status_bytes(std::string_view name) noexcept {
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 8192> text{};
  std::size_t size = 0;
  for (;;) {
    const ssize_t count = ::read(file, text.data() + size, text.size() - 1 - size);
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  ::close(file);
  const char* const found = std::strstr(text.data(), name.data());
  if (found == nullptr) return 0;
  constexpr std::uint64_t kKilobyte = 1024;
  return std::strtoull(found + name.size(), nullptr, 10) * kKilobyte;
}

bool reset_peak() noexcept {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_done = ::write(file, "5", 1) == 1;  // 5: VmHWM, and nothing else
  return ::close(file) == 0 && is_done;
}

Duration duration_of(const timeval& time) noexcept {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

}  // namespace

Duration cpu_time() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return duration_of(usage.ru_utime) + duration_of(usage.ru_stime);
}

std::uint64_t resident_bytes() noexcept { return status_bytes("VmRSS:"); }

void give_memory_back() noexcept {
  ::malloc_trim(0);
  if (mi_collect != nullptr) mi_collect(true);
}

void PeakMemory::start() noexcept {
  is_sampled_ = !reset_peak();
  highest_ = 0;
  sample();
}

void PeakMemory::sample() noexcept { highest_ = std::max(highest_, resident_bytes()); }

std::uint64_t PeakMemory::peak_bytes() noexcept {
  sample();
  return is_sampled_ ? highest_ : std::max(highest_, status_bytes("VmHWM:"));
}

}  // namespace databuffer::tuning
