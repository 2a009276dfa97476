#pragma once

#include <string>

#include "databuffer/clock.hpp"
#include "databuffer/options.hpp"

namespace databuffer::tuning {

/// Throws      OptionsError, naming field, value and limit, unless `holds`.
void require(bool holds, const char* field, const std::string& value, const std::string& limit);

/// "1500 ns".
[[nodiscard]] std::string nanoseconds_text(Duration duration);

}  // namespace databuffer::tuning
