#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/databuffer/sink.hpp"
#include "tools/tuning/simulated_sink.hpp"
#include "tools/tuning/workload.hpp"

namespace databuffer::tools {

/// What `databuffer bench` and `databuffer tune` run against a buffer.
struct WorkloadSettings {
  tuning::Workload workload;
  tuning::Payload payload;
  tuning::SimulatedSinkSettings handler;  ///< In force where there is no `sink`.
  std::optional<SinkSpec> sink;           ///< kSqlite, kFile or kNull.
  SinkSettings sink_settings;
  bool has_scratch = false;  ///< A scratch file stands in for the one that `sink` names.
};

/// The arguments that say so: --producers, --payload, --batch, --rate, --handler-… and --sink.
class WorkloadFlags {
 public:
  WorkloadFlags() = default;
  WorkloadFlags(const WorkloadFlags&) = delete;
  WorkloadFlags& operator=(const WorkloadFlags&) = delete;

  /// The flags write to this object while `app` parses.
  void add_to(CLI::App& app);

  /// What was asked for, once parsed. `seed`, the buffer's --seed, also seeds the simulated
  /// handler, unless it is 0. Throws      CLI::ValidationError for what does not go together.
  [[nodiscard]] WorkloadSettings checked(std::uint64_t seed) const;

 private:
  void add_producers(CLI::App& app);
  void add_handler(CLI::App& app);
  void add_sink(CLI::App& app);

  WorkloadSettings settings_;
  const CLI::App* app_ = nullptr;  // borrowed: what was typed
};

/// Refuses a --rate at which no call is due within `length`, which `flag` sets: such a run says
/// nothing. Throws      CLI::ValidationError that names both.
void check_rate(const tuning::Workload& workload, const std::string& flag, Duration length);

/// A share in percent: "20%" or "0.5%" is 0.2 or 0.005; the sign may be left out. 0 to 100.
/// Throws      BadQuantity.
[[nodiscard]] double parse_percent(const std::string& text);

/// A length of time where the argument itself says seconds: "5" is 5 s; also "500ms".
/// Throws      BadQuantity, also for what is not within [min, max].
[[nodiscard]] Duration parse_seconds_within(const std::string& text, Duration min, Duration max);

}  // namespace databuffer::tools
