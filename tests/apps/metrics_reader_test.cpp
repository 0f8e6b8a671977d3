#include "apps/training/metrics_reader.h"

#include <cmath>

#include "apps/training/metrics.h"
#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::apps;

TEST_CASE("metrics are read as they were written", "[metrics_reader]") {
  TemporaryFolder folder;
  MetricsFile file(folder / "metrics.csv", {"loss", "validation_loss"});
  file.write(1, {{"loss", 4.5}});
  file.write(2, {{"loss", NAN}, {"validation_loss", 1e-7}});
  file.write(1000000, {{"loss", 0.1f}});
  auto metrics = read_metrics(folder / "metrics.csv");
  REQUIRE(metrics.size() == 2);
  const std::vector<Point>& loss = metrics.at("loss");
  REQUIRE(loss.size() == 3);
  CHECK(loss[0].x == 1);
  CHECK(loss[0].y == 4.5);
  CHECK(std::isnan(loss[1].y));
  CHECK(loss[2].x == 1000000);
  CHECK(static_cast<float>(loss[2].y) == 0.1f);
  REQUIRE(metrics.at("validation_loss").size() == 1);
  CHECK(metrics.at("validation_loss")[0].x == 2);
  CHECK(metrics.at("validation_loss")[0].y == 1e-7);
}

TEST_CASE("a last row that was cut off is left out", "[metrics_reader]") {
  TemporaryFolder folder;
  write_file(folder / "metrics.csv", "step,loss\n1,2\n2,1.");
  CHECK(read_metrics(folder / "metrics.csv").at("loss").size() == 1);
  write_file(folder / "metrics.csv", "step,loss\n");
  CHECK(read_metrics(folder / "metrics.csv").at("loss").empty());
}

TEST_CASE("metrics that are none are refused", "[metrics_reader]") {
  TemporaryFolder folder;
  CHECK_THROWS_WITH(read_metrics(folder / "none.csv"), ContainsSubstring("none.csv: No such file"));
  write_file(folder / "metrics.csv", "step,loss\n1,2\n2,two\n");
  CHECK_THROWS_WITH(read_metrics(folder / "metrics.csv"), ContainsSubstring("line 3: not a number: \"two\""));
  write_file(folder / "metrics.csv", "step,loss\n1,2,3\n");
  CHECK_THROWS_WITH(read_metrics(folder / "metrics.csv"), ContainsSubstring("line 2: 3 cells; the header has 2"));
}
