#include "tools/databuffer/scratch_sink.hpp"

#include <fcntl.h>
#include <stdlib.h>  // mkostemp
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include "tools/databuffer/file_descriptor.hpp"
#include "tools/databuffer/file_place.hpp"

namespace databuffer::tools {

namespace {

constexpr const char* kBeside[] = {"-wal", "-shm", "-journal"};  // what SQLite adds to a name

// What a line takes in a table beside its text.
constexpr std::uint64_t kLineOverheadBytes = 64;

// The files that are there. Never destroyed: the process may end while a handler still runs.
struct Registry {
  std::mutex mutex;
  std::vector<std::string> paths;  // guarded by mutex
};

Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

// Without memory, which may be what has run out.
void remove_beside(const std::string& path) noexcept {
  std::array<char, PATH_MAX> name{};
  for (const char* const suffix : kBeside) {
    std::snprintf(name.data(), name.size(), "%s%s", path.c_str(), suffix);
    ::unlink(name.data());
  }
}

// Where a link leads to, because that is the file system which is to be measured.
std::string create_beside(const std::string& path) {
  const std::string doing = path + ": cannot create a scratch file next to it: ";
  std::string name;
  try {
    name = real_path(path) + ".tune-XXXXXX";
  } catch (const NoPlace& error) {
    throw SinkError(doing + error.what());
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  // Memory first: once the file is there, nothing may keep us from noting it.
  all.paths.reserve(all.paths.size() + 1);
  std::string noted = name;
  const FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.is_open()) throw SinkError(doing + error_text(errno));
  noted.assign(name);
  all.paths.push_back(std::move(noted));
  return name;
}

}  // namespace

ScratchFile::ScratchFile(const std::string& path) : path_(create_beside(path)) {}

ScratchFile::~ScratchFile() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase(all.paths, path_);
  ::unlink(path_.c_str());
  remove_beside(path_);
}

void ScratchFile::restart(const std::function<void()>& open) const {
  const std::lock_guard lock(registry().mutex);
  if (::truncate(path_.c_str(), 0) != 0) {
    throw SinkError(path_ + ": cannot empty it: " + error_text(errno));
  }
  remove_beside(path_);
  open();
}

void ScratchFile::remove_all() {
  Registry& all = registry();
  all.mutex.lock();  // for good
  for (const std::string& path : all.paths) {
    ::unlink(path.c_str());
    remove_beside(path);
  }
}

ScratchSink::ScratchSink(const SinkSpec& spec, const SinkSettings& settings,
                         const RunControl& control, std::uint64_t max_bytes)
    : settings_(settings),
      control_(control),
      max_bytes_(max_bytes),
      file_(spec.path),
      spec_{spec.kind, file_.path()},
      sink_(open_sink(spec_, settings_, control_)) {}

void ScratchSink::restart() {
  sink_.reset();  // closed, before its file is emptied
  file_.restart([this] { sink_ = open_sink(spec_, settings_, control_); });
  bytes_ = 0;
}

void ScratchSink::write(std::span<const Line> lines) {
  if (bytes_ >= max_bytes_) restart();
  sink_->write(lines);
  for (const Line& line : lines) bytes_ += line.text().size() + kLineOverheadBytes;
}

bool needs_scratch(const SinkSpec& spec) {
  if (spec.kind == SinkSpec::Kind::kSqlite) return true;
  struct stat status {};
  const bool is_special = ::stat(spec.path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  return spec.kind == SinkSpec::Kind::kFile && !is_special;
}

}  // namespace databuffer::tools
