#pragma once
// Sentences in two languages: what a translator learns from. A folder holds a file for each part and language,
//
//   train.de  train.en  val.de  val.en  test_2016_flickr.de  test_2016_flickr.en
//
// as Multi30k does (Elliott et al. 2016). Line n of one file is the translation of line n of the other.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace reel::data {

/// sources[i] translates to targets[i].
struct ParallelText {
  std::vector<std::string> sources;
  std::vector<std::string> targets;
};

/// Two files. Throws, naming file and line, if one has more lines than the other, or if a line is of white space
/// alone.
ParallelText read_parallel_files(const std::filesystem::path& source, const std::filesystem::path& target);

struct ParallelData {
  ParallelText train;
  ParallelText validation;
  std::map<std::string, ParallelText> tests{};  // by the files' name, such as "test_2016_flickr"
};

/// The parts train and val of a folder, each with the endings `source` and `target` ("de", "en"); no tests. Throws as
/// read_parallel_files does, and if a file is missing, saying what is needed.
ParallelData read_parallel_folder(const std::filesystem::path& folder, const std::string& source,
                                  const std::string& target);

/// All parts test* of a folder that may have no others. Throws also if there are none.
std::map<std::string, ParallelText> read_parallel_tests(const std::filesystem::path& folder, const std::string& source,
                                                        const std::string& target);

}  // namespace reel::data
