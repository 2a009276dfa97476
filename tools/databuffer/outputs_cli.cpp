#include "tools/databuffer/outputs_cli.hpp"

#include <cstddef>
#include <filesystem>
#include <system_error>

#include "tools/databuffer/options_cli.hpp"

namespace databuffer::tools {

namespace {

std::string parse_output_path(const std::string& text) {
  if (text.empty()) throw BadQuantity("expected a path, or - for standard output");
  return text;
}

}  // namespace

void check_outputs(const std::vector<OutputPath>& outputs) {
  // A path may be written in several ways; where it does not exist yet, its folder may.
  const auto same = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path found = std::filesystem::weakly_canonical(path, error);
    return path == "-" || error ? path : found.string();
  };
  for (std::size_t later = 0; later < outputs.size(); ++later) {
    if (!outputs[later].path.has_value()) continue;
    const std::string& path = *outputs[later].path;
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (!outputs[earlier].path.has_value() || same(*outputs[earlier].path) != same(path))
        continue;
      throw CLI::ValidationError(outputs[later].flag, "'" + path + "': that is where " +
                                                          outputs[earlier].flag +
                                                          " writes to; expected another");
    }
  }
}

void add_output(CLI::App& app, const std::string& flag, std::optional<std::string>& path,
                const std::string& description) {
  add_parsed(app, flag, path, parse_output_path, description + " to FILE; - is standard output")
      ->type_name("FILE");
}

}  // namespace databuffer::tools
