// Every call, with items, ranges, keys, timeouts and callables of many types: instantiates whatever
// a user can, for warnings to show (CMakeLists.txt has the list). -Wold-style-cast and the like
// reach the headers, which are no system headers here.
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <ranges>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Batch;
using databuffer::Buffer;
using databuffer::DropInfo;
using databuffer::FlushContext;
using databuffer::FlushResult;
using databuffer::TelemetryEvent;

struct Plain {
  std::uint8_t tag = 0;
  double value = 0;
};
struct alignas(128) Wide {
  std::array<char, 128> bytes{};
};
struct Text {
  std::string text{};
  Text() = default;
  Text(std::string words) : text(std::move(words)) {}  // NOLINT: converts
};
using Owned = std::unique_ptr<int>;

template <class T, class Key>
void insert_all(Buffer<T>& buffer, const Key& key, T item) {
  static_cast<void>(buffer.try_insert(T{}));
  static_cast<void>(buffer.insert(T{}));
  static_cast<void>(buffer.insert(T{}, 5ms));
  static_cast<void>(buffer.insert(T{}, std::chrono::duration<double>(0.5)));
  static_cast<void>(buffer.insert_keyed(key, T{}));
  static_cast<void>(buffer.insert_keyed(key, T{}, std::chrono::duration<float, std::micro>(1)));
  static_cast<void>(buffer.insert_keyed(key, std::move(item), std::chrono::hours::max()));
}

template <class T, class Key>
void copy_all(Buffer<T>& buffer, const Key& key, T item) {
  static_cast<void>(buffer.try_insert(item));
  static_cast<void>(buffer.insert(std::as_const(item)));
  static_cast<void>(buffer.insert(item, std::chrono::duration<std::int32_t, std::ratio<1, 60>>(1)));
  static_cast<void>(buffer.insert_keyed(key, item));
  static_cast<void>(buffer.insert_keyed(key, item, 5ms));
  static_cast<void>(buffer.insert_batch({item, T{}}));
  static_cast<void>(buffer.insert_batch({item, T{}}, 1s));
  static_cast<void>(buffer.insert_batch(std::span<const T>(&item, 1)));
  static_cast<void>(buffer.insert_batch(std::list<T>{item}));
  static_cast<void>(buffer.insert_batch(std::forward_list<T>{item}, 1us));
  const std::vector<T> items{item};
  static_cast<void>(buffer.insert_batch(items, 0.5s));
  static_cast<void>(buffer.dump());
}

template <class T>
void call_all(Buffer<T>& buffer) {
  static_cast<void>(buffer.insert_batch(std::vector<T>(2), 5ms));
  std::deque<T> items(1);
  static_cast<void>(buffer.insert_batch(std::move(items)));
  std::forward_list<T> more(1);
  static_cast<void>(buffer.insert_batch(std::move(more)));
  buffer.flush();
  static_cast<void>(buffer.take());
  static_cast<void>(buffer.sync_flush(1s));
  static_cast<void>(buffer.size() + buffer.info().size() + buffer.ledger().accepted);
  static_cast<void>(buffer.do_work(buffer.next_deadline()));
  static_cast<void>(buffer.close(std::chrono::duration<long double, std::nano>(1.0L)));
}

void convert_all() {
  Buffer<std::string> texts{{.name = "texts"}, [](std::span<const std::string>) noexcept {}};
  const std::vector<const char*> literals{"a", "b"};
  static_cast<void>(texts.insert_batch(literals));
  const std::string_view view = "c";
  static_cast<void>(texts.insert("d"));
  static_cast<void>(texts.insert_keyed(view, "e", 1s));
  static_cast<void>(texts.insert_keyed(u8"key", std::string(view)));
  Buffer<Text> converted{{.name = "converted"}, [](std::span<Text>) {}};
  static_cast<void>(converted.insert_batch(std::vector<std::string>{"f"}));
  Buffer<long> numbers{{.name = "numbers"}, [](std::span<long>) { return true; }};
  static_cast<void>(numbers.insert_batch(std::vector<int>{1}));
#if !defined(__clang__) || __clang_major__ > 15  // Older ones do not know libstdc++'s views.
  static_cast<void>(numbers.insert_batch(std::views::iota(1, 3) | std::views::take(1)));
  std::istringstream stream("1 2");
  static_cast<void>(numbers.insert_batch(std::ranges::istream_view<long>(stream)));
#endif
  Buffer<int> narrowed{{.name = "narrowed"}, [](Batch<int>&) { return FlushResult::ok(); }};
  static_cast<void>(narrowed.insert_batch(std::vector<double>{1.5}));
  static_cast<void>(narrowed.insert_batch(std::vector<std::size_t>{1}));
}

std::size_t weigh_text(Text text) noexcept { return text.text.size(); }

void name_all_callables() {
  databuffer::Options options{.name = "weighed",
                              .max_bytes = 100,
                              .weigh = [](const Text& text) noexcept { return text.text.size(); },
                              .on_drop = [](std::span<const Text>, DropInfo) noexcept {}};
  options.weigh = &weigh_text;
  options.weigh = [](Text text) { return static_cast<int>(text.text.size()); };
  options.on_drop = [](std::span<Text>, const DropInfo&) {};
  options.on_drop = nullptr;
  options.on_thread_start = [](std::size_t) noexcept {};
  Buffer<Text> weighed{options, [](std::span<Text>, FlushContext) noexcept { return false; }};
  static_cast<void>(weighed.insert(Text("a")));
  weighed.telemetry().attach("hook", databuffer::Event::kDrop, [](TelemetryEvent) noexcept {});
  auto own = Buffer<Text>::per_partition({.name = "own"}, [](std::size_t) noexcept {
    return std::function<bool(Batch<Text>&, const FlushContext&)>(
        [](Batch<Text>& batch, const FlushContext&) { return batch.take().empty(); });
  });
  databuffer::Supervisor group("group", 1.5s);
  group.start<Text>({.name = "member"}, [](std::span<Text>) {});
  group.start_per_partition<int>({.name = "own"}, [](auto) { return [](std::span<int>) {}; });
  static_cast<void>(group.find<Text>("member"));
  static_cast<void>(group.stop(1s));
}

template <class T>
void use(const T& item) {
  Buffer<T> buffer{{.name = "b"}, [](std::span<T>) {}};
  insert_all<T>(buffer, std::string("key"), T(item));
  insert_all<T>(buffer, 7, T(item));
  copy_all<T>(buffer, "key", T(item));
  call_all(buffer);
}

}  // namespace

int main() {
  use<int>(1);
  use<double>(1);
  use<std::string>("a");
  use<Plain>({});
  use<Wide>({});
  use<Text>({});
  Buffer<Owned> owned{{.name = "owned"}, [](std::span<Owned>) {}};
  insert_all<Owned>(owned, 'k', Owned{});
  call_all(owned);
  convert_all();
  name_all_callables();
}
