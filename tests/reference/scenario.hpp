#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>

namespace databuffer::reference {

/// Reads options and a sequence of calls from bytes, makes each call of a real buffer and of the
/// model, and compares after every one. The same bytes always do the same.
///
/// Returns     what differs first; empty: nothing.
/// `trace`     where each call is written down, with its answer; null: nowhere.
[[nodiscard]] std::string run_scenario(std::span<const std::uint8_t> bytes,
                                       std::ostream* trace = nullptr);

}  // namespace databuffer::reference
