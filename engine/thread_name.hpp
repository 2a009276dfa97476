#pragma once

#include <string>

namespace databuffer::detail {

/// Names the calling thread "name.suffix", cut to the system's 15 bytes at the name's end, so that
/// the partition stays readable.
void name_this_thread(const std::string& name, const std::string& suffix) noexcept;

}  // namespace databuffer::detail
