#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tools/databuffer/text_memory.hpp"

namespace databuffer::tools {

/// An input: a file, or "-" for standard input.
struct Source {
  std::string name;

  /// The last line known to be stored. Written by BatchWriter under its mutex, read for the
  /// summary: also of a run that was left with its writer stuck.
  std::atomic<std::uint64_t> stored_up_to{0};
};

/// Bytes of one source, as they were read, shared by the lines in them. It lives as long as its
/// reader or one of its lines.
///
/// So a line costs no allocation and no copy, and its reader no atomic operation: the reader takes
/// a large stock of references when the chunk is made, gives one to each line, and returns what is
/// left of the stock when it leaves the chunk.
class Chunk {
 public:
  static Chunk* make(Source& source, std::size_t capacity, TextMemory& memory);
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  [[nodiscard]] Source& source() const noexcept { return *source_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Written by the reader behind what it has given out, read by whoever has a line of it.
  [[nodiscard]] char* bytes() const noexcept { return bytes_.get(); }

  /// The reader leaves, having given out references to `lines` lines.
  void retire(std::uint64_t lines) noexcept;

  /// A line of it ends.
  void release() noexcept { release(1); }

 private:
  // More than the lines any chunk can have: a line takes a byte at least, but for the last.
  static constexpr std::uint64_t kStock = std::uint64_t{1} << 62U;

  Chunk(Source& source, std::size_t capacity, TextMemory& memory);
  ~Chunk() = default;

  void release(std::uint64_t references) noexcept {
    // release: our reads of the bytes are done; acquire: so are all others', before we free them.
    if (references_.fetch_sub(references, std::memory_order_acq_rel) == references) destroy();
  }
  void destroy() noexcept;

  Source* source_;                 // borrowed; outlives the run's lines
  TextMemory* memory_;             // borrowed, likewise
  std::size_t capacity_;           // bytes
  std::unique_ptr<char[]> bytes_;  // NOLINT: an array with no initial value
  std::atomic<std::uint64_t> references_{kStock};
};

/// One line: the buffer's item. Move-only, four words, cheap to move.
class Line {
 public:
  /// Requires    `text` lies in `chunk`, one of whose references becomes this line's.
  Line(Chunk& chunk, std::string_view text, std::uint64_t number, bool is_terminated) noexcept
      : chunk_(&chunk),
        text_(text.data()),
        size_and_mark_(std::uint64_t{text.size()} << 1U | (is_terminated ? 1U : 0U)),
        number_(number) {}
  Line() = default;
  Line(Line&& other) noexcept
      : chunk_(std::exchange(other.chunk_, nullptr)),
        text_(other.text_),
        size_and_mark_(other.size_and_mark_),
        number_(other.number_) {}
  Line& operator=(Line&& other) noexcept {
    if (this != &other) {
      if (chunk_ != nullptr) chunk_->release();
      chunk_ = std::exchange(other.chunk_, nullptr);
      text_ = other.text_;
      size_and_mark_ = other.size_and_mark_;
      number_ = other.number_;
    }
    return *this;
  }
  ~Line() {
    if (chunk_ != nullptr) chunk_->release();
  }

  /// Its bytes, any bytes, without the newline. Borrowed until the line ends.
  [[nodiscard]] std::string_view text() const noexcept {
    return {text_, static_cast<std::size_t>(size_and_mark_ >> 1U)};
  }

  /// Whether a newline ended it: false only for the last line of an input.
  [[nodiscard]] bool is_terminated() const noexcept { return (size_and_mark_ & 1U) != 0; }

  /// Its number in its source, from 1.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  [[nodiscard]] Source& source() const noexcept { return chunk_->source(); }

 private:
  Chunk* chunk_ = nullptr;  // holds one reference; null when moved from
  const char* text_ = nullptr;
  std::uint64_t size_and_mark_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace databuffer::tools
