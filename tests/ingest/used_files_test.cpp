// No output destroys what the same command reads or writes elsewhere, whatever names the files
// have.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/lines.hpp"
#include "ingest/temporary_folder.hpp"
#include "tools/databuffer/sink.hpp"

namespace databuffer::ingest_tests {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// A folder with an input, a database, and other names for them.
class Files {
 public:
  Files() {
    folder_.write("a.log", numbered_lines(1000));
    fs::create_symlink("a.log", folder_.path("soft.log"));
    fs::create_hard_link(folder_.path("a.log"), folder_.path("hard.log"));
    fs::create_directory(folder_.path("sub"));
    fs::create_directory_symlink("sub", folder_.path("sublink"));
    fs::create_symlink("new", folder_.path("to_new"));
    fs::create_symlink("../new", folder_.path("sub/to_new"));
    REQUIRE(::mkfifo(folder_.path("fifo").c_str(), 0600) == 0);
    REQUIRE(run({"ingest", folder_.path("a.log"), "--sink", "sqlite:" + folder_.path("a.db")})
                .exit_code == 0);
    fs::create_symlink("a.db", folder_.path("soft.db"));
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& bytes) const {
    return folder_.write(name, bytes);
  }

  /// Makes link1, which leads to `target`, link2, which leads to link1, … link`count`.
  void link_often(const std::string& target, int count) const {
    for (int index = 1; index <= count; ++index) {
      fs::create_symlink(index == 1 ? target : "link" + std::to_string(index - 1),
                         folder_.path("link" + std::to_string(index)));
    }
  }

  /// In this folder.
  [[nodiscard]] Outcome run_here(Words words, ChildSettings settings = {}) const {
    settings.arguments = std::move(words);
    settings.folder = folder_.path();
    Child child(std::move(settings));
    return child.wait();
  }

  /// Every name, and for a regular file what it holds.
  [[nodiscard]] std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      const bool is_file = entry.symlink_status().type() == fs::file_type::regular;
      all[entry.path().string()] = is_file ? read_file(entry.path().string()) : "";
    }
    return all;
  }

  /// Checks that `words` are refused because of `argument`, and touch nothing.
  void check_refused(const Words& words, const std::string& argument, const std::string& why,
                     const ChildSettings& settings = {}) const {
    std::string command;
    for (const std::string& word : words) command += word + " ";
    CAPTURE(command);
    const auto before = all();
    const Outcome outcome = run_here(words, settings);
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, argument));
    CHECK(contains(outcome.err, why));
    CHECK((all() == before));
  }

 private:
  const TemporaryFolder folder_;
};

TEST_SUITE("used files") {
  TEST_CASE("an output that is an input is refused, by whatever name") {
    const Files files;
    for (const std::string& name :
         {std::string("a.log"), std::string("./a.log"), std::string("sub/../a.log"),
          std::string("sublink/../a.log"), std::string("soft.log"), std::string("hard.log"),
          files.path("a.log")}) {
      files.check_refused({"ingest", "a.log", "--sink", "null", "--quiet", "--json", name},
                          "--json: '" + name + "'", "that is the input 'a.log'");
      files.check_refused({"ingest", name, "--sink", "file:a.log"}, "FILE: '" + name + "'",
                          "that is where --sink file:a.log writes to");
    }
    files.check_refused({"ingest", "missing", "--sink", "null", "--json", "missing"}, "--json",
                        "that is the input 'missing'");
    files.check_refused({"ingest", "fifo", "--sink", "file:./fifo"}, "FILE: 'fifo'",
                        "where --sink file:./fifo writes to");
  }

  TEST_CASE("the database and what SQLite keeps beside it are no output and no input") {
    const Files files;
    for (const std::string ending : {"-wal", "-shm", "-journal"}) {
      for (const std::string database : {"a.db", "soft.db", "./a.db"}) {
        const Words words{"ingest", "--sink", "sqlite:" + database};
        Words output = words;
        output.insert(output.end(), {"a.log", "--json", "sub/../a.db" + ending});
        files.check_refused(output, "--json", "the \"" + ending + "\" file of --sink sqlite:");
        Words input = words;
        input.insert(input.end(), {"a.log", files.path("a.db" + ending)});
        files.check_refused(input, "FILE", "the \"" + ending + "\" file of --sink sqlite:");
      }
    }
    files.check_refused({"ingest", "a.log", "--sink", "sqlite:a.db", "--json", "soft.db"},
                        "--json: 'soft.db'", "that is where --sink sqlite:a.db writes to");
    files.check_refused({"ingest", "soft.db", "--sink", "sqlite:a.db"}, "FILE: 'soft.db'",
                        "that is where --sink sqlite:a.db writes to");
  }

  TEST_CASE("a file that is not there yet has one place, too") {
    const Files files;
    for (const std::string& name :
         {std::string("new"), std::string("./new"), std::string("to_new"),
          std::string("sub/to_new"), std::string("sublink/../new"), files.path("new")}) {
      files.check_refused({"ingest", "a.log", "--sink", "file:new", "--json", name}, "--json",
                          "that is where --sink file:new writes to");
      files.check_refused({"ingest", "a.log", "--sink", "sqlite:" + name, "--json", "new-wal"},
                          "--json", "the \"-wal\" file of --sink");
    }
    const Outcome other =
        files.run_here({"ingest", "a.log", "--sink", "file:new", "--quiet", "--json", "sub/new"});
    CHECK(other.exit_code == 0);
    CHECK((read_file(files.path("new")) == numbered_lines(1000)));
  }

  TEST_CASE("standard output that a summary goes to is an output like others") {
    const Files files;
    ChildSettings to_file;
    to_file.output_file = files.write("out", "");
    for (const std::string name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
      const std::string why = "standard output, where the summary goes";
      files.check_refused({"ingest", "a.log", "--sink", "file:" + name}, "--sink", why);
      files.check_refused({"ingest", "a.log", "--sink", "null", "--json", name}, "--json", why);
      files.check_refused({"ingest", "a.log", "--sink", "file:" + name}, "--sink", why, to_file);
    }
    files.check_refused({"ingest", "a.log", "--sink", "file:out"}, "--sink", "standard output",
                        to_file);
    files.check_refused({"ingest", "out", "--sink", "null"}, "FILE", "standard output", to_file);
    files.check_refused({"ingest", "out", "--sink", "stdout"}, "FILE", "where --sink stdout writes",
                        to_file);

    // Where no summary goes there, it is free.
    const Outcome quiet =
        files.run_here({"ingest", "a.log", "--sink", "file:/dev/stdout", "--quiet"});
    CHECK(quiet.exit_code == 0);
    CHECK((quiet.out == numbered_lines(1000)));
  }

  TEST_CASE("a file that standard error goes to is no output, no input and no sink") {
    const Files files;
    const auto refused = [&files](const Words& words) {
      ChildSettings settings;
      settings.error_file = files.path("err");
      const Outcome outcome = files.run_here(words, settings);
      CHECK(outcome.exit_code == 2);
      CHECK(contains(read_file(files.path("err")), "that is where standard error goes"));
    };
    refused({"ingest", "a.log", "--sink", "file:err"});
    refused({"ingest", "a.log", "--sink", "null", "--json", "/dev/stderr"});
    refused({"ingest", "err", "--sink", "null"});
    // Who sends both streams to one file wants that.
    ChildSettings both;
    both.output_file = both.error_file = files.path("both");
    CHECK(files.run_here({"ingest", "a.log", "--sink", "stdout", "--quiet"}, both).exit_code == 0);
    CHECK((read_file(files.path("both")) == numbered_lines(1000)));
  }

  TEST_CASE("bench and tune make the same check") {
    const Files files;
    const auto refused = [&files](Words words, const std::string& argument,
                                  const std::string& why) {
      for (const char* const command : {"bench", "tune"}) {
        words.insert(words.begin(), command);
        files.check_refused(words, argument, why);
        words.erase(words.begin());
      }
    };
    refused({"--json", "to_new", "--csv", "new"}, "--csv", "that is where --json writes to");
    refused({"--json", "soft.log", "--csv", "hard.log"}, "--csv", "that is where --json writes to");
    refused({"--json", "/dev/stdout"}, "--json", "standard output, where the results go");
    refused({"--sink", "sqlite:soft.db", "--json", "a.db"}, "--json",
            "where --sink sqlite:soft.db");
    refused({"--sink", "sqlite:soft.db", "--csv", "a.db-wal"}, "--csv", "\"-wal\" file of --sink");
    refused({"--sink", "file:/dev/fd/1"}, "--sink", "standard output, where the results go");
    fs::create_symlink("new.svg", files.path("other.svg"));
    files.check_refused({"tune", "--plot", "new.svg", "--report", "other.svg"}, "--report",
                        "that is where --plot writes to");
  }

  // Goal: one reading of a path. SQLite's own drops what the system stumbles over, so it would open
  // a.db or a.log where we had found no file, and compared nothing.
  TEST_CASE(
      "a path that the system cannot place is no sink and no output, and SQLite never sees it") {
    const Files files;
    files.link_often("a.db", 41);  // the system follows 40 links, SQLite more
    struct Case {
      std::string name;
      std::string why;
    };
    const Case cases[] = {{"a.db/", "it ends in a slash"},
                          {"a.db/.", "its folder 'a.db': Not a directory"},
                          {"a.log/../a.db", "its folder 'a.log/..': Not a directory"},
                          {"missing/../a.db", "its folder 'missing/..': No such file"},
                          {"missing/a.db", "its folder 'missing': No such file"},
                          {"new/", "it ends in a slash"},
                          {"link41", "Too many levels of symbolic links"},
                          {"sub", "it is a folder"},
                          {"sub/", "it is a folder"}};
    for (const Case& bad : cases) {
      for (const std::string kind : {"sqlite:", "file:"}) {
        const std::string sink = kind + bad.name;
        const std::string argument = "--sink: '" + sink + "'";
        files.check_refused({"ingest", "a.log", "--sink", sink, "--json", "a.db"}, argument,
                            bad.why);
        files.check_refused({"bench", "--sink", sink, "--json", "a.db"}, argument, bad.why);
        files.check_refused({"tune", "--sink", sink, "--json", "a.db"}, argument, bad.why);
      }
      files.check_refused({"ingest", "a.log", "--sink", "null", "--json", bad.name},
                          "--json: '" + bad.name + "'", bad.why);
      for (const std::string flag : {"--json", "--csv"}) {
        files.check_refused({"bench", flag, bad.name}, flag + ": '" + bad.name + "'", bad.why);
      }
      files.check_refused({"tune", "--report", bad.name}, "--report: '" + bad.name + "'", bad.why);
      tools::RunControl control;
      CHECK_THROWS_AS(
          tools::open_sink({tools::SinkSpec::Kind::kSqlite, files.path(bad.name)}, {}, control),
          tools::SinkError);
    }
    // The input would have become a database.
    files.write("empty.log", "");
    files.check_refused({"ingest", "empty.log", "--sink", "sqlite:empty.log/"}, "--sink",
                        "it ends in a slash");
    files.check_refused({"ingest", "a.log", "--sink", "sqlite:/dev/stdin"}, "--sink",
                        "it has no name of its own");
  }

  TEST_CASE("a database is opened where its name leads, by links and from any folder") {
    const Files files;
    fs::create_directory(files.path("sub/deep"));
    fs::create_symlink("../new.db", files.path("sub/new.db"));
    for (const std::string name : {"sub/new.db", "sub/deep/../new.db", "sublink/../new.db"}) {
      CAPTURE(name);
      CHECK(files.run_here({"ingest", "a.log", "--sink", "sqlite:" + name, "--quiet"}).exit_code ==
            0);
    }
    CHECK(count_lines(files.path("new.db")) == 3000);
    CHECK(fs::is_symlink(files.path("sub/new.db")));
    CHECK(files.run_here({"ingest", "a.log", "--sink", "sqlite::memory:", "--quiet"}).exit_code ==
          0);
    CHECK(count_lines(files.path(":memory:")) == 1000);
  }

  TEST_CASE("a descriptor that is not open is no file: it could become any that we open") {
    const Files files;
    files.check_refused({"ingest", "a.log", "--sink", "sqlite:a.db", "--json", "/dev/fd/7"},
                        "--json: '/dev/fd/7'", "not open");
    files.check_refused({"bench", "--sink", "sqlite:a.db", "--json", "/proc/self/fd/9"}, "--json",
                        "not open");
    files.check_refused({"ingest", "/dev/fd/8", "--sink", "sqlite:a.db"}, "FILE", "not open");
  }

  TEST_CASE("devices may be shared") {
    const Files files;
    CHECK(files
              .run_here({"ingest", "a.log", "/dev/null", "--sink", "file:/dev/null", "--json",
                         "/dev/null"})
              .exit_code == 0);
    CHECK(files
              .run_here({"bench", "--seconds", "10ms", "--warmup", "0", "--json", "/dev/null",
                         "--csv", "/dev/null"})
              .exit_code == 0);
  }

  TEST_CASE("one file under two names is read twice, and that is said, --quiet or not") {
    const Files files;
    for (const std::string name : {"./a.log", "soft.log", "hard.log"}) {
      CAPTURE(name);
      const Outcome outcome =
          files.run_here({"ingest", "a.log", name, "--sink", "null", "--quiet", "--json", "-"});
      CHECK(outcome.exit_code == 0);
      CHECK(contains(outcome.err, "'" + name + "' is the same file as the input 'a.log'"));
      CHECK(summary_of(outcome).at("flushed") == 2000);
    }
    files.check_refused({"ingest", "fifo", "./fifo", "--sink", "null"}, "FILE: './fifo'",
                        "which can be read only once");
    files.check_refused({"ingest", "-", "/dev/stdin", "--sink", "null"}, "FILE: '/dev/stdin'",
                        "which can be read only once");
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
