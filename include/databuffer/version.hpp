#pragma once

// The one place that states the version; CMake reads it from here.
#define DATABUFFER_VERSION_MAJOR 0
#define DATABUFFER_VERSION_MINOR 1
#define DATABUFFER_VERSION_PATCH 0

namespace databuffer {

/// The version of the headers, as "major.minor.patch".
inline constexpr const char* kVersion = "0.1.0";

}  // namespace databuffer
