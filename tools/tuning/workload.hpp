#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "databuffer/clock.hpp"
#include "databuffer/options.hpp"

namespace databuffer::tuning {

/// Who inserts, how, and how fast.
struct Workload {
  /// Threads that insert. 1 … 1024.
  std::size_t producers = 1;

  /// Items in one call: 1 calls insert(), more call insert_batch(). 1 … 10^6.
  std::size_t batch = 1;

  /// Items per second, of all producers together, at even distances: an open loop. A producer that
  /// is late (because it was blocked, or asleep for too long) inserts what has become due at once.
  /// 0: a closed loop: each producer inserts again as soon as its last call has returned.
  /// 0 … 10^9.
  double rate = 0;

  /// Goes before the measured time, and counts nowhere. 0 … 1 hour.
  Duration warm_up = std::chrono::milliseconds{200};

  /// Throws      OptionsError, naming the first field that is out of range.
  void validate() const;
};

/// The items that a trial makes by itself.
struct Payload {
  enum class Kind : std::uint8_t {
    kPlain,   ///< Trivially copyable, of one of the sizes kPlainBytes.
    kString,  ///< A std::string of that many characters. 8 … 2^20.
  };
  Kind kind = Kind::kPlain;
  std::size_t bytes = 8;

  /// Throws      OptionsError if there is no such payload.
  void validate() const;
  friend bool operator==(const Payload&, const Payload&) = default;
};

/// Each size is a type of its own, so there is not every one. The first eight bytes of every
/// payload hold the time at which it was due.
inline constexpr std::array<std::size_t, 11> kPlainBytes{8,  16,  24,  32,  48,  64,
                                                         96, 128, 256, 512, 1024};
inline constexpr std::size_t kMinStringBytes = 8;
inline constexpr std::size_t kMaxStringBytes = std::size_t{1} << 20U;

/// "8, 16, …": for messages.
[[nodiscard]] std::string plain_sizes();

}  // namespace databuffer::tuning
