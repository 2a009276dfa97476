// The handler: what it is given, what it does to its own buffer, and each way to answer.

#include "reference/scenario_class.hpp"

#include <chrono>
#include <stdexcept>
#include <string_view>

namespace databuffer::reference {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMostNestedCalls = 3;

}  // namespace

FlushResult Scenario::handle(Batch<Item>& batch, const FlushContext& context) {
  if (!is_right()) return FlushResult::ok();
  if (is_waiting_ || !is_look_exact_) begin_next_look(context.partition_index);
  last_called_ = context.partition_index;
  log("handler of ", context.partition, ": ", batch.size(), " items from ", batch[0].number,
      ", batch ", context.batch_id, ", attempt ", context.attempt, ", ", to_string(context.reason));
  fail_if(model_.begin_call(numbers_of(batch.items()), context, clock_.now()));
  expect_equal("the partition's name", context.partition,
               std::string_view("model." + std::to_string(context.partition_index)));
  if (!is_right()) return FlushResult::ok();
  ++handler_calls_;
  meddle();
  const Verdict verdict = decide(batch);
  log("  ", to_string(verdict.status), verdict.is_exception ? " by exception" : "",
      verdict.is_taken ? ", taken" : "", " again after ", verdict.retry_after.count());
  model_.end_call(context.partition_index, verdict, clock_.now());
  return give(verdict);
}

void Scenario::begin_next_look(std::size_t partition_index) {
  if (last_called_ == ReferenceModel::kAny || partition_index > last_called_) return;
  const bool was_exact = is_look_exact_;
  end_look();
  begin_look();
  is_look_exact_ = was_exact;
}

void Scenario::meddle() {
  if (!bytes_.one_in(4)) return;
  is_look_exact_ = false;
  ++nesting_;
  if (may_move_clock_ && bytes_.one_in(2)) move_clock(bytes_.pick<Duration>({1ns, 1ms, 1h}));
  for (std::size_t calls = bytes_.below(kMostNestedCalls + 1); calls > 0; --calls) call();
  --nesting_;
}

Verdict Scenario::decide(Batch<Item>& batch) {
  Verdict verdict;
  switch (bytes_.below(10)) {
    default:
      return verdict;
    case 4:
      verdict.status = FlushStatus::kFailed;
      verdict.message = "failed";
      break;
    case 5:
      verdict.status = FlushStatus::kRetry;
      verdict.message = "retry";
      break;
    case 6:
      verdict.status = FlushStatus::kRetry;
      verdict.message = "later";
      verdict.retry_after = bytes_.pick<Duration>({1ns, 1ms, 1h, -1h, kForever});
      break;
    case 7:
      verdict.status = bytes_.pick({FlushStatus::kRetry, FlushStatus::kFailed});
      verdict.message = "some";
      // Some may be named twice, or not be there.
      for (std::size_t named = bytes_.below(5); named > 0; --named) {
        verdict.items.push_back({bytes_.below(batch.size() + 1), verdict.status, {}});
      }
      if (!verdict.items.empty() && bytes_.one_in(2)) speak_of_each(verdict);
      break;
    case 8:
      verdict.status = options_.retry.on_exception ? FlushStatus::kRetry : FlushStatus::kFailed;
      verdict.message = "thrown";
      verdict.is_exception = true;
      break;
    case 9:
      verdict.status = bytes_.pick({FlushStatus::kRetry, FlushStatus::kOk});
      verdict.message = "taken";
      static_cast<void>(batch.take());
      verdict.is_taken = true;
      break;
  }
  return verdict;
}

void Scenario::speak_of_each(Verdict& verdict) {
  verdict.is_word_by_word = true;
  verdict.status = FlushStatus::kFailed;
  for (ItemResult& item : verdict.items) {
    item.status = bytes_.pick({FlushStatus::kRetry, FlushStatus::kFailed});
    item.message = "item " + std::to_string(item.index);
    if (item.status == FlushStatus::kRetry) verdict.status = FlushStatus::kRetry;
  }
  verdict.message = verdict.items[0].message;
  if (verdict.status != FlushStatus::kRetry) return;
  verdict.retry_after = bytes_.pick<Duration>({0ns, 1ns, 1h});
  log("  word by word");
}

FlushResult Scenario::give(const Verdict& verdict) {
  if (verdict.is_exception) throw std::runtime_error(verdict.message);
  if (verdict.is_word_by_word) return give_of_each(verdict);
  std::vector<std::size_t> named;
  for (const ItemResult& item : verdict.items) named.push_back(item.index);
  switch (verdict.status) {
    case FlushStatus::kOk:
      break;
    case FlushStatus::kFailed:
      return FlushResult::failed(verdict.message).only_items(named);
    case FlushStatus::kRetry:
      return FlushResult::retry(verdict.message, verdict.retry_after).only_items(named);
  }
  return FlushResult::ok();
}

FlushResult Scenario::give_of_each(const Verdict& verdict) {
  FlushResult result = FlushResult::ok();
  for (const ItemResult& item : verdict.items) {
    if (item.status == FlushStatus::kFailed) {
      result.fail_item(item.index, item.message);
    } else {
      result.retry_item(item.index, item.message, verdict.retry_after);
    }
  }
  return result;
}

}  // namespace databuffer::reference
