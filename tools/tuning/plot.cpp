#include "tools/tuning/plot.hpp"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "tools/tuning/heat_map.hpp"
#include "tools/tuning/text.hpp"

extern char** environ;

namespace databuffer::tuning {

namespace {

constexpr const char* kInstall =
    "Install it (Debian: apt-get install gnuplot-nox), or leave the plot out.";

// A file in memory, so that gnuplot may read and write as slowly as it likes.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text = {}) : fd_(::memfd_create("gnuplot", MFD_CLOEXEC)) {
    if (fd_ < 0) fail("memfd_create");
    while (!text.empty()) {
      const ssize_t count = ::write(fd_, text.data(), text.size());
      if (count < 0) fail("write");
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    rewind();
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }

  [[nodiscard]] std::string read_all() const {
    rewind();
    std::string text;
    std::array<char, 65536> part{};
    for (;;) {
      const ssize_t count = ::read(fd_, part.data(), part.size());
      if (count < 0) fail("read");
      if (count == 0) return text;
      text.append(part.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  void rewind() const {
    if (::lseek(fd_, 0, SEEK_SET) != 0) fail("lseek");
  }
  [[noreturn]] static void fail(const char* call) {
    throw PlotError(std::string("gnuplot: ") + call + ": " + std::strerror(errno));
  }

  int fd_;
};

// Returns its exit code; 127 where it cannot be started.
int run_gnuplot(int input, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  std::string program = "gnuplot";
  std::string no_settings = "-d";  // the user's own would change the picture
  std::array<char*, 3> words{program.data(), no_settings.data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return 127;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw PlotError(std::string("gnuplot: waitpid: ") + std::strerror(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string number(double value) { return fixed_text(value, 9); }

// The heat map's cells, a block of data: column, row, throughput, label.
std::string cells_block(const SearchResult& result, const HeatMap& map) {
  std::string text = "$cells << END\n";
  for (std::size_t row = 0; row < map.partitions.size(); ++row) {
    for (std::size_t column = 0; column < map.max_sizes.size(); ++column) {
      const auto& cell = map.cells[row][column];
      if (!cell.has_value()) continue;
      const double speed = result.entries[*cell].measured.items_per_s;
      text += std::to_string(column) + " " + std::to_string(row) + " " + number(speed) + " \"" +
              count_text(speed) + "\"\n";
    }
  }
  return text + "END\n";
}

// A block of data: partitions, throughput and age of each of these that has a point.
std::string points_block(const std::string& name, std::span<const Entry> entries) {
  std::string text = "$" + name + " << END\n";
  for (const Entry& entry : entries) {
    if (!has_point(entry)) continue;
    text += std::to_string(entry.candidate.partitions) + " " +
            number(entry.measured.items_per_s / 1e6) + " " + number(entry.measured.age.p99 * 1e3) +
            "\n";
  }
  return text + "END\n";
}

std::string tics(const std::vector<std::size_t>& values) {
  std::string text = "(";
  for (std::size_t at = 0; at < values.size(); ++at) {
    text += (at == 0 ? "\"" : ", \"") + std::to_string(values[at]) + "\" " + std::to_string(at);
  }
  return text + ")";
}

std::string frame(const HeatMap& map, const Candidate& candidate, int object,
                  const std::string& look) {
  for (std::size_t row = 0; row < map.partitions.size(); ++row) {
    for (std::size_t column = 0; column < map.max_sizes.size(); ++column) {
      if (map.partitions[row] != candidate.partitions) continue;
      if (map.max_sizes[column] != candidate.max_size) continue;
      const auto x = static_cast<double>(column);
      const auto y = static_cast<double>(row);
      return "set object " + std::to_string(object) + " rectangle from " + fixed_text(x - 0.46, 2) +
             "," + fixed_text(y - 0.46, 2) + " to " + fixed_text(x + 0.46, 2) + "," +
             fixed_text(y + 0.46, 2) + " front fillstyle empty border rgb " + look + "\n";
    }
  }
  return {};
}

std::string heat_map_commands(const Findings& findings) {
  const SearchResult& result = findings.result;
  const HeatMap map = heat_map_of(result);
  std::string text = cells_block(result, map);
  text += "set title 'Throughput, items/s (red: winner; dashed: default)'\n";
  text += "set xlabel 'max\\_size'\nset ylabel 'partitions'\n";
  text += "set xtics " + tics(map.max_sizes) + "\nset ytics " + tics(map.partitions) + "\n";
  text += "set xrange [-0.5:" + fixed_text(static_cast<double>(map.max_sizes.size()) - 0.5, 1) +
          "]\nset yrange [-0.5:" + fixed_text(static_cast<double>(map.partitions.size()) - 0.5, 1) +
          "]\nset cbrange [0:" + number(map.highest > 0 ? map.highest : 1) + "]\n";
  text += "set palette defined (0 '#f2f6fb', 0.5 '#6fa3d8', 1 '#0b3c78')\nunset colorbox\n";
  text += "unset key\nset tics scale 0\n";
  text += frame(map, result.entries[result.default_entry].candidate, 2,
                "'#333333' linewidth 2 dashtype 2");
  text += frame(map, result.winner().candidate, 1, "'#d02020' linewidth 3");
  text +=
      "plot $cells using 1:2:(0.5):(0.5):3 with boxxyerror fillcolor palette fillstyle solid "
      "noborder, $cells using 1:2:4:($3 > " +
      number(map.highest * 0.55) + " ? 0xffffff : 0x202020) with labels textcolor rgb variable\n";
  text += "unset object 1\nunset object 2\n";
  return text;
}

std::string scatter_commands(const Findings& findings) {
  const SearchResult& result = findings.result;
  double fastest = 0;
  for (const Entry& entry : result.entries) {
    if (has_point(entry)) fastest = std::max(fastest, entry.measured.items_per_s / 1e6);
  }
  const bool has_points = fastest > 0;
  std::string text = points_block("all", result.entries);
  text += "set title 'Age of items at the handler, p99, against throughput'\n";
  text += "set xlabel 'throughput, million items/s'\nset ylabel 'age p99, ms'\n";
  text += "set xtics auto\nset ytics auto\n";
  text += "set xrange [0:" + number(has_points ? fastest * 1.08 : 1) + "]\n";
  text += has_points ? "set yrange [*:*]\n" : "set yrange [0:1]\n";
  text += "set tics scale 0.5\nset grid linecolor rgb '#dddddd'\n";
  text += "set bmargin 6.5\nset key outside bottom center horizontal\n";
  if (!has_points) return text + "plot 1/0 notitle\n";  // the axes
  text += "set logscale y\n";
  std::string plots;
  constexpr std::array kColours{"#7aa6d6", "#e59f3c", "#58a55c", "#a05fb4",
                                "#c0504d", "#3aa6a6", "#8a8a8a", "#b59b00"};
  const HeatMap map = heat_map_of(result);
  for (std::size_t row = 0; row < map.partitions.size(); ++row) {
    const std::string count = std::to_string(map.partitions[row]);
    plots += (row == 0 ? "plot " : ", ") + ("$all using ($1 == " + count) +
             " ? $2 : 1/0):3 with "
             "points pointtype 7 pointsize 0.9 linecolor rgb '" +
             kColours[row % kColours.size()] + "' title '" + count +
             (map.partitions[row] == 1 ? " partition'" : " partitions'");
  }
  const auto mark = [&](std::size_t index, const std::string& name, const std::string& look) {
    const Entry& entry = result.entries[index];
    if (!has_point(entry)) return;  // gnuplot does not like a block without data
    text += points_block(name, {&entry, 1});
    plots +=
        ", $" + name + " using 2:3 with points pointsize 2.2 " + look + " title '" + name + "'";
  };
  mark(0, "winner", "pointtype 6 linewidth 2.5 linecolor rgb '#d02020'");
  mark(result.default_entry, "default", "pointtype 4 linewidth 2 linecolor rgb '#333333'");
  return text + plots + "\n";
}

}  // namespace

void check_gnuplot() {
  const MemoryFile nothing("exit\n");
  const MemoryFile picture;
  const int code = run_gnuplot(nothing.fd(), picture.fd());
  if (code == 0) return;
  throw PlotError(code == 127 ? std::string("gnuplot was not found. ") + kInstall
                              : "gnuplot does not run: exit code " + std::to_string(code) + ". " +
                                    kInstall);
}

std::string plot_script(const Findings& findings, PlotFormat format) {
  std::string text = "set encoding utf8\n";
  text += format == PlotFormat::kSvg
              ? "set terminal svg size 1200,480 background rgb 'white' font 'sans-serif,13'\n"
              : "set terminal pngcairo size 1200,480 background rgb 'white' font 'sans,11'\n";
  text += "set multiplot layout 1,2\nset border linecolor rgb '#888888'\n";
  return text + heat_map_commands(findings) + scatter_commands(findings) + "unset multiplot\n";
}

std::string draw_plot(const Findings& findings, PlotFormat format) {
  const MemoryFile script(plot_script(findings, format));
  const MemoryFile picture;
  if (const int code = run_gnuplot(script.fd(), picture.fd()); code != 0) {
    throw PlotError("gnuplot failed: exit code " + std::to_string(code));
  }
  return picture.read_all();
}

}  // namespace databuffer::tuning
