#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "databuffer/databuffer.hpp"
#include "stress/random_numbers.hpp"
#include "stress/witness.hpp"

namespace databuffer::stress {

/// A flush_timeout of this or more is longer than a round lasts; the others are much shorter.
inline constexpr std::chrono::seconds kLongTimeout{600};

/// The most items that are inserted at once.
inline constexpr std::size_t kLongestBatch = 2000;

[[nodiscard]] inline std::size_t weight_of(const Item& item) { return item.sequence % 12; }

/// A buffer's options, what is done with it, and what goes wrong meanwhile. "One in" 0: never.
struct Setting {
  Options options;
  std::size_t producers = 1;
  std::size_t most_items = 20'000;  // of one producer
  std::size_t short_life = 0;       // inserts, then a producer ends and the next begins; 0: no end
  std::size_t lives_at_once = 4;    // of such producers
  std::size_t one_insert_is_many_in = 20;
  std::size_t one_batch_fails_in = 0;
  std::size_t one_batch_dawdles_in = 0;
  std::size_t one_batch_is_stuck_in = 0;  // for longer than any flush_timeout that is not long
  bool has_throwing_hooks = false;
  bool lacks_memory = false;  // now and then, in a producer's call
  std::chrono::milliseconds lasts{};
  bool has_meddlers = false;  // others call what is not an insert meanwhile
  bool is_flushed_first = false;
  bool is_closed_early = false;  // while the producers insert
  Duration close_timeout = kForever;
};

/// `can_lack_memory`: whether the program can refuse memory (support/counted_memory.hpp).
[[nodiscard]] Setting random_setting(Random& random, bool can_lack_memory);

/// The same, but threads come and go by the thousand, each with some inserts.
[[nodiscard]] Setting swarming_setting(Random& random, bool can_lack_memory);

/// The same, but for a round in which millions of items pass: it lasts longer, inserts are of many
/// items and faults are rarer.
[[nodiscard]] Setting crowded_setting(Random& random, bool can_lack_memory);

/// In one line.
[[nodiscard]] std::string describe(const Setting& setting);

}  // namespace databuffer::stress
