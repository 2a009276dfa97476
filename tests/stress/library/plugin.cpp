// A plugin for copies_stress_test.cpp. It has its own copy of the engine, and two buffers that live
// until it is unloaded.

#include "stress/library/plugin.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace {

using databuffer::Buffer;
using databuffer::InsertStatus;
using databuffer::stress::Letter;
using databuffer::stress::Postbox;

const std::string kText(100, 'x');  // longer than what a string holds in itself

std::unique_ptr<Buffer<Letter>> letters;
std::unique_ptr<Buffer<std::string>> texts;

void start(Postbox* box) {
  letters = std::make_unique<Buffer<Letter>>(databuffer::Options{.name = "letters", .max_size = 20},
                                             [box](std::span<Letter> batch) { box->take(batch); });
  texts = std::make_unique<Buffer<std::string>>(
      databuffer::Options{.name = "texts", .max_size = 20}, [box](std::span<std::string> batch) {
        for (const std::string& text : batch) ++(text == kText ? box->texts : box->broken_texts);
      });
}

bool send(Buffer<Letter>& to, const Letter& letter) {
  const bool is_sent = to.insert(letter, databuffer::kForever) == InsertStatus::kAccepted;
  const bool is_noted =
      texts->insert(std::string(kText), databuffer::kForever) == InsertStatus::kAccepted;
  return is_sent && is_noted;
}

void fail() {
  const Buffer<Letter> none(databuffer::Options{.name = "", .partitions = 0},
                            [](std::span<Letter>) {});
}

}  // namespace

databuffer::stress::Plugin databuffer_test_plugin() {
  return {&start, []() -> Buffer<Letter>& { return *letters; }, &send, &fail};
}
