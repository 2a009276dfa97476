#include "tools/tuning/charts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tools/tuning/heat_map.hpp"
#include "tools/tuning/table.hpp"
#include "tools/tuning/text.hpp"
#include "tools/tuning/utf8.hpp"

namespace databuffer::tuning {

namespace {

std::string at(double value) { return fixed_text(value, 1); }

std::string text_at(double x, double y, const std::string& style, const std::string& text) {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" " + style + ">" + escaped(text) +
         "</text>\n";
}

std::string line_between(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) +
         "\" class=\"grid\"/>\n";
}

std::string opening(double width, double height, const std::string& label) {
  return "<svg viewBox=\"0 0 " + at(width) + " " + at(height) + "\" role=\"img\" aria-label=\"" +
         escaped(label) + "\">\n";
}

std::string tooltip(const SearchResult& result, std::size_t index) {
  const Entry& entry = result.entries[index];
  const std::string note = note_text(result, index);
  return "<title>" +
         escaped(candidate_text(entry.candidate) + ": " + count_text(entry.measured.items_per_s) +
                 " items/s, age p99 " + seconds_text(entry.measured.age.p99) + ", memory " +
                 bytes_text(static_cast<double>(entry.measured.peak_bytes)) +
                 (note.empty() ? "" : " (" + note + ")")) +
         "</title>";
}

// A round step of 1, 2 or 5 × 10^n that gives about `wanted` ticks.
double round_step(double range, double wanted) {
  const double rough = range / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

// Where things lie in the scatter plot.
struct Frame {
  static constexpr double kWidth = 560;
  static constexpr double kHeight = 360;
  static constexpr double kLeft = 62;
  static constexpr double kRight = kWidth - 14;
  static constexpr double kTop = 14;
  static constexpr double kBottom = kHeight - 46;

  double max_speed = 1;
  double low = -6;  // logarithms of ages
  double high = 0;

  [[nodiscard]] double x(double speed) const {
    return kLeft + (kRight - kLeft) * speed / max_speed;
  }
  [[nodiscard]] double y(double age) const {
    const double share = (std::log10(age) - low) / (high - low);
    return kBottom - (kBottom - kTop) * share;
  }
};

Frame frame_of(const SearchResult& result) {
  Frame frame;
  double fastest = 0;
  double lowest = 1e300;
  double highest = 0;
  for (const Entry& entry : result.entries) {
    if (!has_point(entry)) continue;
    fastest = std::max(fastest, entry.measured.items_per_s);
    lowest = std::min(lowest, entry.measured.age.p99);
    highest = std::max(highest, entry.measured.age.p99);
  }
  if (fastest <= 0) return frame;
  frame.max_speed = fastest * 1.06;
  frame.low = std::floor(std::log10(lowest * 0.999));
  frame.high = std::ceil(std::log10(highest * 1.001));
  return frame;
}

std::string axes(const Frame& frame) {
  std::string svg;
  const double step = round_step(frame.max_speed, 5);
  for (double speed = 0; speed <= frame.max_speed; speed += step) {
    svg += line_between(frame.x(speed), Frame::kTop, frame.x(speed), Frame::kBottom);
    svg += text_at(frame.x(speed), Frame::kBottom + 18, "class=\"tick\" text-anchor=\"middle\"",
                   count_text(speed));
  }
  for (double power = frame.low; power <= frame.high; power += 1) {
    const double age = std::pow(10, power);
    svg += line_between(Frame::kLeft, frame.y(age), Frame::kRight, frame.y(age));
    const bool is_small = power < -3;
    const std::string label = power >= 0    ? fixed_text(age, 0) + " s"
                              : !is_small   ? fixed_text(age * 1e3, 0) + " ms"
                              : power >= -6 ? fixed_text(age * 1e6, 0) + " us"
                                            : fixed_text(age * 1e9, 0) + " ns";
    svg += text_at(Frame::kLeft - 8, frame.y(age) + 4, "class=\"tick\" text-anchor=\"end\"", label);
  }
  svg += text_at((Frame::kLeft + Frame::kRight) / 2, Frame::kHeight - 6,
                 "class=\"axis\" text-anchor=\"middle\"", "throughput, items/s");
  return svg;
}

constexpr std::size_t kSeries = 8;  // colours --series-0 … --series-7 of the page

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char character : valid_utf8(text)) {
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string heat_map_svg(const SearchResult& result) {
  constexpr double kLeft = 44;
  constexpr double kTop = 8;
  constexpr double kWidth = 560;
  const HeatMap map = heat_map_of(result);
  const auto columns = static_cast<double>(map.max_sizes.size());
  const auto rows = static_cast<double>(map.partitions.size());
  // As high as the scatter plot beside it, where that makes sense.
  const double cell_height = std::clamp(300 / rows, 30.0, 110.0);
  const double cell_width = (kWidth - kLeft - 6) / columns;
  const double bottom = kTop + rows * cell_height;
  std::string svg =
      opening(kWidth, bottom + 48, "Throughput over partitions and max_size, as a heat map");
  for (std::size_t row = 0; row < map.partitions.size(); ++row) {
    const double y = bottom - static_cast<double>(row + 1) * cell_height;
    svg += text_at(kLeft - 10, y + cell_height / 2 + 4, "class=\"tick\" text-anchor=\"end\"",
                   std::to_string(map.partitions[row]));
    for (std::size_t column = 0; column < map.max_sizes.size(); ++column) {
      const auto& cell = map.cells[row][column];
      if (!cell.has_value()) continue;
      const double speed = result.entries[*cell].measured.items_per_s;
      const double share = map.highest > 0 ? speed / map.highest : 0;
      const double x = kLeft + static_cast<double>(column) * cell_width;
      // By the cell, for another of its candidates may be the one that is shown.
      const auto is_in = [&](const Candidate& candidate) {
        return candidate.partitions == map.partitions[row] &&
               candidate.max_size == map.max_sizes[column];
      };
      const std::string mark = is_in(result.winner().candidate)                        ? " best"
                               : is_in(result.entries[result.default_entry].candidate) ? " default"
                                                                                       : "";
      svg += "<g>" + tooltip(result, *cell) + "<rect x=\"" + at(x + 1.5) + "\" y=\"" + at(y + 1.5) +
             "\" width=\"" + at(cell_width - 3) + "\" height=\"" + at(cell_height - 3) +
             "\" rx=\"4\" class=\"cell" + mark + "\" fill-opacity=\"" +
             fixed_text(0.06 + 0.94 * share, 3) + "\"/>";
      svg += text_at(x + cell_width / 2, y + cell_height / 2 + 4,
                     std::string("class=\"") + (share > 0.5 ? "on" : "off") +
                         "\" text-anchor=\"middle\"",
                     count_text(speed)) +
             "</g>\n";
    }
  }
  for (std::size_t column = 0; column < map.max_sizes.size(); ++column) {
    svg += text_at(kLeft + (static_cast<double>(column) + 0.5) * cell_width, bottom + 18,
                   "class=\"tick\" text-anchor=\"middle\"", std::to_string(map.max_sizes[column]));
  }
  svg += text_at(kLeft + columns * cell_width / 2, bottom + 42,
                 "class=\"axis\" text-anchor=\"middle\"", "max_size");
  svg += text_at(0, 0,
                 "class=\"axis\" text-anchor=\"middle\" transform=\"translate(12 " +
                     at(kTop + rows * cell_height / 2) + ") rotate(-90)\"",
                 "partitions");
  return svg + "</svg>\n";
}

std::string scatter_svg(const SearchResult& result) {
  const Frame frame = frame_of(result);
  std::string svg = opening(Frame::kWidth, Frame::kHeight,
                            "Age of items at the handler, p99, against throughput");
  svg += axes(frame);
  const HeatMap map = heat_map_of(result);
  // The winner is drawn last, above the others.
  for (std::size_t index = result.entries.size(); index-- > 0;) {
    const Entry& entry = result.entries[index];
    if (!has_point(entry)) continue;
    const auto series = static_cast<std::size_t>(
        std::lower_bound(map.partitions.begin(), map.partitions.end(), entry.candidate.partitions) -
        map.partitions.begin());
    const std::string mark = index == 0 ? " best" : entry.is_default ? " default" : "";
    svg += "<circle cx=\"" + at(frame.x(entry.measured.items_per_s)) + "\" cy=\"" +
           at(frame.y(entry.measured.age.p99)) + "\" r=\"" + (mark.empty() ? "5" : "7") +
           "\" class=\"point series-" + std::to_string(series % kSeries) + mark + "\">" +
           tooltip(result, index) + "</circle>\n";
  }
  return svg + "</svg>\n";
}

std::string score_svg(const Entry& entry) {
  constexpr double kWidth = 120;
  constexpr double kHeight = 16;
  constexpr double kScale = kWidth / 1.1;
  const auto x = [](double score) {
    return std::clamp(std::isfinite(score) ? score : 0.0, 0.0, 1.1) * kScale;
  };
  std::string svg = "<svg class=\"score\" viewBox=\"0 0 " + at(kWidth) + " " + at(kHeight) +
                    "\" width=\"" + at(kWidth) + "\" height=\"" + at(kHeight) +
                    "\" aria-hidden=\"true\"><rect x=\"0\" y=\"3\" height=\"10\" width=\"" +
                    at(std::max(x(entry.score.median), 1.0)) + "\" rx=\"2\" class=\"bar\"/>";
  if (!entry.score.is_range) {
    svg += "<path d=\"M" + at(x(entry.score.low)) + " 8H" + at(x(entry.score.high)) + "M" +
           at(x(entry.score.low)) + " 4V12M" + at(x(entry.score.high)) +
           " 4V12\" class=\"whisker\"/>";
  }
  return svg + "</svg>";
}

}  // namespace databuffer::tuning
