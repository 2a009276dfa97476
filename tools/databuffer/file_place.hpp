#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <stdexcept>
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

/// A name leads to no file, and none can be made there. what() says why.
class NoPlace : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where the system would open or make the file `path`. Opens and changes nothing.
///
/// Only the system's own reading of a path counts. SQLite's is another one: it takes "x.db/",
/// "x.db/." and "missing/../x.db" for "x.db", where the system finds no file. So a path that the
/// system cannot place must not reach SQLite.
///
/// Throws      NoPlace where the folder is missing or must not be looked at, is no folder, or the
///             name ends in a slash.
[[nodiscard]] FoundFile place_file(const std::string& path);

/// The same; nothing in place of an error.
[[nodiscard]] std::optional<FoundFile> find_file(const std::string& path);
[[nodiscard]] std::optional<FoundFile> find_file(int descriptor);

/// `path` from the root on, without symbolic links, "." and "..": so every reader of paths reads it
/// alike. Also that of a file which is not there yet.
/// Throws      NoPlace as above, and for a file without a name, such as a pipe in /dev/fd.
[[nodiscard]] std::string real_path(const std::string& path);

[[nodiscard]] bool is_folder(const std::string& path);

/// Whether it is a name in /dev/fd (/proc/self/fd) of a descriptor that is not open. It may be the
/// one of the next file that we open.
[[nodiscard]] bool is_closed_descriptor(const std::string& path);

}  // namespace databuffer::tools
