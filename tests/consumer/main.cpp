// What a user's program does first: insert, flush and wait, and look at the ledger. The three ways
// to get at the library are built from this one file.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "databuffer/databuffer.hpp"

namespace {

constexpr int kItems = 10000;

// Linking databuffer must not change the program's own allocator.
bool has_own_allocator() {
  Dl_info found{};
  if (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &found) == 0) return false;
  std::printf("malloc comes from %s\n", found.dli_fname);
  return std::string_view(found.dli_fname).find("mimalloc") == std::string_view::npos;
}

}  // namespace

int main() {
  int handled = 0;  // An int from a size_t below: a developer's -Wconversion must not reach here.
  databuffer::Buffer<std::string> buffer{
      {.name = "consumer", .max_size = 64},
      [&](std::span<std::string> batch) { handled += batch.size(); }};
  for (int i = 0; i < kItems; ++i) {
    if (buffer.insert(std::to_string(i)) != databuffer::InsertStatus::kAccepted) {
      return EXIT_FAILURE;
    }
  }
  for (const databuffer::FlushReport& report : buffer.sync_flush()) {
    if (report.status != databuffer::CallStatus::kDone) return EXIT_FAILURE;
  }

  const databuffer::Ledger ledger = buffer.ledger();
  std::printf("databuffer %s: accepted %llu, flushed %llu, handled %d\n", databuffer::kVersion,
              static_cast<unsigned long long>(ledger.accepted),
              static_cast<unsigned long long>(ledger.flushed), handled);
  const bool is_right = ledger.balances() && ledger.accepted == kItems &&
                        ledger.flushed == kItems && handled == kItems;
  return is_right && has_own_allocator() ? EXIT_SUCCESS : EXIT_FAILURE;
}
