#pragma once

#include <string>

#include "databuffer/databuffer.hpp"
#include "reference/bytes.hpp"

namespace databuffer::reference {

/// Options that every scenario may have; the clock, the threading and on_drop are left to it.
/// No insert waits, and close has all the time there is: the time is the scenario's.
[[nodiscard]] Options options_from_bytes(Bytes& bytes);

/// In one line.
[[nodiscard]] std::string describe(const Options& options);

}  // namespace databuffer::reference
