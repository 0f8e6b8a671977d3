#include "apps/training/run_folder.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::apps;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a run takes over a folder, and keeps what an earlier one has left there", "[run folder]") {
  TemporaryFolder here;
  const RunFolder folder(here / "run");
  auto save = [&](const std::string& content) {  // as a checkpoint is: in the place of the old file, not into it
    fs::remove(folder.checkpoint());
    here.write("run/checkpoint.safetensors", content);
  };
  CHECK_FALSE(folder.take_over([&] { save("first"); }));
  CHECK(names_in(here / "run") == std::vector<std::string>{"checkpoint.safetensors"});

  here.write("run/report.html", "its report");
  here.write("run/metrics.csv", "its numbers");
  here.write("run/best.safetensors", "its best");
  here.write("run/previous.safetensors.17-0.tmp", "of one that was killed");
  CHECK(folder.take_over([&] { save("second"); }) == here / "run/previous.safetensors");
  CHECK(read_file(folder.checkpoint()) == "second");
  CHECK(read_file(here / "run/previous.safetensors") == "first");
  CHECK(read_file(here / "run/previous.html") == "its report");
  CHECK(read_file(here / "run/previous.csv") == "its numbers");
  CHECK(read_file(here / "run/previous-best.safetensors") == "its best");
  CHECK_FALSE(fs::exists(here / "run/previous.safetensors.17-0.tmp"));

  const auto before = names_in(here / "run");
  CHECK_THROWS_AS(folder.take_over([] { throw std::runtime_error("disk full"); }), std::runtime_error);
  CHECK(names_in(here / "run") == before);
  CHECK(read_file(folder.checkpoint()) == "second");

  fs::remove(here / "run/previous.safetensors");  // previous.html is left, and keeps the name
  CHECK(folder.take_over([] {}) == here / "run/previous-2.safetensors");
}

TEST_CASE("a folder that has folders in the places of files is refused", "[run folder]") {
  for (const char* file : {"checkpoint.safetensors", "best.safetensors", "metrics.csv", "report.html"}) {
    TemporaryFolder here;
    fs::create_directories(here / "run" / file);
    CHECK_THROWS_WITH(RunFolder(here / "run"), ContainsSubstring(std::string(file) + " is a folder"));
  }
}

TEST_CASE("a folder is one run's at a time, and what killed ones left unfinished is removed", "[run folder]") {
  TemporaryFolder here;
  {
    const RunFolder folder(here / "run");
    CHECK_THROWS_AS(RunFolder(here / "run"), reel::Error);
    here.write("run/metrics.csv", "step\n");
    here.write("run/metrics.csv.17-0.tmp", "ste");
    here.write("run/best.safetensors.17-0.tmp", "");
  }
  CHECK(RunFolder(here / "run").metrics() == here / "run/metrics.csv");
  CHECK(names_in(here / "run") == std::vector<std::string>{"metrics.csv"});
}
