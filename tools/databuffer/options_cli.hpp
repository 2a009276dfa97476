#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "databuffer/options.hpp"
#include "tools/databuffer/quantities.hpp"

namespace databuffer::tools {

/// Adds `flag`, whose text `parse` turns into `target`. What parse() refuses becomes an error that
/// names the flag, the text, and what was expected.
template <class Value, class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& flag, Value& target, Parse parse,
                        const std::string& description) {
  return app.add_option_function<std::string>(
      flag,
      [flag, &target, parse = std::move(parse)](const std::string& text) {
        try {
          target = parse(text);
        } catch (const BadQuantity& error) {
          throw CLI::ValidationError(flag, "'" + text + "': " + error.what());
        }
      },
      description);
}

/// parse_count within [min, max]; the error names them.
[[nodiscard]] std::size_t parse_count_within(const std::string& text, std::size_t min,
                                             std::size_t max);

/// "adaptive", "spin", "yield" or "park". Throws      BadQuantity, naming them.
[[nodiscard]] WaitStrategy parse_wait(const std::string& text);

/// parse_duration within [min, max]; the error names them.
[[nodiscard]] Duration parse_duration_within(const std::string& text, Duration min, Duration max);

/// Every option of a buffer that a command line can set, as flags: for each command that runs one.
class BufferFlags {
 public:
  /// `defaults` are in force for the flags that are not given.
  explicit BufferFlags(Options defaults) : options_(std::move(defaults)) {}
  BufferFlags(const BufferFlags&) = delete;
  BufferFlags& operator=(const BufferFlags&) = delete;

  /// The flags write to this object while `app` parses.
  void add_to(CLI::App& app);

  /// The same for `retry`, where the handler may ask for one.
  void add_retry_to(CLI::App& app);

  /// The options, once parsed.
  /// Throws      CLI::ValidationError, naming the flag and what was typed, for what
  /// Options::validate() refuses.
  [[nodiscard]] const Options& checked() const;

 private:
  void add_sizes(CLI::App& app);
  void add_times(CLI::App& app);
  void add_policies(CLI::App& app);

  Options options_;
  const CLI::App* app_ = nullptr;  // borrowed: what was typed
};

/// "--max-size" for the field "max_size" of Options.
[[nodiscard]] std::string flag_of(const std::string& field);

}  // namespace databuffer::tools
