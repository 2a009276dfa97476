// The inserts, in each form there is: the answer, and where the items are then.

#include "reference/scenario_class.hpp"

#include <chrono>
#include <functional>
#include <list>
#include <stdexcept>
#include <utility>

#include "support/ranges.hpp"

namespace databuffer::reference {

using namespace std::chrono_literals;

Item Scenario::next_item() {
  std::uint32_t weight = static_cast<std::uint32_t>(bytes_.below(8));
  if (options_.weigh && bytes_.one_in(32)) weight = Item::kCannotBeWeighed;
  return Item(next_number_++, weight);
}

void Scenario::insert_one() {
  Item item = next_item();
  Offer offer{.items = {item}};
  Outcome outcome;
  const std::size_t form = bytes_.below(6);
  const std::uint64_t key = bytes_.below(4);
  if (form == 1) offer.may_wait = false;
  if (form == 2) {
    offer.partition_index =
        detail::Inserter<Item>::partition_of(std::hash<std::uint64_t>{}(key), options_.partitions);
  }
  try {
    InsertStatus& status = outcome.result.status;
    switch (form) {
      default:
        status = live_->insert(std::move(item));
        break;
      case 1:
        status = live_->try_insert(std::move(item));
        break;
      case 2:
        status = live_->insert_keyed(key, std::move(item));
        break;
      case 3:
        status = live_->insert(std::move(item), -1h);
        break;
    }
    const bool is_taken = status == InsertStatus::kAccepted || status == InsertStatus::kDropped;
    outcome.result.accepted = is_taken ? 1 : 0;
  } catch (const std::runtime_error&) {
    outcome.has_thrown = true;
  }
  log("insert ", offer.items[0].number, " (", offer.items[0].weight, ") form ", form, ": ",
      text(outcome));
  expect_insert(outcome, offer);
  if (item.is_here == (outcome.result.accepted == 1)) fail("an item neither here nor there");
}

void Scenario::insert_range() {
  Offer offer;
  const std::size_t count = bytes_.pick<std::size_t>({0, 1, 2, 3, 5, 9, 70, 150});
  for (std::size_t index = 0; index < count; ++index) offer.items.push_back(next_item());
  const std::size_t form = bytes_.below(6);
  if (form >= 4 && count > 0 && bytes_.one_in(4)) offer.throws_at = bytes_.below(count);
  const Outcome outcome = insert_range_as(form, offer);
  log("insert_batch of ", count, " form ", form, " throws at ", offer.throws_at, ": ",
      text(outcome));
  expect_insert(outcome, offer);
}

Scenario::Outcome Scenario::insert_range_as(std::size_t form, Offer& offer) {
  const auto read = [&offer](int index) {
    const auto at = static_cast<std::size_t>(index);
    if (at == offer.throws_at) throw std::runtime_error("unreadable");
    return offer.items[at];
  };
  const int count = static_cast<int>(offer.items.size());
  std::vector<Item> items = offer.items;
  std::list<Item> listed(items.begin(), items.end());
  try {
    switch (form) {
      default:
        return {live_->insert_batch(items)};
      case 1: {
        const Outcome outcome{live_->insert_batch(std::move(items), 0ns)};
        expect_moved(items, outcome.result.accepted);  // NOLINT(bugprone-use-after-move)
        return outcome;
      }
      case 2:
        return {live_->insert_batch(listed, -1ns)};
      case 3:
        offer.takes_items_back = false;
        return {live_->insert_batch(std::move(listed))};
      case 4:
        offer.takes_items_back = false;
        return {live_->insert_batch(support::made_forward(count, read))};
      case 5:
        offer.takes_items_back = offer.knows_length = false;
        return {live_->insert_batch(support::made_one_by_one(count, read))};
    }
  } catch (const std::runtime_error&) {
    return {{}, true};
  }
}

void Scenario::expect_moved(const std::vector<Item>& items, std::size_t accepted) {
  for (std::size_t index = 0; index < items.size(); ++index) {
    if (items[index].is_here == (index < accepted)) fail("an item neither here nor there");
  }
}

void Scenario::expect_insert(const Outcome& actual, const Offer& offer) {
  Outcome expected = model_.insert(offer, clock_.now());
  if (expected.has_thrown) expected.result = {};  // The caller is told nothing else.
  if (actual != expected) fail("answers " + text(actual) + ", expected " + text(expected));
}

}  // namespace databuffer::reference
