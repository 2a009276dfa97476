#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/databuffer/console.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/workload_runner.hpp"

namespace databuffer::tools {

/// What a command that measures works with.
struct Measuring {
  Console& console;     // borrowed
  RunControl& control;  // borrowed
  /// Here, and not in the command, because a handler that does not come back still uses it when the
  /// command has failed.
  std::optional<WorkloadRunner> runner{};
};

/// Runs a command that measures, and returns its exit code. `prefix` stands in front of its
/// messages: "databuffer bench: ". The first signal says `on_stop` and stops the control; the
/// second ends the process. `command` returns whether all went well; what it throws is said.
int run_measuring(const std::string& prefix, const std::string& on_stop,
                  const std::function<bool(Measuring&)>& command);

/// Takes all of these steps, also if one throws, and says what they throw. Returns whether none
/// did.
[[nodiscard]] bool try_all(Console& console, const std::vector<std::function<void()>>& steps);

}  // namespace databuffer::tools
