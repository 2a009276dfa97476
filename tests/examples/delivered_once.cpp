// Delivered once: lines of a file reach a database once each, although the process is killed on the
// way, again and again.
//
// What is pending dies with the process. So the source must be able to send it again, and the sink
// must know what it has: each batch and the number of its last line are stored in one transaction.
// A new process goes on behind that line. One partition keeps the lines in order, so that one
// number says it all.
#include <databuffer/databuffer.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "examples/database.hpp"
#include "examples/require.hpp"

namespace {

using databuffer::InsertStatus;
using examples::Database;
using examples::require;
using examples::Statement;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::int64_t kLines = 100'000;
constexpr int kKills = 3;

struct Line {
  std::int64_t number = 0;  // from 1
  std::string text;
};

// The worker: runs until all lines are stored, or until it is killed.
int store_lines(const fs::path& source, const fs::path& path) {
  Database database(path);
  const std::int64_t done = Statement(database, "SELECT line FROM progress").number();
  Statement insert(database, "INSERT INTO lines(number, text) VALUES(?, ?)");
  Statement advance(database, "UPDATE progress SET line = ?");

  // A batch that fails is tried again; what fails for good must end the worker, or it would be
  // lost.
  databuffer::Buffer<Line> lines(
      {.name = "lines",
       .max_size = 500,
       .retry = {.attempts = 10},
       .insert_timeout = databuffer::kForever,
       .on_drop = [](std::span<Line>, const databuffer::DropInfo&) { std::abort(); }},
      [&](std::span<Line> batch) {
        database.transaction([&] {
          for (const Line& line : batch) insert.run(line.number, line.text);
          advance.run(batch.back().number);
        });
      });

  std::ifstream file(source);
  Line line;
  while (std::getline(file, line.text)) {
    if (++line.number <= done) continue;
    if (lines.insert(Line(line)) != InsertStatus::kAccepted) return EXIT_FAILURE;
  }
  return lines.close().is_complete() ? EXIT_SUCCESS : EXIT_FAILURE;
}

// Starts a worker. Here it is a fork, taken while this process has one thread.
pid_t start_worker(const fs::path& source, const fs::path& path) {
  const pid_t worker = fork();
  require(worker >= 0, "a process starts");
  if (worker == 0) std::_Exit(store_lines(source, path));
  return worker;
}

std::int64_t lines_in(const fs::path& path) {
  Database database(path);
  return Statement(database, "SELECT count(*) FROM lines").number();
}

}  // namespace

int main() {
  const fs::path folder =
      fs::temp_directory_path() / ("databuffer_once_" + std::to_string(getpid()));
  const fs::path source = folder / "source.txt";
  const fs::path path = folder / "lines.db";
  fs::create_directory(folder);
  {
    std::ofstream file(source);
    for (std::int64_t number = 1; number <= kLines; ++number) file << "line " << number << '\n';
  }
  {
    Database database(path);
    database.run("PRAGMA journal_mode = WAL");
    database.run(
        "CREATE TABLE lines(number INTEGER PRIMARY KEY, text TEXT);"
        "CREATE TABLE progress(line INTEGER); INSERT INTO progress VALUES(0)");
  }

  for (int kills = 0; kills < kKills; ++kills) {
    const std::int64_t before = lines_in(path);
    const pid_t worker = start_worker(source, path);
    while (lines_in(path) < before + kLines / 10) std::this_thread::sleep_for(1ms);
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
    std::cout << "killed with " << lines_in(path) << " of " << kLines << " lines stored\n";
  }
  int status = 0;
  waitpid(start_worker(source, path), &status, 0);

  Database database(path);
  const std::int64_t stored = Statement(database, "SELECT count(*) FROM lines").number();
  const std::int64_t right =
      Statement(database, "SELECT count(*) FROM lines WHERE text = 'line ' || number").number();
  fs::remove_all(folder);
  require(status == 0, "the last worker ends well");
  require(stored == kLines, "no line is lost, and none comes twice");
  require(right == kLines, "each is what the source says");
  std::cout << stored << " lines stored, once each\n";
}
