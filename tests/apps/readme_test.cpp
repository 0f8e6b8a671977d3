// What the main README shows is what there is.

#include "data/file.h"
#include "tests/catch.h"

using reel::data::read_file;

TEST_CASE("the README's program is apps/xor/main.cpp", "[readme]") {
  const std::string root = REEL_SOURCE_DIR;
  CHECK_THAT(read_file(root + "/README.md"),
             ContainsSubstring("```cpp\n" + read_file(root + "/apps/xor/main.cpp") + "```"));
}
