#pragma once

namespace databuffer::support {

// Two compilers, two ways to tell.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = kHasThreadSanitizer;
#endif
#elif defined(__SANITIZE_THREAD__)
inline constexpr bool kHasThreadSanitizer = true;
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = false;
#endif
#endif

}  // namespace databuffer::support
