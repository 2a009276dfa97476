// Several processes that write one database: all store everything, and none fails for the others.

#include <doctest/doctest.h>
#include <fcntl.h>

#include <string>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/database.hpp"
#include "ingest/lines.hpp"
#include "ingest/temporary_folder.hpp"
#include "support/sanitizers.hpp"

namespace databuffer::ingest_tests {
namespace {

constexpr int kRounds = support::kHasSanitizer ? 3 : 15;
constexpr int kLines = 2'000;

/// SQLite's lock for checkpoints, as another process would hold it, until destroyed. Meanwhile this
/// process must not open the database.
class CheckpointLock {
 public:
  explicit CheckpointLock(const std::string& database)
      : file_(::open((database + "-shm").c_str(), O_RDWR | O_CLOEXEC)) {
    REQUIRE(file_.is_open());
    // "The WAL-index" in SQLite's file format: the locks are bytes 120 to 127, this one is 121.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 121;
    lock.l_len = 1;
    REQUIRE(::fcntl(file_.get(), F_SETLK, &lock) == 0);
  }

 private:
  FileDescriptor file_;
};

TEST_SUITE("database writers") {
  TEST_CASE("two processes that make, fill and leave one database at once both end with 0") {
    const TemporaryFolder folder;
    const std::string input = folder.write("input", numbered_lines(kLines));
    for (int round = 0; round < kRounds; ++round) {
      CAPTURE(round);
      const std::string database = folder.path("lines" + std::to_string(round) + ".db");
      const std::vector<std::string> words{"ingest",     input, "--sink",  "sqlite:" + database,
                                           "--max-size", "100", "--quiet", "--busy-timeout",
                                           "60s"};
      Child first(words);
      Child second(words);
      for (Child* const child : {&first, &second}) {
        const Outcome outcome = child->wait();
        CHECK(outcome.exit_code == 0);
        CHECK(outcome.err.empty());
      }
      CHECK(count_lines(database) == 2 * kLines);
      CHECK(TestDatabase(database).text("PRAGMA integrity_check") == "ok");
    }
  }

  TEST_CASE("a checkpoint that another process keeps us from is left to it: all is stored") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    Child child({"ingest", "--sink", "sqlite:" + database, "--max-size", "10", "--busy-timeout",
                 "100ms", "--json", "-"});
    child.write_input(numbered_lines(10));
    child.wait_until("for the first batch", [&] { return count_lines(database) == 10; });
    {
      const CheckpointLock lock(database);
      const Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 0);
      CHECK(outcome.err.empty());
      CHECK(summary_of(outcome).at("errors").empty());
    }
    CHECK(count_lines(database) == 10);
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
