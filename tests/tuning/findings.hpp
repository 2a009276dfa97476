#pragma once

#include "tools/tuning/findings.hpp"
#include "tools/tuning/space.hpp"
#include "tuning/synthetic_machine.hpp"

namespace databuffer::tuning_tests {

/// What a search over `grid` finds on a synthetic machine, for those who show it.
inline tuning::Findings findings_of(const std::vector<Candidate>& grid,
                                    const SyntheticMachine::Truth& truth = waiting_sink) {
  SyntheticMachine machine(truth, {.noise = 0.1});
  tuning::SearchSettings settings;
  settings.clock = &machine.clock();
  tuning::Findings findings;
  findings.result = tuning::search(grid, machine.measure(), settings);
  findings.budget = settings.budget;
  findings.base.name = "events";
  findings.circumstances = {.producers = 2, .cores = 2, .rate = 0};
  findings.workload = "2 producers; sink: <script>alert(\"&\")</script>";
  return findings;
}

/// Nothing differs, so the defaults win.
inline tuning::Findings flat_findings() {
  return findings_of(tuning::candidates_of(tuning::default_space(2)), flat);
}

inline tuning::Findings usual_findings() {
  return findings_of(tuning::candidates_of(tuning::default_space(2)));
}

}  // namespace databuffer::tuning_tests
