#include "tools/databuffer/outputs_cli.hpp"

#include "tools/databuffer/options_cli.hpp"

namespace databuffer::tools {

namespace {

std::string parse_output_path(const std::string& text) {
  if (text.empty()) throw BadQuantity("expected a path, or - for standard output");
  return text;
}

}  // namespace

void add_output(CLI::App& app, const std::string& flag, std::optional<std::string>& path,
                const std::string& description) {
  add_parsed(app, flag, path, parse_output_path, description + " to FILE; - is standard output")
      ->type_name("FILE");
}

}  // namespace databuffer::tools
