#include "tools/databuffer/sink_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/databuffer/console.hpp"

namespace databuffer::tools {

namespace {

// The first bytes of a payload are a time; as text they would be control characters and newlines.
constexpr std::size_t kStampBytes = 8;
constexpr char kFiller = 'x';

}  // namespace

SinkWriter::SinkWriter(std::unique_ptr<Sink> sink, RunControl& control)
    : sink_(std::move(sink)), control_(control), memory_(UINT64_MAX) {
  source_.name = "databuffer bench";
}

SinkWriter::~SinkWriter() = default;

FlushResult SinkWriter::write(const tuning::PayloadBatch& batch) {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return FlushResult::failed(failure_);
  try {
    store(batch);
    return FlushResult::ok();
  } catch (const std::exception& error) {
    failure_ = "it has failed";  // also without memory for more than that
    control_.stop();
    failure_ = failure_text(error);
    return FlushResult::failed(failure_);
  }
}

void SinkWriter::store(const tuning::PayloadBatch& batch) {
  std::size_t bytes = 0;
  for (std::size_t index = 0; index < batch.size(); ++index) bytes += batch.bytes(index).size();
  // The lines hold the chunk; the one who filled it leaves it when all are made, or one fails to
  // be.
  struct Filling {
    Chunk* chunk;
    std::uint64_t lines = 0;
    ~Filling() { chunk->retire(lines); }
  };
  std::vector<Line> lines;
  {
    Filling filling{Chunk::make(source_, bytes, memory_)};
    lines.reserve(batch.size());
    char* at = filling.chunk->bytes();
    for (std::size_t index = 0; index < batch.size(); ++index) {
      const std::string_view payload = batch.bytes(index);
      const std::size_t stamp = std::min(kStampBytes, payload.size());
      std::memset(at, kFiller, stamp);
      std::memcpy(at + stamp, payload.data() + stamp, payload.size() - stamp);
      lines.emplace_back(*filling.chunk, std::string_view(at, payload.size()), ++last_number_,
                         true);
      ++filling.lines;
      at += payload.size();
    }
  }
  sink_->write(lines);
}

void SinkWriter::check() {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) throw SinkError(failure_);
}

void SinkWriter::finish() {
  check();
  sink_->finish();
}

}  // namespace databuffer::tools
