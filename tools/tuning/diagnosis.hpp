#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/tuning/measurement.hpp"

namespace databuffer::tuning {

/// What would have to be faster for more items to get through.
enum class Limit : std::uint8_t {
  kProducers,  ///< They offer no more.
  kSink,       ///< The handlers are busy.
  kConsumer,   ///< The consumer threads are, with moving items; or all cores are.
  kQueue,      ///< There is no room, and consumers wait for items: the capacity is too small.
};

[[nodiscard]] std::string_view to_string(Limit limit) noexcept;

/// Of this machine; 1 where it does not tell.
[[nodiscard]] std::size_t core_count() noexcept;

/// What a measurement was made with, and on.
struct Circumstances {
  std::size_t producers = 1;
  std::size_t cores = core_count();
  double rate = 0;  ///< Items per second asked for (open loop); 0: as fast as possible.
};

struct Diagnosis {
  Limit limit = Limit::kProducers;
  double blocked_share = 0;  ///< Of the producers' time, waiting for room.
  double handler_share = 0;  ///< Of the consumers' time, inside the handler.
  double cpu_share = 0;      ///< Of the machine's cores, used by the process.
  double dropped_share = 0;  ///< Of the items offered, given up by an overflow policy, or refused.
  std::string why;           ///< A sentence with these, and what could be done.
};

/// What limits now, by these rules in this order:
///
///   1. producers wait for room less than 10 % of their time, and less than 10 %
///      of the items are dropped or refused                                      → producers
///   2. the handlers are busy 75 % of the consumers' time or more                → sink
///   3. the process uses 85 % of all cores or more                               → consumer
///   4. else: the buffer is full while neither handlers nor cores are busy       → queue
///
/// It is a rule of thumb: shares of a run in which several things limit in turn may lie between.
[[nodiscard]] Diagnosis diagnose(const Measurement& measurement, const Candidate& candidate,
                                 const Circumstances& circumstances);

}  // namespace databuffer::tuning
