#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ingest/database.hpp"

namespace databuffer::ingest_tests {

/// "line 1", "line 2", …: `count` lines.
[[nodiscard]] inline std::string numbered_lines(int count) {
  std::string text;
  for (int number = 1; number <= count; ++number) text += "line " + std::to_string(number) + "\n";
  return text;
}

/// Lines stored so far; 0 if there is no database yet, or no table in it.
[[nodiscard]] inline std::uint64_t count_lines(const std::string& database) {
  if (!std::filesystem::exists(database)) return 0;
  TestDatabase opened(database);
  return opened.count("sqlite_schema WHERE name = 'lines'") == 0 ? 0 : opened.count("lines");
}

}  // namespace databuffer::ingest_tests
