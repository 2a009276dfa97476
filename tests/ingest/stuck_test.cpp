// Sinks that do not return, and memory that is bounded in bytes, not only in lines.

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/temporary_folder.hpp"
#include "support/sanitizers.hpp"
#include "tools/databuffer/ingest.hpp"

namespace databuffer::ingest_tests {
namespace {

/// Stays in write() until told, whatever RunControl says: as a hung disk would.
class HungSink final : public tools::Sink {
 public:
  void write(std::span<const tools::Line> /*lines*/) override {
    is_in_write_.set_value();
    is_released_.get_future().wait();
  }
  void finish() override {}

  void wait_until_in_write() { is_in_write_.get_future().wait(); }
  void release() { is_released_.set_value(); }

 private:
  std::promise<void> is_in_write_;
  std::promise<void> is_released_;
};

/// What a stuck run uses stays for ever: its threads may come back at any time.
template <class T, class... Arguments>
T& make_for_ever(Arguments&&... arguments) {
  static auto* const all = new std::vector<std::unique_ptr<T>>;  // never destroyed
  all->push_back(std::make_unique<T>(std::forward<Arguments>(arguments)...));
  return *all->back();
}

TEST_SUITE("stuck") {
  // Goal: the summary adds up and comes soon, although a thread never returns.
  // Method: the run in this process, with a sink of our own.
  TEST_CASE("an abort does not wait for a sink that hangs, and says what is uncertain") {
    const TemporaryFolder folder;
    auto& settings = make_for_ever<tools::IngestSettings>();
    settings.inputs = {folder.write("input", "a\nb\nc\nd\ne\n")};
    settings.is_quiet = true;
    settings.buffer.name = "stuck";
    settings.buffer.max_size = 2;
    settings.buffer.close_timeout = kForever;
    auto& control = make_for_ever<tools::RunControl>();
    auto& console = make_for_ever<tools::Console>("test: ");
    auto& ingest = make_for_ever<tools::Ingest>(settings, control, console);
    auto owned_sink = std::make_unique<HungSink>();
    HungSink& sink = *owned_sink;
    ingest.use_sink(std::move(owned_sink));

    std::thread user([&sink, &control] {
      sink.wait_until_in_write();
      control.stop_for_signal(SIGTERM);
      control.stop_for_signal(SIGINT);
    });
    const Clock::time_point started = Clock::now();
    const tools::Summary summary = ingest.run();
    CHECK(Clock::now() - started < std::chrono::seconds{support::kHasSanitizer ? 30 : 10});
    user.join();

    CHECK(ingest.is_stuck());
    CHECK(summary.exit_code() == 130);
    CHECK(summary.flushed == 0);
    CHECK(summary.uncertain == 2);
    CHECK(summary.lines == summary.accepted + summary.not_accepted);
    CHECK(summary.accepted == summary.flushed + summary.failed + summary.dropped);
    CHECK(contains(tools::losses(summary).at(0), "2 of the failed were being written"));
    sink.release();
  }

  // Goal: a capacity of millions of lines does not mean gigabytes.
  TEST_CASE("--memory bounds the text in memory, and waits for no batch that cannot fill") {
    constexpr std::uint64_t kLineBytes = 1'000'000;
    constexpr std::uint64_t kLines = 60;
    const TemporaryFolder folder;
    std::string text;
    for (std::uint64_t line = 0; line < kLines; ++line) text += std::string(kLineBytes, 'x') + "\n";
    const std::string input = folder.write("input", text);
    // Standard input stays open, so that it waits when it has read the file.
    Child child({"ingest", input, "-", "--producers", "2", "--sink", "null", "--memory", "4Mi",
                 "--max-size", "1M", "--flush-interval", "forever", "--json", "-"});
    child.wait_until("until the file is read", [&] {
      return child.bytes_read() > kLines * kLineBytes && !child.has_open(input);
    });
    if (!support::kHasSanitizer) CHECK(child.peak_kilobytes() < 40'000);
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 0);
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("flushed") == kLines);
    CHECK(summary.at("batches").get<int>() > 5);
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
