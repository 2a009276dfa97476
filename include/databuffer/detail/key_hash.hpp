#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace databuffer::detail {

template <class C>
inline constexpr bool kIsTextCharacter =
    std::is_same_v<C, char> || std::is_same_v<C, wchar_t> || std::is_same_v<C, char8_t> ||
    std::is_same_v<C, char16_t> || std::is_same_v<C, char32_t>;

template <class C>
inline constexpr bool kIsCharacter =
    kIsTextCharacter<C> || std::is_same_v<C, signed char> || std::is_same_v<C, unsigned char>;

template <class Key>
concept Hashable = requires(const Key& key) {
  { std::hash<Key>{}(key) } -> std::convertible_to<std::size_t>;
};

/// `std::hash` of the key. An array of characters, such as a literal, is the text in it, up to the
/// first NUL: it has the hash of the same std::string.
template <class Key>
[[nodiscard]] std::size_t hash_of(const Key& key) {
  using Element = std::remove_cv_t<std::remove_pointer_t<std::decay_t<const Key&>>>;
  if constexpr (std::is_array_v<Key> && kIsTextCharacter<Element>) {
    using Text = std::basic_string_view<Element>;
    const Text all(key, std::extent_v<Key>);
    return std::hash<Text>{}(all.substr(0, all.find(Element{})));
  } else if constexpr (std::is_pointer_v<Key> && kIsCharacter<Element>) {
    static_assert(!std::is_pointer_v<Key>,
                  "databuffer: a key that points to characters would be hashed by its address, not "
                  "by its text; pass std::string_view(key)");
    return 0;
  } else {
    static_assert(Hashable<Key>, "databuffer: a key's type needs a std::hash");
    if constexpr (Hashable<Key>) return std::hash<Key>{}(key);
  }
}

}  // namespace databuffer::detail
