#pragma once
// Files that are there whole or not at all, whatever happens while they are written.

#include <filesystem>
#include <string_view>

namespace reel::apps {

/// Replaces `path` by a file that holds `bytes`, or leaves it as it was and throws, naming the path and the reason. The
/// bytes go to a temporary file in the same folder, which is synced to the disk and then renamed over `path`. It has
/// the old one's permissions, and its owner may write it. Where `path` is a link to a file, that is what is replaced.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// Makes `name` another name of the file that `path` names, or leads to; where the file system knows none, that of a
/// copy. What had this name loses it. If `path` is replaced later, `name` keeps what it has.
void link_or_copy(const std::filesystem::path& path, const std::filesystem::path& name);

/// Removes the temporary files of processes that were killed while they wrote `path`. Nobody may be writing it now.
void remove_left_over(const std::filesystem::path& path);

/// Makes the folder, and those it lies in, where they are missing. Throws unless files can then be made in it.
void ensure_folder(const std::filesystem::path& path);

}  // namespace reel::apps
