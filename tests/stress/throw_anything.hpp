#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "stress/random_numbers.hpp"

namespace databuffer::stress {

struct MuteException : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return ""; }
};

/// What a handler may throw: anything.
[[noreturn]] inline void throw_anything(Random& random) {
  switch (random.number(0, 3)) {
    case 0:
      throw std::runtime_error("no");
    case 1:
      throw 7;
    case 2:
      throw MuteException();
    default:
      throw std::string("no");
  }
}

}  // namespace databuffer::stress
