#include "data/labelled_text.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "autograd/error.h"
#include "data/characters.h"
#include "data/file.h"
#include "data/joined.h"
#include "data/printable.h"
#include "data/table.h"

namespace reel::data {
namespace {

namespace fs = std::filesystem;

std::int32_t class_id(const std::vector<std::string>& classes, const std::string& label, const std::string& where) {
  auto at = std::lower_bound(classes.begin(), classes.end(), label);
  if (at == classes.end() || *at != label) {
    fail(where, ": the label '", brief(label), "' is not one of the classes: ", brief(joined(classes, ", ")));
  }
  return static_cast<std::int32_t>(at - classes.begin());
}

/// Labels are printed before their texts, in a line.
void check_label(const std::string& label, const fs::path& source) {
  if (const std::string shown = printable(label); shown != label) {
    fail(source.string(), ": the label '", shown, "' cannot be a class; need UTF-8 without control characters, ",
         "line separators and what turns the direction of a text");
  }
}

/// `classes` where some are given, otherwise those of `found`.
std::vector<std::string> checked_classes(const std::vector<std::string>& classes, const std::set<std::string>& found,
                                         const fs::path& source) {
  if (!classes.empty()) return classes;
  for (const std::string& label : found) check_label(label, source);
  if (found.size() < 2) {
    fail(source.string(), ": every example is of the class '", *found.begin(), "'; need two classes or more");
  }
  return {found.begin(), found.end()};
}

void check_text(std::string_view text, const std::string& where) {
  if (is_blank(text)) fail(where, ": the text is empty");
}

std::string place(const fs::path& file, const TableRow& row) { return text(file.string(), ", line ", row.line); }

bool is_number(const std::string& column) {
  return !column.empty() && column.find_first_not_of("0123456789") == column.npos;
}

/// Where in a row `column` is, counted from 0.
std::size_t column_index(const std::string& column, const fs::path& file, const TableRow& first_row) {
  const std::vector<std::string>& names = first_row.columns;
  if (!is_number(column)) {
    auto at = std::ranges::find(names, column, trimmed);
    if (at == names.end()) {
      const std::string shown = brief(joined(names, ", "));
      fail(place(file, first_row), ": no column is named '", brief(column), "' here but ", shown,
           "; name columns as the first line does, or by numbers from 1 on");
    }
    if (std::ranges::find(at + 1, names.end(), column, trimmed) != names.end()) {
      fail(place(file, first_row), ": two columns are named '", brief(column), "'; give the number of one, from 1 on");
    }
    return static_cast<std::size_t>(at - names.begin());
  }
  std::size_t number = column.size() > 9 ? 0 : static_cast<std::size_t>(std::stoi(column));
  if (number < 1 || number > names.size()) {
    fail(place(file, first_row), ": there is no column ", column, "; the columns are 1 to ", names.size());
  }
  return number - 1;
}

/// The names in `folder` of what `accept` accepts, sorted.
template <class Accept>
std::vector<std::string> names_in(const fs::path& folder, Accept accept) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && accept(entry)) names.push_back(name);  // hidden ones are of editors and archives
  }
  return names;
}

/// Where the part of this name lies in `folder`: the first of the kinds that there is, of which "" stands for folders;
/// in capitals or not, but rather as it is given.
std::optional<fs::path> find_part(const fs::path& folder, const std::string& part,
                                  const std::vector<std::string>& kinds = {"", ".tsv", ".csv"}) {
  if (!fs::is_directory(folder)) return std::nullopt;
  const std::vector<fs::directory_entry> entries = entries_of(folder);
  std::error_code ignored;  // of a link that leads nowhere: reading it will say so
  for (const std::string& kind : kinds) {
    const std::string name = part + kind;
    std::optional<fs::path> found;
    for (const fs::directory_entry& entry : entries) {
      if (!has_name(entry.path(), name) || entry.is_directory(ignored) != kind.empty()) continue;
      if (!found || entry.path().filename() == name) found = entry.path();
    }
    if (found) return found;
  }
  return std::nullopt;
}

LabelledText picked(const LabelledText& data, std::vector<std::int32_t> rows) {
  std::sort(rows.begin(), rows.end());
  LabelledText part{{}, {}, data.classes};
  for (std::int32_t row : rows) {
    part.texts.push_back(data.texts[static_cast<std::size_t>(row)]);
    part.labels.push_back(data.labels[static_cast<std::size_t>(row)]);
  }
  return part;
}

}  // namespace

bool TableColumns::has_header() const { return header || !is_number(label) || !is_number(text); }

bool has_class_folders(const fs::path& path) {
  for (const char* part : {"train", "test"}) {
    if (const auto found = find_part(path, part)) return fs::is_directory(*found);
  }
  return fs::is_directory(path) && !names_in(path, [](const auto& entry) { return entry.is_directory(); }).empty();
}

LabelledText read_labelled_table(const fs::path& file, const TableColumns& columns,
                                 const std::vector<std::string>& classes) {
  std::vector<TableRow> rows = read_table(file);
  std::size_t label_at = column_index(columns.label, file, rows[0]);
  std::size_t text_at = column_index(columns.text, file, rows[0]);
  if (label_at == text_at) fail(file.string(), ": the label and the text are both column ", label_at + 1);
  if (columns.has_header()) rows.erase(rows.begin());
  if (rows.empty()) fail(file.string(), ": has no rows but the one with the columns' names");

  std::set<std::string> labels;
  for (TableRow& row : rows) {
    row.columns[label_at] = trimmed(row.columns[label_at]);
    if (row.columns[label_at].empty()) fail(place(file, row), ": the label is empty");
    check_text(row.columns[text_at], place(file, row));
    labels.insert(row.columns[label_at]);
  }
  LabelledText data{{}, {}, checked_classes(classes, labels, file)};
  for (TableRow& row : rows) {
    data.labels.push_back(class_id(data.classes, row.columns[label_at], place(file, row)));
    data.texts.push_back(std::move(row.columns[text_at]));
  }
  return data;
}

LabelledText read_class_folders(const fs::path& folder, const std::vector<std::string>& classes) {
  if (!fs::is_directory(folder)) fail(folder.string(), ": there is no such folder; need one with a folder per class");
  std::vector<std::string> found =
      names_in(folder, [](const auto& entry) { return entry.is_directory() && entry.path().filename() != "unsup"; });
  if (found.empty()) fail(folder.string(), ": has no folders; need one per class, such as pos and neg");
  LabelledText data{{}, {}, checked_classes(classes, {found.begin(), found.end()}, folder)};
  for (const std::string& label : data.classes) {
    if (!fs::is_directory(folder / label)) {
      fail((folder / label).string(), ": there is no such folder; need one per class");
    }
  }
  for (const std::string& label : found) {
    std::int32_t id = class_id(data.classes, label, (folder / label).string());
    std::vector<std::string> files =
        names_in(folder / label, [](const auto& entry) { return has_extension(entry.path(), ".txt"); });
    if (files.empty()) fail((folder / label).string(), ": the class is empty; need .txt files in its folder");
    for (const std::string& file : files) {
      data.texts.push_back(read_text(folder / label / file));
      check_text(data.texts.back(), (folder / label / file).string());
      data.labels.push_back(id);
    }
  }
  return data;
}

LabelledText read_labelled_part(const fs::path& path, const TableColumns& columns,
                                const std::vector<std::string>& classes) {
  return fs::is_directory(path) ? read_class_folders(path, classes) : read_labelled_table(path, columns, classes);
}

LabelledText read_labelled_train(const fs::path& path, const TableColumns& columns) {
  if (!fs::is_directory(path)) return read_labelled_table(path, columns);
  const auto train = find_part(path, "train");
  if (!train) {
    fail(path.string(),
         ": holds no labelled texts; need train/ and test/ with a folder per class in each, as in aclImdb, ",
         "or train.tsv and test.tsv, or train.csv and test.csv");
  }
  return read_labelled_part(*train, columns);
}

std::optional<LabelledText> read_labelled_test(const fs::path& path, const TableColumns& columns,
                                               const std::vector<std::string>& classes) {
  // Folders beside folders, a table beside a table; what else is called test may be anything.
  const auto train = find_part(path, "train");
  const std::string kind = train ? train->extension().string() : "";
  const auto test = !train         ? find_part(path, "test")
                    : kind.empty() ? find_part(path, "test", {kind})
                                   : find_part(path, "test", {kind, ".tsv", ".csv"});
  if (!test) return std::nullopt;
  return read_labelled_part(*test, columns, classes);
}

Split<LabelledText> split(const LabelledText& data, double share, Generator& generator) {
  if (data.labels.size() != data.texts.size()) {
    fail("split: ", data.texts.size(), " texts have ", data.labels.size(), " labels; need one each");
  }
  std::vector<std::int32_t> rows(data.texts.size());
  std::iota(rows.begin(), rows.end(), 0);
  generator.shuffle(std::span(rows));
  auto [first, rest] = split(rows, share);
  return {picked(data, std::move(first)), picked(data, std::move(rest))};
}

}  // namespace reel::data
