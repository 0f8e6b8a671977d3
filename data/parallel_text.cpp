#include "data/parallel_text.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "autograd/error.h"
#include "data/characters.h"
#include "data/file.h"
#include "data/pieces.h"

namespace reel::data {
namespace {

namespace fs = std::filesystem;

/// The lines of a file, none of them empty.
std::vector<std::string> read_lines(const fs::path& file) {
  std::string text = read_text(file);
  if (text.ends_with('\n')) text.pop_back();
  const std::vector<std::string_view> lines = split_at(text, "\n");
  const auto blank = std::ranges::find_if(lines, is_blank);
  if (blank != lines.end()) {
    fail(file.string(), ", line ", blank - lines.begin() + 1, ": is empty; need a sentence on every line");
  }
  return {lines.begin(), lines.end()};
}

/// One part of a folder: two files.
ParallelText read_part(const fs::path& folder, const std::string& part, const std::string& source,
                       const std::string& target) {
  auto file = [&](const std::string& language) { return folder / (part + "." + language); };
  for (const std::string& language : {source, target}) {
    if (fs::exists(file(language))) continue;
    fail(folder.string(), ": there is no ", part, ".", language,
         "; parts are train, val and test*, each with the endings .", source, " and .", target);
  }
  return read_parallel_files(file(source), file(target));
}

}  // namespace

ParallelText read_parallel_files(const fs::path& source, const fs::path& target) {
  ParallelText text{read_lines(source), read_lines(target)};
  std::size_t pairs = std::min(text.sources.size(), text.targets.size());
  if (text.sources.size() != text.targets.size()) {
    const auto& [longer, shorter] = text.sources.size() > pairs ? std::tie(source, target) : std::tie(target, source);
    fail(longer.string(), ", line ", pairs + 1, ": has no counterpart; ", shorter.string(), " ends after ", pairs,
         " lines, and line n of the one must translate line n of the other");
  }
  return text;
}

namespace {

void check_folder(const fs::path& folder) {
  if (fs::is_directory(folder)) return;
  fail(folder.string(),
       fs::exists(folder) ? ": is no folder; name the one that the files are in" : ": there is no such folder");
}

}  // namespace

std::map<std::string, ParallelText> read_parallel_tests(const fs::path& folder, const std::string& source,
                                                        const std::string& target) {
  check_folder(folder);
  std::set<std::string> parts;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("test")) continue;
    for (const std::string& ending : {"." + source, "." + target}) {
      if (name.ends_with(ending)) parts.insert(name.substr(0, name.size() - ending.size()));
    }
  }
  if (parts.empty()) {
    fail(folder.string(), ": there is no file test*.", source, "; need one or more, and test*.", target);
  }
  std::map<std::string, ParallelText> tests;
  for (const std::string& part : parts) tests.emplace(part, read_part(folder, part, source, target));
  return tests;
}

ParallelData read_parallel_folder(const fs::path& folder, const std::string& source, const std::string& target) {
  check_folder(folder);
  return {read_part(folder, "train", source, target), read_part(folder, "val", source, target)};
}

}  // namespace reel::data
