// Real system logs, which are not part of the project: DATABUFFER_REAL_LOGS names their folder.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/database.hpp"
#include "ingest/temporary_folder.hpp"

namespace databuffer::ingest_tests {
namespace {

std::string logs_folder() {
  const char* const folder = std::getenv("DATABUFFER_REAL_LOGS");
  if (folder != nullptr) return folder;
  const auto project = std::filesystem::path(__FILE__).parent_path() / "../..";
  return (project / "../shared/data/logs").lexically_normal().string();
}

TEST_SUITE("real_logs") {
  TEST_CASE("four real logs, all at once by four producers, come back byte for byte") {
    std::vector<std::string> logs;
    if (std::filesystem::is_directory(logs_folder())) {
      for (const auto& entry : std::filesystem::directory_iterator(logs_folder())) {
        if (entry.is_regular_file()) logs.push_back(entry.path().string());
      }
    }
    if (logs.empty()) {
      MESSAGE("no logs in " << logs_folder() << " (DATABUFFER_REAL_LOGS): not tested with any");
      return;
    }
    std::sort(logs.begin(), logs.end());
    for (const char* const partitions : {"1", "2"}) {
      CAPTURE(partitions);
      const TemporaryFolder folder;
      const std::string database = folder.path("lines.db");
      std::vector<std::string> words{"ingest",      "--sink",     "sqlite:" + database,
                                     "--producers", "4",          "--partitions",
                                     partitions,    "--max-size", "500",
                                     "--json",      "-"};
      words.insert(words.end(), logs.begin(), logs.end());
      const Outcome outcome = run(words);
      CHECK(outcome.exit_code == 0);
      CHECK(outcome.err.empty());
      TestDatabase opened(database);
      const std::vector<Row> rows = opened.rows();
      CHECK(summary_of(outcome).at("flushed") == rows.size());
      CHECK(is_in_order(rows));
      const std::map<std::string, std::string> stored = opened.inputs();
      for (const std::string& log : logs) {
        CAPTURE(log);
        CHECK((stored.at(log) == read_file(log)));
      }
    }
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
