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
  kQueue,      ///< Producers wait for room, and consumers for items: the capacity is too small.
};

[[nodiscard]] std::string_view to_string(Limit limit) noexcept;

/// What a measurement was made with, and on.
struct Circumstances {
  std::size_t producers = 1;
  std::size_t cores = 1;
  double rate = 0;  ///< Items per second asked for (open loop); 0: as fast as possible.
};

struct Diagnosis {
  Limit limit = Limit::kProducers;
  double blocked_share = 0;  ///< Of the producers' time, waiting for room.
  double handler_share = 0;  ///< Of the consumers' time, inside the handler.
  double cpu_share = 0;      ///< Of the machine's cores, used by the process.
  std::string why;           ///< A sentence with these, and what could be done.
};

/// What limits now, by these rules in this order:
///
///   1. producers wait for room less than 10 % of their time                     → producers
///   2. the handlers are busy 75 % of the consumers' time or more                → sink
///   3. the process uses 85 % of all cores or more                               → consumer
///   4. else: producers wait for room while neither handlers nor cores are busy  → queue
///
/// It is a rule of thumb: shares of a run in which several things limit in turn may lie between.
[[nodiscard]] Diagnosis diagnose(const Measurement& measurement, const Candidate& candidate,
                                 const Circumstances& circumstances);

}  // namespace databuffer::tuning
