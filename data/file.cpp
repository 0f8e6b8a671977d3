#include "data/file.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "autograd/error.h"
#include "data/utf8.h"

namespace reel::data {
namespace {

constexpr char32_t byte_order_mark = U'\uFEFF';

/// Without a byte-order mark at its start, and with LF alone as the end of a line.
std::u32string plain(std::u32string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(1);
  std::u32string result;
  result.reserve(text.size());
  for (char32_t previous = 0; char32_t character : text) {
    if (character == U'\r') {
      result += U'\n';
    } else if (character != U'\n' || previous != U'\r') {
      result += character;
    }
    previous = character;
  }
  return result;
}

[[noreturn]] void fail_unreadable(const std::filesystem::path& path, std::error_code error) {
  fail(path.string(), ": cannot be read: ", error.message());
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) fail(path.string(), ": there is no such file");
  if (error) fail_unreadable(path, error);
  if (is_directory(status)) fail(path.string(), ": is a folder; need a file");

  std::ifstream in(path, std::ios::binary);
  std::string bytes;
  std::array<char, 1 << 16> chunk;
  errno = 0;
  while (in) {
    in.read(chunk.data(), chunk.size());
    bytes.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof()) fail_unreadable(path, std::error_code(errno, std::generic_category()));
  if (bytes.empty()) fail(path.string(), ": is empty");
  return bytes;
}

std::string read_text(const std::filesystem::path& path) {
  std::string text = encode_utf8(plain(decode_utf8(read_file(path), path.string())));
  if (text.empty()) fail(path.string(), ": is empty but for a byte-order mark");
  return text;
}

}  // namespace reel::data
