#pragma once
// The text that `generate` learns when it is given none: Reel's own source. The build collects the files into one
// text, each under a line with its name, and compiles it in, so that the app needs no download and no path.

#include <string_view>

namespace reel::data {

/// UTF-8, with LF as the end of a line. The same text for the same source tree, whatever the machine.
std::string_view builtin_corpus();

}  // namespace reel::data
