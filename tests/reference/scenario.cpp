// A run: the options, the calls one after the other, time and telemetry, and the end.

#include "reference/scenario_class.hpp"

#include <chrono>
#include <memory>

#include "reference/options_from_bytes.hpp"
#include "reference/scenario.hpp"

namespace databuffer::reference {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMostCalls = 400;

}  // namespace

Scenario::Scenario(std::span<const std::uint8_t> bytes, std::ostream* trace)
    : bytes_(bytes),
      trace_(trace),
      options_(complete(options_from_bytes(bytes_))),
      model_(options_, clock_.now()),
      buffer_(std::make_unique<Buffer<Item>>(
          options_,
          [this](auto& batch, const FlushContext& context) { return handle(batch, context); })) {}

std::string Scenario::run() {
  if (trace_ != nullptr) *trace_ << describe(options_) << "\n";
  for (std::size_t calls = 0; calls < kMostCalls && !bytes_.is_over() && is_right(); ++calls) {
    call();
    compare();
  }
  if (is_right()) compare_info();
  if (is_right()) end();
  return wrong_;
}

Options Scenario::complete(Options options) {
  options.threading = Threading::kManual;
  options.clock = &clock_;
  options.on_drop = [this](std::span<Item> items, const DropInfo& info) {
    Drop& drop = drops_.emplace_back(Drop{info.reason, info.partition_index, info.batch_id,
                                          std::string(info.error), numbers_of(items),
                                          info.last_answer, info.attempts});
    if (info.attempts == 0) return;
    for (std::size_t index = 0; index < items.size(); ++index) {
      drop.reasons.emplace_back(info.reason_of(index));
    }
  };
  return options;
}

void Scenario::call() {
  switch (bytes_.below(31)) {
    default:
      return insert_one();
    case 6:
    case 7:
    case 8:
    case 9:
      return insert_range();
    case 10:
    case 11:
    case 12:
    case 13:
      static_cast<void>(work());
      return;
    case 14:
    case 15:
      return work_all();
    case 16:
    case 17:
    case 18:
      return advance(bytes_.pick<Duration>({1ns, 10ns, 1us, 1ms, 10ms, 1s, 1h}));
    case 19:
      return advance_to(wanted_);
    case 20:
      return advance_to(wanted_ - 1ns);
    case 21:
    case 22:
      return flush();
    case 23:
      return sync_flush();
    case 24:
      log("dump");
      return expect_same_items("dump", numbers_of(live_->dump()), model_.dump());
    case 25:
      log("take");
      return expect_same_items("take", numbers_of(live_->take()), model_.take());
    case 26:
      return compare_info();
    case 27:
      return listen();
    case 28:
      return compare_next_deadline();
    case 29:
      return close(bytes_.pick<Duration>({0ns, kForever}));
  }
}

void Scenario::advance(Duration by) {
  if (nesting_ == 0) move_clock(by);
}

void Scenario::move_clock(Duration by) {
  log("the clock moves by ", by.count());
  clock_.advance(by);
}

void Scenario::advance_to(TimePoint time) {
  constexpr Duration kLongest = 24h;
  if (time > clock_.now() && time < clock_.now() + kLongest) advance(time - clock_.now());
}

void Scenario::listen() {
  log("listen: ", !is_listened_);
  if (is_listened_) {
    if (!live_->telemetry().detach("model")) fail("the listener was detached");
    if (nesting_ == 0) expect_equal("calls told", told_calls_, handler_calls_ - calls_untold_);
  } else {
    const bool is_in = live_->telemetry().attach("model", EventSet::all(), [this](auto& event) {
      if (event.event == Event::kFlushStart) ++told_calls_;
    });
    if (!is_in) fail("the listener was not attached");
    calls_untold_ = handler_calls_ - told_calls_;
  }
  is_listened_ = !is_listened_;
}

void Scenario::end() {
  if (bytes_.one_in(2)) close(kForever);
  const bool is_first_close = !model_.is_closed();
  if (is_first_close) {
    log("destroyed");
    model_.begin_close();
    begin_look();
    is_waiting_ = true;
  }
  buffer_.reset();
  if (is_first_close && is_right()) {
    end_look();
    expect_equal("items left", model_.dump().size(), std::size_t{0});
    expect_equal("items in flight", model_.ledger().in_flight, std::uint64_t{0});
    if (drops_ != model_.take_drops()) fail("on_drop, when destroyed");
  }
}

std::string run_scenario(std::span<const std::uint8_t> bytes, std::ostream* trace) {
  const std::size_t alive_before = Item::alive;
  std::string wrong = Scenario(bytes, trace).run();
  if (wrong.empty() && Item::alive != alive_before) wrong = "items are left alive";
  return wrong;
}

}  // namespace databuffer::reference
