// What a search found, as text, JSON, CSV, HTML and a plot: complete, well-formed, and the same
// everywhere.

#include "tools/tuning/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tools/databuffer/utf8.hpp"
#include "tools/tuning/charts.hpp"
#include "tools/tuning/export.hpp"
#include "tools/tuning/heat_map.hpp"
#include "tools/tuning/plot.hpp"
#include "tools/tuning/recommendation.hpp"
#include "tools/tuning/table.hpp"
#include "tools/tuning/text.hpp"
#include "tuning/findings.hpp"

namespace databuffer::tuning_tests {
namespace {

using namespace tuning;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Whether every element that is opened is closed, in the right order.
bool is_balanced(const std::string& html) {
  static const std::vector<std::string> kVoid{"meta", "!DOCTYPE"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return false;
    std::string name = html.substr(at + 1, html.find_first_of(" >/", at + 2) - at - 1);
    if (name.front() == '/') {
      name = html.substr(at + 2, end - at - 2);
      if (open.empty() || open.back() != name) return false;
      open.pop_back();
    } else if (html[end - 1] != '/' && std::find(kVoid.begin(), kVoid.end(), name) == kVoid.end()) {
      open.push_back(name);
    }
  }
  return open.empty();
}

// Findings in which nothing is a number that people like: one candidate, nothing flushed.
Findings bare_findings() {
  return findings_of({default_candidate()}, [](const Candidate&) { return Measurement{}; });
}

TEST_SUITE("report") {
  TEST_CASE("numbers for people have three digits and a unit") {
    CHECK(count_text(0) == "0");
    CHECK(count_text(999) == "999");
    CHECK(count_text(1234) == "1.23 k");
    CHECK(count_text(999.9) == "1.00 k");
    CHECK(count_text(999'700) == "1.00 M");
    CHECK(count_text(45.6e6) == "45.6 M");
    CHECK(count_text(3.5e9) == "3.50 G");
    CHECK(seconds_text(0.0) == "0 s");
    CHECK(seconds_text(5e-9) == "5 ns");
    CHECK(seconds_text(1.25e-6) == "1.25 us");
    CHECK(seconds_text(0.00045) == "450 us");
    CHECK(seconds_text(0.9996) == "1.00 s");
    CHECK(seconds_text(3.5) == "3.50 s");
    CHECK(seconds_text(75) == "75.0 s");
    CHECK(bytes_text(0) == "0 B");
    CHECK(bytes_text(512) == "512 B");
    CHECK(bytes_text(1536) == "1.50 KiB");
    CHECK(bytes_text(3 * 1024.0 * 1024) == "3.00 MiB");
    CHECK(gain_text(1.123) == "+12.3 %");
    CHECK(gain_text(0.9) == "-10.0 %");
    CHECK(gain_text(3.2) == "3.20 x");
    CHECK(gain_text(1e15) == "> 1000 x");
    CHECK(ratio_text({.low = 0.5, .median = 1, .high = 1e15, .is_range = false}) ==
          "1.00 [0.50 … > 1000]");
    CHECK(ratio_text({.low = 0.5, .median = 1, .high = 2, .is_range = true}) ==
          "1.00 (0.50 … 2.00)");
    CHECK(count_text(std::numeric_limits<double>::infinity()) == "inf");
    CHECK(count_text(std::numeric_limits<double>::quiet_NaN()) == "?");
  }

  TEST_CASE(
      "the table has a line for each candidate, the winner first, and a bar as long as its score") {
    const Findings findings = usual_findings();
    const std::vector<std::string> lines = lines_of(table_text(findings.result));
    REQUIRE(lines.size() == findings.result.entries.size() + 1);
    CHECK(contains(lines[1], "winner"));
    CHECK(contains(lines[1], "####################"));
    CHECK(contains(lines[1], "[1.00 … 1.00]"));
    for (std::size_t entry = 0; entry < findings.result.entries.size(); ++entry) {
      const std::string& line = lines[entry + 1];
      const double score = findings.result.entries[entry].score.median;
      CHECK(std::count(line.begin(), line.end(), '#') == std::lround(std::min(score, 1.0) * 20));
      CHECK(contains(line, "default") == findings.result.entries[entry].is_default);
    }
  }

  TEST_CASE("the text has the recommendation in all its forms, and what limits") {
    const Findings findings = usual_findings();
    const std::string text = findings_text(findings);
    CHECK(contains(text, flags_text(findings.base, findings.result.winner().candidate)));
    CHECK(contains(text, ".name = \"events\","));
    CHECK(contains(text, win_text(findings.result)));
    CHECK(contains(text, "What limits now: producers."));
  }

  TEST_CASE("warnings are given where there is something to warn of, and only there") {
    Findings findings = usual_findings();
    CHECK(warnings(findings).empty());
    findings.result.is_stopped = true;
    findings.result.not_run = 3;
    findings.result.is_within_limits = false;
    findings.left_out = 2;
    CHECK(warnings(findings).size() == 4);
    for (const std::string& warning : warnings(findings)) {
      CHECK(contains(findings_text(findings), warning));
      CHECK(contains(report_html(findings), escaped(warning)));
    }
    const Findings bare = bare_findings();
    REQUIRE(warnings(bare).size() == 1);
    CHECK(contains(warnings(bare).front(), "Nothing was flushed"));
  }

  TEST_CASE("where the defaults win, every output recommends them, and nothing else") {
    const Findings findings = flat_findings();
    const SearchResult& result = findings.result;
    REQUIRE(result.is_winner_default());
    const std::string title = title_text(result);
    CHECK(contains(title, "(the defaults)"));
    CHECK(contains(findings_text(findings), title));
    CHECK(contains(lines_of(table_text(result))[1], "winner, default"));

    const nlohmann::json json = nlohmann::json::parse(to_json(findings));
    CHECK(json.at("recommended").at("max_size") == default_candidate().max_size);
    CHECK(json.at("is_default_recommended") == true);
    CHECK(json.at("over_default").is_null());
    for (const auto& candidate : json.at("candidates")) {
      CHECK(candidate.at("is_recommended") == candidate.at("is_default"));
    }

    const std::vector<std::string> lines = lines_of(to_csv(result));
    CHECK(contains(lines[0], ",is_default,is_recommended,"));
    CHECK(contains(lines[1], ",1,1,"));
    for (std::size_t line = 2; line < lines.size(); ++line) CHECK(contains(lines[line], ",0,0,"));

    const std::string html = report_html(findings);
    CHECK(contains(html, title));
    CHECK_FALSE(contains(html, "class=\"good\""));
    CHECK(contains(html, "<tr class=\"best\"><td>1</td><td>5000</td>"));

    const std::string script = plot_script(findings, PlotFormat::kSvg);
    const auto block = [&script](const std::string& name) {
      const std::size_t begin = script.find("$" + name + " << END\n") + 1 + name.size();
      return script.substr(begin, script.find("\nEND", begin) - begin);
    };
    CHECK(block("winner") == block("default"));
  }

  TEST_CASE("the heat map frames the winner, also where another of its cell is faster") {
    SearchResult result = flat_findings().result;
    Entry faster = result.winner();
    faster.candidate.capacity *= 2;
    faster.is_default = false;
    faster.measured.items_per_s *= 2;
    result.entries.push_back(faster);
    CHECK(contains(heat_map_svg(result), "class=\"cell best\""));
  }

  TEST_CASE("who could not be measured is marked so, and has no figures") {
    Findings findings = usual_findings();
    Entry unmeasured;
    unmeasured.candidate = {.partitions = 64, .max_size = 20'000, .capacity = 80'000};
    unmeasured.fate = Fate::kUnmeasured;
    findings.result.entries.push_back(unmeasured);

    const std::string row = lines_of(table_text(findings.result)).back();
    CHECK(contains(row, "not measurable in this budget"));
    CHECK_FALSE(contains(row, "0/s"));
    REQUIRE(warnings(findings).size() == 1);
    CHECK(contains(warnings(findings).front(), "Not measurable in this budget: 1 of"));
    CHECK(contains(lines_of(to_csv(findings.result)).back(),
                   "64,20000,80000,adaptive,0,0,not measurable,0,,,,"));
    const nlohmann::json json = nlohmann::json::parse(to_json(findings)).at("candidates").back();
    CHECK(json.at("fate") == "not measurable");
    CHECK(json.at("measured").is_null());
    CHECK(json.at("score").is_null());
    const std::string html = report_html(findings);
    CHECK(is_balanced(html));
    CHECK(contains(html, "<td>-</td>"));
    CHECK(contains(html, "not measurable in this budget"));
    const HeatMap map = heat_map_of(findings.result);
    CHECK_FALSE(map.cells.back().back().has_value());
    CHECK_FALSE(contains(plot_script(findings, PlotFormat::kSvg), "\n64 "));
  }

  TEST_CASE("a budget that left too few rounds to tell is said to be too small") {
    Findings findings = flat_findings();
    CHECK(warnings(findings).empty());
    findings.result.over_runner_up.rounds = 9;
    REQUIRE(warnings(findings).size() == 1);
    CHECK(contains(warnings(findings).front(), "The budget is too small"));
    CHECK(contains(warnings(findings).front(), "9 rounds"));
  }

  TEST_CASE("the JSON is JSON, and has every candidate and the recommendation") {
    Findings findings = usual_findings();
    findings.workload = "a path that is no text: \xff";
    const nlohmann::json json = nlohmann::json::parse(to_json(findings));
    CHECK(json.at("candidates").size() == findings.result.entries.size());
    CHECK(json.at("recommended").at("max_size") == findings.result.winner().candidate.max_size);
    CHECK(json.at("over_default").at("is_clear") == true);
    CHECK(json.at("over_default").at("ratio").at("low").get<double>() > 1);
    CHECK(json.at("objective").at("max_p99_s").is_null());
    CHECK(json.at("limit").at("what") == "producers");
    CHECK(json.at("runs") == findings.result.runs);
    for (const auto& candidate : json.at("candidates")) {
      CHECK(candidate.at("measured").at("items_per_s").get<double>() > 0);
    }
    const nlohmann::json bare = nlohmann::json::parse(to_json(bare_findings()));
    CHECK(bare.at("over_default").is_null());
    CHECK(bare.at("candidates").at(0).at("excess").is_null());  // infinite
  }

  TEST_CASE("the CSV has as many fields in each line as headings") {
    for (const Findings& findings : {usual_findings(), bare_findings()}) {
      const std::vector<std::string> lines = lines_of(to_csv(findings.result));
      REQUIRE(lines.size() == findings.result.entries.size() + 1);
      for (const std::string& line : lines) {
        CHECK(std::count(line.begin(), line.end(), ',') ==
              std::count(lines[0].begin(), lines[0].end(), ','));
      }
    }
  }

  TEST_CASE("the heat map shows the fastest of the candidates that share a cell") {
    const std::vector<Candidate> grid{{.partitions = 2, .max_size = 100, .capacity = 100},
                                      {.partitions = 2, .max_size = 100, .capacity = 900}};
    const Findings findings = findings_of(grid, [](const Candidate& candidate) {
      Measurement measured;
      measured.items_per_s = static_cast<double>(candidate.capacity) * 1000;
      measured.age.p99 = 0.001;
      return measured;
    });
    const HeatMap map = heat_map_of(findings.result);
    CHECK(map.partitions == std::vector<std::size_t>{1, 2});  // the default is there, too
    CHECK(map.max_sizes == std::vector<std::size_t>{100, 5000});
    REQUIRE(map.cells[1][0].has_value());
    CHECK(findings.result.entries[*map.cells[1][0]].candidate.capacity == 900);
    CHECK_FALSE(map.cells[1][1].has_value());
    CHECK(map.highest > 1e7);
  }

  TEST_CASE("the page is well-formed, needs nothing else, and has every candidate in it") {
    for (const Findings& findings : {usual_findings(), bare_findings()}) {
      const std::string html = report_html(findings);
      CHECK(is_balanced(html));
      CHECK_FALSE(contains(html, "<script"));  // the workload's text is escaped
      CHECK(contains(html, "&lt;script&gt;alert(&quot;&amp;&quot;)"));
      for (const char* const outside : {"http:", "https:", "src=", "@import", "url("}) {
        CHECK_FALSE(contains(html, outside));
      }
      CHECK(contains(html, "prefers-color-scheme: dark"));
      // No table is cut off where the page is narrower: it scrolls in its own box, and notes wrap.
      CHECK(count_of(html, "<table>") == count_of(html, "<div class=\"scroll\"><table>"));
      CHECK(contains(html, ".scroll { overflow: auto; }"));
      CHECK(contains(html, "td.l.note { color: var(--muted); white-space: normal;"));
      CHECK(contains(html, escaped(cpp_text(findings.base, findings.result.winner().candidate))));
      CHECK(count_of(html, "<tr") ==
            findings.result.entries.size() + 1 + 3);  // the heading, and three shares
      CHECK_FALSE(contains(html, "nan"));
      CHECK_FALSE(contains(html, "inf "));
    }
  }

  TEST_CASE("the page is UTF-8, also where a path or a name is not") {
    Findings findings = usual_findings();
    findings.workload = "sink sqlite:\xFF.db";
    findings.base.name = "\xFE";
    const std::string html = report_html(findings);
    CHECK(tools::is_clean_text(html));
    CHECK(contains(html, "sink sqlite:\uFFFD.db"));
    CHECK(contains(html, ".name = &quot;\\376&quot;"));  // exact: it is to be pasted
    CHECK(nlohmann::json::parse(to_json(findings)).at("workload") == "sink sqlite:\uFFFD.db");
  }

  TEST_CASE("gnuplot draws the plot in both formats, also where there is next to nothing to draw") {
    REQUIRE_NOTHROW(check_gnuplot());
    for (const Findings& findings : {usual_findings(), bare_findings()}) {
      const std::string svg = draw_plot(findings, PlotFormat::kSvg);
      CHECK(contains(svg, "<svg"));
      CHECK(contains(svg, "</svg>"));
      CHECK(contains(svg, "Throughput"));
      CHECK(draw_plot(findings, PlotFormat::kPng).substr(0, 4) == "\x89PNG");
    }
  }

  TEST_CASE("a candidate that flushed nothing has no point, and takes none from the others") {
    const std::vector<Candidate> grid{{.partitions = 3, .max_size = 100, .capacity = 400},
                                      {.partitions = 4, .max_size = 100, .capacity = 400}};
    const Findings findings = findings_of(grid, [](const Candidate& candidate) {
      return candidate.partitions == 3 ? Measurement{} : waiting_sink(candidate);
    });
    const std::string script = plot_script(findings, PlotFormat::kSvg);
    const auto points_of = [&script](const std::string& block) {
      const std::size_t begin = script.find("$" + block + " << END\n");
      REQUIRE(begin != std::string::npos);
      return lines_of(script.substr(begin, script.find("\nEND", begin) - begin)).size() - 1;
    };
    CHECK(points_of("all") == 2);
    CHECK(points_of("winner") == 1);
    CHECK(points_of("default") == 1);
    CHECK(contains(script, "set logscale y"));
    CHECK(contains(draw_plot(findings, PlotFormat::kSvg), "winner"));

    const std::string svg = scatter_svg(findings.result);
    CHECK(count_of(svg, "<circle") == 2);
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
