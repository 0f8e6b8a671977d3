#pragma once
// Reading files whole, and folders. Every error is one line that names the file.
//
// read_text is where a text from outside becomes plain: a byte-order mark at its start is dropped and line ends become
// LF. Were that left to those who use the text, an editor's habits would end up as characters of a vocabulary, and two
// copies of one text would make two models.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace reel::data {

/// With LF for every end of a line: CRLF and, if most lines end so, CR. Where most end with LF, a CR within a line is
/// white space and becomes a space: line n must stay line n, which may translate that of another file.
std::string with_line_feeds(std::string text);

/// The bytes as they are, for the byte tokenizer or for formats of their own. Throws if the file is missing, a folder,
/// unreadable or empty.
std::string read_file(const std::filesystem::path& path);

/// The file's text, in UTF-8, plain as said above. Throws as read_file does, if the file is not UTF-8 (saying at which
/// byte and line, and what the `remedy` is), and if it holds a byte-order mark and nothing else.
std::string read_text(const std::filesystem::path& path, std::string_view remedy = "save it as UTF-8");

/// Whether path.filename() is this one, or path.extension() that one (".csv", say): in capitals or not.
bool has_name(const std::filesystem::path& path, std::string_view name);
bool has_extension(const std::filesystem::path& path, std::string_view extension);

/// Whether there is a file or folder that both paths name.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

/// What lies in a folder, sorted, so that every run reads in the same order. Throws if the folder cannot be read.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder);

}  // namespace reel::data
