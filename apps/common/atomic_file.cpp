#include "apps/common/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "autograd/error.h"

namespace reel::apps {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_write(const fs::path& path, int reason) {
  fail("cannot write ", path.string(), ": ", std::strerror(reason));
}

/// A new file beside the one that it will become. Unless that has happened, it is removed at the end of the scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : target_(target) {
    struct stat before {};
    const bool replaces = stat(target_.c_str(), &before) == 0;
    // Whoever writes it may do so again, if the file can be. Nobody else may open it, not even before it has a byte:
    // what is open stays readable.
    const mode_t mode = replaces ? (before.st_mode & 0777) | S_IRUSR | S_IWUSR : 0666;
    for (int attempt = 0; file_ < 0; ++attempt) {
      name_ = target.string() + text(".", getpid(), "-", attempt, ".tmp");
      file_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (file_ < 0 && errno != EEXIST) fail_to_write(target_, errno);
    }
    if (replaces) fchmod(file_, mode);  // what the umask has taken away
  }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  ~TemporaryFile() {
    if (file_ >= 0) close(file_);
    if (!renamed_) unlink(name_.c_str());
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t count = ::write(file_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_to_write(target_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  void become_target() {
    if (fsync(file_) != 0) fail_to_write(target_, errno);
    if (close(std::exchange(file_, -1)) != 0) fail_to_write(target_, errno);
    if (std::rename(name_.c_str(), target_.c_str()) != 0) fail_to_write(target_, errno);
    renamed_ = true;
  }

 private:
  fs::path target_;
  std::string name_;
  int file_ = -1;
  bool renamed_ = false;
};

/// The file that is written: a link leads on to it, if there is one.
fs::path target_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target;
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// Makes what was written to a file, or a rename in a folder, outlive a power cut.
void sync(const fs::path& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;  // a folder that may be written to but not be read cannot be synced
  int reason = fsync(file) == 0 ? 0 : errno;
  close(file);
  if (reason != 0 && reason != EINVAL) fail_to_write(path, reason);  // EINVAL: this file system has no such notion
}

}  // namespace

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  const fs::path target = target_of(path);
  TemporaryFile file(target);
  file.write(bytes);
  file.become_target();
  sync(folder_of(target));
}

void link_or_copy(const fs::path& path, const fs::path& name) {
  std::error_code error;
  if (fs::equivalent(path, name, error)) return;  // and a rename would do nothing
  const std::string unfinished = text(name.string(), ".", getpid(), "-0.tmp");
  fs::remove(unfinished, error);
  fs::create_hard_link(target_of(path), unfinished, error);
  if (error && fs::copy_file(path, unfinished, error)) sync(unfinished);  // its permissions, too
  if (!error) fs::rename(unfinished, name, error);
  if (!error) return sync(folder_of(name));
  const int reason = error.value();
  fs::remove(unfinished, error);
  fail_to_write(name, reason);
}

void remove_left_over(const fs::path& path) {
  const fs::path target = target_of(path);
  const std::string start = target.filename().string() + ".", end = ".tmp";
  std::error_code error, ignored;
  for (fs::directory_iterator entry(folder_of(target), error), last; !error && entry != last; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(start) || !name.ends_with(end)) continue;
    if (name.find_first_not_of("0123456789-", start.size()) == name.size() - end.size()) {
      fs::remove(entry->path(), ignored);
    }
  }
}

void ensure_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) {
    if (access(path.c_str(), W_OK | X_OK) != 0) {
      fail("cannot write into the folder ", path.string(), ": ", std::strerror(errno));
    }
    return;
  }
  if (!error && fs::exists(path, unknown)) error = std::make_error_code(std::errc::not_a_directory);
  fail("cannot make the folder ", path.string(), ": ", error.message());
}

}  // namespace reel::apps
