// The scratch file that stands in for a sink's own while `databuffer tune` runs: what the user has
// is not touched, the file stays small, and nothing is left.

#include "tools/databuffer/scratch_sink.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ingest/database.hpp"
#include "ingest/temporary_folder.hpp"
#include "tools/databuffer/sink_writer.hpp"

namespace databuffer::tools {
namespace {

using ingest_tests::read_file;
using ingest_tests::TemporaryFolder;
using ingest_tests::TestDatabase;
using Kind = SinkSpec::Kind;

constexpr std::size_t kBatch = 100;
constexpr std::size_t kLineBytes = 32;
constexpr std::uint64_t kMebi = std::uint64_t{1} << 20U;

std::set<std::string> names_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

std::uint64_t bytes_in(const TemporaryFolder& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    bytes += entry.file_size();
  }
  return bytes;
}

// A sink in a scratch file next to `path`, and the one who writes to it.
struct Scratch {
  Scratch(Kind kind, const std::string& path, std::uint64_t max_bytes = ScratchSink::kMaxBytes) {
    auto made =
        std::make_unique<ScratchSink>(SinkSpec{kind, path}, SinkSettings{}, control, max_bytes);
    sink = made.get();
    writer = std::make_unique<SinkWriter>(std::move(made), control);
  }

  void write() const {
    const std::vector<std::string> items(kBatch, std::string(kLineBytes, 'x'));
    const tuning::PayloadBatch batch(items.data(), items.size(),
                                     [](const void* first, std::size_t index) -> std::string_view {
                                       return static_cast<const std::string*>(first)[index];
                                     },
                                     {});
    CHECK(writer->write(batch).is_ok());
  }

  RunControl control;
  ScratchSink* sink = nullptr;
  std::unique_ptr<SinkWriter> writer;
};

TEST_SUITE("scratch sink") {
  TEST_CASE("what the user has is as before, and nothing else is left") {
    for (const Kind kind : {Kind::kSqlite, Kind::kFile}) {
      for (const bool is_there : {false, true}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(is_there);
        const TemporaryFolder folder;
        if (is_there) folder.write("data", "the user's");
        folder.write("data-wal", "the user's, too");
        const std::set<std::string> before = names_in(folder);
        {
          const Scratch scratch(kind, folder.path("data"));
          CHECK(scratch.sink->path().starts_with(folder.path("data") + ".tune-"));
          scratch.write();
          scratch.sink->restart();
          scratch.write();
          scratch.writer->finish();
          CHECK(names_in(folder).size() > before.size());
        }
        CHECK(names_in(folder) == before);
        if (is_there) CHECK(read_file(folder.path("data")) == "the user's");
        CHECK(read_file(folder.path("data-wal")) == "the user's, too");
      }
    }
  }

  TEST_CASE("its size is bounded, however much is written") {
    for (const Kind kind : {Kind::kSqlite, Kind::kFile}) {
      CAPTURE(static_cast<int>(kind));
      const TemporaryFolder folder;
      const Scratch scratch(kind, folder.path("data"), kMebi);
      // A database also has its log, which SQLite empties after 1,000 pages of 4 KiB.
      const std::uint64_t most = kind == Kind::kSqlite ? 6 * kMebi : kMebi;
      std::uint64_t largest = 0;
      constexpr std::size_t kBatches = 3000;
      for (std::size_t batch = 0; batch < kBatches; ++batch) {
        scratch.write();
        largest = std::max(largest, bytes_in(folder));
      }
      CHECK(largest <= most);
      CHECK(kBatches * kBatch * kLineBytes > most);
    }
  }

  TEST_CASE("each restart begins with an empty one, which takes lines as the sink does") {
    const TemporaryFolder folder;
    SUBCASE("a file") {
      const Scratch scratch(Kind::kFile, folder.path("data"));
      scratch.write();
      CHECK(std::filesystem::file_size(scratch.sink->path()) == kBatch * (kLineBytes + 1));
      scratch.sink->restart();
      CHECK(std::filesystem::file_size(scratch.sink->path()) == 0);
      scratch.write();
      CHECK(std::filesystem::file_size(scratch.sink->path()) == kBatch * (kLineBytes + 1));
    }
    SUBCASE("a database") {
      const Scratch scratch(Kind::kSqlite, folder.path("data"));
      const auto lines = [&scratch] { return TestDatabase(scratch.sink->path()).count("lines"); };
      scratch.write();
      CHECK(lines() == kBatch);
      scratch.sink->restart();
      CHECK(lines() == 0);
      scratch.write();
      CHECK(lines() == kBatch);
    }
  }

  TEST_CASE("it is next to what a link leads to, for that is the file system to be measured") {
    const TemporaryFolder folder;
    const TemporaryFolder other;
    std::filesystem::create_symlink(other.write("data", "the user's"), folder.path("link"));
    const Scratch scratch(Kind::kFile, folder.path("link"));
    CHECK(names_in(folder) == std::set<std::string>{"link"});
    CHECK(names_in(other).size() == 2);
  }

  TEST_CASE("a folder that is not there is reported, with the name that was given") {
    const TemporaryFolder folder;
    CHECK_THROWS_WITH_AS(Scratch(Kind::kFile, folder.path("missing/data")),
                         doctest::Contains("missing/data: cannot create a scratch file"),
                         SinkError);
  }

  TEST_CASE("what keeps nothing has no scratch file") {
    const TemporaryFolder folder;
    CHECK(needs_scratch({Kind::kFile, folder.path("new")}));
    CHECK(needs_scratch({Kind::kSqlite, folder.path("new")}));
    CHECK_FALSE(needs_scratch({Kind::kFile, "/dev/null"}));
    CHECK_FALSE(needs_scratch({Kind::kNull, {}}));
  }
}

}  // namespace
}  // namespace databuffer::tools
