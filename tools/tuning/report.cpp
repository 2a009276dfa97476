#include "tools/tuning/report.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "databuffer/version.hpp"
#include "tools/tuning/charts.hpp"
#include "tools/tuning/heat_map.hpp"
#include "tools/tuning/recommendation.hpp"
#include "tools/tuning/table.hpp"
#include "tools/tuning/text.hpp"

namespace databuffer::tuning {

namespace {

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --text: #1c2430;
  --muted: #5d6878; --line: #e1e5eb; --accent: #1f6fd0; --accent-soft: #e8f1fc; --best: #d4281e;
  --default: #7a4fc4; --on-accent: #ffffff; --code: #f3f5f8; --warn: #fff4dc; --warn-text: #6b4a00;
  --good: #13793f; }
@media (prefers-color-scheme: dark) { :root { --page: #12161c; --card: #1a2028; --text: #e6eaf0;
  --muted: #98a4b5; --line: #2c3541; --accent: #5aa2f2; --accent-soft: #1d2f45; --best: #ff6f61;
  --default: #b795f5; --on-accent: #0d1621; --code: #131920; --warn: #3a2f14; --warn-text: #f2d68f;
  --good: #5fd08d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); line-height: 1.5;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1340px; margin: 0 auto; padding: 36px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 16px; margin: 0 0 12px; }
p { margin: 0 0 10px; }
.sub { color: var(--muted); margin-bottom: 24px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 18px 20px; margin-bottom: 18px; min-width: 0; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr));
  gap: 18px; margin-bottom: 18px; }
.two .card { margin-bottom: 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 14px;
  margin: 0 0 16px; }
.fact dt { color: var(--muted); font-size: 13px; }
.fact dd { margin: 0; font-size: 24px; font-weight: 650; letter-spacing: -0.01em;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.fact dd small { display: block; font-size: 12px; font-weight: 400; color: var(--muted);
  letter-spacing: 0; }
.good { color: var(--good); }
.warn { background: var(--warn); color: var(--warn-text); border-radius: 8px; padding: 10px 14px;
  margin: 0 0 14px; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px; margin: 0 0 12px;
  padding: 12px 14px; overflow-x: auto; font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
svg { display: block; width: 100%; height: auto; font-family: inherit; }
.tick { font-size: 12px; fill: var(--muted); } .axis { font-size: 13px; fill: var(--muted); }
.grid { stroke: var(--line); } .cell { fill: var(--accent); }
.cell.best, .cell.default { stroke-width: 3; stroke: var(--best); }
.cell.default { stroke: var(--default); stroke-dasharray: 5 3; }
.on { font-size: 12px; fill: var(--on-accent); } .off { font-size: 12px; fill: var(--text); }
.point { fill-opacity: 0.85; stroke: var(--card); stroke-width: 1; }
.point.best { stroke: var(--best); stroke-width: 3; }
.point.default { stroke: var(--default); stroke-width: 3; }
.series-0 { fill: #4f8fd9; } .series-1 { fill: #e0922f; } .series-2 { fill: #47a058; }
.series-3 { fill: #a35fbd; } .series-4 { fill: #cc5a52; } .series-5 { fill: #2f9e9e; }
.series-6 { fill: #8b8f96; } .series-7 { fill: #b39a1e; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; color: var(--muted); font-size: 13px;
  margin: 8px 0 0; padding: 0; list-style: none; }
.legend svg { display: inline-block; width: 14px; height: 14px; vertical-align: -2px;
  margin-right: 5px; }
.scroll { overflow: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums;
  font-size: 13.5px; }
th { text-align: right; font-weight: 600; color: var(--muted); font-size: 12.5px; }
th, td { padding: 4px 7px; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th.l, td.l { text-align: left; } tbody tr:last-child td { border-bottom: 0; }
tr.best td { background: var(--accent-soft); font-weight: 600; }
td.l.note { color: var(--muted); white-space: normal; min-width: 100px; }
th.range { white-space: normal; min-width: 80px; }
svg.score { display: inline-block; width: 120px; vertical-align: -3px; } .bar { fill: var(--accent); fill-opacity: 0.55; }
.whisker { stroke: var(--text); stroke-width: 1.3; fill: none; }
footer { color: var(--muted); font-size: 13px; }
@media (max-width: 1180px) { .scroll { max-height: 85vh; }
  thead th { position: sticky; top: 0; background: var(--card); } }
@media print { body { background: none; } .card { break-inside: avoid; }
  .scroll { overflow: visible; max-height: none; } .scroll table { font-size: 8px; }
  .scroll th { font-size: 8px; } th, td { padding: 2px 3px; } svg.score { width: 60px; } }
)css";

std::string fact(const std::string& name, const std::string& value, const std::string& beside,
                 bool is_good = false) {
  return "<div class=\"fact\"><dt>" + escaped(name) + "</dt><dd" +
         (is_good ? " class=\"good\"" : "") + ">" + escaped(value) + "<small>" + escaped(beside) +
         "</small></dd></div>\n";
}

// What stands below a figure of the winner: the default's.
std::string beside_default(const SearchResult& result, const std::string& of_default) {
  if (result.is_winner_default()) return "";
  return "defaults: " + of_default;
}

std::string facts(const Findings& findings) {
  const SearchResult& result = findings.result;
  const Measurement& winner = result.winner_measured;
  const Measurement& other = result.default_measured;
  const Comparison& over = result.over_default;
  std::string html = "<dl class=\"facts\">\n";
  html += fact("throughput", count_text(winner.items_per_s) + "/s",
               beside_default(result, count_text(other.items_per_s) + "/s"));
  html += fact("age of items, p99", seconds_text(winner.age.p99),
               beside_default(result, seconds_text(other.age.p99)));
  html += fact("insert, p99", seconds_text(winner.insert_latency.p99),
               beside_default(result, seconds_text(other.insert_latency.p99)));
  html += fact("memory", bytes_text(static_cast<double>(winner.peak_bytes)),
               beside_default(result, bytes_text(static_cast<double>(other.peak_bytes))));
  if (over.rounds > 0) {
    html += fact("score, by the defaults'", gain_text(over.ratio.median),
                 (over.ratio.is_range ? "range " : "95 %: ") + gain_text(over.ratio.low) + " … " +
                     gain_text(over.ratio.high),
                 over.is_clear());
  }
  return html + "</dl>\n";
}

std::string recommendation(const Findings& findings) {
  const SearchResult& result = findings.result;
  std::string html =
      "<section class=\"card\"><h2>" + escaped(title_text(result)) + "</h2>\n" + facts(findings);
  for (const std::string& warning : warnings(findings)) {
    html += "<p class=\"warn\">" + escaped(warning) + "</p>\n";
  }
  html += "<p>" + escaped(win_text(result)) + "</p>\n";
  if (const std::string other = runner_up_text(result); !other.empty()) {
    html += "<p>" + escaped(other) + "</p>\n";
  }
  return html + "</section>\n";
}

std::string to_paste(const Findings& findings) {
  const Candidate& candidate = findings.result.winner().candidate;
  return "<section class=\"card\"><h2>To paste</h2>\n<pre>" +
         escaped(cpp_text(findings.base, candidate)) + "</pre>\n<pre>" +
         escaped(flags_text(findings.base, candidate)) + "</pre></section>\n";
}

std::string limits(const Findings& findings) {
  const Diagnosis diagnosis = findings.diagnosis();
  const auto meter = [](const std::string& name, double share) {
    const double width = std::clamp(share, 0.0, 1.0) * 200;
    return "<tr><td class=\"l\">" + escaped(name) + "</td><td>" + fixed_text(share * 100, 0) +
           " %</td><td class=\"l\"><svg class=\"score\" viewBox=\"0 0 200 16\" "
           "aria-hidden=\"true\">"
           "<rect x=\"0\" y=\"3\" height=\"10\" width=\"200\" rx=\"2\" fill=\"var(--line)\"/>"
           "<rect x=\"0\" y=\"3\" height=\"10\" width=\"" +
           fixed_text(width, 1) + "\" rx=\"2\" class=\"bar\"/></svg></td></tr>\n";
  };
  return "<section class=\"card\"><h2>What limits now: " + std::string(to_string(diagnosis.limit)) +
         "</h2>\n<p>" + escaped(diagnosis.why) + "</p>\n<div class=\"scroll\"><table><tbody>" +
         meter("producers waiting for room", diagnosis.blocked_share) +
         meter("consumers inside the handler", diagnosis.handler_share) +
         meter("all cores, by this process", diagnosis.cpu_share) +
         "</tbody></table></div></section>\n";
}

std::string legend(const SearchResult& result) {
  const auto item = [](const std::string& mark, const std::string& name, bool is_ring = false) {
    return "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><circle cx=\"7\" cy=\"7\" r=\"5\" "
           "class=\"point " +
           mark + (is_ring ? "\" fill=\"none" : "") + "\"/></svg>" + escaped(name) + "</li>\n";
  };
  std::string html = "<ul class=\"legend\">\n";
  const HeatMap map = heat_map_of(result);
  for (std::size_t row = 0; row < map.partitions.size(); ++row) {
    html += item("series-" + std::to_string(row % 8),
                 std::to_string(map.partitions[row]) +
                     (map.partitions[row] == 1 ? " partition" : " partitions"));
  }
  html += item("best", "winner", true);
  if (!result.is_winner_default()) {
    html += item("default", "defaults", true);
  }
  return html + "</ul>\n";
}

std::string charts(const SearchResult& result) {
  return "<div class=\"two\"><section class=\"card\"><h2>Throughput, items/s</h2>\n" +
         heat_map_svg(result) +
         "<ul class=\"legend\"><li>red frame: winner</li><li>dashed frame: defaults</li></ul>"
         "</section>\n<section class=\"card\"><h2>Age of items at the handler (p99) against "
         "throughput</h2>\n" +
         scatter_svg(result) + legend(result) + "</section></div>\n";
}

std::string candidate_row(const SearchResult& result, std::size_t index) {
  const Entry& entry = result.entries[index];
  const auto cell = [](const std::string& text) { return "<td>" + escaped(text) + "</td>"; };
  const auto figure = [&](const std::string& text) { return cell(entry.runs > 0 ? text : "-"); };
  return std::string(index == 0 ? "<tr class=\"best\">" : "<tr>") +
         cell(std::to_string(entry.candidate.partitions)) +
         cell(std::to_string(entry.candidate.max_size)) +
         cell(std::to_string(entry.candidate.capacity)) + "<td class=\"l\">" +
         std::string(to_string(entry.candidate.wait)) + "</td>" +
         figure(count_text(entry.measured.items_per_s) + "/s") +
         figure(seconds_text(entry.measured.age.p99)) +
         figure(bytes_text(static_cast<double>(entry.measured.peak_bytes))) +
         figure(fixed_text(entry.measured.mean_batch, 0)) + cell(std::to_string(entry.runs)) +
         "<td class=\"l\">" + (entry.runs > 0 ? score_svg(entry) : "") + "</td><td class=\"l\">" +
         (entry.runs > 0 ? escaped(ratio_text(entry.score)) : "") + "</td><td class=\"l note\">" +
         escaped(note_text(result, index)) + "</td></tr>\n";
}

std::string candidates(const Findings& findings) {
  const SearchResult& result = findings.result;
  std::string html =
      "<section class=\"card\"><h2>All candidates</h2>\n<div class=\"scroll\"><table><thead><tr>"
      "<th>partitions</th><th>max_size</th><th>capacity</th><th class=\"l\">wait</th>"
      "<th>throughput</th><th>age p99</th><th>memory</th><th>batch</th><th>runs</th>"
      "<th class=\"l range\">score by the winner's</th>"
      "<th class=\"l range\">[95 % interval] or (range)</th>"
      "<th class=\"l\"></th></tr></thead>\n<tbody>\n";
  for (std::size_t index = 0; index < result.entries.size(); ++index) {
    html += candidate_row(result, index);
  }
  return html + "</tbody></table></div></section>\n";
}

std::string how(const Findings& findings) {
  const SearchResult& result = findings.result;
  return "<footer><p>Objective: " + std::string(to_string(findings.objective.goal)) + ". " +
         std::to_string(result.runs) + " runs of " + seconds_text(result.run_length) +
         (result.final_run_length > Duration::zero()
              ? " (at the end " + seconds_text(result.final_run_length) + ")"
              : std::string()) +
         " in " + seconds_text(result.elapsed) + ", budget " + seconds_text(findings.budget) +
         ", seed " + std::to_string(findings.seed) + ", " +
         std::to_string(findings.circumstances.cores) +
         (findings.circumstances.cores == 1 ? " core" : " cores") + ", databuffer " + kVersion +
         ".</p>\n<p>Every figure of a candidate is the median over its runs. Scores are compared "
         "within a round, in which every candidate still in the race runs once, in shuffled order; "
         "intervals are distribution-free. In round brackets stands but the range over the rounds, "
         "where they are too few for "
         "an interval: candidates that are clearly behind are dropped early.</p></footer>\n";
}

}  // namespace

std::string report_html(const Findings& findings) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<title>databuffer tune</title>\n<style>" +
         std::string(kStyle) + "</style></head>\n<body><main>\n<h1>databuffer tune</h1>\n" +
         "<p class=\"sub\">" + escaped(findings.workload) + "</p>\n" + recommendation(findings) +
         "<div class=\"two\">" + to_paste(findings) + limits(findings) + "</div>\n" +
         charts(findings.result) + candidates(findings) + how(findings) + "</main></body></html>\n";
}

}  // namespace databuffer::tuning
