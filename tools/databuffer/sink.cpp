#include "tools/databuffer/sink.hpp"

#include <utility>

#include "tools/databuffer/quantities.hpp"
#include "tools/databuffer/sink_file.hpp"
#include "tools/databuffer/sink_sqlite.hpp"

namespace databuffer::tools {

namespace {

class NullSink final : public Sink {
 public:
  void write(std::span<const Line> /*lines*/) override {}
  void finish() override {}
};

std::string path_after(std::string_view prefix, std::string_view text) {
  const std::string path(text.substr(prefix.size()));
  if (path.empty()) throw BadQuantity("expected a path behind \"" + std::string(prefix) + "\"");
  if (path.find('\0') != std::string::npos) throw BadQuantity("expected a path without NUL bytes");
  return path;
}

}  // namespace

SinkSpec parse_sink(std::string_view text) {
  constexpr std::string_view kSqlite = "sqlite:";
  constexpr std::string_view kFile = "file:";
  using Kind = SinkSpec::Kind;
  if (text.starts_with(kSqlite)) return {Kind::kSqlite, path_after(kSqlite, text)};
  if (text.starts_with(kFile)) return {Kind::kFile, path_after(kFile, text)};
  if (text == "stdout") return {Kind::kStdout, {}};
  if (text == "null") return {Kind::kNull, {}};
  throw BadQuantity("expected sqlite:PATH, file:PATH, stdout or null");
}

std::unique_ptr<Sink> open_sink(const SinkSpec& spec, const SinkSettings& settings,
                                const RunControl& control) {
  switch (spec.kind) {
    case SinkSpec::Kind::kSqlite:
      return std::make_unique<SqliteSink>(spec.path, settings.busy_timeout, control);
    case SinkSpec::Kind::kFile:
      return FileSink::open(spec.path, control);
    case SinkSpec::Kind::kStdout:
      return FileSink::standard_output(control);
    case SinkSpec::Kind::kNull:
      break;
  }
  return std::make_unique<NullSink>();
}

}  // namespace databuffer::tools
