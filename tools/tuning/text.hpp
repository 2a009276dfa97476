#pragma once

#include <string>

#include "databuffer/clock.hpp"
#include "tools/tuning/interval.hpp"
#include "tools/tuning/measurement.hpp"
#include "tools/tuning/workload.hpp"

namespace databuffer::tuning {

/// Numbers for people: three digits, and a unit that leaves few of them.

/// "1.23 M", "12.3 k", "123".
[[nodiscard]] std::string count_text(double count);
/// "1.23 ms", "45.0 s".
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string seconds_text(Duration duration);
/// "4.20 MiB".
[[nodiscard]] std::string bytes_text(double bytes);
/// "+12.3 %" for 1.123; "3.20 x" for 3.2.
[[nodiscard]] std::string gain_text(double ratio);
/// "1.12 [1.05 … 1.20]"; "1.12 (1.05 … 1.20)" where that is but the range of its values.
[[nodiscard]] std::string ratio_text(const Interval& ratio);
/// As printf's %.*f.
[[nodiscard]] std::string fixed_text(double value, int digits);

/// "4 partitions, max_size 1000, capacity 4000, adaptive".
[[nodiscard]] std::string candidate_text(const Candidate& candidate);
/// "2 producers, items of 8 bytes, one a call, 50.0 k/s"; `items` is "8 bytes", or left out.
[[nodiscard]] std::string workload_text(const Workload& workload, const std::string& items = {});

}  // namespace databuffer::tuning
