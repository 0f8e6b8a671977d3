#include "data/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "autograd/error.h"
#include "autograd/utf8.h"

namespace reel::data {
namespace {

[[noreturn]] void fail_unreadable(const std::filesystem::path& path, std::error_code error) {
  fail(path.string(), ": cannot be read: ", error.message());
}

/// But for capitals.
bool is_same_word(std::string_view one, std::string_view other) {
  auto lower = [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(one, other, {}, lower, lower);
}

}  // namespace

std::string with_line_feeds(std::string text) {
  if (text.find('\r') == text.npos) return text;
  std::string result;
  result.reserve(text.size());
  for (char byte : text) {
    while (byte == '\n' && result.ends_with('\r')) result.pop_back();
    result += byte;
  }
  const bool ends_lines = std::ranges::count(result, '\r') > std::ranges::count(result, '\n');
  std::ranges::replace(result, '\r', ends_lines ? '\n' : ' ');
  return result;
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) fail(path.string(), ": there is no such file");
  if (error) fail_unreadable(path, error);
  if (is_directory(status)) fail(path.string(), ": is a folder; need a file");

  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string bytes;
  std::array<char, 1 << 16> chunk;
  while (in) {
    in.read(chunk.data(), chunk.size());
    bytes.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof()) fail_unreadable(path, std::error_code(errno, std::generic_category()));
  if (bytes.empty()) fail(path.string(), ": is empty");
  return bytes;
}

std::string read_text(const std::filesystem::path& path, std::string_view remedy) {
  std::string text = read_file(path);
  try {
    check_utf8(text, path.string());
  } catch (const Error& error) {
    fail(error.what(), "; ", remedy);
  }
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  if (text.empty()) fail(path.string(), ": is empty but for a byte-order mark");
  return with_line_feeds(std::move(text));
}

bool has_name(const std::filesystem::path& path, std::string_view name) {
  return is_same_word(path.filename().string(), name);
}

bool has_extension(const std::filesystem::path& path, std::string_view extension) {
  return is_same_word(path.extension().string(), extension);
}

bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code error;  // where one names none
  return std::filesystem::equivalent(one, other, error);
}

std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::directory_entry> entries;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) entries.push_back(*entry);
  if (error) fail_unreadable(folder, error);
  std::ranges::sort(entries);
  return entries;
}

}  // namespace reel::data
