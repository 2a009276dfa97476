#pragma once

#include <string>

#include "tools/tuning/findings.hpp"

namespace databuffer::tuning {

/// One HTML page with everything: it needs no other file and no network, follows the reader's
/// choice of light or dark, and can be printed.
[[nodiscard]] std::string report_html(const Findings& findings);

}  // namespace databuffer::tuning
