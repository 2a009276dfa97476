#include "tools/tuning/diagnosis.hpp"

#include <algorithm>
#include <thread>

#include "tools/tuning/text.hpp"

namespace databuffer::tuning {

namespace {

constexpr double kRarely = 0.10;
constexpr double kBusyHandlers = 0.75;
constexpr double kBusyCores = 0.85;

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string percent(double share) { return fixed_text(share * 100, 0) + " %"; }

Limit limit_of(const Diagnosis& shares) {
  if (shares.blocked_share < kRarely && shares.dropped_share < kRarely) return Limit::kProducers;
  if (shares.handler_share >= kBusyHandlers) return Limit::kSink;
  if (shares.cpu_share >= kBusyCores) return Limit::kConsumer;
  return Limit::kQueue;
}

// What a full buffer does to the producers, behind words on the consumers' time. Those that do not
// wait for room lose items instead.
std::string pressure_of(const Diagnosis& diagnosis) {
  const std::string waiting =
      "producers wait for room " + percent(diagnosis.blocked_share) + " of theirs";
  if (diagnosis.dropped_share < kRarely) return waiting;
  const std::string losing = percent(diagnosis.dropped_share) +
                             " of the items are thrown away or refused because it is full";
  return diagnosis.blocked_share < kRarely ? losing : waiting + ", and " + losing;
}

std::string reason(const Diagnosis& diagnosis, const Circumstances& circumstances) {
  const std::string blocked = percent(diagnosis.blocked_share);
  const std::string handlers = percent(diagnosis.handler_share);
  const std::string cores = percent(diagnosis.cpu_share);
  const std::string pressure = pressure_of(diagnosis);
  switch (diagnosis.limit) {
    case Limit::kProducers:
      if (circumstances.rate > 0) {
        return "The buffer keeps up with the rate asked for: producers wait for room " + blocked +
               " of their time, and handlers are busy " + handlers + " of theirs.";
      }
      return "Producers wait for room only " + blocked +
             " of their time: they offer no more. More producer threads, or a cheaper item, would "
             "give more.";
    case Limit::kSink:
      return "Handlers are busy " + handlers + " of the consumers' time, and " + pressure +
             ": a faster sink, or more of them at once, would give more.";
    case Limit::kConsumer:
      return "The process uses " + cores + " of all cores, and handlers only " + handlers +
             " of the consumers' time, and " + pressure +
             ": what is left goes into making and moving items. More cores would give more.";
    case Limit::kQueue:
      return "Handlers are busy only " + handlers +
             " of the consumers' time and the process uses " + cores + " of all cores, and yet " +
             pressure + ": a larger capacity may give more.";
  }
  return {};
}

}  // namespace

std::string_view to_string(Limit limit) noexcept {
  switch (limit) {
    case Limit::kProducers:
      return "producers";
    case Limit::kSink:
      return "sink";
    case Limit::kConsumer:
      return "consumer";
    case Limit::kQueue:
      return "queue";
  }
  return "?";
}

std::size_t core_count() noexcept {
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

Diagnosis diagnose(const Measurement& measurement, const Candidate& candidate,
                   const Circumstances& circumstances) {
  const auto of = [&measurement](std::size_t threads) {
    return measurement.seconds * static_cast<double>(threads);
  };
  Diagnosis diagnosis;
  diagnosis.blocked_share = share(measurement.blocked_seconds, of(circumstances.producers));
  diagnosis.handler_share = share(measurement.handler_seconds, of(candidate.partitions));
  diagnosis.cpu_share = share(measurement.cpu_seconds, of(circumstances.cores));
  diagnosis.dropped_share = share(static_cast<double>(measurement.dropped),
                                  static_cast<double>(measurement.inserted + measurement.refused));
  diagnosis.limit = limit_of(diagnosis);
  diagnosis.why = reason(diagnosis, circumstances);
  return diagnosis;
}

}  // namespace databuffer::tuning
