#include "tools/tuning/workload.hpp"

#include <algorithm>
#include <cmath>

#include "tools/tuning/limits.hpp"

namespace databuffer::tuning {

void Workload::validate() const {
  constexpr std::size_t kMaxProducers = 1024;
  constexpr std::size_t kMaxBatch = 1'000'000;
  constexpr double kMaxRate = 1e9;
  require(producers >= 1 && producers <= kMaxProducers, "producers", std::to_string(producers),
          "must be 1 to 1024");
  require(batch >= 1 && batch <= kMaxBatch, "batch", std::to_string(batch), "must be 1 to 1000000");
  require(rate >= 0 && rate <= kMaxRate, "rate", std::to_string(rate),
          "must be 0 to 10^9 items per second");
  require(warm_up >= Duration::zero() && warm_up <= std::chrono::hours{1}, "warm_up",
          nanoseconds_text(warm_up), "must be 0 to 1 h");
}

void Payload::validate() const {
  const std::string value = std::to_string(bytes);
  if (kind == Kind::kString) {
    require(bytes >= kMinStringBytes && bytes <= kMaxStringBytes, "payload", value,
            "a string has 8 to 1048576 bytes");
    return;
  }
  const bool is_there =
      std::find(kPlainBytes.begin(), kPlainBytes.end(), bytes) != kPlainBytes.end();
  require(is_there, "payload", value, "a plain one has " + plain_sizes() + " bytes");
}

std::string plain_sizes() {
  std::string text;
  for (const std::size_t bytes : kPlainBytes) {
    if (!text.empty()) text += bytes == kPlainBytes.back() ? " or " : ", ";
    text += std::to_string(bytes);
  }
  return text;
}

void require(bool holds, const char* field, const std::string& value, const std::string& limit) {
  if (!holds) throw OptionsError(field, value, limit);
}

std::string nanoseconds_text(Duration duration) { return std::to_string(duration.count()) + " ns"; }

}  // namespace databuffer::tuning
