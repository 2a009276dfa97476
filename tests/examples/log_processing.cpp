// Log processing: threads log without ever waiting for the disk; one thread writes, a batch at a
// time. When it cannot follow, the oldest lines go, and the log says how many.
#include <unistd.h>
#include <databuffer/databuffer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "examples/require.hpp"

namespace {

using examples::require;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int kThreads = 3;
constexpr int kLinesEach = 10'000;
constexpr std::uint64_t kLines = std::uint64_t{kThreads} * kLinesEach;

struct Line {
  int thread = 0;
  int number = 0;
  std::string text;
};

class LogFile {
 public:
  LogFile(const fs::path& path, std::atomic<std::size_t>& lost) : file_(path), lost_(&lost) {}

  // One write and one flush of the file for the whole batch.
  void operator()(std::span<Line> batch) {
    text_.clear();
    if (const std::size_t lost = lost_->exchange(0); lost > 0) {
      text_ += "lost " + std::to_string(lost) + " -\n";
    }
    for (const Line& line : batch) {
      text_ += std::to_string(line.thread) + ' ' + std::to_string(line.number) + ' ';
      text_ += line.text + '\n';
    }
    file_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    if (!file_.flush()) throw std::runtime_error("the log file cannot be written");
  }

 private:
  std::ofstream file_;
  std::string text_;                // reused, so that writing does not allocate
  std::atomic<std::size_t>* lost_;  // borrowed
};

}  // namespace

int main() {
  const fs::path path =
      fs::temp_directory_path() / ("databuffer_example_" + std::to_string(getpid()) + ".log");
  std::atomic<std::size_t> lost{0};
  databuffer::Ledger ledger;
  {
    auto log = databuffer::Buffer<Line>::per_partition(
        {.name = "log",
         .max_size = 1000,
         .flush_interval = 1s,
         .overflow = databuffer::Overflow::kDropOldest,
         .on_drop = [&lost](std::span<Line> lines,
                            const databuffer::DropInfo&) { lost += lines.size(); }},
        [&](std::size_t /*partition_index*/) { return LogFile(path, lost); });
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int number = 0; number < kLinesEach; ++number) {
          // Never waits: a full log gives up its oldest line. What is refused all the same, for
          // want of memory or because the log is closed, is lost, too.
          const auto status = log.insert({thread, number, "request served"});
          if (status != databuffer::InsertStatus::kAccepted) ++lost;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ledger = log.close().ledger;
  }

  // Each thread's lines are in order, and every line is either there or counted as lost.
  std::ifstream file(path);
  std::vector<int> last(kThreads, -1);
  std::uint64_t written = 0;
  for (std::string thread, number, text; file >> thread >> number && std::getline(file, text);) {
    if (thread == "lost") continue;
    int& before = last.at(std::stoul(thread));
    require(before < std::stoi(number), "a thread's lines keep their order");
    before = std::stoi(number);
    ++written;
  }
  fs::remove(path);
  std::cout << written << " lines written, " << ledger.dropped() << " lost\n";
  require(written == ledger.flushed, "the books agree with the file");
  require(written + ledger.dropped() == kLines, "every line is written or counted");
}
