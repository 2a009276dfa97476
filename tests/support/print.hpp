#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "databuffer/databuffer.hpp"

// How doctest shows our values in a failed check.

namespace databuffer {

inline doctest::String shown(std::string_view name) {
  return {name.data(), static_cast<unsigned>(name.size())};
}

// doctest's name, not ours; found by argument-dependent lookup.
inline doctest::String toString(InsertStatus value) { return shown(to_string(value)); }  // NOLINT
inline doctest::String toString(FlushStatus value) { return shown(to_string(value)); }   // NOLINT
inline doctest::String toString(FlushReason value) { return shown(to_string(value)); }   // NOLINT
inline doctest::String toString(DropReason value) { return shown(to_string(value)); }    // NOLINT
inline doctest::String toString(CallStatus value) { return shown(to_string(value)); }    // NOLINT
inline doctest::String toString(Event value) { return shown(to_string(value)); }         // NOLINT

inline std::ostream& operator<<(std::ostream& out, const InsertBatchResult& result) {
  return out << to_string(result.status) << " after " << result.accepted;
}

inline std::ostream& operator<<(std::ostream& out, const Ledger& ledger) {
  return out << "accepted " << ledger.accepted << ", flushed " << ledger.flushed << ", failed "
             << ledger.failed << ", dropped " << ledger.dropped_newest << "+"
             << ledger.dropped_oldest << "+" << ledger.dropped_closed << "+"
             << ledger.dropped_no_memory << ", taken " << ledger.taken << ", pending "
             << ledger.pending << ", in flight " << ledger.in_flight << ", refused "
             << ledger.refused_full << "+" << ledger.refused_timed_out << "+"
             << ledger.refused_closed << "+" << ledger.refused_no_memory;
}

}  // namespace databuffer

template <class Rep, class Period>
struct doctest::StringMaker<std::chrono::duration<Rep, Period>> {
  static String convert(const std::chrono::duration<Rep, Period>& value) {
    const std::string text = std::to_string(databuffer::saturate(value).count()) + " ns";
    return text.c_str();
  }
};

template <>
struct doctest::StringMaker<databuffer::TimePoint> {
  static String convert(const databuffer::TimePoint& value) {
    if (value == databuffer::TimePoint::max()) return "never";
    return StringMaker<databuffer::Duration>::convert(value.time_since_epoch());
  }
};

template <class T>
struct doctest::StringMaker<std::vector<T>> {
  static String convert(const std::vector<T>& values) {
    String text = "{";
    for (const T& value : values) {
      if (text.size() > 1) text += ", ";
      if (text.size() > 1000) return text + "… " + toString(values.size()) + " in all}";
      text += toString(value);
    }
    return text + "}";
  }
};
