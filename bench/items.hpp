#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>

namespace databuffer::bench {

// The items that are sent: each is made from an id, and touch() reads all of it and gives the id
// back, so that a sum over touch() shows whether every item arrived once and whole.

/// 64 bytes, one cache line.
struct Item64 {
  std::array<std::uint64_t, 8> words;
};

template <class T>
struct ItemTraits;

template <>
struct ItemTraits<std::uint64_t> {
  static constexpr const char* kName = "8B";
  static std::uint64_t make(std::uint64_t id) noexcept { return id; }
};

template <>
struct ItemTraits<Item64> {
  static constexpr const char* kName = "64B";
  static Item64 make(std::uint64_t id) noexcept { return {{id, id, id, id, id, id, id, id}}; }
};

/// 32 characters: too long for the string's own storage, so every item is an allocation, and
/// is freed by the consumer.
template <>
struct ItemTraits<std::string> {
  static constexpr const char* kName = "string32";
  static constexpr std::string_view kText = "........ is the id, then thirty-";
  static std::string make(std::uint64_t id) {
    std::string item(kText);
    std::memcpy(item.data(), &id, sizeof(id));
    return item;
  }
};
static_assert(ItemTraits<std::string>::kText.size() == 32);

inline std::uint64_t touch(std::uint64_t item) noexcept { return item; }

inline std::uint64_t touch(const Item64& item) noexcept {
  return std::accumulate(item.words.begin(), item.words.end(), std::uint64_t{0}) / 8;
}

/// A text of another length gives another id.
inline std::uint64_t touch(std::string_view item) noexcept {
  std::uint64_t id = 0;
  if (item.size() >= sizeof(id)) std::memcpy(&id, item.data(), sizeof(id));
  return id + (item.size() - ItemTraits<std::string>::kText.size());
}

}  // namespace databuffer::bench
