#pragma once
// Texts with a label each: what a classifier learns from.
//
// They are read from
//
//   a folder with train/ and test/, and in each a folder per class, with a .txt file per text: the layout of the
//     Large Movie Review Dataset (Maas et al. 2011), aclImdb/train/pos/0_9.txt; its unlabelled train/unsup is left out
//   a folder with train.tsv and test.tsv, or train.csv and test.csv
//     (of either kind, the test part may be missing; of two tables, one may be .tsv and the other .csv)
//   a single .tsv or .csv file, which then is all for training
//
// in an order that depends on names alone. Labels are any strings, in a table without the white space around them; a
// class's id is its place among the sorted labels of the training part, and every other label in another part is an
// error.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/random.h"
#include "data/split.h"

namespace reel::data {

struct LabelledText {
  std::vector<std::string> texts;
  std::vector<std::int32_t> labels;  // of each text, 0 .. classes.size() - 1
  std::vector<std::string> classes;  // sorted
};

/// Where a table (data/table.h) has what. A column is named by the first row or by its number, counted from 1. If both
/// are numbers the first row is an example, unless `header` says otherwise.
struct TableColumns {
  std::string label = "label";
  std::string text = "text";
  bool header = false;

  bool has_header() const;
};

/// Whether the labelled texts of `path` are in folders of classes, and not in tables, whose columns count.
bool has_class_folders(const std::filesystem::path& path);

// Those that read a part take the classes that a checkpoint has, sorted, or none: then they are those that occur, and
// there must be two at least, in UTF-8 without control characters. Each throws, naming file and line, for a label that
// is not among the classes and for a text of white space alone.

/// One file of a table. Throws also as read_table does, if a column is not there or two have its name, and if a label
/// is empty.
LabelledText read_labelled_table(const std::filesystem::path& file, const TableColumns& columns = {},
                                 const std::vector<std::string>& classes = {});

/// A folder with one folder per class; what begins with a dot is left out. Throws also if a class has no folder or no
/// .txt file in it.
LabelledText read_class_folders(const std::filesystem::path& folder, const std::vector<std::string>& classes = {});

/// Either of them.
LabelledText read_labelled_part(const std::filesystem::path& path, const TableColumns& columns = {},
                                const std::vector<std::string>& classes = {});

/// The training part of a folder of parts, or all of a table. Throws, saying what the folder should hold, if it has no
/// such part.
LabelledText read_labelled_train(const std::filesystem::path& path, const TableColumns& columns = {});

/// The test part of a folder that has one.
std::optional<LabelledText> read_labelled_test(const std::filesystem::path& path, const TableColumns& columns,
                                               const std::vector<std::string>& classes);

/// floor(share * size) texts drawn at random, and the others, each part in the order of `data`; what is cut from the
/// training part to validate. Throws unless 0 < share < 1, and each text has a label.
Split<LabelledText> split(const LabelledText& data, double share, Generator& generator);

}  // namespace reel::data
