#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace databuffer::tools {

/// What became of one input.
struct SourceSummary {
  std::string name;
  std::uint64_t lines = 0;         ///< Read, and offered to the buffer.
  std::uint64_t stored_up_to = 0;  ///< The last line known to be stored; 0: none.
  bool is_complete = false;        ///< Read to its end.
  std::string error;               ///< Why it was not; else empty.
};

/// What a run did. It always adds up:
/// `lines == accepted + not_accepted` and `accepted == flushed + failed + dropped`.
struct Summary {
  std::uint64_t lines = 0;         ///< Read, and offered to the buffer.
  std::uint64_t accepted = 0;      ///< Taken by the buffer.
  std::uint64_t not_accepted = 0;  ///< Refused by it, for one of the reasons below.
  std::uint64_t refused_full = 0;
  std::uint64_t refused_timed_out = 0;
  std::uint64_t refused_closed = 0;  ///< Stopped at once.
  std::uint64_t refused_no_memory = 0;
  std::uint64_t flushed = 0;    ///< Stored.
  std::uint64_t failed = 0;     ///< In batches that could not be stored.
  std::uint64_t dropped = 0;    ///< Given up by the overflow policy, or at the end.
  std::uint64_t uncertain = 0;  ///< Among `failed`: in a batch whose end was not awaited.
  std::uint64_t batches = 0;    ///< Handed to the sink.
  double seconds = 0.0;         ///< From the first read to the last write.
  int signal = 0;               ///< That ended the run, or 0.
  bool is_aborted = false;      ///< By a second signal.
  std::vector<std::string> errors;
  std::vector<SourceSummary> sources;

  [[nodiscard]] double mean_batch() const noexcept;
  [[nodiscard]] double rows_per_second() const noexcept;

  /// Lines that were read and are not stored, or not known to be.
  [[nodiscard]] std::uint64_t lost() const noexcept;

  /// Whether it ended before its end, so that it matters how far each input was stored. Not where a
  /// policy gave lines up on the way: those may be any.
  [[nodiscard]] bool is_cut_short() const noexcept;

  /// 0 if everything is stored; 1 after any error, and where a line is lost; 128 + signal after one
  /// that lost nothing, or that stopped at once.
  [[nodiscard]] int exit_code() const noexcept;
};

/// One JSON object, with a newline behind it.
[[nodiscard]] std::string to_json(const Summary& summary);

/// A few lines for people.
[[nodiscard]] std::string to_text(const Summary& summary);

/// What was lost, and where each input stands, for a run that did not store everything it accepted
/// or read; else nothing. One message an element.
[[nodiscard]] std::vector<std::string> losses(const Summary& summary);

}  // namespace databuffer::tools
