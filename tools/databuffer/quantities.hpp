#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "databuffer/clock.hpp"

namespace databuffer::tools {

/// A text that is not the quantity asked for. what() says what would have been, not the text
/// itself: the caller knows which argument it stood in.
class BadQuantity : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// "500us", "1.5s", "2m", "forever". A unit is required (0 excepted): ns, us, ms, s, m, h.
/// Throws      BadQuantity, also for what is longer than 292 years but not "forever".
[[nodiscard]] Duration parse_duration(std::string_view text);

/// "5000", "5k", "1.5M": k, M and G are thousands, millions and thousand millions.
/// Throws      BadQuantity, also for what is not whole or does not fit 64 bits.
[[nodiscard]] std::uint64_t parse_count(std::string_view text);

/// "4096", "64k", "256Mi": as parse_count; Ki, Mi and Gi are powers of 1024, and a B may follow.
/// Throws      BadQuantity, as parse_count.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view text);

/// In the largest unit that leaves it whole: "500us", "10s", "90s", "forever". parse_duration reads
/// it.
[[nodiscard]] std::string format_duration(Duration duration);

}  // namespace databuffer::tools
