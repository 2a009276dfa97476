#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

namespace databuffer::tools {

/// Where a name leads, the same for every name that leads there: relative or not, by links or
/// through /dev/fd.
struct FilePlace {
  dev_t device = 0;
  ino_t inode = 0;
  std::string new_name;  ///< Of a file that is not there yet, in that folder; else empty.
  friend auto operator<=>(const FilePlace&, const FilePlace&) = default;
};

/// What matters of a file when two want it.
enum class FileKind : std::uint8_t {
  kStored,  ///< A regular file or a disk, or a file yet to be made: a second writer spoils it.
  kFlow,    ///< A pipe or a FIFO: each byte reaches one reader.
  kShared,  ///< A terminal, another device, a socket, a folder: two do each other no harm.
};

struct FoundFile {
  FilePlace place;
  FileKind kind = FileKind::kShared;
};

/// Nothing where the name leads nowhere: its folder is missing, or must not be looked at. Opens
/// and changes nothing.
[[nodiscard]] std::optional<FoundFile> find_file(const std::string& path);
[[nodiscard]] std::optional<FoundFile> find_file(int descriptor);

/// `path` without symbolic links; also that of a file which is not there yet. Nothing as above.
[[nodiscard]] std::optional<std::string> real_path(const std::string& path);

/// Whether it is a name in /dev/fd (/proc/self/fd) of a descriptor that is not open. It may be the
/// one of the next file that we open.
[[nodiscard]] bool is_closed_descriptor(const std::string& path);

}  // namespace databuffer::tools
