#pragma once

#include <string_view>

namespace databuffer::support {

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace databuffer::support
