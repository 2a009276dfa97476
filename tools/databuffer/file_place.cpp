#include "tools/databuffer/file_place.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace databuffer::tools {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as many as the system follows

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode) || S_ISBLK(mode)) return FileKind::kStored;
  return S_ISFIFO(mode) ? FileKind::kFlow : FileKind::kShared;
}

FoundFile found(const struct stat& status) {
  return {{status.st_dev, status.st_ino, {}}, kind_of(status.st_mode)};
}

// Where open() would make the file `path`, which is not there: behind links that lead nowhere yet.
fs::path follow_to_new_file(fs::path path) {
  std::error_code error;
  for (int links = 0; links < kMaxLinks && fs::is_symlink(path, error); ++links) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

std::optional<FoundFile> find_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return found(status);
  const fs::path file = follow_to_new_file(path);
  if (!file.has_filename() || ::stat(folder_of(file).c_str(), &status) != 0) return std::nullopt;
  return FoundFile{{status.st_dev, status.st_ino, file.filename().string()}, FileKind::kStored};
}

std::optional<FoundFile> find_file(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return found(status);
}

std::optional<std::string> real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (!error) return real.string();
  const fs::path file = follow_to_new_file(path);
  const fs::path folder = fs::canonical(folder_of(file), error);
  if (error || !file.has_filename()) return std::nullopt;
  return (folder / file.filename()).string();
}

bool is_closed_descriptor(const std::string& path) {
  const std::optional<FoundFile> file = find_file(path);
  struct stat descriptors {};
  return file.has_value() && !file->place.new_name.empty() &&
         ::stat("/proc/self/fd", &descriptors) == 0 && file->place.device == descriptors.st_dev &&
         file->place.inode == descriptors.st_ino;
}

}  // namespace databuffer::tools
