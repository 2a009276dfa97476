// The enumerators' names, for messages and for machines.
#include <array>
#include <cstddef>

#include "databuffer/batch.hpp"
#include "databuffer/options.hpp"
#include "databuffer/report.hpp"
#include "databuffer/result.hpp"
#include "databuffer/telemetry.hpp"

namespace databuffer {
namespace {

template <class Enum, std::size_t kCount>
std::string_view name_of(Enum value, const std::array<std::string_view, kCount>& names) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < kCount ? names[index] : "unknown";
}

}  // namespace

std::string_view to_string(InsertStatus status) noexcept {
  static constexpr std::array<std::string_view, 6> kNames{"accepted", "full",    "timed_out",
                                                          "closed",   "dropped", "no_memory"};
  return name_of(status, kNames);
}

std::string_view to_string(FlushStatus status) noexcept {
  static constexpr std::array<std::string_view, 3> kNames{"ok", "failed", "retry"};
  return name_of(status, kNames);
}

std::string_view to_string(FlushReason reason) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"size", "interval", "manual", "close"};
  return name_of(reason, kNames);
}

std::string_view to_string(DropReason reason) noexcept {
  static constexpr std::array<std::string_view, 5> kNames{"newest", "oldest", "failed", "closed",
                                                          "no_memory"};
  return name_of(reason, kNames);
}

std::string_view to_string(LastAnswer answer) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"none", "rejected", "exhausted",
                                                          "given_up"};
  return name_of(answer, kNames);
}

std::string_view to_string(CallStatus status) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"done", "timed_out", "reentrant",
                                                          "closed"};
  return name_of(status, kNames);
}

std::string_view to_string(Overflow overflow) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"block", "reject", "drop-newest",
                                                          "drop-oldest"};
  return name_of(overflow, kNames);
}

std::string_view to_string(Threading threading) noexcept {
  static constexpr std::array<std::string_view, 2> kNames{"own", "manual"};
  return name_of(threading, kNames);
}

std::string_view to_string(WaitStrategy strategy) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"adaptive", "spin", "yield", "park"};
  return name_of(strategy, kNames);
}

std::string_view to_string(OnOverdue action) noexcept {
  static constexpr std::array<std::string_view, 2> kNames{"report", "replace"};
  return name_of(action, kNames);
}

std::string_view to_string(Event event) noexcept {
  static constexpr std::array<std::string_view, 10> kNames{
      "databuffer.insert.start", "databuffer.insert.stop", "databuffer.insert.exception",
      "databuffer.flush.start",  "databuffer.flush.stop",  "databuffer.flush.exception",
      "databuffer.drop",         "databuffer.blocked",     "databuffer.overdue",
      "databuffer.closed"};
  return name_of(event, kNames);
}

}  // namespace databuffer
