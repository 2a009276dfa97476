#include "tools/tuning/findings.hpp"

#include <utility>

#include "tools/tuning/text.hpp"

namespace databuffer::tuning {

Findings findings_of(SearchResult result, const SearchSettings& settings, const Workload& workload,
                     Options base) {
  Findings findings;
  findings.result = std::move(result);
  findings.objective = settings.objective;
  findings.budget = settings.budget;
  findings.seed = settings.seed;
  findings.base = std::move(base);
  findings.circumstances.producers = workload.producers;
  findings.circumstances.rate = workload.rate;
  findings.workload = workload_text(workload);
  return findings;
}

}  // namespace databuffer::tuning
