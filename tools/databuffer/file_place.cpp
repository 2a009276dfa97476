#include "tools/databuffer/file_place.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "tools/databuffer/file_descriptor.hpp"

namespace databuffer::tools {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as many as the system follows
constexpr int kMostLooks = 3;

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode) || S_ISBLK(mode)) return FileKind::kStored;
  return S_ISFIFO(mode) ? FileKind::kFlow : FileKind::kShared;
}

FoundFile found(const struct stat& status) {
  return {{status.st_dev, status.st_ino, {}}, kind_of(status.st_mode)};
}

bool has_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

/// Where open() would make a file that is not there.
struct NewFile {
  fs::path folder;  ///< It is there.
  std::string name;
  struct stat status {};  ///< Of the folder.
};

// Behind links that lead nowhere yet.
NewFile place_new_file(const std::string& path) {
  fs::path file = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(file, error); ++links) {
    if (links == kMaxLinks) throw NoPlace(error_text(ELOOP));
    file = file.parent_path() / fs::read_symlink(file, error);
    if (error) throw NoPlace(error.message());
  }
  if (!file.has_filename()) throw NoPlace("it ends in a slash, so it is no name of a file");
  NewFile place{file.has_parent_path() ? file.parent_path() : fs::path("."),
                file.filename().string()};
  const std::string folder = "its folder '" + place.folder.string() + "': ";
  if (::stat(place.folder.c_str(), &place.status) != 0) throw NoPlace(folder + error_text(errno));
  if (!S_ISDIR(place.status.st_mode)) throw NoPlace(folder + error_text(ENOTDIR));
  if (place.name == "." || place.name == "..") throw NoPlace("it is no name of a file");
  return place;
}

}  // namespace

FoundFile place_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return found(status);
  const NewFile file = place_new_file(path);
  return {{file.status.st_dev, file.status.st_ino, file.name}, FileKind::kStored};
}

std::optional<FoundFile> find_file(const std::string& path) {
  try {
    return place_file(path);
  } catch (const NoPlace&) {
    return std::nullopt;
  }
}

std::optional<FoundFile> find_file(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return found(status);
}

std::string real_path(const std::string& path) {
  std::error_code error;
  // Again, if the file is there after all: another process may have made it just now.
  for (int look = 0; look == 0 || has_file(path); ++look) {
    const fs::path real = fs::canonical(path, error);
    if (!error) return real.string();
    if (look == kMostLooks) throw NoPlace("it has no name of its own: " + error.message());
  }
  const NewFile file = place_new_file(path);
  const fs::path folder = fs::canonical(file.folder, error);
  if (error) throw NoPlace("its folder '" + file.folder.string() + "': " + error.message());
  return (folder / file.name).string();
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_closed_descriptor(const std::string& path) {
  const std::optional<FoundFile> file = find_file(path);
  struct stat descriptors {};
  return file.has_value() && !file->place.new_name.empty() &&
         ::stat("/proc/self/fd", &descriptors) == 0 && file->place.device == descriptors.st_dev &&
         file->place.inode == descriptors.st_ino;
}

}  // namespace databuffer::tools
